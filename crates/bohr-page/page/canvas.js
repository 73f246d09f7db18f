// Colours and shapes of the timelines.

const PALETTE = 8;

class Colours {
  constructor() {
    this.read();
  }

  // The style knows them; they change with the theme.
  read() {
    const style = getComputedStyle(document.documentElement);
    const colour = name => style.getPropertyValue(name).trim();
    this.text = colour('--text');
    this.faint = colour('--faint');
    this.line = colour('--line');
    this.lane = colour('--lane');
    this.paper = colour('--panel');
    this.accent = colour('--accent');
    this.sync = colour('--sync');
    this.conflict = colour('--conflict');
    this.threads = Array.from({ length: PALETTE }, (_, number) => colour(`--thread-${number}`));
  }

  thread(number) {
    return this.threads[number % PALETTE];
  }
}

// Makes a canvas as sharp as the screen; the context draws in CSS pixels.
function prepared(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

function roundedBox(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, Math.min(radius, width / 2));
}

// One event: writes are filled, reads are light, synchronisation is an outline.
function drawEvent(context, shape, x, y, width, height, colour, ground) {
  if (shape !== 'other' && shape !== 'memory') {
    context.fillStyle = ground;
    roundedBox(context, x, y, width, height, 3);
    context.fill();
  }
  context.fillStyle = colour;
  context.strokeStyle = colour;
  if (shape === 'other' || shape === 'memory') {
    context.globalAlpha = 0.5;
    roundedBox(context, x, y + height * 0.3, width, height * 0.4, 2);
    context.fill();
  } else if (shape === 'write') {
    context.globalAlpha = 0.9;
    roundedBox(context, x, y, width, height, 3);
    context.fill();
  } else if (shape === 'read') {
    context.globalAlpha = 0.3;
    roundedBox(context, x, y, width, height, 3);
    context.fill();
  } else {
    context.globalAlpha = 0.9;
    context.lineWidth = 1.3;
    roundedBox(context, x + 0.6, y + 0.6, Math.max(width - 1.2, 1), height - 1.2, 3);
    context.stroke();
  }
  context.globalAlpha = 1;
}

// An arrow from one event to another; flat within a lane, bent between lanes.
function drawArrow(context, from, to, colour, strong, dashed) {
  const bend = from.y === to.y ? -18 : 0;
  const middle = (from.x + to.x) / 2;
  const pull = Math.min(60, Math.max(14, (to.x - from.x) / 2));
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.globalAlpha = strong ? 0.95 : 0.4;
  context.lineWidth = strong ? 1.8 : 1;
  context.setLineDash(dashed ? [4, 3] : []);
  context.beginPath();
  context.moveTo(from.x, from.y);
  if (bend) context.quadraticCurveTo(middle, from.y + bend, to.x, to.y);
  else context.bezierCurveTo(from.x + pull, from.y, to.x - pull, to.y, to.x, to.y);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(to.x, to.y);
  context.lineTo(to.x - 6, to.y - 3.2);
  context.lineTo(to.x - 6, to.y + 3.2);
  context.fill();
  context.globalAlpha = 1;
}

// The number by which the story calls an event.
function drawBadge(context, number, x, y, colours) {
  context.beginPath();
  context.arc(x, y, 7.5, 0, 7);
  context.fillStyle = colours.accent;
  context.fill();
  context.fillStyle = colours.paper;
  context.font = '600 10px system-ui, sans-serif';
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(number, x, y + 0.5);
  context.textAlign = 'left';
}

function drawCross(context, x, y, size, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 2.4;
  context.lineCap = 'round';
  context.beginPath();
  context.moveTo(x - size, y - size);
  context.lineTo(x + size, y + size);
  context.moveTo(x + size, y - size);
  context.lineTo(x - size, y + size);
  context.stroke();
  context.lineCap = 'butt';
}
