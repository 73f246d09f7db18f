//! How often places were visited before a moment: what tells that moment's visit
//! from others of the same place. A visit begins when a thread arrives, and may be
//! long before it goes on.

use bohr_event::control::{Recorded, Step};
use bohr_event::{EventKind, PlaceNumber, ThreadPath};
use bohr_explain::{Explanation, Moment};

/// Visits before a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// Of the moment's own thread.
    pub own: u64,
    /// Of anybody.
    pub all: u64,
}

/// Counts the visits of these places before a moment of an explained run, or of
/// one of the runs that it was compared with.
#[must_use]
pub fn visits_before(explanation: &Explanation, moment: &Moment, places: &[PlaceNumber]) -> Visits {
    let passing = explanation
        .windows
        .iter()
        .filter_map(|window| window.passing.as_ref());
    let mut runs = std::iter::once(&explanation.run).chain(passing);
    let reached = |run: &&Recorded| run.events_of(&moment.thread).count() as u64 >= moment.number;
    let Some(run) = runs.find(reached) else {
        return Visits::default();
    };
    let own_index = run.threads.iter().position(|path| *path == moment.thread);
    // A thread is at a place as soon as it has nothing else to do before.
    let mut came: Vec<usize> = vec![0; run.threads.len()];
    let mut arrivals: Vec<(usize, bool)> = Vec::new();
    let mut own_number = 0;
    let mut own_arrival = None;
    for (event, step) in run.steps.iter().enumerate() {
        let thread = step.thread.position();
        let is_own = Some(thread) == own_index;
        if is_own && own_number == moment.number {
            own_arrival = Some(came[thread]);
        }
        let earlier = is_own && own_number < moment.number;
        if places.contains(&step.operation.place) && (earlier || !is_own) {
            arrivals.push((came[thread], is_own));
        }
        own_number += u64::from(is_own);
        came[thread] = event + 1;
    }
    let own_arrival = own_arrival.or(own_index.map(|index| came[index]));
    let before = |(arrival, is_own): &&(usize, bool)| *is_own || Some(*arrival) < own_arrival;
    Visits {
        own: arrivals.iter().filter(|(_, is_own)| *is_own).count() as u64,
        all: arrivals.iter().filter(before).count() as u64,
    }
}

/// The threads that come by any of these places in an explained run, or in one of those
/// that it was compared with, in the order in which they were created. What a thread does
/// before there are others is left out.
#[must_use]
pub fn comers(explanation: &Explanation, places: &[PlaceNumber]) -> Vec<ThreadPath> {
    let passing = explanation
        .windows
        .iter()
        .filter_map(|window| window.passing.as_ref());
    let mut all: Vec<ThreadPath> = Vec::new();
    for run in std::iter::once(&explanation.run).chain(passing) {
        let is_fork = |step: &Step| step.operation.kind == EventKind::Fork;
        let first = run.steps.iter().position(is_fork).unwrap_or(0);
        let came = run.steps[first..].iter().chain(&run.pending);
        let came = came.filter(|step| places.contains(&step.operation.place));
        let mut threads: Vec<usize> = came.map(|step| step.thread.position()).collect();
        threads.sort_unstable();
        threads.dedup();
        let paths = threads.into_iter().filter_map(|one| run.threads.get(one));
        // A run in which more have come knows more of their order.
        let paths = paths.filter(|path| path.buffer_of().is_none());
        let paths: Vec<ThreadPath> = paths.cloned().collect();
        if paths.len() > all.len() {
            all = paths;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{Operation, ThreadIndex};

    /// One event each, by thread and place.
    fn run(events: &[(u32, u64)]) -> Recorded {
        let step = |(thread, place): &(u32, u64)| Step {
            thread: ThreadIndex(*thread),
            operation: Operation::plain(EventKind::Write, 4, 0x10, PlaceNumber(*place)),
        };
        Recorded {
            threads: vec![ThreadPath::MAIN, ThreadPath::MAIN.child(1)],
            steps: events.iter().map(step).collect(),
            ..Recorded::default()
        }
    }

    #[test]
    fn who_arrives_first_counts_not_who_goes_on_first() {
        // Thread 0 stands at place 7 after its place 5, before thread 1 comes there.
        let run = run(&[(0, 7), (0, 5), (1, 5), (1, 7), (0, 7)]);
        let explanation = Explanation {
            run,
            ..Explanation::default()
        };
        let visits = |event| {
            let moment = Moment::at(&explanation.run, event);
            visits_before(&explanation, &moment, &[PlaceNumber(7)])
        };
        assert_eq!(visits(0), Visits { own: 0, all: 0 });
        assert_eq!(visits(4), Visits { own: 1, all: 1 });
        assert_eq!(visits(3), Visits { own: 0, all: 2 });
    }

    #[test]
    fn who_is_alone_is_not_one_of_those_who_run_the_same_code() {
        let mut run = run(&[(0, 7), (0, 1), (2, 7), (1, 5), (1, 6)]);
        run.threads.push(ThreadPath::MAIN.child(2));
        run.steps[1].operation.kind = EventKind::Fork;
        run.pending = vec![Step {
            thread: ThreadIndex(1),
            operation: Operation::plain(EventKind::Write, 4, 0x10, PlaceNumber(7)),
        }];
        let explanation = Explanation {
            run,
            ..Explanation::default()
        };
        let come = |place| comers(&explanation, &[PlaceNumber(place)]);
        let children = [1, 2].map(|number| ThreadPath::MAIN.child(number));
        assert_eq!(come(7), children, "in the order of their creation");
        assert_eq!(come(5), children[..1]);
    }
}
