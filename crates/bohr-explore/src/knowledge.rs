//! What traces teach about a program: which places really conflict, how long
//! its runs are, and which pairs of conflicting events have been seen next to
//! each other.

use bohr_event::control::Step;
use bohr_event::{EventKind, PlaceNumber, ThreadIndex, ThreadPath};
use bohr_schedule::Profile;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Bytes of memory that are told apart; conflicts within are exact.
const GRAIN: u64 = 8;

/// Grains of one access that are looked at: a copy of megabytes teaches nothing more.
const MOST_GRAINS: u64 = 64;

/// Pairs kept; a hunt that has seen more is not short of coverage.
const MOST_PAIRS: usize = 1 << 20;

/// Two conflicting events of different threads, one right after the other as
/// far as their object is concerned.
pub type Pair = (PlaceNumber, PlaceNumber);

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// Events of the longest run.
    pub length: u64,
    conflicting: BTreeSet<PlaceNumber>,
    /// Of the run with the most, by thread path and place: how often it was there
    /// while it was not alone.
    visits: BTreeMap<ThreadPath, BTreeMap<PlaceNumber, u64>>,
    pairs: HashSet<Pair>,
}

/// What has happened to one grain of memory in one run.
#[derive(Default)]
struct Grain {
    first: Option<ThreadIndex>,
    shared: bool,
    written: bool,
    places: BTreeSet<PlaceNumber>,
    /// The last few accesses: who, where, whether it wrote, first and last byte.
    last: Option<Step>,
}

impl Knowledge {
    /// Takes in one run's trace; `threads` are the paths by index.
    pub fn learn(&mut self, trace: &[Step], threads: &[ThreadPath]) {
        self.length = self.length.max(trace.len() as u64);
        let mut grains = HashMap::<u64, Grain>::new();
        // The last to use each lock, condition and so on.
        let mut objects = HashMap::<u64, Step>::new();
        let mut visits = BTreeMap::<ThreadIndex, BTreeMap<PlaceNumber, u64>>::new();
        let mut alive = 1;
        for step in trace {
            // While a thread is alone, nobody decides anything.
            if alive > 1 {
                let own = visits.entry(step.thread).or_default();
                *own.entry(step.operation.place).or_default() += 1;
            }
            match step.operation.kind {
                EventKind::Fork => alive += 1,
                EventKind::Exit => alive -= 1,
                _ => {}
            }
            if step.operation.kind.is_access() {
                self.touch(&mut grains, step);
            } else if let Some(before) = objects.insert(step.operation.object, *step) {
                self.meet(&before, step);
            }
        }
        for grain in grains
            .into_values()
            .filter(|grain| grain.shared && grain.written)
        {
            self.conflicting.extend(grain.places);
        }
        for (thread, seen) in visits {
            if let Some(path) = threads.get(thread.position()) {
                self.keep_most(path, seen);
            }
        }
    }

    fn touch(&mut self, grains: &mut HashMap<u64, Grain>, step: &Step) {
        let operation = &step.operation;
        let first = operation.object / GRAIN;
        let last = (operation.object + u64::from(operation.size.max(1)) - 1) / GRAIN;
        for number in first..=last.min(first + MOST_GRAINS) {
            let grain = grains.entry(number).or_default();
            let owner = *grain.first.get_or_insert(step.thread);
            grain.shared |= owner != step.thread;
            grain.written |= operation.kind.writes();
            grain.places.insert(operation.place);
            if let Some(before) = grain.last.replace(*step) {
                self.meet(&before, step);
            }
        }
    }

    /// One event comes right after the other as far as their object is concerned.
    fn meet(&mut self, before: &Step, step: &Step) {
        if before.thread != step.thread
            && before.operation.conflicts(&step.operation)
            && self.pairs.len() < MOST_PAIRS
        {
            let places = (before.operation.place, step.operation.place);
            self.pairs.insert(places);
        }
    }

    fn keep_most(&mut self, path: &ThreadPath, seen: BTreeMap<PlaceNumber, u64>) {
        let known = self.visits.entry(path.clone()).or_default();
        for (place, count) in seen {
            let most = known.entry(place).or_default();
            *most = count.max(*most);
        }
    }

    /// Adds what somebody else has seen of pairs.
    pub fn take_pairs(&mut self, other: Knowledge) {
        let room = MOST_PAIRS.saturating_sub(self.pairs.len());
        self.pairs.extend(other.pairs.into_iter().take(room));
    }

    /// Distinct pairs of adjacent conflicting events seen so far.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.pairs.len() as u64
    }

    /// The places of accesses that touched memory which another thread also
    /// touched, one of them writing; sorted.
    #[must_use]
    pub fn conflicting(&self) -> Vec<PlaceNumber> {
        self.conflicting.iter().copied().collect()
    }

    /// What selectively uniform walks need: the conflicting places, and how many
    /// events each thread has there.
    #[must_use]
    pub fn profile(&self) -> Profile {
        let interesting = self.conflicting();
        let count = |visits: &BTreeMap<PlaceNumber, u64>| -> u64 {
            let counted = visits
                .iter()
                .filter(|(place, _)| interesting.is_empty() || self.conflicting.contains(place));
            counted.map(|(_, count)| count).sum()
        };
        let counts = self.visits.iter();
        Profile {
            counts: counts
                .map(|(path, visits)| (path.clone(), count(visits)))
                .collect(),
            interesting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::Operation;

    fn step(thread: u32, kind: EventKind, object: u64, place: u64) -> Step {
        Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 4, object, PlaceNumber(place)),
        }
    }

    #[test]
    fn only_shared_and_written_memory_conflicts() {
        use EventKind::{Fork, Read, Write};
        let trace = [
            step(0, Write, 0x100, 1),
            step(0, Fork, 0, 8),
            step(0, Write, 0x100, 1),
            step(1, Read, 0x100, 2),
            step(0, Read, 0x200, 3),
            step(1, Read, 0x200, 4),
            step(1, Write, 0x300, 5),
            step(1, Read, 0x300, 6),
            step(0, Write, 0x104, 7),
        ];
        let threads = [ThreadPath::MAIN, ThreadPath::MAIN.child(1)];
        let mut knowledge = Knowledge::default();
        knowledge.learn(&trace, &threads);
        // Place 7 shares the grain, not the bytes: conflicting by neighbourhood,
        // which is on the safe side, and no pair.
        let conflicting: Vec<u64> = knowledge
            .conflicting()
            .iter()
            .map(|place| place.0)
            .collect();
        assert_eq!(conflicting, [1, 2, 7]);
        assert_eq!(knowledge.pairs(), 1);
        assert_eq!(knowledge.length, 9);
        let counts: Vec<u64> = knowledge
            .profile()
            .counts
            .iter()
            .map(|entry| entry.1)
            .collect();
        assert_eq!(counts, [2, 1]);
    }
}
