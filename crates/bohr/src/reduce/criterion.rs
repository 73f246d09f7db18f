//! Condition II of the redundancy criterion (LEAN, Definition 2): what a run in
//! which threads come one after the other has to show of the failure.

use bohr_event::control::{Omissions, Recorded, Step};
use bohr_event::{EventKind, FailureKind, PlaceNumber, ThreadIndex, ThreadPath};
use bohr_explore::Observed;
use std::collections::{BTreeSet, HashSet};
use std::ops::AddAssign;

/// What condition II asks for.
#[derive(Clone, Debug, Default)]
pub struct Criterion {
    /// The failure comes also when threads run one after the other: condition I
    /// is all that can be asked.
    pub sequential: bool,
    /// Places that a good run has to come by to have evaluated what failed.
    pub evaluated: Vec<PlaceNumber>,
    /// Whether it has to end well, too: where the end is what failed, or where
    /// no place tells.
    pub ends_well: bool,
    /// Who waits for whose end in good runs.
    pub joins: BTreeSet<Join>,
    /// Events of the longest run that was looked at, good or failing.
    pub longest: u64,
}

/// A thread, and one for whose end it waits.
pub type Join = (ThreadPath, ThreadPath);

/// How many candidates were refused, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// No run without what they leave out fails the same way: condition I.
    pub lost: u64,
    /// Threads that come one after the other fail, too: condition II.
    pub sequential: u64,
    /// They do not come by the place of the failure: condition II.
    pub unevaluated: u64,
    /// Somebody goes on without waiting for the end of a thread that is there.
    pub unjoined: u64,
    /// Some replay does not show the failure.
    pub unsteady: u64,
    /// The failing run has more switches than the one that was found.
    pub restless: u64,
}

impl AddAssign for Refusals {
    fn add_assign(&mut self, other: Refusals) {
        self.lost += other.lost;
        self.sequential += other.sequential;
        self.unevaluated += other.unevaluated;
        self.unjoined += other.unjoined;
        self.unsteady += other.unsteady;
        self.restless += other.restless;
    }
}

/// What a run in which threads come one after the other says about a candidate.
pub enum Evaluation {
    /// It evaluates what failed, and that is good.
    Good,
    /// That fails, or the run does where it must not.
    Bad,
    /// It does not come by.
    None,
}

impl Criterion {
    /// Whether everybody in a run waits for those whose end good runs wait for, as far
    /// as they are there. Where what was to be joined is kept in a list that a pass
    /// would have filled, the join goes with that pass, and another program remains.
    pub fn is_joined(&self, observed: &Observed, without: &Omissions) -> bool {
        let Some(run) = observed.run.as_ref().filter(|_| !observed.failed) else {
            return true;
        };
        let made = who_joins(run);
        let is_there = |path: &ThreadPath| {
            let mut gone = without.threads.iter();
            run.threads.contains(path) && !gone.any(|other| path.is_within(other))
        };
        let mut wanted = self.joins.iter();
        wanted.all(|join| made.contains(join) || !is_there(&join.0) || !is_there(&join.1))
    }

    /// What such a run says.
    pub fn judge(&self, observed: &Observed) -> Evaluation {
        let went_on = is_cut_off(observed);
        let Some(run) = &observed.run else {
            // Too long to be kept: it tells how it ended, and no places.
            return match (observed.failed && !went_on, self.ends_well && !went_on) {
                (false, true) => Evaluation::Good,
                (false, false) => Evaluation::None,
                (true, _) => Evaluation::Bad,
            };
        };
        let last = run.steps.last().map(|step| step.operation.place);
        let fails_there = last.is_some_and(|place| self.evaluated.contains(&place));
        let failed = observed.failed && !went_on;
        if observed.same || (failed && (self.ends_well || fails_there)) {
            return Evaluation::Bad;
        }
        if went_on && self.ends_well {
            return Evaluation::None;
        }
        let is_visited =
            |place: &PlaceNumber| run.steps.iter().any(|step| step.operation.place == *place);
        match self.evaluated.iter().all(is_visited) {
            true => Evaluation::Good,
            false => Evaluation::None,
        }
    }
}

