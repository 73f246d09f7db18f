// What stands beside the timelines: the source, the steps around the cursor, and
// what the shared variables hold there.

const STEPS = 9;
const LINES = 30;
const MOST_VARIABLES = 60;
const LOOK_BACK = 4000;

class SourcePane {
  constructor(page) {
    this.page = page;
    this.body = byId('source');
    this.title = byId('source-title');
    this.excerpts = new Map();
    for (const excerpt of page.data.sources) {
      if (!this.excerpts.has(excerpt.file)) this.excerpts.set(excerpt.file, []);
      this.excerpts.get(excerpt.file).push(excerpt);
    }
  }

  excerpt(file, line) {
    const holds = excerpt => line >= excerpt.first && line < excerpt.first + excerpt.lines.length;
    return (this.excerpts.get(file) || []).find(holds);
  }

  // The text of a line, without the space around it.
  text(file, line) {
    const excerpt = this.excerpt(file, line);
    return excerpt ? excerpt.lines[line - excerpt.first].trim() : '';
  }

  show(run, event) {
    const { file, line, name } = this.page.words.place(run, event);
    this.title.textContent = file ? `${fileName(file)}:${line}${name ? ` in ${name}` : ''}` : name || 'Source';
    this.title.title = file || '';
    const excerpt = file && this.excerpt(file, line);
    if (!excerpt) {
      const why = file ? `${file} was not found when this page was made, or had no room in it.`
        : 'The program has no debug information here: build it with -g to see the line.';
      this.body.replaceChildren(make('p', { class: 'missing', text: why }));
      return;
    }
    if (excerpt.isNewer) this.title.textContent += ', changed since the program was built';
    const marks = this.marks(run, event, file);
    const first = Math.max(excerpt.first, line - LINES);
    const last = Math.min(excerpt.first + excerpt.lines.length - 1, line + LINES);
    const rows = [];
    for (let number = first; number <= last; number++) {
      rows.push(this.row(excerpt, number, number === line, marks.get(number) || []));
    }
    this.body.replaceChildren(...rows);
    const current = this.body.querySelector('.current');
    this.body.scrollTop = current.offsetTop - this.body.offsetTop - this.body.clientHeight / 2 + 10;
  }

  row(excerpt, number, current, marks) {
    const gutter = make('span', { class: 'gutter' }, ...marks);
    const text = coloured(excerpt.lines[number - excerpt.first]);
    return make('div', { class: current ? 'line current' : 'line' },
      gutter, make('span', { class: 'number', text: number }), text);
  }

  // Where each thread stands: its last event, in dots of its colour.
  marks(run, event, file) {
    const marks = new Map();
    this.page.tables.threads.forEach((name, thread) => {
      const last = run.byThread.last(thread, event);
      if (last === NONE) return;
      const place = this.page.words.place(run, last);
      if (place.file !== file) return;
      if (!marks.has(place.line)) marks.set(place.line, []);
      if (marks.get(place.line).length < 4) {
        marks.get(place.line).push(make('i', { class: `dot thread-${thread % PALETTE}`, title: `thread ${name} is here` }));
      }
    });
    return marks;
  }
}

class StepsPane {
  constructor(page) {
    this.page = page;
    this.body = byId('steps');
    this.title = byId('steps-title');
  }

  show(timeline, event) {
    const { run } = timeline;
    const around = [event];
    const collect = direction => {
      for (let at = event, count = 0; count < STEPS; count++) {
        at = run.seek(at, direction, () => true);
        if (at === NONE) break;
        if (direction < 0) around.unshift(at); else around.push(at);
      }
    };
    collect(-1);
    collect(1);
    const shown = run.shownCount < run.count ? `, ${grouped(run.shownCount)} shown` : '';
    this.title.textContent = `Event ${grouped(event)} of ${grouped(run.count)}${shown}`;
    this.body.replaceChildren(...around.map(at => this.row(timeline, at, at === event)));
  }

  row(timeline, event, current) {
    const { run } = timeline, { words } = this.page;
    const value = valueText(run, event);
    const badge = timeline.badges.get(`${event} ${run.thread[event]}`);
    return make('button', {
      class: `step${current ? ' current' : ''}`, 'data-event': event,
      click: () => this.page.select(timeline, event),
    },
    make('span', { class: 'sequence', text: grouped(event) }),
    make('i', { class: `dot thread-${run.thread[event] % PALETTE}` }),
    make('span', { class: 'thread', text: words.thread(run.thread[event]) }),
    make('span', { class: 'deed' }, badge ? make('b', { class: 'badge', text: badge.number }) : null,
      words.deed(run, event) + (value ? ` = ${value}` : '')),
    make('span', { class: 'place', text: words.placeText(run, event) }));
  }
}

class VariablesPane {
  constructor(page) {
    this.page = page;
    this.body = byId('variables');
  }

  show(timeline, event) {
    const rows = this.chosen(timeline.run, event).map(variable => this.row(timeline, event, variable));
    const nothing = make('p', { class: 'missing', text: 'No variable was shared so far.' });
    this.body.replaceChildren(...rows.length ? rows : [nothing]);
  }

  // What the filter asks for, what the findings are about, what was touched last.
  chosen(run, event) {
    const chosen = new Set();
    const { filtered, named } = this.page;
    const touched = variable => run.byVariable.count(variable) > 0;
    if (filtered !== null) {
      for (let variable = 0; variable < filtered.length && chosen.size < MOST_VARIABLES; variable++) {
        if (filtered[variable] && touched(variable)) chosen.add(variable);
      }
      return [...chosen];
    }
    named.filter(touched).forEach(variable => chosen.add(variable));
    for (let at = event; at >= Math.max(0, event - LOOK_BACK) && chosen.size < MOST_VARIABLES; at--) {
      const variable = run.variable[at];
      if (variable !== NONE && run.shared[variable] && this.isValued(run, at)) chosen.add(variable);
    }
    return [...chosen];
  }

  isValued(run, event) {
    const shape = this.page.words.shape(run, event);
    return shape === 'read' || shape === 'write' || this.lockState(run, event) !== null;
  }

  // What an event says about a lock; `null` if it is not about one.
  lockState(run, event) {
    const kind = this.page.tables.kinds[run.kind(event)][0];
    if (kind === 'acquire' || kind === 'acquire-shared') return `held by ${this.page.words.thread(run.thread[event])}`;
    return kind === 'release' || kind === 'release-shared' ? 'free' : null;
  }

  row(timeline, event, variable) {
    const { run } = timeline, { words } = this.page;
    const last = run.byVariable.last(variable, event);
    const value = last === NONE ? '' : this.lockState(run, last) ?? valueText(run, last);
    const touchedNow = run.variable[event] === variable;
    return make('button', {
      class: `variable${touchedNow ? ' touched' : ''}`,
      title: last === NONE ? 'not touched yet' : `${words.deed(run, last)} at ${words.placeText(run, last)}`,
      click: () => last !== NONE && this.page.select(timeline, last),
    },
    make('span', { class: 'name', text: this.page.tables.variables[variable] }),
    make('span', { class: 'value', text: value || '–' }),
    last === NONE ? make('span', { class: 'since', text: 'not yet' })
      : make('span', { class: 'since' },
        make('i', { class: `dot thread-${run.thread[last] % PALETTE}` }),
        `${words.thread(run.thread[last])} ${this.page.tables.kinds[run.kind(last)][1]}, event ${grouped(last)}`));
  }
}
