//! The schedule of what is left (LEAN, section 4): the order of the events that
//! are not left out, as they came in the run before. Turns of threads that are
//! gone stay in it: nobody takes them, and where others took turns with a thread
//! that is gone, there is one more place at which a run that strays is back.
//!
//! An event belongs to a pass through a block if its thread executed it between
//! the start of that pass and the next. Nobody notes where the last pass through
//! a loop ends, so no pass is taken to be much longer than most.

use super::iterations::is_of;
use super::serial::place;
use super::turns::Turns;
use super::{Block, Cut};
use crate::order::as_schedule;
use bohr_event::control::{Omissions, Recorded, Step};
use bohr_event::{PlaceNumber, Schedule, ThreadIndex, ThreadPath};

/// The order of the events of a run that are left after a cut; `None` if there
/// is no moment for a thread that is to be serial. What was left out `before`, in that
/// run, is not in it.
#[must_use]
pub fn project(
    run: &Recorded,
    blocks: &[Block],
    before: &Omissions,
    cut: &Cut,
) -> Option<Schedule<PlaceNumber>> {
    let mut gone = Gone::new(run, blocks, before, &cut.without);
    let steps: Vec<Step> = (0u64..)
        .zip(&run.steps)
        .filter(|(event, step)| !gone.has(*event, step.thread))
        .map(|(_, step)| *step)
        .collect();
    let steps = match cut.serial.is_empty() {
        true => steps,
        false => place(&steps, run, cut)?,
    };
    let mut schedule = as_schedule(&steps, &run.threads);
    for choice in run.schedule.choices() {
        schedule.choose(choice.clone());
    }
    Some(schedule)
}

/// How many events of a run are left after a cut, those of threads that are gone
/// not among them.
#[must_use]
pub fn left(run: &Recorded, blocks: &[Block], before: &Omissions, cut: &Cut) -> u64 {
    let mut gone = Gone::new(run, blocks, before, &cut.without);
    let is_there = |path: &ThreadPath| {
        let mut threads = cut.without.threads.iter();
        !threads.any(|other| path.is_within(other))
    };
    let there: Vec<bool> = run.threads.iter().map(is_there).collect();
    let left = (0u64..)
        .zip(&run.steps)
        .filter(|(event, step)| there[step.thread.position()] && !gone.has(*event, step.thread));
    left.count() as u64
}

/// Which events go.
struct Gone {
    /// By thread.
    passes: Vec<Vec<Passes>>,
}

/// The passes of a thread through one block that are left out.
struct Passes {
    /// Where each begins and ends, ascending.
    ranges: Vec<(u64, u64)>,
    /// The first that is not over yet, and how many events of it went.
    next: usize,
    taken: u64,
    /// Events that a pass has at most.
    most: u64,
}

impl Gone {
    fn new(run: &Recorded, blocks: &[Block], before: &Omissions, omissions: &Omissions) -> Gone {
        let mut passes: Vec<Vec<Passes>> = Vec::new();
        passes.resize_with(run.threads.len(), Vec::new);
        for omitted in &omissions.iterations {
            let block = blocks.iter().find(|block| is_of(omitted, block));
            let thread = run.threads.iter().position(|path| *path == omitted.thread);
            if let (Some(block), Some(thread)) = (block, thread) {
                let mut before = before.iterations.iter();
                let before = before.find(|one| is_of(one, block));
                let goes = |pass| omitted.has(pass) && !before.is_some_and(|one| one.has(pass));
                passes[thread].push(Passes::new(run, block, &goes));
            }
        }
        Gone { passes }
    }

    fn has(&mut self, event: u64, thread: ThreadIndex) -> bool {
        let mut passes = self.passes[thread.position()].iter_mut();
        passes.any(|passes| passes.has(event))
    }
}

