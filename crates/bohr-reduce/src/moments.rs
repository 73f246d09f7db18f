//! Moments of a run at which it can matter who goes on: before an event that
//! touches what other threads touch, and where somebody writes it. Interrupting a
//! thread anywhere else is the same as interrupting it before its next such event.

use crate::footprint::Footprints;
use crate::order::{Chain, Chains, Execution, Order};
use crate::preemption::preemptions;
use bohr_event::{PlaceNumber, ThreadIndex, ThreadPath};
use std::collections::{HashMap, HashSet};

/// Before an event of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Moment {
    thread: ThreadIndex,
    /// Events of the thread before it.
    events: u64,
    /// Where the event is.
    place: PlaceNumber,
}

/// How many moments before and after one are near it.
const NEAR: usize = 4;

/// Who touches a variable, and whether that is ever written.
#[derive(Clone, Copy, Default)]
struct Use {
    first: Option<Chain>,
    several: bool,
    written: bool,
}

/// A thread, by its place among those that are named, and how many of its own events
/// it has executed.
pub type Numbered = (u32, u64);

/// Moments of a failing run, for whoever draws some of them to fail the same way with
/// fewer preemptions. Three lists, the likelier the shorter; any may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Likely {
    /// Whose they are.
    pub threads: Vec<ThreadPath>,
    /// At the places where the run has its own.
    pub like: Vec<Numbered>,
    /// Around those.
    pub around: Vec<Numbered>,
    /// All there are.
    pub all: Vec<Numbered>,
}

impl Likely {
    /// Threads that meet others elsewhere come to a place after another number of
    /// events, which `others` tell: good runs of the same program.
    #[must_use]
    pub fn of(failing: Execution<'_>, others: &[Execution<'_>]) -> Likely {
        let mut sorted = moments(failing);
        sorted.sort_unstable();
        let own = interrupted(failing).into_iter();
        let own: Vec<usize> = own.filter_map(|one| next_of(&sorted, one)).collect();
        let places: HashSet<PlaceNumber> = own.iter().map(|one| sorted[*one].place).collect();
        let mut names = Names::default();
        let mut likely = Likely::default();
        let around = own.iter().flat_map(|one| near(&sorted, *one));
        likely.around.extend(names.numbered(failing, around));
        likely.add(failing, &sorted, &places, &mut names);
        for other in others {
            likely.add(*other, &moments(*other), &places, &mut names);
        }
        for list in [&mut likely.all, &mut likely.like] {
            list.sort_unstable();
            list.dedup();
        }
        likely.threads = names.paths;
        likely
    }

    /// With those of one execution; those at these places are likely.
    fn add(
        &mut self,
        execution: Execution<'_>,
        moments: &[Moment],
        places: &HashSet<PlaceNumber>,
        names: &mut Names,
    ) {
        self.all.extend(names.numbered(execution, moments));
        let like = { moments.iter() }.filter(|moment| places.contains(&moment.place));
        self.like.extend(names.numbered(execution, like));
    }
}

/// Paths of threads of several executions, and their numbers.
#[derive(Default)]
struct Names {
    paths: Vec<ThreadPath>,
    numbers: HashMap<ThreadPath, u32>,
}

impl Names {
    fn numbered<'m>(
        &mut self,
        execution: Execution<'_>,
        moments: impl IntoIterator<Item = &'m Moment>,
    ) -> Vec<Numbered> {
        let own = execution.threads.iter().map(|path| self.number(path));
        let own: Vec<u32> = own.collect();
        let number = |moment: &Moment| {
            let thread = own.get(moment.thread.position())?;
            Some((*thread, moment.events))
        };
        moments.into_iter().filter_map(number).collect()
    }

    fn number(&mut self, path: &ThreadPath) -> u32 {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        let number = self.paths.len() as u32;
        self.paths.push(path.clone());
        self.numbers.insert(path.clone(), number);
        number
    }
}

/// The first moment of a thread from a number of its events on.
fn next_of(sorted: &[Moment], (thread, events): (ThreadIndex, u64)) -> Option<usize> {
    let at = sorted.partition_point(|one| (one.thread, one.events) < (thread, events));
    (sorted.get(at)?.thread == thread).then_some(at)
}

/// The moments of the same thread right before and after one, and itself.
fn near(sorted: &[Moment], at: usize) -> impl Iterator<Item = &Moment> {
    let nearest = &sorted[at.saturating_sub(NEAR)..(at + NEAR + 1).min(sorted.len())];
    let thread = sorted[at].thread;
    nearest.iter().filter(move |one| one.thread == thread)
}

