//! What had to come before the end of a run. Whatever else has happened by then, has
//! happened by chance: the same failure comes without it, by fewer events.

use crate::order::{Chains, Execution, as_schedule};
use crate::reversals::{MOST_NUMBERS, Run};
use bohr_event::control::Step;
use bohr_event::{EventKind, PlaceNumber, Schedule};

/// The schedule of a run that fails at its end, by its last event or by what threads
/// wait for, without all that does not come before that in every run of its class;
/// `None` if that is nothing, or too much to look at.
#[must_use]
pub fn past(execution: Execution<'_>) -> Option<Schedule<PlaceNumber>> {
    let has_buffers = { execution.threads.iter() }.any(|path| path.buffer_of().is_some());
    let all = [execution.steps, execution.pending].concat();
    let chains = Chains::new(&all);
    if has_buffers || all.len().saturating_mul(chains.count()) > MOST_NUMBERS {
        return None;
    }
    let happened = execution.steps.len();
    let run = Run::new(execution, all, chains, true);
    let waits = |step: &Step| {
        use EventKind::{Acquire, AcquireShared, Wait};
        matches!(step.operation.kind, Acquire | AcquireShared | Wait)
    };
    let waiting = { execution.pending.iter().enumerate() }
        .filter(|(_, step)| waits(step))
        .map(|(position, _)| happened + position);
    let ends: Vec<usize> = happened.checked_sub(1).into_iter().chain(waiting).collect();
    let is_needed = |event: &usize| ends.iter().any(|&end| run.precedes(*event, end));
    let needed: Vec<Step> = { 0..happened }
        .filter(is_needed)
        .map(|event| execution.steps[event])
        .collect();
    (needed.len() < happened).then(|| as_schedule(&needed, execution.threads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::step;
    use EventKind::{Acquire, Read, Write};

    fn lengths(steps: &[Step], pending: &[Step]) -> Option<Vec<(String, u64)>> {
        let threads = ["0", "0:1", "0:2"].map(|path| path.parse().expect("a path"));
        let past = past(Execution {
            pending,
            threads: &threads,
            ..Execution::of(steps)
        })?;
        let told = { past.segments().iter() }.map(|one| (one.thread.to_string(), one.events));
        Some(told.collect())
    }

    #[test]
    fn what_the_end_does_not_depend_on_goes() {
        let steps = [
            step(0, Write, 0x50),
            step(1, Write, 0x10),
            step(2, Write, 0x20),
            step(1, Write, 0x30),
            step(0, Read, 0x10),
        ];
        let expected = [("0", 1), ("0:1", 1), ("0", 1)];
        let expected = expected.map(|(path, events)| (path.to_string(), events));
        assert_eq!(lengths(&steps, &[]), Some(expected.to_vec()));
        assert_eq!(
            lengths(&steps[..2], &[]),
            Some(vec![("0:1".to_string(), 1)])
        );
        assert_eq!(lengths(&steps[1..2], &[]), None);
    }

    #[test]
    fn what_waits_for_ever_stays() {
        let steps = [step(1, Acquire, 0x50), step(0, Acquire, 0x60)];
        assert_eq!(
            lengths(&steps, &[]),
            Some(vec![("0".to_string(), 1)]),
            "nobody else waits"
        );
        let waiting = [step(0, Acquire, 0x50), step(1, Acquire, 0x60)];
        assert_eq!(lengths(&steps, &waiting), None);
    }
}
