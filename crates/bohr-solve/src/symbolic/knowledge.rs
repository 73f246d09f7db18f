//! What one symbolic execution of all threads teaches the next: which words are
//! touched by one thread only or never written, and which reads can give one value
//! only. Order between threads is taken from creations and joins alone.

use super::world::Shared;
use crate::creation::CreationOrder;
use crate::event::{Action, EventId, Problem};
use crate::term::Scalar;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Writes to a word up to which its reads are looked at one by one.
const MOST_WRITES: usize = 64;

/// Values of a read that are kept.
const MOST_VALUES: usize = 8;

/// An access that others may notice.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) thread: usize,
    /// The few addresses that it may be at, if they are known.
    pub(super) places: Option<Vec<u64>>,
    pub(super) size: u32,
    pub(super) writes: bool,
    /// Base and size of the object, if it is known.
    pub(super) object: Option<(u64, u64)>,
}

/// Who touches a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    /// The only thread, if there is only one.
    by: Option<usize>,
    written: bool,
}

/// What is known before an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Knowledge {
    /// Words by address, divided by eight; `None` until the first execution.
    words: Option<HashMap<u64, Word>>,
    /// Somebody writes where nobody knows.
    pub(super) wild: bool,
    /// Wild writes are taken to miss everything, for as long as there are any.
    hopeful: bool,
    /// Threads that read where nobody knows.
    wild_readers: Vec<usize>,
    resolved: HashMap<(usize, u32), Scalar>,
    /// What reads can give, if that is few numbers.
    possible: HashMap<(usize, u32), Vec<u128>>,
    results: BTreeMap<usize, Scalar>,
}

impl Knowledge {
    /// Whether a thread's access of these bytes can be noticed by nobody.
    pub(super) fn is_quiet(&self, thread: usize, address: u64, size: u64, writes: bool) -> bool {
        let Some(words) = self.words.as_ref().filter(|_| self.hopeful || !self.wild) else {
            return false;
        };
        let others_read = !self.hopeful && self.wild_readers.iter().any(|reader| *reader != thread);
        (address >> 3..=(address + size.max(1) - 1) >> 3).all(|word| match words.get(&word) {
            // Of those who touch what nobody knows, some may touch this.
            None => !(self.hopeful && self.wild),
            Some(word) => {
                let alone = word.by == Some(thread) && !others_read;
                alone || !word.written && !writes
            }
        })
    }

    /// The only value that a read can give.
    pub(super) fn resolved(&self, thread: usize, number: u32) -> Option<Scalar> {
        self.resolved.get(&(thread, number)).copied()
    }

    /// Whether what was known before an execution is what it teaches, too.
    pub(super) fn supports(&self, before: &Knowledge) -> bool {
        let same = self.words == before.words && self.results == before.results;
        let known =
            |(read, value): (&(usize, u32), &Scalar)| self.resolved.get(read) == Some(value);
        let few = |(read, values): (&(usize, u32), &Vec<u128>)| {
            let now = self.possible.get(read);
            now.is_some_and(|now| now.iter().all(|value| values.contains(value)))
        };
        same && before.resolved.iter().all(known) && before.possible.iter().all(few)
    }

    /// What is learnt and then not any more is not learnt again: `lost` grows by it.
    pub(super) fn forget(&mut self, before: &Knowledge, lost: &mut HashSet<(usize, u32)>) {
        let is_gone = |(read, value): (&(usize, u32), &Scalar)| {
            (self.resolved.get(read) != Some(value)).then_some(*read)
        };
        lost.extend(before.resolved.iter().filter_map(is_gone));
        self.resolved.retain(|read, _| !lost.contains(read));
    }

    /// The few values that a read can give.
    pub(super) fn possible(&self, thread: usize, number: u32) -> Option<&[u128]> {
        self.possible.get(&(thread, number)).map(Vec::as_slice)
    }

    /// What a thread's routine returned.
    pub(super) fn result(&self, thread: usize) -> Scalar {
        self.results
            .get(&thread)
            .copied()
            .unwrap_or(Scalar::Known(0))
    }
}

/// What an execution teaches. If `hopeful`, writes through pointers of which nothing is
/// known are taken to miss everything; what is learnt so holds if in the end there are
/// no such writes: the first read that gave something else would have to come behind
/// another one that did.
pub(super) fn learn(problem: &Problem, shared: &Shared<'_>, hopeful: bool) -> Knowledge {
    let mut knowledge = Knowledge {
        words: Some(HashMap::new()),
        hopeful,
        // What a routine returns is of use to the next execution if it is a number.
        results: shared
            .results
            .iter()
            .filter(|(_, result)| result.known().is_some())
            .map(|(thread, result)| (*thread, *result))
            .collect(),
        ..Knowledge::default()
    };
    for touch in &shared.touches {
        knowledge.note(touch);
    }
    let order = CreationOrder::of(problem);
    let writes = Writes::of(problem, shared, hopeful);
    let mut read = |id: EventId, origin: (usize, u32), address: u64, size: u32| {
        let first = shared.initial.known(address, size);
        let Some(values) = writes.values(&order, id, address, size, first) else {
            return;
        };
        if let [only] = values[..] {
            knowledge.resolved.insert(origin, Scalar::Known(only));
        }
        knowledge.possible.insert(origin, values);
    };
    for (id, event) in problem.events() {
        let Action::Access { reads, .. } = &event.action else {
            continue;
        };
        for piece in reads {
            let Scalar::Known(address) = piece.address else {
                continue;
            };
            if let Some(origin) = shared.origins.get(&piece.read) {
                read(id, *origin, address as u64, piece.size);
            }
        }
    }
    for known in &shared.resolved {
        let id = EventId {
            thread: known.origin.0,
            event: known.event,
        };
        if let Scalar::Known(address) = known.address {
            read(id, known.origin, address as u64, known.size);
        }
    }
    knowledge
}

