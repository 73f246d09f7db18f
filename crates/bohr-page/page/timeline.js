// One run as lanes, one per thread, time going right. What is in sight is drawn
// anew each time: event by event where there is room, as a density where not.

const GUTTER = 76;
const RULER = 20;
const TAIL = 18;
const MOST_ARROWS = 400;
// Where more events are in sight, arrows are about what the findings are about.
const CLEAR = 60;
const NARROWEST = 6;

class Timeline {
  constructor(root, run, page) {
    this.root = root;
    this.run = run;
    this.page = page;
    this.cursor = NONE;
    this.start = 0;
    this.end = Math.max(run.count, NARROWEST);
    this.canvas = root.querySelector('.lanes');
    this.overview = root.querySelector('.overview');
    this.badges = new Map();
    page.moments.forEach((moment, number) => {
      const at = moment.at[page.runs.indexOf(run)];
      if (at !== null) this.badges.set(`${at} ${moment.lane}`, { number: number + 1, at, lane: moment.lane });
    });
    this.listen();
  }

  // Lanes of the threads that are shown and did something.
  layOut() {
    const threads = this.page.tables.threads.map((_, thread) => thread);
    this.lanes = threads.filter(thread => this.page.wanted[thread] && this.run.byThread.count(thread));
    this.laneOf = new Map(this.lanes.map((thread, lane) => [thread, lane]));
    this.laneHeight = Math.max(9, Math.min(34, Math.floor(340 / Math.max(this.lanes.length, 1))));
    this.width = this.root.clientWidth;
    this.height = RULER + this.lanes.length * this.laneHeight + 8;
    this.scale = (this.width - GUTTER - TAIL) / (this.end - this.start);
  }

  x(event) {
    return GUTTER + (event - this.start) * this.scale;
  }

  middle(lane) {
    return RULER + (lane + 0.5) * this.laneHeight;
  }

  draw() {
    this.layOut();
    const context = prepared(this.canvas, this.width, this.height);
    this.drawLanes(context);
    context.save();
    context.beginPath();
    context.rect(GUTTER - 2, 0, this.width - GUTTER + 2, this.height);
    context.clip();
    this.detailed = this.scale >= 3;
    if (this.detailed) this.drawEvents(context); else this.drawDensity(context);
    this.drawEnd(context);
    this.drawCursor(context);
    this.drawBadges(context);
    context.restore();
    this.drawOverview();
    this.canvas.dataset.detailed = this.detailed;
    this.canvas.dataset.start = Math.round(this.start);
    this.canvas.dataset.end = Math.round(this.end);
  }

  drawLanes(context) {
    const { colours, tables } = this.page;
    context.textBaseline = 'middle';
    this.lanes.forEach((thread, lane) => {
      const y = RULER + lane * this.laneHeight;
      context.fillStyle = colours.lane;
      roundedBox(context, GUTTER, y + 2, this.width - GUTTER, this.laneHeight - 4, 4);
      context.fill();
      if (this.laneHeight < 12 && lane % 2) return;
      context.fillStyle = colours.thread(thread);
      context.beginPath();
      context.arc(8, this.middle(lane), 4, 0, 7);
      context.fill();
      context.fillStyle = colours.text;
      context.font = '12px ui-monospace, monospace';
      const name = tables.threads[thread];
      context.fillText(name.length > 7 ? '…' + name.slice(-6) : name, 18, this.middle(lane));
    });
    this.drawRuler(context);
  }

  drawRuler(context) {
    const room = (this.end - this.start) * 90 / Math.max(this.width - GUTTER, 1);
    const power = 10 ** Math.floor(Math.log10(Math.max(room, 1)));
    const step = [1, 2, 5, 10].map(factor => factor * power).find(candidate => candidate >= room);
    context.fillStyle = this.page.colours.faint;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    const first = Math.ceil(this.start / step) * step;
    for (let event = first; event <= Math.min(this.end, this.run.count); event += step) {
      const x = this.x(event);
      context.fillText(grouped(event), x + 3, RULER / 2);
      context.fillRect(x, RULER - 5, 1, 5);
    }
  }

  // Where a pixel stands for many events: how many of them are a thread's own.
  drawDensity(context) {
    const { run, laneOf, start, scale } = this;
    const columns = Math.ceil(this.width - GUTTER);
    const counts = new Float32Array(this.lanes.length * columns);
    const lanes = this.page.tables.threads.map((_, thread) => (laneOf.get(thread) ?? NONE) * columns);
    const last = Math.min(run.count, Math.ceil(this.end));
    for (let event = Math.max(0, Math.floor(start)); event < last; event++) {
      const lane = lanes[run.thread[event]];
      if (run.shown[event] && lane >= 0) counts[lane + ((event - start) * scale | 0)]++;
    }
    const full = Math.max(1, 1 / scale);
    this.lanes.forEach((thread, lane) => {
      context.fillStyle = this.page.colours.thread(thread);
      for (let column = 0; column < columns; column++) {
        const share = counts[lane * columns + column] / full;
        if (!share) continue;
        context.globalAlpha = 0.35 + 0.6 * Math.min(1, share);
        const height = Math.max(3, Math.min(1, Math.sqrt(share)) * (this.laneHeight - 10));
        context.fillRect(GUTTER + column, this.middle(lane) - height / 2, 1, height);
      }
    });
    context.globalAlpha = 1;
  }