/// The moments at which an interruption may change something, in the order in which
/// they came; then those before what threads were about to do at last.
fn moments(execution: Execution<'_>) -> Vec<Moment> {
    let chains = Chains::new(execution.steps);
    let footprints = Footprints::new(execution, &chains);
    let mut uses = vec![Use::default(); footprints.variables()];
    for (event, &chain) in chains.of.iter().enumerate() {
        for touch in footprints.touches(event) {
            let one = &mut uses[touch.variable.0 as usize];
            one.several |= *one.first.get_or_insert(chain) != chain;
            one.written |= touch.writes;
        }
    }
    let matters = |event: usize| {
        let mut touches = footprints.touches(event);
        touches.any(|touch| {
            let one = uses[touch.variable.0 as usize];
            one.several && one.written
        })
    };
    let mut executed: HashMap<ThreadIndex, u64> = HashMap::new();
    let mut found = Vec::new();
    for (event, step) in execution.steps.iter().enumerate() {
        let (thread, place) = (step.thread, step.operation.place);
        let events = executed.entry(thread).or_default();
        if matters(event) {
            found.push(Moment {
                thread,
                events: *events,
                place,
            });
        }
        *events += 1;
    }
    found.extend(execution.pending.iter().map(|step| Moment {
        thread: step.thread,
        events: executed.get(&step.thread).copied().unwrap_or(0),
        place: step.operation.place,
    }));
    found
}

/// Where a run takes the processor from a thread that could go on: the thread, and
/// how many events it has executed.
fn interrupted(execution: Execution<'_>) -> Vec<(ThreadIndex, u64)> {
    let preemptive = preemptions(execution);
    let order = Order::of(execution.steps);
    let mut executed = HashMap::new();
    let mut found = Vec::new();
    for (position, run) in order.runs().iter().enumerate() {
        let own = executed.entry(run.thread).or_insert(0);
        *own += run.events;
        if preemptive.binary_search(&position).is_ok() {
            found.push((run.thread, *own));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::step;
    use bohr_event::EventKind::{Read, Write};
    use bohr_event::control::Step;

    fn at(place: u64, step: Step) -> Step {
        let mut step = step;
        step.operation.place = PlaceNumber(place);
        step
    }

    /// What a thread of another run does on its way to the same place.
    fn longer_way() -> Vec<Step> {
        vec![
            at(1, step(0, Write, 0x10)),
            at(9, step(0, Write, 0x10)),
            at(7, step(0, Read, 0x20)),
            at(2, step(0, Write, 0x20)),
            at(4, step(1, Read, 0x20)),
        ]
    }

    #[test]
    fn only_what_others_write_or_see_written_counts() {
        let steps = [
            at(1, step(0, Write, 0x10)),
            at(2, step(0, Write, 0x20)),
            at(3, step(0, Read, 0x30)),
            at(4, step(1, Read, 0x20)),
            at(5, step(1, Read, 0x30)),
            at(6, step(1, Write, 0x40)),
            at(7, step(0, Read, 0x20)),
        ];
        let threads = ["0", "0:1"].map(|path| path.parse().unwrap());
        let pending = [at(8, step(1, Write, 0x20))];
        let execution = Execution {
            pending: &pending,
            threads: &threads,
            ..Execution::of(&steps)
        };
        let found = moments(execution);
        let found: Vec<_> = found.iter().map(|one| (one.thread.0, one.events)).collect();
        assert_eq!(found, [(0, 1), (1, 0), (0, 3), (1, 3)]);
        assert_eq!(
            interrupted(execution),
            [(ThreadIndex(0), 3), (ThreadIndex(1), 3)]
        );
        let other = longer_way();
        let other = Execution {
            threads: &threads,
            ..Execution::of(&other)
        };
        let likely = Likely::of(execution, &[other]);
        assert_eq!(likely.threads, threads);
        // Thread 0 comes by the place of its own after two events, too, elsewhere.
        assert_eq!(likely.all, [(0, 1), (0, 2), (0, 3), (1, 0), (1, 3)]);
        assert_eq!(likely.like, [(0, 2), (0, 3), (1, 3)]);
        let mut around = likely.around;
        around.sort_unstable();
        assert_eq!(around, [(0, 1), (0, 3), (1, 0), (1, 3)]);
    }
}