impl Passes {
    fn new(run: &Recorded, block: &Block, goes: &dyn Fn(u64) -> bool) -> Passes {
        let end = run.steps.len() as u64;
        let ends = block.starts.iter().skip(1).copied().chain([end]);
        let is_store = block.gate.is_store();
        let end_of = |(start, end): (u64, u64)| match is_store {
            // One event, or none if it was not made.
            true => (start, end.min(start + 1)),
            false => (start, end),
        };
        let ranges = block.starts.iter().copied().zip(ends).map(end_of);
        Passes {
            ranges: { (0u64..).zip(ranges) }
                .filter(|(number, _)| goes(*number))
                .map(|(_, range)| range)
                .collect(),
            next: 0,
            taken: 0,
            most: block.length.saturating_mul(2),
        }
    }

    fn has(&mut self, event: u64) -> bool {
        while self
            .ranges
            .get(self.next)
            .is_some_and(|range| range.1 <= event)
        {
            self.next += 1;
            self.taken = 0;
        }
        let within = self
            .ranges
            .get(self.next)
            .is_some_and(|range| range.0 <= event);
        let has = within && self.taken < self.most;
        self.taken += u64::from(has);
        has
    }
}

/// How many events of its own a thread executes in most passes that begin before
/// these events of a run.
#[must_use]
pub fn usual_length(run: &Recorded, turns: &Turns, starts: &[u64], thread: ThreadIndex) -> u64 {
    let length = |pair: &[u64]| turns.between(thread, pair[0], pair[1]).len() as u64;
    let mut lengths: Vec<u64> = { starts.windows(2) }
        .map(length)
        .filter(|length| *length > 0)
        .collect();
    lengths.sort_unstable();
    // Of a single pass nothing is known but that it is there.
    let all = run.steps.len() as u64;
    lengths.get(lengths.len() / 2).copied().unwrap_or(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::control::{GateReference, OmittedPasses};
    use bohr_event::{EventKind, Operation};

    #[test]
    fn events_of_passes_that_go_leave_the_schedule() {
        let step = |thread, place| Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(EventKind::Read, 4, 8, PlaceNumber(place)),
        };
        // Thread 1 makes three passes of two events each, then leaves the loop.
        let steps = vec![
            step(0, 1),
            step(1, 2),
            step(2, 9),
            step(1, 3),
            step(1, 2),
            step(0, 1),
            step(1, 3),
            step(1, 2),
            step(1, 3),
            step(1, 7),
        ];
        let path = |text: &str| text.parse().unwrap();
        let run = Recorded {
            threads: vec![path("0"), path("0:1"), path("0:2")],
            steps,
            ..Recorded::default()
        };
        let gate = GateReference {
            program: [0; 32],
            number: 3,
        };
        let block = Block {
            gate,
            thread: path("0:1"),
            passes: 3,
            first_child: 0,
            children: 0,
            starts: vec![1, 4, 7],
            length: usual_length(&run, &Turns::of(&run), &[1, 4, 7], ThreadIndex(1)),
            pinned: Vec::new(),
            joins: false,
        };
        let omissions = Omissions {
            threads: vec![path("0:2")],
            iterations: vec![OmittedPasses {
                gate,
                thread: path("0:1"),
                numbers: vec![0, 1],
                beyond: None,
                children: 0,
            }],
            count: false,
        };
        let cut = Cut {
            without: omissions,
            serial: Vec::new(),
        };
        let nothing = Omissions::default();
        let one = std::slice::from_ref(&block);
        assert_eq!(left(&run, one, &nothing, &cut), 5);
        // What was left out before has no events in this run.
        assert_eq!(left(&run, one, &cut.without, &cut), 9);
        let schedule = project(&run, one, &nothing, &cut).expect("nobody is serial");
        let told: Vec<(String, u64)> = { schedule.segments().iter() }
            .map(|segment| (segment.thread.to_string(), segment.events))
            .collect();
        let expected = [("0", 1), ("0:2", 1), ("0", 1), ("0:1", 3)];
        assert_eq!(
            told,
            expected.map(|(path, events)| (path.to_string(), events))
        );
    }
}
