//! Waits that ended by chance: without a signal, or because their time was over though
//! it need not have been. The schedule of a run says that there were some, experiments
//! without each say whether the failure takes it, and the events say which it was.

use crate::experiment::Experimenter;
use crate::moment::Moment;
use bohr_event::control::Recorded;
use bohr_event::{Choice, ChoiceKind, EventKind, Operation, PlaceNumber, Schedule};
use serde::Serialize;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chance {
    /// The end of the wait.
    pub ended: Moment,
    /// Whether its time was over; otherwise nobody had sent a signal.
    pub expired: bool,
}

/// The waits of a failing run that ended by chance and without which it does not fail.
///
/// # Errors
/// If the program cannot be run.
pub fn chances<E: Experimenter>(
    run: &Recorded,
    experimenter: &mut E,
) -> Result<Vec<Chance>, E::Error> {
    let mut found = Vec::new();
    for choice in run.schedule.choices() {
        let expired = match choice.kind {
            ChoiceKind::SpuriousWake => false,
            ChoiceKind::TimeOut => true,
            ChoiceKind::Waiter | ChoiceKind::WeakFailure | ChoiceKind::ShortTransfer => continue,
        };
        let seen = experimenter.observe(&without(&run.schedule, choice))?;
        if seen.fails || seen.run.steps.is_empty() {
            continue;
        }
        let ended = ended(run, &seen.run, choice, expired);
        found.extend(ended.map(|ended| Chance { ended, expired }));
    }
    found.dedup();
    Ok(found)
}

/// The schedule in which one question is answered as usual.
fn without(schedule: &Schedule<PlaceNumber>, left_out: &Choice) -> Schedule<PlaceNumber> {
    let mut result: Schedule<PlaceNumber> = schedule.segments().iter().cloned().collect();
    for choice in schedule.choices().iter().filter(|one| *one != left_out) {
        result.choose(choice.clone());
    }
    result
}

/// The end of the wait that a choice decided: the first of its thread's that is not in
/// the run without it, or else the first.
fn ended(run: &Recorded, other: &Recorded, choice: &Choice, expired: bool) -> Option<Moment> {
    let all: Vec<(usize, &Operation)> = run.events_of(&choice.thread).collect();
    let others: Vec<(usize, &Operation)> = other.events_of(&choice.thread).collect();
    let by_chance = |number: &usize| {
        let (event, operation) = all[*number];
        match expired {
            true => operation.kind == EventKind::Look,
            false => operation.kind == EventKind::Wait && !is_called(run, event),
        }
    };
    let is_new = |number: &usize| {
        let same =
            |one: &Operation, two: &Operation| one.kind == two.kind && one.place == two.place;
        let there = others.get(*number);
        there.is_none_or(|there| !same(there.1, all[*number].1))
    };
    let mut numbers = (0..all.len()).filter(by_chance);
    let first = numbers.clone().next()?;
    let number = numbers.find(is_new).unwrap_or(first);
    Some(Moment::at(run, all[number].0))
}

/// Whether somebody called upon a condition while the thread that wakes here waited on it.
fn is_called(run: &Recorded, woken: usize) -> bool {
    let step = &run.steps[woken];
    let mut before = run.steps[..woken].iter().rev();
    let mut while_it_waited = before.by_ref().take_while(|one| one.thread != step.thread);
    while_it_waited.any(|one| {
        let calls = matches!(one.operation.kind, EventKind::Signal | EventKind::Broadcast);
        calls && one.operation.object == step.operation.object
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Observation;
    use crate::toy::recorded;
    use EventKind::{Look, Release, Signal, Wait, Write};
    use bohr_event::ThreadPath;
    use std::convert::Infallible;

    /// Fails as long as a choice of this kind is in force.
    struct Needs(ChoiceKind, Recorded);

    impl Experimenter for Needs {
        type Error = Infallible;

        fn observe(&mut self, schedule: &Schedule<PlaceNumber>) -> Result<Observation, Infallible> {
            let mut choices = schedule.choices().iter();
            Ok(Observation {
                fails: choices.any(|choice| choice.kind == self.0),
                run: self.1.clone(),
            })
        }
    }

    fn choice(number: u32, kind: ChoiceKind) -> Choice {
        Choice {
            thread: ThreadPath::MAIN.child(1),
            number,
            kind,
            picked: 1,
        }
    }

    #[test]
    fn the_wait_without_a_signal_is_told_and_none_that_does_not_matter() {
        let passing = recorded(&[(0, Write, 0x30, 4), (1, Release, 0x10, 0)]);
        let mut run = recorded(&[
            (1, Release, 0x10, 0),
            (0, Signal, 0x20, 0),
            (1, Wait, 0x20, 0),
            (1, Release, 0x10, 0),
            (1, Wait, 0x20, 0),
        ]);
        run.schedule.choose(choice(0, ChoiceKind::TimeOut));
        run.schedule.choose(choice(1, ChoiceKind::SpuriousWake));
        let mut needs = Needs(ChoiceKind::SpuriousWake, passing.clone());
        let Ok(found) = chances(&run, &mut needs);
        let [
            Chance {
                ended,
                expired: false,
            },
        ] = &found[..]
        else {
            panic!("one wait: {found:?}")
        };
        assert_eq!(ended.position(&run), Some(4));
        let mut needs = Needs(ChoiceKind::WeakFailure, passing);
        let Ok(found) = chances(&recorded(&[(1, Wait, 0x20, 0)]), &mut needs);
        assert_eq!(found, []);
    }

    #[test]
    fn a_time_that_is_over_is_told() {
        let passing = recorded(&[(1, Release, 0x10, 0), (1, Wait, 0x20, 0)]);
        let mut run = recorded(&[(1, Release, 0x10, 0), (1, Look, 0x20, 0)]);
        run.schedule.choose(choice(0, ChoiceKind::TimeOut));
        let Ok(found) = chances(&run, &mut Needs(ChoiceKind::TimeOut, passing));
        assert_eq!(found.len(), 1);
        assert!(found[0].expired);
        assert_eq!(found[0].ended.position(&run), Some(1));
    }
}