/// Who waits for whose end in a run.
pub fn who_joins(run: &Recorded) -> BTreeSet<Join> {
    let path = |thread: ThreadIndex| run.threads.get(thread.position()).cloned();
    let join = |step: &Step| {
        let is_join = step.operation.kind == EventKind::Join;
        let joined = ThreadIndex::from_object(step.operation.object).filter(|_| is_join)?;
        Some((path(step.thread)?, path(joined)?))
    };
    run.steps.iter().filter_map(join).collect()
}

/// Whether a run was ended since it took too long, or too many events: it has not
/// failed, as far as anybody can tell.
pub fn is_cut_off(observed: &Observed) -> bool {
    let mut failure = observed.failure.iter();
    failure.any(|failure| failure.kind.is_endless()) && !observed.same
}

/// The places that a run comes by.
pub fn visited(run: &Recorded) -> HashSet<PlaceNumber> {
    let mut places: Vec<PlaceNumber> = Vec::with_capacity(run.steps.len());
    places.extend(run.steps.iter().map(|step| step.operation.place));
    // Most steps are of a few places that come over and over.
    places.dedup();
    places.sort_unstable();
    places.dedup();
    places.into_iter().collect()
}

/// What a failure is, as far as it matters where good runs come by.
pub struct Failed<'f> {
    pub run: &'f Recorded,
    pub kind: &'f FailureKind,
    /// Whether somebody waits there who is part of the deadlock. Others who wait for a
    /// lock when nobody can go on have nothing to do with it.
    pub is_in_cycle: &'f dyn Fn(PlaceNumber) -> bool,
    /// Whether a place is in code that the program's author wrote.
    pub is_written: &'f dyn Fn(PlaceNumber) -> bool,
}

/// The places that a good run has to come by to have evaluated what failed: the
/// acquisitions of a deadlock's cycle, or the last place of the failing thread that a
/// good run comes by as well; what comes after it happens only to who fails. A
/// wrong exit code or output is evaluated by every run that ends.
pub fn predicate(failed: &Failed<'_>, good: &HashSet<PlaceNumber>) -> Vec<PlaceNumber> {
    match failed.kind {
        FailureKind::Exit { .. } | FailureKind::Output => Vec::new(),
        FailureKind::Deadlock => {
            let acquires = |kind| matches!(kind, EventKind::Acquire | EventKind::AcquireShared);
            let waiting = { failed.run.pending.iter() }.map(|step| step.operation);
            let mut waiting: Vec<PlaceNumber> = { waiting }
                .filter(|operation| acquires(operation.kind) && good.contains(&operation.place))
                .map(|operation| operation.place)
                .collect();
            waiting.sort_unstable();
            waiting.dedup();
            // A cycle may be known by the lines that lead to its locks only.
            if waiting.iter().any(|place| (failed.is_in_cycle)(*place)) {
                waiting.retain(|place| (failed.is_in_cycle)(*place));
            }
            waiting
        }
        FailureKind::Panic | FailureKind::Abort => {
            // Who panics builds and prints a message first, by what good runs use for
            // other things.
            let mut own = visited_last(failed.run, good);
            let written = own.clone().find(|place| (failed.is_written)(*place));
            written.or_else(|| own.next()).into_iter().collect()
        }
        _ => visited_last(failed.run, good).next().into_iter().collect(),
    }
}

