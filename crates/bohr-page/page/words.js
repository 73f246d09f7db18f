// What people read. Whatever a program says becomes text, and nothing else.

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') element.textContent = value;
    else if (name === 'click') element.addEventListener('click', value);
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child !== null));
  return element;
}

const byId = name => document.getElementById(name);

const fileName = path => path.slice(path.lastIndexOf('/') + 1);

const grouped = number => number.toLocaleString('en');

function valueText(run, event) {
  if (event === NONE || event >= run.count || !run.hasValue[event]) return '';
  const high = run.high[event], low = run.low[event];
  if (high === 0) return String(low);
  return '0x' + high.toString(16) + low.toString(16).padStart(8, '0');
}

class Words {
  constructor(tables) {
    this.tables = tables;
  }

  thread(number) {
    return this.tables.threads[number];
  }

  variable(run, event) {
    const variable = run.variable[event];
    return variable === NONE ? '' : this.tables.variables[variable];
  }

  // What happens at an event, without who does it.
  deed(run, event) {
    const [, verb, takesObject] = this.tables.kinds[run.kind(event)];
    return takesObject ? `${verb} ${this.variable(run, event)}` : verb;
  }

  shape(run, event) {
    return this.tables.kinds[run.kind(event)][3];
  }

  // File and line of an event; no file if it is not known.
  place(run, event) {
    const [, , file, line, name] = this.tables.deeds[run.deed[event]];
    return {
      file: file ? this.tables.files[file - 1] : null,
      line,
      name: name ? this.tables.functions[name - 1] : null,
    };
  }

  placeText(run, event) {
    const { file, line, name } = this.place(run, event);
    return file ? `${fileName(file)}:${line}` : name || '?';
  }
}

const KEYWORDS = new Set(('alignas auto bool break case catch char class const constexpr continue '
  + 'default delete do double else enum extern false float fn for if impl in inline int let long '
  + 'loop match mod move mut namespace new nullptr pub ref return self short signed sizeof static '
  + 'struct switch template this throw trait true try typedef union unsafe unsigned use using '
  + 'virtual void volatile where while').split(' '));

const TOKEN = /(\/\/.*|\/\*.*?(?:\*\/|$))|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])')|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;

// A line of C, C++ or Rust in colours; a line at a time, so the inside of a long
// comment looks like code unless it begins with a star.
function coloured(line) {
  const code = make('code');
  if (/^\s*\*/.test(line)) {
    code.append(make('span', { class: 'comment', text: line }));
    return code;
  }
  let at = 0;
  for (const found of line.matchAll(TOKEN)) {
    const [word, comment, string, number] = found;
    const kind = comment ? 'comment' : string ? 'string' : number ? 'number'
      : KEYWORDS.has(word) ? 'keyword' : null;
    if (kind === null) continue;
    code.append(line.slice(at, found.index), make('span', { class: kind, text: word }));
    at = found.index + word.length;
  }
  code.append(line.slice(at));
  return code;
}
