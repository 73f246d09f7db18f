//! An independent proof that an order respects a trace: no graph, no search,
//! one pass over each. Every thread's events come in program order by the form
//! of an [`Order`]; what is left to compare is the *version* of each variable
//! that each event meets (SimTrace, Definition 5 and Lemmas 2 and 3): the
//! number of writes before it. If each write meets the version it met, writes
//! of a variable come in their order; if each read does, it reads from the same
//! write. Synchronisation operations are writes of their objects, so the orders
//! of locks, forks, joins and signals are compared too.

use crate::footprint::Footprints;
use crate::order::Order;
use bohr_event::{ThreadIndex, control::Step};
use bohr_trace::Sequence;

/// In what an order differs from the trace it was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// A thread has more or fewer events.
    #[error("{found} of {expected} events are there (thread {thread})", thread = thread.0)]
    Events {
        /// Of which thread.
        thread: ThreadIndex,
        /// In the trace.
        expected: u64,
        /// In the order.
        found: u64,
    },
    /// An event meets another version of something it touches.
    #[error("event {event} meets version {found} of something, and met version {expected}")]
    Version {
        /// Which event.
        event: Sequence,
        /// In the trace.
        expected: u32,
        /// In the order.
        found: u32,
    },
}

/// Compares an order with the trace it was made from.
///
/// # Errors
/// The first difference that matters.
pub fn check(steps: &[Step], footprints: &Footprints, order: &Order) -> Result<(), Difference> {
    counts_agree(steps, order)?;
    let (starts, expected) = versions(steps, footprints);
    let mut now = vec![0u32; footprints.variables()];
    for event in order.events(steps) {
        let met = &expected[starts[event] as usize..];
        for (touch, &expected) in footprints.touches(event).zip(met) {
            let found = now[touch.variable.0 as usize];
            if found != expected {
                let event = Sequence(event as u64);
                return Err(Difference::Version {
                    event,
                    expected,
                    found,
                });
            }
        }
        advance(footprints, event, &mut now);
    }
    Ok(())
}

/// Everything an event writes gets its next version. Apart from reading them,
/// since an event can touch a variable twice.
fn advance(footprints: &Footprints, event: usize, now: &mut [u32]) {
    for touch in footprints.touches(event).filter(|touch| touch.writes) {
        now[touch.variable.0 as usize] += 1;
    }
}

fn counts_agree(steps: &[Step], order: &Order) -> Result<(), Difference> {
    let mut counts: Vec<(ThreadIndex, i64, i64)> = Vec::new();
    let mut add = |thread: ThreadIndex, expected: i64, found: i64| match counts
        .iter_mut()
        .find(|count| count.0 == thread)
    {
        Some(count) => {
            count.1 += expected;
            count.2 += found;
        }
        None => counts.push((thread, expected, found)),
    };
    for run in Order::of(steps).runs() {
        add(run.thread, run.events as i64, 0);
    }
    for run in order.runs() {
        add(run.thread, 0, run.events as i64);
    }
    match counts.iter().find(|count| count.1 != count.2) {
        None => Ok(()),
        Some(&(thread, expected, found)) => Err(Difference::Events {
            thread,
            expected: expected as u64,
            found: found as u64,
        }),
    }
}

/// The version of everything that each event touches, as the trace has it: by
/// event the position of its first version, and the versions.
fn versions(steps: &[Step], footprints: &Footprints) -> (Vec<u32>, Vec<u32>) {
    let mut starts = Vec::with_capacity(steps.len());
    let mut met = Vec::with_capacity(steps.len());
    let mut now = vec![0u32; footprints.variables()];
    for event in 0..steps.len() {
        starts.push(met.len() as u32);
        met.extend(
            footprints
                .touches(event)
                .map(|touch| now[touch.variable.0 as usize]),
        );
        advance(footprints, event, &mut now);
    }
    (starts, met)
}