  drawEvents(context) {
    const { run, page } = this;
    const first = Math.max(0, Math.floor(this.start)), last = Math.min(run.count, Math.ceil(this.end));
    this.drawSegments(context, first, last);
    const height = Math.max(4, this.laneHeight - 12);
    const width = Math.max(2, Math.min(this.scale - 1.5, 150));
    for (let event = first; event < last; event++) {
      const lane = this.laneOf.get(run.thread[event]);
      if (!run.shown[event] || lane === undefined) continue;
      const shape = page.words.shape(run, event);
      const x = this.x(event) + (this.scale - width) / 2, y = this.middle(lane) - height / 2;
      drawEvent(context, shape, x, y, width, height, page.colours.thread(run.thread[event]), page.colours.lane);
      if (width > 44 && height > 10 && shape !== 'memory') this.drawLabel(context, event, shape, x, width, lane);
    }
    if (last - first <= MOST_ARROWS) this.drawArrows(context, first, last);
  }

  drawLabel(context, event, shape, x, width, lane) {
    const { run, page } = this;
    const value = valueText(run, event);
    const name = page.words.variable(run, event) || page.words.deed(run, event);
    const text = value ? `${name} = ${value}` : name;
    const letters = Math.floor((width - 8) / 6.1);
    context.font = '10px ui-monospace, monospace';
    context.textBaseline = 'middle';
    context.fillStyle = shape === 'write' ? page.colours.paper : page.colours.text;
    context.fillText(text.length > letters ? text.slice(0, letters - 1) + '…' : text, x + 4, this.middle(lane) + 0.5);
  }

  // A line through the events that a thread executes in a row.
  drawSegments(context, first, last) {
    const { run } = this;
    for (let event = first; event < last;) {
      const thread = run.thread[event];
      let end = event;
      while (end < last && run.thread[end] === thread) end++;
      const lane = this.laneOf.get(thread);
      if (lane !== undefined) {
        context.globalAlpha = 0.35;
        context.fillStyle = this.page.colours.thread(thread);
        context.fillRect(this.x(event), this.middle(lane) - 1, (end - event) * this.scale, 2);
        context.globalAlpha = 1;
      }
      event = end;
    }
  }

  point(event, thread) {
    const lane = this.laneOf.get(thread ?? this.run.thread[event]);
    return lane === undefined ? null : { x: this.x(event + 0.5), y: this.middle(lane) };
  }

  drawArrows(context, first, last) {
    const { run, page } = this;
    const wide = Math.min(this.scale - 1.5, 150) / 2;
    // A thread that comes after an event again and again came after it once.
    const told = new Set();
    for (let event = first; event < last; event++) {
      const from = run.link[event];
      if (from === NONE || !run.shown[event] || !run.shown[from]) continue;
      const [begin, end] = [this.point(from), this.point(event)];
      if (!begin || !end) continue;
      const conflict = ['read', 'write'].includes(page.words.shape(run, event));
      const colour = conflict ? page.colours.conflict : page.colours.sync;
      const strong = event === this.cursor || from === this.cursor;
      const pair = from * page.tables.threads.length + run.thread[event];
      const again = told.has(pair) || last - first > CLEAR && !page.named.includes(run.variable[event]);
      told.add(pair);
      if (again && !strong) continue;
      const shifted = [{ x: begin.x + wide, y: begin.y }, { x: end.x - wide, y: end.y }];
      drawArrow(context, ...shifted, colour, strong, !conflict);
    }
  }

  drawEnd(context) {
    const { about, count } = this.run;
    const x = this.x(count) + 2;
    context.fillStyle = this.page.colours.line;
    context.fillRect(x, RULER, 1, this.height - RULER);
    if (!about.fails) return;
    this.lanes.forEach((thread, lane) => {
      if (about.thread !== null && about.thread !== thread) return;
      drawCross(context, x + 8, this.middle(lane), Math.min(5, this.laneHeight / 4), this.page.colours.accent);
    });
  }

