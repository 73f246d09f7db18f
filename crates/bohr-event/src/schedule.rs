//! An interleaving as a list of segments: the one form that strategies, solver,
//! reducer, simplifier and breakpoints all emit and that the runtime executes.

use crate::{Place, ThreadPath};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Where a segment ends, in words that survive a change of the program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Anchor {
    /// The place of the segment's last event.
    pub place: Place,
    /// How many events of the segment happened at that place, the last one included.
    pub visits: u32,
}

/// One thread's uninterrupted run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Segment {
    /// Who runs.
    pub thread: ThreadPath,
    /// How many events it executes; at least 1. The switch comes after the last
    /// of them, when the thread announces its next operation, blocks or ends.
    pub events: u64,
    /// The last event's place. Exact replay counts events and checks this;
    /// tolerant replay goes by this and uses the count as a bound. `None` where
    /// nobody knows it yet, as in a schedule that a solver made.
    pub end: Option<Anchor>,
}

/// A whole interleaving. Neighbouring segments belong to different threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Schedule {
    segments: Vec<Segment>,
}

impl Schedule {
    /// Appends a segment; one that continues the last thread is joined to it.
    ///
    /// Joined segments lose the first one's anchor, and with it the visits that
    /// the second one's anchor did not see, so the result has none unless the
    /// second was anchored alone.
    pub fn push(&mut self, segment: Segment) {
        assert!(segment.events > 0, "a segment has at least one event");
        match self.segments.last_mut() {
            Some(last) if last.thread == segment.thread => {
                last.events += segment.events;
                last.end = None;
            }
            _ => self.segments.push(segment),
        }
    }

    /// The segments, in the order in which they run.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// How many events all segments have together.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.segments.iter().map(|segment| segment.events).sum()
    }

    /// How many times the processor passes from one thread to another.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.segments.len().saturating_sub(1)
    }
}

impl FromIterator<Segment> for Schedule {
    fn from_iter<I: IntoIterator<Item = Segment>>(segments: I) -> Schedule {
        let mut schedule = Schedule::default();
        segments
            .into_iter()
            .for_each(|segment| schedule.push(segment));
        schedule
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neighbours_differ_and_no_event_is_lost(runs in prop::collection::vec((1u32..4, 1u64..9), 0..40)) {
            let total: u64 = runs.iter().map(|run| run.1).sum();
            let schedule: Schedule = runs
                .iter()
                .map(|&(child, events)| Segment { thread: ThreadPath::MAIN.child(child), events, end: None })
                .collect();
            prop_assert_eq!(schedule.events(), total);
            prop_assert!(schedule.segments().windows(2).all(|pair| pair[0].thread != pair[1].thread));
        }
    }
}
