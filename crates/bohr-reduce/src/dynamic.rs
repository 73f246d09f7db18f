//! The dynamic step: fewer switches by running the program again.
//!
//! After Jalbert and Sen, "A Trace Simplification Technique for Effective
//! Debugging of Concurrent Programs", FSE 2010 (Tinertia): change the schedule,
//! run it, keep what still fails. Deviations: an accepted candidate is replaced
//! by what really happened in its run, so that the best schedule is always one
//! that was executed; many segments are moved at once before single ones, as in
//! delta debugging; and fewer preemptions count more than fewer switches.
//!
//! With n segments, a pass costs O(n) experiments once no group of segments can
//! be moved together, and every success makes the schedule cheaper, so the
//! number of passes is bounded by the switches that are removed.

use crate::laboratory::{Failing, Laboratory};
use bohr_event::{PlaceNumber, Schedule, Segment};
use std::collections::HashSet;
use std::ops::Range;

/// One way of changing some neighbouring segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    /// Each thread goes on with what it does in its next segment.
    Advance,
    /// Each thread does it in its next segment, or never if that was its last.
    Delay,
    /// Each thread goes on until it has to wait or ends, seen in the run or not.
    Finish,
}

/// More events than any run has, and few enough to be added up.
const UNTIL_IT_WAITS: u64 = 1 << 40;

/// Makes `best` cheaper until no single move helps or the time is over, and
/// tells how many experiments were made. `best` is the best run so far at any
/// time, also after an error.
///
/// # Errors
/// If the laboratory fails.
pub fn improve<L: Laboratory>(best: &mut Failing, laboratory: &mut L) -> Result<u64, L::Error> {
    let mut tried = HashSet::new();
    let mut group = best.schedule.segments().len() / 2;
    loop {
        let size = group.max(1);
        let better = pass(best, size, laboratory, &mut tried)?;
        if !laboratory.has_time() || size == 1 && !better {
            return Ok(tried.len() as u64);
        }
        // After a success the same size may succeed again.
        group = if better { size } else { size / 2 };
    }
}

/// Tries to move every group of `size` segments; whether any move helped.
fn pass<L: Laboratory>(
    best: &mut Failing,
    size: usize,
    laboratory: &mut L,
    tried: &mut HashSet<Schedule<PlaceNumber>>,
) -> Result<bool, L::Error> {
    let mut helped = false;
    let mut start = 0;
    while start < best.schedule.segments().len() {
        let mut moved = false;
        for way in [Move::Advance, Move::Finish, Move::Delay] {
            let end = (start + size).min(best.schedule.segments().len());
            let candidate = changed(&best.schedule, start..end, way);
            if candidate.segments().is_empty() || !tried.insert(candidate.clone()) {
                continue;
            }
            if !laboratory.has_time() {
                return Ok(helped);
            }
            if let Some(run) = laboratory.attempt(&candidate)?
                && run.cost < best.cost
            {
                *best = run;
                moved = true;
                break;
            }
        }
        helped |= moved;
        start += if moved { 0 } else { size };
    }
    Ok(helped)
}

/// The schedule after a move. Segments that are joined lose their anchors.
fn changed(
    schedule: &Schedule<PlaceNumber>,
    range: Range<usize>,
    way: Move,
) -> Schedule<PlaceNumber> {
    let mut segments: Vec<Option<Segment<PlaceNumber>>> =
        schedule.segments().iter().cloned().map(Some).collect();
    match way {
        Move::Advance => range.for_each(|position| advance(&mut segments, position)),
        Move::Delay => range
            .rev()
            .for_each(|position| delay(&mut segments, position)),
        Move::Finish => range.for_each(|position| finish(&mut segments, position)),
    }
    let mut result: Schedule<PlaceNumber> = segments.into_iter().flatten().collect();
    for choice in schedule.choices() {
        result.choose(choice.clone());
    }
    result
}

/// The next segment of the same thread.
fn next_of(segments: &[Option<Segment<PlaceNumber>>], position: usize) -> Option<usize> {
    let thread = &segments[position].as_ref()?.thread;
    let same = |other: &Option<Segment<PlaceNumber>>| {
        other.as_ref().is_some_and(|other| other.thread == *thread)
    };
    let behind = segments[position + 1..].iter().position(same)?;
    Some(position + 1 + behind)
}

fn advance(segments: &mut [Option<Segment<PlaceNumber>>], position: usize) {
    if let Some(next) = next_of(segments, position)
        && let Some(taken) = segments[next].take()
        && let Some(segment) = &mut segments[position]
    {
        segment.events += taken.events;
        segment.end = None;
    }
}

fn delay(segments: &mut [Option<Segment<PlaceNumber>>], position: usize) {
    let next = next_of(segments, position);
    if let Some(taken) = segments[position].take()
        && let Some(next) = next
        && let Some(segment) = &mut segments[next]
    {
        segment.events += taken.events;
        segment.end = None;
    }
}

