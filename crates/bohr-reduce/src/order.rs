//! An execution as T chains of events, and an order of them as runs of one
//! chain at a time.

use bohr_event::{
    Anchor, ChoiceKind, PlaceNumber, Schedule, Segment, ThreadIndex, ThreadPath,
    control::{Recorded, Step},
};
use std::collections::HashMap;

/// An execution, as far as it got.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution<'a> {
    /// What happened, in order.
    pub steps: &'a [Step],
    /// What threads were about to do when it ended, if anybody knows. One who
    /// waits on a condition for ever must not hear a signal after reordering.
    pub pending: &'a [Step],
    /// Paths by thread index, if anybody knows them: they tell which threads are
    /// store buffers.
    pub threads: &'a [ThreadPath],
    /// Whether waits may have ended without a signal, since somebody let them.
    pub wakes_by_chance: bool,
}

impl<'a> Execution<'a> {
    /// One of which nothing is known but what happened.
    #[must_use]
    pub fn of(steps: &'a [Step]) -> Execution<'a> {
        Execution {
            steps,
            ..Execution::default()
        }
    }

    /// One of which all is known.
    #[must_use]
    pub fn recorded(run: &'a Recorded) -> Execution<'a> {
        Execution {
            steps: &run.steps,
            pending: &run.pending,
            threads: &run.threads,
            wakes_by_chance: { run.schedule.choices().iter() }
                .any(|choice| choice.kind == ChoiceKind::SpuriousWake),
        }
    }
}

/// A chain: the events of one thread index, in program order. Threads that
/// have one index after each other share a chain; they cannot overlap, and the
/// creation of the later one lies between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain(pub u32);

impl Chain {
    /// For use with slices that are kept per chain.
    #[must_use]
    pub fn position(self) -> usize {
        self.0 as usize
    }
}

/// Which event belongs to which chain.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// By chain.
    pub threads: Vec<ThreadIndex>,
    /// By event.
    pub of: Vec<Chain>,
    /// By chain: how many events.
    pub lengths: Vec<u32>,
}

impl Chains {
    /// Chains are numbered in the order of their first events.
    #[must_use]
    pub fn new(steps: &[Step]) -> Chains {
        let mut chains = Chains::default();
        let mut known: HashMap<ThreadIndex, Chain> = HashMap::new();
        let mut last: Option<(ThreadIndex, Chain)> = None;
        chains.of.reserve_exact(steps.len());
        for step in steps {
            let chain = match last {
                Some((thread, chain)) if thread == step.thread => chain,
                _ => *known.entry(step.thread).or_insert_with(|| {
                    chains.threads.push(step.thread);
                    chains.lengths.push(0);
                    Chain(chains.threads.len() as u32 - 1)
                }),
            };
            last = Some((step.thread, chain));
            chains.lengths[chain.position()] += 1;
            chains.of.push(chain);
        }
        chains
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.threads.len()
    }
}

/// Some events of one thread, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Whose.
    pub thread: ThreadIndex,
    /// How many; at least one.
    pub events: u64,
}

/// An order of all events: runs, each of which takes up its thread where the
/// last one left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    runs: Vec<Run>,
}

impl Order {
    /// The order in which the events came.
    #[must_use]
    pub fn of(steps: &[Step]) -> Order {
        let mut order = Order::default();
        steps.iter().for_each(|step| order.push(step.thread, 1));
        order
    }

    /// Appends events of a thread.
    pub fn push(&mut self, thread: ThreadIndex, events: u64) {
        match self.runs.last_mut() {
            Some(run) if run.thread == thread => run.events += events,
            _ => self.runs.push(Run { thread, events }),
        }
    }

    /// The runs, in order; neighbours belong to different threads.
    #[must_use]
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// How often the processor passes from thread to thread.
    #[must_use]
    pub fn switches(&self) -> u64 {
        (self.runs.len() as u64).saturating_sub(1)
    }

    /// The positions in `steps` of the events, in this order. Stops early where
    /// a run has more events than its thread.
    pub fn events<'a>(&'a self, steps: &[Step]) -> impl Iterator<Item = usize> + use<'a> {
        let mut by_thread: HashMap<ThreadIndex, std::vec::IntoIter<u32>> = HashMap::new();
        let mut lists: HashMap<ThreadIndex, Vec<u32>> = HashMap::new();
        for (event, step) in (0..).zip(steps) {
            lists.entry(step.thread).or_default().push(event);
        }
        for (thread, list) in lists {
            by_thread.insert(thread, list.into_iter());
        }
        self.runs.iter().flat_map(move |run| {
            let events = by_thread.get_mut(&run.thread);
            let taken: Vec<u32> = events
                .map(|events| events.take(run.events as usize).collect())
                .unwrap_or_default();
            taken.into_iter().map(|event| event as usize)
        })
    }

    /// The order as a schedule. `path` names the thread that a step belongs to.
    #[must_use]
    pub fn schedule(
        &self,
        steps: &[Step],
        mut path: impl FnMut(usize) -> ThreadPath,
    ) -> Schedule<PlaceNumber> {
        let mut events = self.events(steps);
        let segments = self.runs.iter().map(|run| {
            let run: Vec<usize> = events.by_ref().take(run.events as usize).collect();
            let last = *run.last().expect("a run has at least one event");
            segment(path(last), run.iter().map(|&event| &steps[event]))
        });
        segments.collect()
    }
}

/// The order in which steps came, as a schedule.
pub(crate) fn as_schedule(steps: &[Step], threads: &[ThreadPath]) -> Schedule<PlaceNumber> {
    let runs = steps.chunk_by(|one, next| one.thread == next.thread);
    runs.map(|run| segment(threads[run[0].thread.position()].clone(), run.iter()))
        .collect()
}

/// Events of one thread, one after the other, at least one; it ends where they do.
fn segment<'s>(
    thread: ThreadPath,
    run: impl DoubleEndedIterator<Item = &'s Step> + ExactSizeIterator + Clone,
) -> Segment<PlaceNumber> {
    let place = |step: &Step| step.operation.place;
    let end = run.clone().next_back().map(place);
    Segment {
        thread,
        events: run.len() as u64,
        end: end.map(|end| Anchor {
            place: end,
            visits: run.filter(|step| place(step) == end).count() as u32,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{EventKind, Operation};

    #[test]
    fn an_order_becomes_a_schedule() {
        let step = |thread, place| Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(EventKind::Read, 4, 0, PlaceNumber(place)),
        };
        let steps = [step(0, 5), step(1, 6), step(0, 5), step(1, 7)];
        assert_eq!(Order::of(&steps).switches(), 3);
        let mut order = Order::default();
        order.push(ThreadIndex(0), 2);
        order.push(ThreadIndex(1), 1);
        order.push(ThreadIndex(1), 1);
        assert_eq!(order.events(&steps).collect::<Vec<_>>(), [0, 2, 1, 3]);
        let schedule = order.schedule(&steps, |event| match steps[event].thread.0 {
            0 => ThreadPath::MAIN,
            child => ThreadPath::MAIN.child(child),
        });
        let [first, second] = schedule.segments() else {
            panic!("two segments, not {schedule:?}")
        };
        assert_eq!((first.events, first.end.as_ref().unwrap().visits), (2, 2));
        assert_eq!((second.events, second.end.as_ref().unwrap().visits), (2, 1));
        assert_eq!(second.thread, ThreadPath::MAIN.child(1));
    }
}
