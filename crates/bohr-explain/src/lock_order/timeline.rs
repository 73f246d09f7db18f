//! What threads knew of each other at their earlier events: notes of the clocks of
//! `happens_before.rs`, made only where somebody may ask later.

use crate::happens_before::{Clock, HappensBefore};
use bohr_event::ThreadIndex;
use std::collections::HashMap;

/// Words of clocks that are kept, at most: 64 MiB.
const MOST_WORDS: usize = 1 << 24;

/// An event of a thread.
pub type Point = (ThreadIndex, u32);

/// What one thread knew, since which of its events.
#[derive(Default)]
struct Line {
    lessons: Option<u64>,
    clocks: Vec<(u32, Clock)>,
    /// Its own time.
    times: Vec<(u32, u32)>,
}

/// See the module.
#[derive(Default)]
pub struct Timeline {
    lines: HashMap<ThreadIndex, Line>,
    words: usize,
}

impl Timeline {
    /// Notes what a thread knows just before this event.
    pub fn note(&mut self, (thread, event): Point, known: &mut HappensBefore) {
        let line = self.lines.entry(thread).or_default();
        let time = known.of(thread).time(thread);
        if line.times.last().is_none_or(|last| last.1 != time) {
            line.times.push((event, time));
        }
        let lessons = Some(known.lessons(thread));
        if line.lessons != lessons {
            line.lessons = lessons;
            let clock = known.of(thread).clone();
            self.words += clock.len();
            line.clocks.push((event, clock));
        }
    }

    /// Whether so much is kept that nothing more should be.
    pub fn is_full(&self) -> bool {
        self.words > MOST_WORDS
    }

    /// Equal for events of a thread that stand alike to all events of others.
    pub fn stretch(&self, thread: ThreadIndex) -> (usize, usize) {
        let line = self.lines.get(&thread);
        line.map_or((0, 0), |line| (line.clocks.len(), line.times.len()))
    }

    /// Whether one noted event comes before another one of another thread in every run
    /// in which what is no lock orders threads as it did.
    pub fn precedes(&self, one: Point, other: Point) -> bool {
        let (Some(first), Some(second)) = (self.lines.get(&one.0), self.lines.get(&other.0)) else {
            return false;
        };
        let time = at(&first.times, one.1).copied();
        let known = at(&second.clocks, other.1).map(|clock| clock.time(one.0));
        time.is_some_and(|time| known >= Some(time))
    }
}

/// The last note at or before an event.
fn at<T>(notes: &[(u32, T)], event: u32) -> Option<&T> {
    let behind = notes.partition_point(|(noted, _)| *noted <= event);
    Some(&notes[behind.checked_sub(1)?].1)
}
