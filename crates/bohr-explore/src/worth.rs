//! What memory is worth as an explanation: whether threads share it in what the
//! program's author wrote, or only where a library has threads begin and end.

use crate::atlas::Atlas;
use crate::verdict::is_written;
use bohr_event::control::Step;
use bohr_event::{EventKind, PlaceNumber, ThreadIndex};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Where Rust's own library counts owners, and where threads begin and end.
pub(crate) const OWNER_SOURCES: [&str; 2] =
    ["library/alloc/src/sync.rs", "library/std/src/thread/"];

/// Who touched what in a run, taken in event by event.
#[derive(Default)]
pub(crate) struct Touched {
    places: HashMap<PlaceNumber, PlaceWorth>,
    /// The first and the last event of each thread that the author wrote.
    spans: HashMap<ThreadIndex, (usize, usize)>,
    /// By where the touched memory begins.
    touches: HashMap<(u64, ThreadIndex), Touch>,
    /// What the library accesses to begin and end threads, and to count owners.
    bookkeeping: HashSet<u64>,
}

#[derive(Clone, Copy)]
struct PlaceWorth {
    /// Whether the author wrote what is there.
    is_written: bool,
    /// Whether the library keeps book there.
    is_bookkeeping: bool,
}

impl PlaceWorth {
    fn of(atlas: &mut Atlas, place: PlaceNumber) -> PlaceWorth {
        let is_written = is_written(atlas, place);
        let spots = atlas.spots(place);
        let mut lines = spots.iter().filter_map(|spot| spot.line.as_ref());
        PlaceWorth {
            is_written,
            is_bookkeeping: !is_written
                && lines.any(|line| OWNER_SOURCES.iter().any(|part| line.contains(part))),
        }
    }
}

/// What a thread does with memory.
#[derive(Clone, Copy, Default)]
struct Touch {
    /// Bytes, at most.
    size: u32,
    /// The first event that touches it since the first that the author wrote.
    since: Option<usize>,
}

impl Touched {
    /// Takes in an event; events come in their order.
    pub fn take_in(&mut self, atlas: &mut Atlas, event: usize, step: &Step) {
        let operation = &step.operation;
        let place = self.places.entry(operation.place);
        let place = *place.or_insert_with(|| PlaceWorth::of(atlas, operation.place));
        // These are told by the thread's function, whoever wrote the code there.
        let edge = matches!(operation.kind, EventKind::Start | EventKind::Exit);
        if place.is_written && !edge {
            let span = self.spans.entry(step.thread);
            span.or_insert((event, event)).1 = event;
        }
        if place.is_bookkeeping && operation.kind.is_access() {
            self.bookkeeping.insert(operation.object);
        }
        let touch = self.touches.entry((operation.object, step.thread));
        let touch = touch.or_default();
        touch.size = touch.size.max(operation.size);
        if touch.since.is_none() && self.spans.contains_key(&step.thread) {
            touch.since = Some(event);
        }
    }

    /// All addresses that were touched.
    pub fn addresses(&self) -> HashSet<u64> {
        self.touches.keys().map(|(object, _)| *object).collect()
    }

    /// The addresses that are nobody's data: what the library keeps about threads and
    /// owners, and what others touch only before or after all that their author wrote.
    pub fn of_nobody(&self) -> HashSet<u64> {
        let all = Intervals::new(self.touches.iter().map(interval));
        let written = self.touches.iter().filter(|touch| self.is_within(touch));
        let written = Intervals::new(written.map(interval));
        let mut nobodys = self.addresses();
        for touch in self.touches.iter().filter(|touch| self.is_within(touch)) {
            let mine = interval(touch);
            // What nobody else touches in this run, somebody may in another one.
            if written.meet_another(&mine) || !all.meet_another(&mine) {
                nobodys.remove(&touch.0.0);
            }
        }
        nobodys.extend(&self.bookkeeping);
        nobodys
    }

    /// Whether a thread touches something between the first and the last event of its
    /// own that the author wrote: the rest belongs to how threads begin and end.
    fn is_within(&self, (key, touch): &(&(u64, ThreadIndex), &Touch)) -> bool {
        let span = self.spans.get(&key.1);
        let last = span.map(|span| span.1);
        touch.since.is_some_and(|since| Some(since) <= last)
    }
}

type Interval = (Range<u64>, ThreadIndex);

fn interval((&(object, thread), touch): (&(u64, ThreadIndex), &Touch)) -> Interval {
    let end = object.saturating_add(u64::from(touch.size.max(1)));
    (object..end, thread)
}

/// Memory that threads touch, by where it begins.
struct Intervals {
    starts: Vec<u64>,
    /// For each number of intervals from the first on, the largest end among them, and
    /// the largest of other threads than that one's.
    ends: Vec<[(u64, Option<ThreadIndex>); 2]>,
}

impl Intervals {
    fn new(intervals: impl Iterator<Item = Interval>) -> Intervals {
        let mut all: Vec<Interval> = intervals.collect();
        all.sort_unstable_by_key(|(memory, thread)| (memory.start, *thread));
        let mut ends = vec![[(0, None); 2]];
        let mut largest = ends[0];
        for (memory, thread) in &all {
            let new = (memory.end, Some(*thread));
            let [first, second] = largest;
            largest = match (first.1 == new.1, new.0 > first.0) {
                (true, true) => [new, second],
                (false, true) => [new, first],
                (false, false) if new.0 > second.0 => [first, new],
                _ => largest,
            };
            ends.push(largest);
        }
        Intervals {
            starts: all.into_iter().map(|(memory, _)| memory.start).collect(),
            ends,
        }
    }

    /// Whether another thread than this one touches some of its memory.
    fn meet_another(&self, (memory, thread): &Interval) -> bool {
        let before = self.starts.partition_point(|start| *start < memory.end);
        let mut ends = self.ends[before].iter();
        ends.any(|(end, other)| *other != Some(*thread) && *end > memory.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_of_others_are_met_where_they_overlap(
            all in prop::collection::vec((0u64..40, 1u64..12, 0u32..3), 0..20),
            one in (0u64..40, 1u64..12, 0u32..3),
        ) {
            let interval = |&(start, size, thread): &(u64, u64, u32)| {
                (start..start + size, ThreadIndex(thread))
            };
            let overlaps = |other: &(u64, u64, u32)| {
                other.0 < one.0 + one.1 && one.0 < other.0 + other.1 && other.2 != one.2
            };
            let met = Intervals::new(all.iter().map(interval)).meet_another(&interval(&one));
            prop_assert_eq!(met, all.iter().any(overlaps));
        }
    }
}
