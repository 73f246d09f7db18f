//! Which threads a failure is likely to need: those whose accesses met those of
//! the failing thread last. A guess that saves rounds; what it gets wrong, it
//! costs a few.

use crate::order::Execution;
use bohr_event::{EventKind, ThreadIndex};
use std::collections::{HashMap, HashSet};

/// Bytes that are looked at together.
const GRANULE: u64 = 8;

/// All threads of an execution that fails at its end, the likeliest first: those
/// that wait for locks, who failed, those whose accesses conflict with accesses
/// of the failing thread, the latest conflict first, then the others, the latest
/// event first.
#[must_use]
pub fn suspects(execution: Execution<'_>) -> Vec<ThreadIndex> {
    let Execution { steps, pending, .. } = execution;
    let mut order = Order::default();
    for step in pending {
        if matches!(
            step.operation.kind,
            EventKind::Acquire | EventKind::AcquireShared
        ) {
            order.add(step.thread);
        }
    }
    let Some(failing) = steps.last().map(|step| step.thread) else {
        return order.threads;
    };
    order.add(failing);
    // By granule of the failing thread: whether it writes there.
    let mut touched: HashMap<u64, bool> = HashMap::new();
    for step in steps.iter().rev() {
        let operation = &step.operation;
        if !operation.kind.is_access() {
            continue;
        }
        let (granule, writes) = (operation.object / GRANULE, operation.kind.writes());
        if step.thread == failing {
            *touched.entry(granule).or_default() |= writes;
        } else if touched.get(&granule).is_some_and(|other| *other || writes) {
            order.add(step.thread);
        }
    }
    for step in steps.iter().rev() {
        order.add(step.thread);
    }
    order.threads
}

#[derive(Default)]
struct Order {
    threads: Vec<ThreadIndex>,
    known: HashSet<ThreadIndex>,
}

impl Order {
    fn add(&mut self, thread: ThreadIndex) {
        if self.known.insert(thread) {
            self.threads.push(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::step;

    #[test]
    fn who_met_the_failing_thread_last_comes_right_after_it() {
        use EventKind::{Read, Write};
        let steps = [
            step(0, Write, 0x50),
            step(3, Write, 0x10),
            step(2, Write, 0x10),
            step(4, Read, 0x10),
            step(5, Write, 0x90),
            step(1, Read, 0x10),
        ];
        let order = suspects(Execution::of(&steps));
        assert_eq!(order, [1, 2, 3, 5, 4, 0].map(ThreadIndex));
    }
}