/// The places of the thread that failed which good runs come by, the last one first.
fn visited_last<'r>(
    failing: &'r Recorded,
    good: &'r HashSet<PlaceNumber>,
) -> impl Iterator<Item = PlaceNumber> + Clone + 'r {
    let thread = failing.steps.last().map(|step| step.thread);
    let own = failing.steps.iter().rev();
    let own = own.filter(move |step| Some(step.thread) == thread);
    let places = own.map(|step| step.operation.place);
    places.filter(|place| good.contains(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::Operation;
    use bohr_event::control::Failure;

    #[test]
    fn whoever_is_there_is_waited_for() {
        let path = |text: &str| text.parse::<ThreadPath>().expect("a path");
        let run = |joined: &[u32]| Recorded {
            threads: vec![path("0"), path("0:1"), path("0:2")],
            steps: { joined.iter() }
                .map(|&thread| Step {
                    thread: ThreadIndex::MAIN,
                    operation: Operation::plain(
                        EventKind::Join,
                        0,
                        ThreadIndex(thread).object(),
                        PlaceNumber(0),
                    ),
                })
                .collect(),
            ..Recorded::default()
        };
        let criterion = Criterion {
            joins: who_joins(&run(&[1, 2])),
            ..Criterion::default()
        };
        let is_joined = |joined: &[u32], gone: &[&str]| {
            let observed = Observed {
                run: Some(run(joined)),
                ..Observed::default()
            };
            let without = Omissions {
                threads: gone.iter().map(|text| path(text)).collect(),
                ..Omissions::default()
            };
            criterion.is_joined(&observed, &without)
        };
        assert!(is_joined(&[2, 1], &[]));
        assert!(!is_joined(&[2], &[]));
        assert!(is_joined(&[2], &["0:1"]));
        assert!(!is_joined(&[1], &["0:1"]));
    }

    fn step(kind: EventKind, place: u64) -> Step {
        Step {
            thread: ThreadIndex::MAIN,
            operation: Operation::plain(kind, 0, 0, PlaceNumber(place)),
        }
    }

    fn places(numbers: &[u64]) -> Vec<PlaceNumber> {
        numbers.iter().map(|&number| PlaceNumber(number)).collect()
    }

    #[test]
    fn only_those_in_the_cycle_have_to_get_their_locks() {
        let run = Recorded {
            pending: [1, 2, 3, 2]
                .map(|place| step(EventKind::Acquire, place))
                .to_vec(),
            ..Recorded::default()
        };
        let good: HashSet<PlaceNumber> = places(&[1, 2, 3]).into_iter().collect();
        let asked = |cycle: &'static [u64]| {
            let failed = Failed {
                run: &run,
                kind: &FailureKind::Deadlock,
                is_in_cycle: &|place| cycle.contains(&place.0),
                is_written: &|_| true,
            };
            predicate(&failed, &good)
        };
        assert_eq!(asked(&[2, 3]), places(&[2, 3]));
        assert_eq!(asked(&[9]), places(&[1, 2, 3]), "known by other places");
    }

    #[test]
    fn what_a_panic_prints_is_not_what_failed() {
        let run = Recorded {
            // The author reads, then the message is allocated and thrown.
            steps: [10, 11, 20, 21]
                .map(|place| step(EventKind::Read, place))
                .to_vec(),
            ..Recorded::default()
        };
        let asked = |kind: &FailureKind, good: &[u64]| {
            let good: HashSet<PlaceNumber> = places(good).into_iter().collect();
            let failed = Failed {
                run: &run,
                kind,
                is_in_cycle: &|_| false,
                is_written: &|place| place.0 < 20,
            };
            predicate(&failed, &good)
        };
        assert_eq!(asked(&FailureKind::Panic, &[10, 11, 20]), places(&[11]));
        assert_eq!(asked(&FailureKind::Panic, &[20]), places(&[20]));
        // Whoever crashes fails where it is, also in a library.
        assert_eq!(
            asked(&FailureKind::Crash { signal: 11 }, &[10, 20]),
            places(&[20])
        );
    }

    #[test]
    fn a_good_run_that_is_too_long_to_be_kept_tells_its_end() {
        let long = Observed::default();
        let by_end = Criterion {
            ends_well: true,
            ..Criterion::default()
        };
        let by_place = Criterion {
            evaluated: vec![PlaceNumber(1)],
            ..Criterion::default()
        };
        assert!(matches!(by_end.judge(&long), Evaluation::Good));
        assert!(matches!(by_place.judge(&long), Evaluation::None));
        let failed = Observed {
            failed: true,
            ..Observed::default()
        };
        assert!(matches!(by_end.judge(&failed), Evaluation::Bad));
        let slow = Observed {
            failed: true,
            failure: Some(Failure {
                kind: FailureKind::TimeLimit,
                thread: ThreadIndex::MAIN,
                place: None,
                address: 0,
                message: String::new(),
                states: Vec::new(),
            }),
            ..Observed::default()
        };
        assert!(matches!(by_end.judge(&slow), Evaluation::None));
    }
}
