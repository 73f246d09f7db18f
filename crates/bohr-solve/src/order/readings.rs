//! What the order that is known says of who reads what, for places at known addresses
//! (the rules of Zord and Deagle, with their reasons):
//!
//! - a read gets nothing from a write that comes behind it, nor from one behind which
//!   another write to the place comes that itself comes before the read;
//! - what else comes before the read comes before the write that it gets;
//! - what else comes behind that write comes behind the read.
//!
//! A read is looked at again when its place in the order has changed, or that of two
//! writes of which it sees the later one. What happens in no run comes behind all that
//! does, so the rules need not ask what happens.

use super::closure::{Fresh, Place};
use super::encode::Choices;
use super::graph::{Graph, Way};
use super::rows::{Ends, Known, Row, Window, next};
use crate::model::{Chains, NodeNumber};
use std::collections::{BTreeMap, BTreeSet};

/// A place in memory.
type Word = usize;

/// Something that follows for a read.
#[derive(Clone, Debug)]
pub(crate) enum Finding {
    /// It does not get this write (`None` is what was there in the beginning), because of
    /// these ways.
    Not(Option<usize>, [Option<Way>; 2]),
    /// One node comes before another because of the write that it gets, and, if there is
    /// one, of this way.
    Edge(NodeNumber, NodeNumber, Option<Way>),
    /// Because of these ways it gets none but those that are listed.
    NoOther(Vec<Way>),
}

/// Who reads and writes where, and what is left to each read.
pub(crate) struct Readings {
    /// By choice.
    words: Vec<Option<Word>>,
    /// By choice: the last write of its own thread before it.
    own: Vec<Option<usize>>,
    /// By word.
    rows: Vec<Vec<Row>>,
    /// By word: the reads of each chain, in its order.
    readers: Vec<BTreeMap<u32, Vec<(u32, usize)>>>,
    /// By chain: positions of reads, and of writes with their words.
    choices_in: Vec<Vec<(u32, usize)>>,
    writes_in: Vec<Vec<(u32, Word, usize)>>,
    /// By choice, then by row.
    windows: Vec<Vec<Window>>,
    changes: Vec<(usize, usize, Window)>,
    /// Reads that have to be looked at.
    open: Vec<usize>,
    is_open: Vec<bool>,
}

/// A moment to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark(usize);

impl Readings {
    pub(crate) fn of(choices: &Choices, chains: &Chains) -> Readings {
        let count = choices.choices.len();
        let mut readings = Readings {
            words: vec![None; count],
            own: vec![None; count],
            rows: Vec::new(),
            readers: Vec::new(),
            choices_in: vec![Vec::new(); chains.chains.len()],
            writes_in: vec![Vec::new(); chains.chains.len()],
            windows: vec![Vec::new(); count],
            changes: Vec::new(),
            open: (0..count).collect(),
            is_open: vec![true; count],
        };
        let words = readings.find_reads(choices, chains);
        readings.find_writes(choices, chains, &words);
        for choice in 0..count {
            let rows = readings.words[choice].map_or(&[][..], |word| &readings.rows[word]);
            let own = last_own(choices, choice, rows);
            let thread = choices.choices[choice].id.thread;
            let windows = rows.iter().map(|row| match own {
                _ if row.thread != thread => (0, u32::MAX),
                Some(own) => row.only(own),
                None => (0, 0),
            });
            readings.windows[choice] = windows.collect();
            readings.own[choice] = own;
        }
        readings
    }

    fn find_reads(&mut self, choices: &Choices, chains: &Chains) -> BTreeMap<u64, Word> {
        let mut words = BTreeMap::new();
        for (number, choice) in choices.choices.iter().enumerate() {
            let node = chains.node(chains.event(choice.id));
            let position = node.position as u32;
            self.choices_in[node.chain].push((position, number));
            let Some(address) = choice.address.known() else {
                continue;
            };
            let next = words.len();
            let first = address as u64 + u64::from(choice.offset);
            let word = *words.entry(first).or_insert(next);
            if word == next {
                self.readers.push(BTreeMap::new());
                self.rows.push(Vec::new());
            }
            self.words[number] = Some(word);
            let readers = self.readers[word].entry(node.chain as u32).or_default();
            readers.push((position, number));
        }
        words
    }

    fn find_writes(&mut self, choices: &Choices, chains: &Chains, words: &BTreeMap<u64, Word>) {
        for (number, write) in choices.writes.iter().enumerate() {
            let Some(address) = write.address.known() else {
                continue;
            };
            let node = chains.node(chains.visible(write.id));
            let (chain, position) = (node.chain as u32, node.position as u32);
            let start = address as u64;
            for (_, word) in words.range(start..start + u64::from(write.size)) {
                self.writes_in[node.chain].push((position, *word, number));
                let rows = &mut self.rows[*word];
                let same = rows.iter_mut().find(|row| row.chain == chain);
                match same {
                    Some(row) => row.writes.push((position, number)),
                    None => rows.push(Row {
                        chain,
                        thread: write.id.thread,
                        writes: vec![(position, number)],
                    }),
                }
            }
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.changes.len())
    }

