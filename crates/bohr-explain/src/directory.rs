//! Where things are in a long run: the events of each thread, and the events that
//! touch an address. Made once, in O(n log n), so that each question about a
//! million events costs little.

use crate::culprit::overlap;
use crate::moment::Moment;
use bohr_event::control::Recorded;
use bohr_event::{EventKind, Operation, ThreadIndex, ThreadPath};
use std::ops::Range;

/// Bytes that are looked up together.
const WORD: u64 = 8;

/// An operation on more words than this stands in a list of its own.
const MOST_WORDS: u64 = 64;

/// See the module.
pub(crate) struct Directory<'a> {
    pub run: &'a Recorded,
    /// By thread index: positions of its events.
    threads: Vec<Vec<u32>>,
    /// By thread index: the event that created it.
    created: Vec<Option<u32>>,
    /// Words and who touches them, in order.
    words: Vec<(u64, u32)>,
    /// The same without reads: variables that everybody reads have few of these.
    changes: Vec<(u64, u32)>,
    /// Words that several threads touch, in order.
    shared: Vec<u64>,
    /// Who touches a great many.
    wide: Vec<u32>,
}

impl<'a> Directory<'a> {
    /// Of a run of fewer than 2³² events.
    pub fn new(run: &'a Recorded) -> Directory<'a> {
        let mut directory = Directory {
            run,
            threads: vec![Vec::new(); run.threads.len()],
            created: vec![None; run.threads.len()],
            words: Vec::new(),
            changes: Vec::new(),
            shared: Vec::new(),
            wide: Vec::new(),
        };
        for (event, step) in (0u32..).zip(&run.steps) {
            directory.threads[step.thread.position()].push(event);
            let operation = &step.operation;
            if operation.kind == EventKind::Fork
                && let Some(child) = ThreadIndex::from_object(operation.object)
                && let Some(created) = directory.created.get_mut(child.position())
            {
                *created = Some(event);
            }
            let touches = operation.kind.is_access()
                || matches!(operation.kind, EventKind::Free | EventKind::Acquire);
            match words(operation) {
                _ if !touches => {}
                words if words.end - words.start > MOST_WORDS => directory.wide.push(event),
                words => directory.words.extend(words.map(|word| (word, event))),
            }
        }
        directory.words.sort_unstable();
        let kind = |event: u32| run.steps[event as usize].operation.kind;
        let changes = directory.words.iter().copied();
        directory.changes = changes
            .filter(|(_, event)| kind(*event) != EventKind::Read)
            .collect();
        let who = |event: u32| run.steps[event as usize].thread;
        let pairs = directory.words.windows(2);
        let shared =
            pairs.filter(|pair| pair[0].0 == pair[1].0 && who(pair[0].1) != who(pair[1].1));
        directory.shared = shared.map(|pair| pair[0].0).collect();
        directory.shared.dedup();
        directory
    }

    /// Whether another thread than the one of this moment touches the same.
    pub fn is_shared(&self, moment: &Moment) -> bool {
        let words = words(&moment.operation);
        let first = self.shared.partition_point(|word| *word < words.start);
        let by_another = |event: &u32| {
            let event = *event as usize;
            *self.run.path(event) != moment.thread
                && overlap(&self.run.steps[event].operation, &moment.operation)
        };
        self.shared[first..]
            .first()
            .is_some_and(|word| *word < words.end)
            || self.wide.iter().any(by_another)
    }

    /// The event of a thread with this number, if the run came so far.
    pub fn moment(&self, thread: &ThreadPath, number: u64) -> Option<Moment> {
        let index = self.run.threads.iter().position(|path| path == thread)?;
        let event = *self.threads[index].get(number as usize)? as usize;
        Some(Moment {
            thread: thread.clone(),
            number,
            operation: self.run.steps[event].operation,
        })
    }

    /// Whether the thread of an event was created by the thread of this moment, later:
    /// it cannot have come before.
    pub fn is_before_creation(&self, moment: &Moment, event: usize) -> bool {
        let thread = self.run.steps[event].thread;
        let created = self.created[thread.position()].map(|created| created as usize);
        created.is_some_and(|created| {
            *self.run.path(created) == moment.thread && self.at(created).number > moment.number
        })
    }

    /// The event at this position.
    pub fn at(&self, event: usize) -> Moment {
        let step = &self.run.steps[event];
        let own = &self.threads[step.thread.position()];
        let number = own.partition_point(|other| (*other as usize) < event);
        Moment {
            thread: self.run.path(event).clone(),
            number: number as u64,
            operation: step.operation,
        }
    }

    /// Events of the same thread behind this one.
    pub fn behind(&self, event: usize) -> impl Iterator<Item = Moment> {
        let moment = self.at(event);
        let numbers = moment.number + 1..;
        numbers.map_while(move |number| self.moment(&moment.thread, number))
    }

    /// The first event in a range that touches what this operation does, both not only
    /// reading, and is wanted; the last one if `last`.
    pub fn conflicting(
        &self,
        operation: &Operation,
        range: &Range<usize>,
        last: bool,
        wanted: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if range.is_empty() {
            return None;
        }
        let reads = operation.kind == EventKind::Read;
        let kind = |event: usize| self.run.steps[event].operation.kind;
        let wanted = |event: usize| !(reads && kind(event) == EventKind::Read) && wanted(event);
        let words = words(operation);
        if words.end - words.start > MOST_WORDS {
            return pick(range.clone(), last, &wanted);
        }
        let all = if reads { &self.changes } else { &self.words };
        let of_word = |word: u64| {
            let begin = all.partition_point(|it| *it < (word, range.start as u32));
            let here = &all[begin..];
            let end = here.partition_point(|it| *it < (word, range.end as u32));
            pick(here[..end].iter().map(|it| it.1 as usize), last, &wanted)
        };
        let before = |end: usize| self.wide.partition_point(|event| (*event as usize) < end);
        let wide = self.wide[before(range.start)..before(range.end)].iter();
        let found = words.filter_map(of_word);
        let found = found.chain(pick(wide.map(|event| *event as usize), last, &wanted));
        match last {
            true => found.max(),
            false => found.min(),
        }
    }
}

fn pick(
    mut events: impl DoubleEndedIterator<Item = usize>,
    last: bool,
    wanted: &impl Fn(usize) -> bool,
) -> Option<usize> {
    match last {
        true => events.rfind(|event| wanted(*event)),
        false => events.find(|event| wanted(*event)),
    }
}

/// The words that an operation touches.
fn words(operation: &Operation) -> Range<u64> {
    let size = u64::from(operation.size.max(1));
    let last = operation.object.saturating_add(size - 1);
    operation.object / WORD..last / WORD + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{operation, recorded};
    use bohr_event::EventKind::{Acquire, Free, Read, Write};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn everything_is_found_where_it_is(
            events in prop::collection::vec((0u32..3, 0usize..4, 0u64..40, 0u32..700), 1..60),
            wanted in (0usize..2, 0u64..40, 0u32..700),
            ends in (0usize..60, 0usize..60),
            last: bool,
        ) {
            let kind = |(thread, kind, object, size): (u32, usize, u64, u32)| {
                (thread, [Read, Write, Acquire, Free][kind], object, size)
            };
            let events: Vec<_> = events.into_iter().map(kind).collect();
            let run = recorded(&events);
            let directory = Directory::new(&run);
            let range = ends.0.min(events.len())..ends.1.min(events.len());
            let wanted = operation([Read, Write][wanted.0], wanted.1, wanted.2);
            let overlaps = |event: usize| overlap(&wanted, &run.steps[event].operation);
            let reads = |operation: &Operation| operation.kind == Read;
            let conflicts = |event: usize| {
                overlaps(event) && !(reads(&wanted) && reads(&run.steps[event].operation))
            };
            let all: Vec<usize> = range.clone().filter(|event| conflicts(*event)).collect();
            let expected = if last { all.last() } else { all.first() };
            prop_assert_eq!(directory.conflicting(&wanted, &range, last, overlaps), expected.copied());
            for event in 0..events.len() {
                let moment = Moment::at(&run, event);
                prop_assert_eq!(&directory.at(event), &moment);
                prop_assert_eq!(directory.moment(&moment.thread, moment.number), Some(moment));
            }
        }
    }
}
