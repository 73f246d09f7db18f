//! Whether two executions of the same events read the same.

use bohr_event::ThreadPath;
use bohr_event::control::Recorded;
use std::collections::HashMap;

/// A run, and what each of its events read or wrote.
type Valued<'a> = (&'a Recorded, &'a [Option<u64>]);

/// Whether every thread reads the same values in both, read for read.
pub fn same_reads(one: Valued<'_>, other: Valued<'_>) -> bool {
    reads(one) == reads(other)
}

/// What each thread reads, in its order.
fn reads((run, values): Valued<'_>) -> HashMap<&ThreadPath, Vec<Option<u64>>> {
    let mut lists: HashMap<&ThreadPath, Vec<Option<u64>>> = HashMap::new();
    for (event, (step, value)) in run.steps.iter().zip(values).enumerate() {
        let kind = step.operation.kind;
        if kind.is_access() && kind != bohr_event::EventKind::Write {
            lists.entry(run.path(event)).or_default().push(*value);
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::control::Step;
    use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};

    fn run(events: &[(u32, EventKind)]) -> Recorded {
        let step = |&(thread, kind): &(u32, EventKind)| Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 4, 0x10, PlaceNumber(1)),
        };
        Recorded {
            threads: vec![ThreadPath::MAIN, ThreadPath::MAIN.child(1)],
            steps: events.iter().map(step).collect(),
            ..Recorded::default()
        }
    }

    #[test]
    fn only_reads_of_the_same_thread_are_compared() {
        use EventKind::{Read, Write};
        let one = run(&[(0, Read), (1, Write), (1, Read)]);
        let other = run(&[(1, Write), (1, Read), (0, Read)]);
        let values = [Some(1), Some(2), Some(3)];
        assert!(same_reads(
            (&one, &values),
            (&other, &[None, Some(3), Some(1)])
        ));
        assert!(!same_reads(
            (&one, &values),
            (&other, &[Some(2), Some(1), Some(3)])
        ));
    }
}
