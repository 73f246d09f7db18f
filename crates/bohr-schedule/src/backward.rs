//! Backward: as [sequential](crate::sequential), but the thread that was created
//! last comes first. LEAN's condition II asks for *some* run in which threads
//! come one after the other; where a thread waits for what a later one offers,
//! the order of creation may never come to the place of the failure, and this
//! one does.

use crate::sequential::STUBBORN;
use crate::{Decision, Grant, Strategy, View};
use bohr_event::{ChoiceKind, ThreadIndex, ThreadPath};

/// See the module. Takes no seed: there is one such run.
#[derive(Clone, Debug, Default)]
pub struct Backward;

/// The thread that runs now if it can and is not `tired`, or the last created of
/// the others; spinning threads only if there is no other.
fn next(view: &View<'_>, tired: bool) -> ThreadIndex {
    let current = view.last.map(|last| last.running);
    let others = || view.enabled.iter().rev().copied();
    let stays = current.filter(|&thread| !tired && view.is_enabled(thread));
    let stays = stays.filter(|&thread| !view.spins(thread));
    if let Some(buffer) = view.any_buffer().filter(|_| stays.is_none()) {
        return buffer;
    }
    { stays }
        .into_iter()
        .chain(others().filter(|&thread| Some(thread) != current))
        .find(|&thread| !view.spins(thread))
        .or_else(|| others().find(|&thread| Some(thread) != current))
        .or(current)
        .unwrap_or(ThreadIndex::MAIN)
}

impl Strategy for Backward {
    fn thread_started(&mut self, _: ThreadIndex, _: &ThreadPath) {}

    fn decide(&mut self, view: &View<'_>) -> Decision {
        let tired = view.last.is_some_and(|last| last.events >= STUBBORN);
        Decision::Run(Grant::events(next(view, tired), STUBBORN))
    }

    fn choose(&mut self, _: ThreadIndex, _: ChoiceKind, _: u32) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, crossed_locks, lost_update, run};
    use alloc::string::{String, ToString};
    use alloc::vec::Vec;

    #[test]
    fn nobody_is_preempted_and_the_last_comes_first() {
        let program = lost_update();
        let outcome = run(&program, &mut Backward);
        assert!(matches!(outcome.outcome, Outcome::Ended(_)));
        let schedule = outcome.machine.schedule();
        let order: Vec<String> = schedule
            .segments()
            .iter()
            .map(|segment| segment.thread.to_string())
            .collect();
        assert_eq!(order, ["0", "0:2", "0:1", "0"]);
        assert!(matches!(
            run(&crossed_locks(), &mut Backward).outcome,
            Outcome::Ended(_)
        ));
    }
}