    pub(crate) fn go_back(&mut self, mark: Mark) {
        for (choice, row, window) in self.changes.split_off(mark.0).into_iter().rev() {
            self.windows[choice][row] = window;
        }
        for choice in self.open.drain(..) {
            self.is_open[choice] = false;
        }
    }

    /// A read has to be looked at.
    pub(crate) fn open(&mut self, choice: usize) {
        if !std::mem::replace(&mut self.is_open[choice], true) {
            self.open.push(choice);
        }
    }

    /// The next read to look at.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let choice = self.open.pop()?;
        self.is_open[choice] = false;
        Some(choice)
    }

    /// All writes of third threads to the word of a read: none of them comes between it and
    /// the write that it gets.
    pub(crate) fn thirds<'a>(
        &'a self,
        choices: &'a Choices,
        choice: usize,
        chosen: Option<usize>,
    ) -> impl Iterator<Item = usize> + 'a {
        let reader = choices.choices[choice].id.thread;
        let writer = chosen.map(|write| choices.writes[write].id.thread);
        let third = move |row: &&Row| row.thread != reader && Some(row.thread) != writer;
        let rows = self.words[choice].map(|word| &self.rows[word]);
        let rows = rows.into_iter().flatten().filter(third);
        rows.flat_map(|row| row.writes.iter().map(|write| write.1))
    }

    /// Something has come before something: the reads for which that matters. `takers`
    /// tells who gets a write.
    pub(crate) fn notice(&mut self, graph: &Graph, fresh: &Fresh, takers: &[Vec<usize>]) {
        let in_chain = |all: &[(u32, usize)], from: u32, until: u32| -> Vec<usize> {
            let index = |position| all.partition_point(|one| one.0 < position);
            let end = index(until);
            all[index(from).min(end)..end]
                .iter()
                .map(|one| one.1)
                .collect()
        };
        let (from, to) = (fresh.from, fresh.to);
        let behind = &self.choices_in[to.chain as usize];
        let mut concerned = in_chain(behind, to.position, fresh.until);
        let before = &self.choices_in[from.chain as usize];
        concerned.extend(in_chain(before, fresh.since, from.position + 1));
        let writes = &self.writes_in[from.chain as usize];
        let end = writes.partition_point(|write| write.0 <= from.position);
        let start = writes.partition_point(|write| write.0 < fresh.since);
        let mut seen = BTreeSet::new();
        for (position, word, write) in writes[start..end].iter().rev() {
            if seen.insert(*word) {
                concerned.extend(takers[*write].iter());
                let place = from.at(*position);
                self.who_sees_both(graph, *word, place, to, &mut concerned);
            }
        }
        concerned.into_iter().for_each(|choice| self.open(choice));
    }

    /// The reads that come behind the first write to a word from a node on, and to which
    /// an earlier write is left that comes before that node.
    fn who_sees_both(
        &self,
        graph: &Graph,
        word: Word,
        earlier: Place,
        from: Place,
        concerned: &mut Vec<usize>,
    ) {
        let rows = &self.rows[word];
        let row_of = |chain: u32| rows.iter().position(|row| row.chain == chain);
        let Some(row) = row_of(earlier.chain) else {
            return;
        };
        let later = row_of(from.chain).and_then(|row| rows[row].from(from.position));
        let Some((later, _)) = later else {
            return;
        };
        for (chain, readers) in &self.readers[word] {
            let start = match *chain == from.chain {
                true => Some(later + 1),
                false => graph
                    .closure
                    .earliest(from.at(later), *chain)
                    .map(|it| it.0.position),
            };
            let Some(start) = start else {
                continue;
            };
            let first = readers.partition_point(|reader| reader.0 < start);
            let open = readers[first..].iter().map(|reader| reader.1);
            concerned
                .extend(open.take_while(|choice| self.windows[*choice][row].0 <= earlier.position));
        }
    }

    /// What follows for a read; `chosen` is what it gets, if that is decided.
    pub(crate) fn examine(
        &mut self,
        graph: &Graph,
        choices: &Choices,
        chains: &Chains,
        choice: usize,
        chosen: Option<Option<usize>>,
    ) -> Vec<Finding> {
        let Some(word) = self.words[choice] else {
            return Vec::new();
        };
        let node = chains.event(choices.choices[choice].id);
        let read = graph.place(node);
        let rows = &self.rows[word];
        let known: Vec<Option<Known>> = (0..rows.len())
            .map(|row| self.known(graph, choices, chains, choice, read, &rows[row]))
            .collect();
        let mut findings = Vec::new();
        if let Some(taken) = chosen {
            let visible = |write: usize| chains.visible(choices.writes[write].id);
            let thread = choices.choices[choice].id.thread;
            for (row, known) in rows.iter().zip(&known) {
                if let (Some((place, way)), Some(taken)) = (known, taken)
                    && let Some((_, write)) = row.up_to(place.position)
                    && write != taken
                {
                    findings.push(Finding::Edge(visible(write), visible(taken), *way));
                }
                if row.thread != thread {
                    let place = taken.map(|taken| graph.place(visible(taken)));
                    findings.extend(
                        next(graph, row, place)
                            .map(|(write, way)| Finding::Edge(node, visible(write), way)),
                    );
                }
            }
        }
        let thread = choices.choices[choice].id.thread;
        self.narrow(graph, choice, (read, thread), &known, &mut findings);
        let no_other = self.no_other(graph, choices, choice, read, &known);
        findings.extend(no_other.map(Finding::NoOther));
        findings
    }

    /// The last write of a row that comes before a read.
    fn known(
        &self,
        graph: &Graph,
        choices: &Choices,
        chains: &Chains,
        choice: usize,
        read: Place,
        row: &Row,
    ) -> Option<Known> {
        let own = self.own[choice].map(|own| graph.place(chains.visible(choices.writes[own].id)));
        let own = own
            .filter(|own| own.chain == row.chain)
            .map(|own| (own, None));
        if row.chain == read.chain {
            return own;
        }
        let reached = graph.closure.latest(row.chain, read);
        let other = reached.and_then(|(source, jump)| {
            let (position, _) = row.up_to(source.position)?;
            let from = source.at(position);
            let (to, by) = (read, Some(jump));
            Some((from, Some(Way { from, to, by })))
        });
        match (own, other) {
            (Some(own), Some(other)) if own.0 < other.0 => Some(other),
            (own, other) => own.or(other),
        }
    }

    /// Takes from a read what cannot be left to it.
    fn narrow(
        &mut self,
        graph: &Graph,
        choice: usize,
        (read, thread): (Place, usize),
        known: &[Option<Known>],
        findings: &mut Vec<Finding>,
    ) {
        let Some(word) = self.words[choice] else {
            return;
        };
        if let Some((_, way)) = known.iter().flatten().next() {
            findings.push(Finding::Not(None, [*way, None]));
        }
        for (number, row) in self.rows[word].iter().enumerate() {
            let window = self.windows[choice][number];
            let ends = Ends::of(graph, row, (read, thread), known);
            let (low, high) = (window.0.max(ends.low), window.1.min(ends.high));
            let late = row.between(high.max(low), window.1);
            let out = row.between(window.0, low).iter().chain(late);
            findings.extend(out.map(|(position, write)| {
                Finding::Not(Some(*write), ends.ways(read, row.chain, *position))
            }));
            if (low, high) != window {
                self.changes.push((choice, number, window));
                self.windows[choice][number] = (low, high);
            }
        }
    }

    /// The ways because of which a read gets none but the listed writes, if that is so.
    fn no_other(
        &self,
        graph: &Graph,
        choices: &Choices,
        choice: usize,
        read: Place,
        known: &[Option<Known>],
    ) -> Option<Vec<Way>> {
        let what = &choices.choices[choice];
        if !what.open || what.vague {
            return None;
        }
        let mut ways = Vec::new();
        if self.own[choice].is_none() && !what.candidates.contains(&None) {
            ways.extend(known.iter().flatten().next()?.1);
        }
        let rows = &self.rows[self.words[choice]?];
        for (row, (low, high)) in rows.iter().zip(&self.windows[choice]) {
            let left = row.between(*low, *high);
            let is_listed = |(_, write): &(u32, usize)| what.candidates.contains(&Some(*write));
            if left.len() > what.candidates.len() || !left.iter().all(is_listed) {
                return None;
            }
            let ends = Ends::of(graph, row, (read, what.id.thread), known);
            let below = low.checked_sub(1).and_then(|last| row.up_to(last));
            for (position, _) in below.into_iter().chain(row.from(*high)) {
                ways.extend(ends.ways(read, row.chain, position).into_iter().flatten());
            }
        }
        Some(ways)
    }

    /// Whether a write is left to a read, as far as the order tells.
    pub(crate) fn is_left(
        &self,
        choices: &Choices,
        chains: &Chains,
        choice: usize,
        write: usize,
    ) -> bool {
        let node = chains.node(chains.visible(choices.writes[write].id));
        let rows = self.words[choice].map_or(&[][..], |word| &self.rows[word]);
        let row = rows.iter().position(|row| row.chain == node.chain as u32);
        row.is_none_or(|row| {
            let (low, high) = self.windows[choice][row];
            (low..high).contains(&(node.position as u32))
        })
    }
}

/// The last write of a read's own thread before it.
fn last_own(choices: &Choices, choice: usize, rows: &[Row]) -> Option<usize> {
    let id = choices.choices[choice].id;
    let own = rows.iter().filter(|row| row.thread == id.thread);
    let writes = own.flat_map(|row| row.writes.iter().map(|write| write.1));
    let before = writes.filter(|write| choices.writes[*write].id < id);
    before.max_by_key(|write| choices.writes[*write].id)
}
