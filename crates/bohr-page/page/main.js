// Puts the page together: who is where, what is filtered, what the keys do.

const KEYS = [
  ['← →', 'previous, next event'],
  ['⇧← ⇧→', 'of the same thread'],
  ['[ ]', 'on the same variable'],
  ['p n', 'previous, next numbered moment'],
  ['+ −', 'zoom in, out'],
  ['a d', 'move left, right'],
  ['f', 'the whole run'],
  ['m', 'what matters'],
  ['Tab', 'other run'],
  ['/', 'filter by variable'],
  ['Esc', 'no filter'],
  ['t', 'light, dark'],
];

class Page {
  constructor(data, columns) {
    this.data = data;
    this.tables = data.tables;
    this.words = new Words(data.tables);
    this.colours = new Colours();
    this.runs = columns.map((bytes, number) => new Run(bytes, data.runs[number], data.tables));
    this.wanted = data.tables.threads.map(() => true);
    this.filtered = null;
    this.moments = this.ordered(data.moments);
    this.named = this.namedVariables();
    byId('timeline-1').hidden = this.runs.length < 2;
    this.timelines = this.runs.map((run, number) => new Timeline(byId(`timeline-${number}`), run, this));
    this.active = this.timelines[0];
    this.source = new SourcePane(this);
    this.steps = new StepsPane(this);
    this.variables = new VariablesPane(this);
    this.story = new StoryPane(this);
    this.showThreads();
    this.showFilter();
    this.showKeys();
    this.listen();
    this.timelines.forEach(timeline => this.lookAtWhatMatters(timeline));
    this.begin();
  }

  // Numbered as they happen in the failing run.
  ordered(moments) {
    const last = Number.MAX_SAFE_INTEGER;
    const lanes = moments.map(moment => ({ ...moment, lane: this.tables.threads.indexOf(moment.thread) }));
    return lanes.sort((one, two) => (one.at[0] ?? last) - (two.at[0] ?? last));
  }

  namedVariables() {
    const [run] = this.runs;
    const variables = this.moments.map(moment => {
      const at = moment.at[0];
      return at !== null && at < run.count ? run.variable[at] : NONE;
    });
    return [...new Set(variables.filter(variable => variable !== NONE))];
  }

  begin() {
    const [timeline] = this.timelines;
    const reached = this.moments.map(moment => moment.at[0]).filter(at => at !== null && at < timeline.run.count);
    if (timeline.run.count) this.select(timeline, reached[0] ?? timeline.run.count - 1);
    else this.redraw();
  }

  lookAtWhatMatters(timeline) {
    const number = this.timelines.indexOf(timeline);
    const places = this.moments.map(moment => moment.at[number]).filter(at => at !== null);
    const { count } = timeline.run;
    if (count <= 150 || !places.length) return timeline.look(0, count);
    const first = Math.min(...places), last = Math.max(...places);
    const margin = Math.max(12, (last - first) * 0.15);
    timeline.look(first - margin, Math.min(last + margin, count));
  }

  select(timeline, event) {
    this.active = timeline;
    timeline.cursor = event;
    timeline.reveal(event);
    for (const other of this.timelines) {
      if (other !== timeline) other.cursor = timeline.run.counterpart(other.run, event);
    }
    this.source.show(timeline.run, event);
    this.steps.show(timeline, event);
    this.variables.show(timeline, event);
    const { run } = timeline, value = valueText(run, event);
    byId('now').textContent = `Event ${event}: thread ${this.words.thread(run.thread[event])} `
      + `${this.words.deed(run, event)}${value ? ` = ${value}` : ''} at ${this.words.placeText(run, event)}`;
    this.redraw();
  }

