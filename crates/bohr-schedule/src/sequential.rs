//! Sequential: a thread runs until it blocks or ends, then the next one in the
//! order of creation. The run without preemptions that other runs are compared
//! with (LEAN, condition II: the failure must not show when threads run one
//! after the other).
//!
//! When a thread gives way, whatever it has stored is made visible first, so that
//! with store buffers, too, threads come one after the other.
//!
//! A thread that executes a million events without blocking gives way as well:
//! it may wait in a loop that nobody recognises as spinning.

use crate::{Decision, Grant, Strategy, View};
use bohr_event::{ChoiceKind, ThreadIndex, ThreadPath};

/// Events in a row after which a thread gives way.
pub(crate) const STUBBORN: u64 = 1 << 20;

/// See the module. Takes no seed: there is one sequential run.
#[derive(Clone, Debug, Default)]
pub struct Sequential;

/// The thread that runs now if it can, or the first after it in the order of
/// indices, round and round; spinning threads only if there is no other.
/// Store buffers are emptied before anybody else comes.
pub(crate) fn next_in_turn(view: &View<'_>) -> ThreadIndex {
    let from = view.last.map_or(ThreadIndex::MAIN, |last| last.running);
    let stays = view.is_enabled(from) && !view.spins(from);
    if let Some(buffer) = view.any_buffer().filter(|_| !stays) {
        return buffer;
    }
    let turn = view.enabled.partition_point(|&thread| thread < from);
    let (before, after) = view.enabled.split_at(turn);
    let mut round = after.iter().chain(before).copied();
    let first = round.clone().next().unwrap_or(from);
    // A spinner that has just run goes to the end of the queue, so that
    // spinners that wait for each other all get their turn.
    let others = round.clone().skip(usize::from(first == from));
    round
        .find(|&thread| !view.spins(thread))
        .or_else(|| { others }.next())
        .unwrap_or(first)
}

/// The enabled thread after this one, round and round.
fn following(view: &View<'_>, thread: ThreadIndex) -> ThreadIndex {
    let after = view.enabled.iter().find(|&&other| other > thread);
    *after.unwrap_or(&view.enabled[0])
}

impl Strategy for Sequential {
    fn thread_started(&mut self, _: ThreadIndex, _: &ThreadPath) {}

    fn decide(&mut self, view: &View<'_>) -> Decision {
        let thread = match view.last {
            Some(last) if last.events >= STUBBORN => view
                .any_buffer()
                .unwrap_or_else(|| following(view, last.thread)),
            _ => next_in_turn(view),
        };
        Decision::Run(Grant::events(thread, STUBBORN))
    }

    fn choose(&mut self, _: ThreadIndex, _: ChoiceKind, _: u32) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, crossed_locks, lost_update, run};

    #[test]
    fn nobody_is_preempted() {
        let program = lost_update();
        let outcome = run(&program, &mut Sequential);
        assert!(matches!(outcome.outcome, Outcome::Ended(_)));
        // Main up to its first join, each child, main again.
        assert_eq!(outcome.machine.schedule().segments().len(), 4);
        let crossed = crossed_locks();
        assert!(matches!(
            run(&crossed, &mut Sequential).outcome,
            Outcome::Ended(_)
        ));
    }
}
