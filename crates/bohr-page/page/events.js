// The events of a run, out of the text in which they travel: `src/columns.rs`
// tells which columns there are and writes them.

const NONE = -1;

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Numbers of up to 32 bits, one after the other.
class Numbers {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let number = byte & 127;
    for (let shift = 7; byte >= 128; shift += 7) {
      byte = bytes[this.at++];
      number |= (byte & 127) << shift;
    }
    return number >>> 0;
  }
}

// Which events have a key, in their order.
class Index {
  constructor(keys, count) {
    this.starts = new Uint32Array(count + 2);
    for (const key of keys) if (key !== NONE) this.starts[key + 2]++;
    for (let key = 2; key < count + 2; key++) this.starts[key] += this.starts[key - 1];
    this.events = new Uint32Array(this.starts[count + 1]);
    keys.forEach((key, event) => {
      if (key !== NONE) this.events[this.starts[key + 1]++] = event;
    });
  }

  count(key) {
    return this.starts[key + 1] - this.starts[key];
  }

  nth(key, number) {
    return number < this.count(key) ? this.events[this.starts[key] + number] : NONE;
  }

  // How many events of a key come no later than this one.
  until(key, event) {
    let low = this.starts[key], high = this.starts[key + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.events[middle] <= event) low = middle + 1; else high = middle;
    }
    return low - this.starts[key];
  }

  // The last event of a key that comes no later than this one.
  last(key, event) {
    const count = this.until(key, event);
    return count ? this.nth(key, count - 1) : NONE;
  }

  // The first event of a key behind this one.
  next(key, event) {
    return this.nth(key, this.until(key, event));
  }
}

class Run {
  constructor(bytes, about, tables) {
    const numbers = new Numbers(bytes);
    const count = about.events;
    this.about = about;
    this.tables = tables;
    this.count = count;
    this.thread = new Int32Array(count);
    for (let event = 0; event < count;) {
      const thread = numbers.next(), length = numbers.next();
      this.thread.fill(thread, event, event + length);
      event += length;
    }
    this.deed = new Uint32Array(count);
    for (let event = 0; event < count; event++) this.deed[event] = numbers.next();
    this.variable = new Int32Array(count);
    for (let event = 0; event < count; event++) this.variable[event] = numbers.next() - 1;
    this.readValues(numbers);
    this.link = new Int32Array(count);
    for (let event = 0; event < count; event++) {
      const distance = numbers.next();
      this.link[event] = distance ? event - distance : NONE;
    }
    this.byThread = new Index(this.thread, tables.threads.length);
    this.byVariable = new Index(this.variable, tables.variables.length);
    this.number = new Uint32Array(count);
    const seen = new Uint32Array(tables.threads.length);
    for (let event = 0; event < count; event++) this.number[event] = seen[this.thread[event]]++;
    this.findShared();
    this.shown = new Uint8Array(count).fill(1);
    this.shownCount = count;
  }

  readValues(numbers) {
    const { count, about } = this;
    this.hasValue = new Uint8Array(count);
    for (let event = 0, has = 0; event < count; has = 1 - has) {
      const length = numbers.next();
      this.hasValue.fill(has, event, event + length);
      event += length;
    }
    const halves = [new Uint32Array(about.values), new Uint32Array(about.values)];
    for (const half of halves) {
      for (let position = 0; position < about.values; position++) half[position] = numbers.next();
    }
    this.low = new Uint32Array(count);
    this.high = new Uint32Array(count);
    for (let event = 0, position = 0; event < count; event++) {
      if (!this.hasValue[event]) continue;
      this.low[event] = halves[0][position];
      this.high[event] = halves[1][position++];
    }
  }

  // Variables that more than one thread touches.
  findShared() {
    const owner = new Int32Array(this.tables.variables.length).fill(NONE);
    this.shared = new Uint8Array(owner.length);
    for (let event = 0; event < this.count; event++) {
      const variable = this.variable[event];
      if (variable === NONE) continue;
      if (owner[variable] === NONE) owner[variable] = this.thread[event];
      else if (owner[variable] !== this.thread[event]) this.shared[variable] = 1;
    }
  }

  kind(event) {
    return this.tables.deeds[this.deed[event]][0];
  }

  // Shows the events of these threads on these variables; `null` is all.
  filter(threads, variables) {
    this.shownCount = 0;
    for (let event = 0; event < this.count; event++) {
      const variable = this.variable[event];
      const shown = threads[this.thread[event]]
        && (variables === null || variable !== NONE && variables[variable]);
      this.shown[event] = shown ? 1 : 0;
      this.shownCount += this.shown[event];
    }
  }

  // The next event in a direction for which this holds.
  seek(event, direction, wanted) {
    for (let at = event + direction; at >= 0 && at < this.count; at += direction) {
      if (this.shown[at] && wanted(at)) return at;
    }
    return NONE;
  }

  // The same event of another run: the same thread's event with the same number.
  counterpart(other, event) {
    return event === NONE ? NONE : other.byThread.nth(this.thread[event], this.number[event]);
  }
}