  // Draws once for all that happens before the next frame.
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.timelines.forEach(timeline => timeline.draw());
    });
  }

  hover(timeline, event, pointer) {
    const hint = byId('hint');
    hint.hidden = event === NONE;
    if (event === NONE) return;
    const { run } = timeline, value = valueText(run, event);
    hint.textContent = `${grouped(event)} · thread ${this.words.thread(run.thread[event])} `
      + `${this.words.deed(run, event)}${value ? ` = ${value}` : ''} · ${this.words.placeText(run, event)}`;
    hint.style.left = `${Math.max(8, Math.min(pointer.clientX + 14, innerWidth - hint.offsetWidth - 10))}px`;
    hint.style.top = `${pointer.clientY + 16}px`;
  }

  step(direction, wanted = () => true) {
    const { run, cursor } = this.active;
    const next = cursor === NONE ? NONE : run.seek(cursor, direction, wanted);
    if (next !== NONE) this.select(this.active, next);
  }

  stepThread(direction) {
    const { run, cursor } = this.active;
    this.step(direction, event => run.thread[event] === run.thread[cursor]);
  }

  stepVariable(direction) {
    const { run, cursor } = this.active;
    const variable = run.variable[cursor];
    if (variable !== NONE) this.step(direction, event => run.variable[event] === variable);
  }

  stepMoment(direction) {
    const number = this.timelines.indexOf(this.active);
    const { cursor, run } = this.active;
    const places = this.moments.map(moment => moment.at[number])
      .filter(at => at !== null && at < run.count && (at - cursor) * direction > 0);
    if (places.length) this.select(this.active, direction > 0 ? Math.min(...places) : Math.max(...places));
  }

  applyFilter() {
    this.runs.forEach(run => run.filter(this.wanted, this.filtered));
    const { run, cursor } = this.active;
    if (cursor === NONE) return this.redraw();
    if (run.shown[cursor]) return this.select(this.active, cursor);
    const next = run.seek(cursor, 1, () => true);
    const near = next === NONE ? run.seek(cursor, -1, () => true) : next;
    this.select(this.active, near === NONE ? cursor : near);
  }

  showThreads() {
    const box = byId('threads');
    box.replaceChildren(...this.tables.threads.map((name, thread) => make('button', {
      class: 'chip', 'aria-pressed': 'true', title: 'Click to hide or show; double-click for this thread alone',
      click: event => this.toggleThread(thread, event.detail > 1),
    }, make('i', { class: `dot thread-${thread % PALETTE}` }), name)));
  }

  toggleThread(thread, alone) {
    if (alone) this.wanted.fill(false).fill(true, thread, thread + 1);
    else this.wanted[thread] = !this.wanted[thread];
    if (!this.wanted.includes(true)) this.wanted.fill(true);
    this.afterThreads();
  }

  afterThreads() {
    [...byId('threads').children].forEach((chip, number) => chip.setAttribute('aria-pressed', this.wanted[number]));
    this.applyFilter();
  }

  filterVariables(words) {
    const wanted = words.trim().toLowerCase();
    const names = this.tables.variables;
    // A whole name stands for itself, and not for longer ones.
    const exact = names.some(name => name.toLowerCase() === wanted);
    const matches = name => exact ? name === wanted : name.includes(wanted);
    this.filtered = wanted === '' ? null : Uint8Array.from(names, name => matches(name.toLowerCase()) ? 1 : 0);
    byId('filter').classList.toggle('nothing', this.filtered !== null && !this.filtered.includes(1));
    this.applyFilter();
  }

  showFilter() {
    const shared = this.tables.variables.filter((_, variable) => this.runs[0].shared[variable]);
    const names = [...new Set(shared)].slice(0, 300);
    byId('names').replaceChildren(...names.map(name => make('option', { value: name })));
    byId('filter').addEventListener('input', event => this.filterVariables(event.target.value));
  }

  clearFilter() {
    byId('filter').value = '';
    byId('filter').blur();
    byId('filter').classList.remove('nothing');
    this.filtered = null;
    this.wanted.fill(true);
    this.afterThreads();
  }

  showKeys() {
    byId('keys-list').replaceChildren(...KEYS.flatMap(([keys, words]) => [
      make('dt', {}, ...keys.split(' ').map(key => make('kbd', { text: key }))),
      make('dd', { text: words }),
    ]));
  }

  switchRun() {
    const other = this.timelines[1 - this.timelines.indexOf(this.active)];
    if (other) this.select(other, other.cursor === NONE ? 0 : other.cursor);
  }

  switchTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    this.recolour();
  }

  recolour() {
    this.colours.read();
    this.redraw();
  }

  actions() {
    return {
      ArrowLeft: shift => shift ? this.stepThread(-1) : this.step(-1),
      ArrowRight: shift => shift ? this.stepThread(1) : this.step(1),
      '[': () => this.stepVariable(-1),
      ']': () => this.stepVariable(1),
      p: () => this.stepMoment(-1),
      n: () => this.stepMoment(1),
      '+': () => this.active.zoom(0.6),
      '=': () => this.active.zoom(0.6),
      '-': () => this.active.zoom(1 / 0.6),
      a: () => this.active.pan(-0.25),
      d: () => this.active.pan(0.25),
      f: () => this.active.look(0, this.active.run.count),
      m: () => this.lookAtWhatMatters(this.active),
      Tab: () => this.switchRun(),
      '/': () => byId('filter').focus(),
      Escape: () => this.clearFilter(),
      t: () => this.switchTheme(),
      '?': () => { byId('keys').open = !byId('keys').open; },
    };
  }

  listen() {
    const actions = this.actions();
    addEventListener('keydown', event => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const typing = event.target.tagName === 'INPUT' && event.key !== 'Escape';
      const action = actions[event.key];
      const tabbing = event.key === 'Tab' && (event.shiftKey || event.target !== document.body);
      if (typing || tabbing || !action) return;
      event.preventDefault();
      action(event.shiftKey);
    });
    for (const button of document.querySelectorAll('[data-key]')) {
      button.addEventListener('click', () => actions[button.dataset.key](false));
    }
    addEventListener('resize', () => this.redraw());
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolour());
  }
}

async function open() {
  const data = JSON.parse(byId('data').textContent);
  const texts = data.runs.map((_, number) => byId(`run-${number}`).textContent);
  const page = new Page(data, await Promise.all(texts.map(unpacked)));
  page.timelines.forEach(timeline => timeline.draw());
  document.documentElement.dataset.ready = Math.round(performance.now());
}

open().catch(error => {
  byId('verdict').replaceChildren(make('p', { class: 'sentence', text: `This browser cannot show the page: ${error.message}` }));
});