  drawCursor(context) {
    if (this.cursor === NONE) return;
    const x = this.x(this.cursor + 0.5);
    context.fillStyle = this.page.colours.text;
    context.globalAlpha = this.page.active === this ? 0.75 : 0.25;
    context.fillRect(x - 0.5, 12, 1, this.height - 12);
    const point = this.point(this.cursor);
    if (point && this.page.active === this) {
      const width = Math.max(6, Math.min(this.scale + 2, 154)), height = this.laneHeight - 4;
      context.strokeStyle = this.page.colours.text;
      context.lineWidth = 1.6;
      roundedBox(context, x - width / 2, point.y - height / 2, width, height, 4);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  drawBadges(context) {
    for (const { number, at, lane } of this.badges.values()) {
      const point = this.point(at, lane);
      if (!point) continue;
      const x = at >= this.run.count ? this.x(at) + 10 : point.x;
      drawBadge(context, number, x, point.y - this.laneHeight / 2 + 2, this.page.colours);
    }
  }

  // The whole run in a strip, and which part of it is in sight.
  drawOverview() {
    const { run, page } = this;
    const width = this.width, height = 22, columns = Math.max(1, Math.ceil(width - GUTTER - TAIL));
    const context = prepared(this.overview, width, height);
    const per = Math.max(run.count, NARROWEST) / columns;
    const step = Math.max(1, Math.floor(per / 8));
    for (let column = 0; column < columns; column++) {
      const event = Math.floor(column * per);
      for (let at = event; at < Math.min(run.count, event + Math.max(per, 1)); at += step) {
        if (!run.shown[at]) continue;
        const thread = run.thread[at];
        const lane = this.laneOf.get(thread);
        if (lane === undefined) continue;
        context.fillStyle = page.colours.thread(thread);
        context.fillRect(GUTTER + column, 3 + lane * 14 / this.lanes.length, 1.2, Math.max(1, 14 / this.lanes.length));
      }
    }
    const whole = Math.max(run.count, NARROWEST) / (width - GUTTER - TAIL);
    context.strokeStyle = page.colours.text;
    context.globalAlpha = 0.7;
    const x = GUTTER + this.start / whole;
    roundedBox(context, x + 0.5, 0.5, Math.max(3, (this.end - this.start) / whole - 1), height - 2, 3);
    context.stroke();
    context.globalAlpha = 1;
  }

  // Brings a part of the run in sight, as near as can be.
  look(start, end) {
    const most = Math.max(this.run.count, NARROWEST);
    const span = Math.min(Math.max(end - start, NARROWEST), most);
    this.start = Math.max(0, Math.min(start, most - span));
    this.end = this.start + span;
    this.page.redraw();
  }

  zoom(factor, around = null) {
    const at = around ?? (this.cursor >= this.start && this.cursor <= this.end
      ? this.cursor + 0.5 : (this.start + this.end) / 2);
    this.look(at - (at - this.start) * factor, at + (this.end - at) * factor);
  }

  pan(share) {
    const distance = (this.end - this.start) * share;
    this.look(this.start + distance, this.end + distance);
  }

  reveal(event) {
    const span = this.end - this.start;
    const edge = Math.min(span * 0.08, 4);
    if (event < this.start + edge || event + 1 > this.end - edge) {
      this.look(event - span / 2, event + span / 2);
    }
  }

  eventAt(x) {
    return this.start + (x - GUTTER) / this.scale;
  }

  // The event under the mouse: in its lane if there is one nearby, or else anywhere.
  hit(x, y) {
    const at = Math.floor(this.eventAt(x));
    const thread = this.lanes[Math.floor((y - RULER) / this.laneHeight)];
    if (x < GUTTER || at < 0) return NONE;
    const reach = Math.max(1, Math.ceil(4 / this.scale));
    const near = wanted => {
      for (let distance = 0; distance <= reach; distance++) {
        for (const event of [at - distance, at + distance]) {
          if (event >= 0 && event < this.run.count && this.run.shown[event] && wanted(event)) return event;
        }
      }
      return NONE;
    };
    const own = near(event => this.run.thread[event] === thread);
    return own === NONE ? near(() => true) : own;
  }

  listen() {
    const { canvas, overview } = this;
    let drag = null;
    canvas.addEventListener('pointerdown', event => {
      drag = { x: event.offsetX, start: this.start, end: this.end, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
      if (!drag) return this.page.hover(this, this.hit(event.offsetX, event.offsetY), event);
      const distance = (drag.x - event.offsetX) / this.scale;
      drag.moved ||= Math.abs(drag.x - event.offsetX) > 4;
      if (drag.moved) this.look(drag.start + distance, drag.end + distance);
    });
    canvas.addEventListener('pointerup', event => {
      const hit = drag && !drag.moved ? this.hit(event.offsetX, event.offsetY) : NONE;
      drag = null;
      if (hit !== NONE) this.page.select(this, hit);
    });
    canvas.addEventListener('pointerleave', event => this.page.hover(this, NONE, event));
    canvas.addEventListener('wheel', event => {
      if (event.offsetX < GUTTER) return;
      event.preventDefault();
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) this.pan(sideways / 800);
      else this.zoom(Math.exp(event.deltaY / 400), this.eventAt(event.offsetX));
    }, { passive: false });
    const travel = event => {
      if (!(event.buttons & 1)) return;
      const whole = Math.max(this.run.count, NARROWEST) / (this.width - GUTTER - TAIL);
      const middle = (event.offsetX - GUTTER) * whole, half = (this.end - this.start) / 2;
      this.look(middle - half, middle + half);
    };
    overview.addEventListener('pointerdown', travel);
    overview.addEventListener('pointermove', travel);
  }
}
