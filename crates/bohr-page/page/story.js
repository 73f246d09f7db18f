// The head of the page: what it takes to fail, and the moments that matter in
// the order of the run that fails and of the one that does not.

class StoryPane {
  constructor(page) {
    this.page = page;
    const { data } = page;
    byId('kind').textContent = data.description.split('\n')[0] || data.kind;
    byId('program').textContent = fileName(data.program);
    byId('program').title = data.program;
    byId('description').textContent = data.description;
    const failing = page.runs[0];
    byId('size').textContent = [
      `${grouped(failing.count)} events`, `${page.tables.threads.length} threads`,
      `${grouped(data.switches)} switches`, `bug ${data.signature.slice(0, 8)}`,
    ].join(' · ');
    this.showVerdict();
    page.timelines.forEach((timeline, number) => this.showColumn(timeline, number));
    byId('passes').hidden = page.runs.length < 2;
    this.showRaces();
    this.showLockCycles();
  }

  showVerdict() {
    const sentences = this.page.data.findings.map(finding =>
      make('p', { class: 'sentence', text: finding.sentence.replace(/\n */g, ' ') }));
    const none = make('p', { class: 'sentence', text: 'its threads run at all: no switch and no order was found without which it would not' });
    byId('verdict').replaceChildren(...sentences.length ? sentences : [none]);
    const remedies = [...new Set(this.page.data.findings.map(finding => finding.remedy))];
    byId('remedy').replaceChildren(...remedies.slice(0, 2).map(remedy =>
      make('p', { class: 'remedy', text: `What to try: ${remedy}` })));
  }

  showColumn(timeline, number) {
    const column = byId(number ? 'passes' : 'fails').querySelector('ol');
    const reached = this.page.moments
      .map((moment, position) => ({ moment, number: position + 1, at: moment.at[number] }))
      .filter(entry => entry.at !== null && entry.at !== undefined)
      .sort((one, two) => one.at - two.at);
    const rows = [];
    let before = NONE;
    for (const entry of reached) {
      const between = entry.at - before - 1;
      if (between > 0) rows.push(make('li', { class: 'gap', text: `${grouped(between)} other event${between > 1 ? 's' : ''}` }));
      before = entry.at;
      rows.push(this.row(timeline, entry));
    }
    const { about } = timeline.run;
    rows.push(make('li', { class: about.fails ? 'end bad' : 'end good', text: about.words }));
    column.replaceChildren(...rows);
  }

  row(timeline, { moment, number, at }) {
    const { run } = timeline;
    const value = valueText(run, at);
    const reached = at < run.count;
    const source = this.sourceOf(moment);
    const button = make('button', {
      class: 'moment',
      click: () => this.page.select(timeline, reached ? at : run.count - 1),
    },
    make('b', { class: 'badge', text: number }),
    make('span', { class: `owner thread-${moment.lane % PALETTE}`, text: moment.thread }),
    make('span', { class: 'deed', text: (reached ? this.page.words.deed(run, at) : `waits: ${moment.deed}`) + (value ? ` = ${value}` : '') }),
    make('span', { class: 'text', title: source }, coloured(source)),
    make('span', { class: 'place', text: moment.line ? fileName(moment.line) : moment.function || '?' }));
    return make('li', {}, button);
  }

  sourceOf(moment) {
    const at = moment.line ? moment.line.lastIndexOf(':') : -1;
    return at < 0 ? '' : this.page.source.text(moment.line.slice(0, at), Number(moment.line.slice(at + 1)));
  }

  showLockCycles() {
    const { lockCycles } = this.page.data;
    byId('lock-cycles').hidden = lockCycles.length === 0;
    byId('lock-cycles-list').replaceChildren(...lockCycles.slice(0, 50).map(text => make('li', { text })));
  }

  showRaces() {
    const { races } = this.page.data;
    byId('races').hidden = races.length === 0;
    byId('races-title').textContent = `${races.length} data race${races.length > 1 ? 's' : ''}: accesses that nothing orders`;
    const side = told => `${told.thread} ${told.kind} at ${told.line ? fileName(told.line) : told.function || '?'}`;
    byId('races-list').replaceChildren(...races.slice(0, 50).map(race =>
      make('li', { text: `${race.first.object}: ${side(race.first)}; ${side(race.second)}` })));
  }
}