impl Knowledge {
    fn note(&mut self, touch: &Touch) {
        match (&touch.places, touch.object) {
            (Some(places), _) => {
                for place in places {
                    self.note_range(touch, *place, touch.size.into());
                }
            }
            (None, Some((base, size))) => self.note_range(touch, base, size),
            (None, None) if touch.writes => self.wild = true,
            (None, None) => {
                if !self.wild_readers.contains(&touch.thread) {
                    self.wild_readers.push(touch.thread);
                }
            }
        }
    }

    fn note_range(&mut self, touch: &Touch, start: u64, size: u64) {
        let words = self.words.get_or_insert_default();
        for word in start >> 3..=(start + size.max(1) - 1) >> 3 {
            let known = words.entry(word).or_insert(Word {
                by: Some(touch.thread),
                written: false,
            });
            known.written |= touch.writes;
            if known.by != Some(touch.thread) {
                known.by = None;
            }
        }
    }
}

/// A write of known bytes.
struct Written {
    id: EventId,
    address: u64,
    size: u32,
    value: Scalar,
    /// Whether it is there in any case.
    sure: bool,
}

/// All writes by the words that they touch.
struct Writes {
    all: Vec<Written>,
    by_word: HashMap<u64, Vec<usize>>,
    /// Objects are not told apart here: with one of these, no read is resolved.
    unknown: bool,
    unknown_in: Vec<(u64, u64)>,
}

impl Writes {
    fn of(problem: &Problem, shared: &Shared<'_>, hopeful: bool) -> Writes {
        let mut writes = Writes {
            all: Vec::new(),
            by_word: HashMap::new(),
            unknown: false,
            unknown_in: Vec::new(),
        };
        for (id, event) in problem.events() {
            let Action::Access { writes: pieces, .. } = &event.action else {
                continue;
            };
            for piece in pieces {
                match piece.address {
                    Scalar::Known(address) => writes.add(Written {
                        id,
                        address: address as u64,
                        size: piece.size,
                        value: piece.value,
                        sure: true,
                    }),
                    Scalar::Term(_) => {
                        if let Some(Some(places)) = shared.places.get(&piece.address) {
                            for address in places {
                                writes.add(Written {
                                    id,
                                    address: *address,
                                    size: piece.size,
                                    value: piece.value,
                                    sure: false,
                                });
                            }
                            continue;
                        }
                        match problem.initial.object_of(&problem.terms, piece.address) {
                            Some((base, size)) => writes.unknown_in.push((base, base + size)),
                            None => writes.unknown |= !hopeful,
                        }
                    }
                }
            }
        }
        writes
    }

    fn add(&mut self, written: Written) {
        let end = written.address + u64::from(written.size) - 1;
        for word in written.address >> 3..=end >> 3 {
            self.by_word.entry(word).or_default().push(self.all.len());
        }
        self.all.push(written);
    }

    /// The values that a read can give, whatever the order, if they are few and known.
    fn values(
        &self,
        order: &CreationOrder,
        read: EventId,
        address: u64,
        size: u32,
        initial: Option<Scalar>,
    ) -> Option<Vec<u128>> {
        let end = address + u64::from(size);
        let inside = |range: &(u64, u64)| range.0 < end && address < range.1;
        if self.unknown || self.unknown_in.iter().any(inside) {
            return None;
        }
        let words = (address >> 3..=(end - 1) >> 3).filter_map(|word| self.by_word.get(&word));
        if words.clone().map(Vec::len).sum::<usize>() > MOST_WRITES {
            return None;
        }
        let comes_later = |write: EventId| match write.thread == read.thread {
            true => write.event >= read.event,
            false => order.is_before(read, write),
        };
        let near: HashSet<usize> = words.flatten().copied().collect();
        let near: Vec<&Written> = near
            .into_iter()
            .map(|index| &self.all[index])
            .filter(|write| write.address < end && address < write.address + u64::from(write.size))
            .filter(|write| !comes_later(write.id))
            .collect();
        let covers = |write: &Written| write.address == address && write.size == size;
        let hides = |write: &Written| write.sure && covers(write);
        let over = |first: EventId| {
            let later = |write: &&&Written| {
                hides(write)
                    && order.is_before(first, write.id)
                    && order.is_before_moment(write.id, read)
            };
            near.iter().any(|write| later(&write))
        };
        let begun = near
            .iter()
            .any(|write| hides(write) && order.is_before_moment(write.id, read));
        let mut values = Vec::new();
        if !begun {
            values.push(initial?.known()?);
        }
        for write in near.iter().filter(|write| !over(write.id)) {
            let value = write.value.known().filter(|_| covers(write))?;
            if !values.contains(&value) {
                values.push(value);
            }
        }
        (1..=MOST_VALUES).contains(&values.len()).then(|| {
            values.sort_unstable();
            values
        })
    }
}
