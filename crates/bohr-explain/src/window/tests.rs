//! Windows of a toy program whose atomicity violation is known.

use super::*;
use crate::experiment::Observation;
use bohr_event::{EventKind, MemoryOrder, Operation, ThreadIndex};
use proptest::prelude::*;
use std::convert::Infallible;

/// Events of each thread.
const LENGTH: u64 = 12;

/// Two threads that never wait. Event `opens` and `closes` of the first and event
/// `intrusion` of the second share a variable: the program fails if the third comes
/// in between. Of the others, those with a bit in `noise` write to a second variable
/// of both threads, which does not matter, and the rest to one of their own.
struct Toy {
    noise: u64,
    opens: u64,
    closes: u64,
    intrusion: u64,
}

fn path(thread: u32) -> ThreadPath {
    ThreadPath::MAIN.child(thread + 1)
}

impl Toy {
    fn operation(&self, thread: u32, number: u64) -> Operation {
        let shared = match thread {
            0 => number == self.opens || number == self.closes,
            _ => number == self.intrusion,
        };
        let own = 0x100 + 0x100 * u64::from(thread) + 8 * number;
        Operation {
            kind: EventKind::Write,
            order: MemoryOrder::Plain,
            size: 4,
            object: match self.noise >> number & 1 {
                _ if shared => 0x10,
                1 => 0x20,
                _ => own,
            },
            place: PlaceNumber(own),
        }
    }

    /// Follows a schedule, then finishes the threads in order.
    fn run(&self, schedule: &Schedule<PlaceNumber>) -> Observation {
        let mut done = [0u64; 2];
        let mut steps = Vec::new();
        let wanted = schedule.segments().iter().flat_map(|segment| {
            let thread = u32::from(segment.thread == path(1));
            (0..segment.events.min(LENGTH)).map(move |_| thread)
        });
        let rest = (0..2).flat_map(|thread| (0..LENGTH).map(move |_| thread));
        let mut seen = Vec::new();
        for thread in wanted.chain(rest) {
            let number = &mut done[thread as usize];
            if *number == LENGTH {
                continue;
            }
            let operation = self.operation(thread, *number);
            *number += 1;
            steps.push(Step {
                thread: ThreadIndex(thread),
                operation,
            });
            if operation.object == 0x10 {
                seen.push(thread);
            }
            if seen == [0, 1, 0] {
                break;
            }
        }
        let segments = steps.iter().map(|step| Segment {
            thread: path(step.thread.0),
            events: 1,
            end: None,
        });
        let run = Recorded {
            threads: vec![path(0), path(1)],
            schedule: segments.collect(),
            steps,
            pending: Vec::new(),
        };
        Observation {
            fails: seen == [0, 1, 0],
            run,
        }
    }
}

impl Experimenter for Toy {
    type Error = Infallible;

    fn observe(&mut self, candidate: &Schedule<PlaceNumber>) -> Result<Observation, Infallible> {
        Ok(self.run(candidate))
    }
}

proptest! {
    #[test]
    fn the_edges_are_found_wherever_the_switch_was(
        opens in 0u64..4,
        width in 1u64..5,
        within in 0u64..5,
        intrusion in 0u64..LENGTH,
        more in 0u64..LENGTH,
        noise: u64,
    ) {
        let mut toy = Toy { noise, opens, closes: opens + width, intrusion };
        let switch = opens + 1 + within % width;
        let length = (intrusion + 1 + more).min(LENGTH);
        let segment = |thread, events| Segment { thread: path(thread), events, end: None };
        let schedule = [segment(0, switch), segment(1, length), segment(0, LENGTH)];
        let failing = toy.run(&schedule.into_iter().collect());
        prop_assert!(failing.fails);
        let Ok((found, _)) = windows(&failing.run, &mut toy);
        let window = &found[0];
        prop_assert_eq!(&window.thread, &path(0));
        let number = |moment: &Option<Moment>| moment.as_ref().map(|moment| moment.number);
        prop_assert_eq!(number(&window.opens), Some(opens));
        prop_assert_eq!(number(&window.closes), Some(opens + width));
        prop_assert_eq!(number(&window.intrusion), Some(intrusion));
        prop_assert_eq!(window.width, width);
        let culprit = window.culprit.as_ref().unwrap();
        prop_assert_eq!(culprit.between.number, intrusion);
        prop_assert_eq!(number(&culprit.before), Some(opens));
        prop_assert_eq!(number(&culprit.after), Some(opens + width));
    }
}

#[test]
fn of_many_preemptions_the_last_are_looked_at() {
    let mut toy = Toy {
        noise: 0,
        opens: 1,
        closes: 3,
        intrusion: 1,
    };
    let events: Vec<_> = (0..100)
        .map(|turn| (turn % 2, EventKind::Write, 8 * u64::from(turn), 4))
        .collect();
    let run = crate::toy::recorded(&events);
    let preempted = preemptions(Execution::recorded(&run)).len();
    let Ok((found, others)) = windows(&run, &mut toy);
    assert_eq!((found.len(), others as usize), (MOST, preempted - MOST));
}