fn finish(segments: &mut [Option<Segment<PlaceNumber>>], position: usize) {
    while let Some(next) = next_of(segments, position) {
        segments[next] = None;
    }
    if let Some(segment) = &mut segments[position] {
        segment.events = UNTIL_IT_WAITS;
        segment.end = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laboratory::Cost;
    use bohr_event::ThreadPath;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// Threads are numbers; a run is the threads of its events, in order.
    type Events = Vec<u32>;

    fn schedule(events: &[u32]) -> Schedule<PlaceNumber> {
        let one = |&thread: &u32| Segment {
            thread: ThreadPath::MAIN.child(thread),
            events: 1,
            end: None,
        };
        events.iter().map(one).collect()
    }

    fn events(schedule: &Schedule<PlaceNumber>) -> Events {
        let segments = schedule.segments().iter();
        segments
            .flat_map(|segment| {
                let thread = (1..9).find(|&child| segment.thread == ThreadPath::MAIN.child(child));
                vec![thread.unwrap(); segment.events.min(100) as usize]
            })
            .collect()
    }

    /// A program of threads that never wait, with `lengths` events each. It
    /// fails if event `first` of thread 1 comes before `second` of thread 2,
    /// and that before `third` of thread 1.
    struct Threads {
        lengths: [usize; 3],
        needed: [usize; 3],
        experiments: usize,
    }

    impl Threads {
        /// Follows a candidate, then finishes the threads one after the other.
        fn run(&self, candidate: &[u32]) -> Option<Failing> {
            let mut done = [0; 3];
            let mut order = Events::new();
            let rest = (1..4).flat_map(|thread| vec![thread; 100]);
            for thread in candidate.iter().copied().chain(rest) {
                let position = thread as usize - 1;
                if done[position] < self.lengths[position] {
                    done[position] += 1;
                    order.push(thread);
                }
            }
            let nth = |thread: u32, number: usize| {
                let own = order.iter().enumerate().filter(|event| *event.1 == thread);
                own.map(|event| event.0).nth(number).unwrap()
            };
            let [first, second, third] = self.needed;
            let fails = nth(1, first) < nth(2, second) && nth(2, second) < nth(1, third);
            let schedule = schedule(&order[..=nth(1, third)]);
            let cost = self.cost(&schedule);
            fails.then_some(Failing { schedule, cost })
        }

        fn cost(&self, schedule: &Schedule<PlaceNumber>) -> Cost {
            let mut done = [0; 3];
            let mut preemptive = 0;
            for segment in &schedule.segments()[..schedule.segments().len() - 1] {
                let thread = (1..4).find(|&child| segment.thread == ThreadPath::MAIN.child(child));
                let position = thread.unwrap() as usize - 1;
                done[position] += segment.events as usize;
                preemptive += u64::from(done[position] < self.lengths[position]);
            }
            Cost {
                preemptive,
                switches: schedule.switches() as u64,
            }
        }
    }

    impl Laboratory for Threads {
        type Error = Infallible;

        fn attempt(
            &mut self,
            candidate: &Schedule<PlaceNumber>,
        ) -> Result<Option<Failing>, Infallible> {
            self.experiments += 1;
            Ok(self.run(&events(candidate)))
        }

        fn has_time(&self) -> bool {
            self.experiments < 5_000
        }
    }

    proptest! {
        /// Thread 1 has to be interrupted once, and thread 2 can run to its end
        /// then: whatever the noise around it, that much is left.
        #[test]
        fn what_is_not_needed_goes(
            noise in prop::collection::vec(1u32..4, 0..60),
            second in 0usize..20,
            third in 1usize..20,
        ) {
            let mut threads = Threads {
                lengths: [20; 3],
                needed: [third - 1, second, third],
                experiments: 0,
            };
            let Some(mut best) = threads.run(&noise) else { return Ok(()) };
            let Ok(made) = improve(&mut best, &mut threads);
            prop_assert_eq!(made as usize, threads.experiments);
            prop_assert_eq!(best.cost, Cost { preemptive: 1, switches: 2 });
            let executed = events(&best.schedule);
            prop_assert!(threads.run(&executed).is_some(), "the best schedule fails");
        }
    }

    #[test]
    fn moves_join_segments_of_a_thread() {
        let before = schedule(&[1, 2, 1, 3, 2]);
        assert_eq!(
            events(&changed(&before, 0..1, Move::Advance)),
            [1, 1, 2, 3, 2]
        );
        assert_eq!(
            events(&changed(&before, 0..1, Move::Delay)),
            [2, 1, 1, 3, 2]
        );
        assert_eq!(events(&changed(&before, 3..4, Move::Delay)), [1, 2, 1, 2]);
        assert_eq!(
            events(&changed(&before, 0..5, Move::Advance)),
            [1, 1, 2, 2, 3]
        );
    }
}
