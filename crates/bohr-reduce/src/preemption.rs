//! Which switches of an order take the processor from a thread that could go
//! on. Those are what a reader has to understand; the others happen in any
//! program whose threads wait for each other. A store buffer interrupts nobody: its
//! steps count as made beside whoever runs.

use crate::beam::run;
use crate::buffers::{Buffers, buffer_owners, waits_for_empty};
use crate::error::SimplifyError;
use crate::footprint::Footprints;
use crate::graph::{Graph, NodeCount};
use crate::laboratory::Cost;
use crate::order::{Chain, Chains, Execution, Order};
use bohr_event::control::Step;
use bohr_event::{EventKind, Operation};
use std::collections::{HashMap, HashSet};

/// What decides whether an operation has to wait.
#[derive(Default)]
struct World {
    /// Locks that somebody has, and how many readers do; 0 is one writer.
    held: HashMap<u64, u32>,
    ended: HashSet<u64>,
    /// Of semaphores: how many more permits are taken than given from here to the end.
    permits: HashMap<u64, i64>,
    /// How many stores of a chain wait in its buffer.
    stored: HashMap<Chain, u64>,
}

/// What the order in which an execution happened costs its reader.
///
/// # Errors
/// If it has more events than positions can count.
pub fn cost(execution: Execution<'_>) -> Result<Cost, SimplifyError> {
    let steps = execution.steps;
    if u32::try_from(steps.len()).is_err() {
        return Err(SimplifyError::TooLong(steps.len() as u64));
    }
    Ok(Cost {
        preemptive: preemptions(execution).len() as u64,
        switches: Order::of(steps).switches(),
    })
}

/// The runs of an execution, in the order in which it happened, that end by
/// taking the processor from a thread which could have gone on.
///
/// # Panics
/// If it has more events than positions can count.
#[must_use]
pub fn preemptions(execution: Execution<'_>) -> Vec<usize> {
    let chains = Chains::new(execution.steps);
    let graph = Graph::new(&chains, &Footprints::new(execution, &chains), false);
    preemptive(execution, &chains, &graph, &Order::of(execution.steps))
}

/// The runs of `order` that end with a switch away from a thread that could go
/// on. One that does nothing more until the end could have gone on with what it
/// was about to do.
pub(crate) fn preemptive(
    execution: Execution<'_>,
    chains: &Chains,
    graph: &Graph,
    order: &Order,
) -> Vec<usize> {
    let steps = execution.steps;
    let buffers = Buffers::new(execution, chains);
    let mut world = World::before(steps);
    let mut progress = Progress::new(chains);
    let mut events = order.events(steps);
    let owners = buffer_owners(execution.threads);
    let mut found = Vec::new();
    for (position, done) in order.runs().iter().enumerate() {
        let mut chain = Chain(0);
        for event in events.by_ref().take(done.events as usize) {
            chain = chains.of[event];
            world.happen(&steps[event].operation, chain, buffers.owner(chain));
        }
        let next = progress.advance(chain, done.events, graph);
        let after = order.runs()[position + 1..].iter();
        let mut after = after.filter(|run| !owners.contains_key(&run.thread));
        let is_switch = buffers.owner(chain).is_none()
            && after.next().is_some_and(|run| run.thread != done.thread);
        let could = || match next {
            Some(event) => {
                let ready = || progress.is_ready(chain, graph);
                !world.waits(&steps[event as usize].operation, chain, ready)
            }
            None => execution.pending.iter().any(|step| {
                step.thread == done.thread && !world.waits(&step.operation, chain, || false)
            }),
        };
        if is_switch && could() {
            found.push(position);
        }
    }
    found
}

impl World {
    /// Before all these steps.
    fn before(steps: &[Step]) -> World {
        let mut world = World::default();
        for operation in steps.iter().map(|step| &step.operation) {
            if let Some(taken) = taken_permits(operation) {
                *world.permits.entry(operation.object).or_default() += taken;
            }
        }
        world
    }

    fn happen(&mut self, operation: &Operation, chain: Chain, owner: Option<Chain>) {
        let object = operation.object;
        if let Some(owner) = owner {
            let stored = self.stored.entry(owner).or_default();
            *stored = stored.saturating_sub(1);
        }
        if let Some(taken) = taken_permits(operation) {
            *self.permits.entry(object).or_default() -= taken;
        }
        match operation.kind {
            EventKind::Store => *self.stored.entry(chain).or_default() += 1,
            EventKind::Acquire => drop(self.held.insert(object, 0)),
            EventKind::AcquireShared => *self.held.entry(object).or_default() += 1,
            EventKind::Release => drop(self.held.remove(&object)),
            EventKind::ReleaseShared => {
                let left = self.held.get_mut(&object).map(|readers| {
                    *readers = readers.saturating_sub(1);
                    *readers
                });
                if left == Some(0) {
                    self.held.remove(&object);
                }
            }
            EventKind::Exit => drop(self.ended.insert(object)),
            EventKind::Fork => drop(self.ended.remove(&object)),
            _ => {}
        }
    }

    /// Whether the operation has to wait now. Of those whose condition no trace
    /// tells, it is taken to: `ready` says whether all that it depends on is over.
    fn waits(&self, operation: &Operation, chain: Chain, ready: impl Fn() -> bool) -> bool {
        let object = operation.object;
        let stored = self.stored.get(&chain).is_some_and(|&stored| stored > 0);
        if stored && waits_for_empty(operation) {
            return true;
        }
        match operation.kind {
            EventKind::Acquire => self.held.contains_key(&object),
            EventKind::AcquireShared => self.held.get(&object) == Some(&0),
            EventKind::Join => !self.ended.contains(&object),
            // What is still taken before anybody gives it was there.
            EventKind::Receive if operation.is_permit() => {
                let left = self.permits.get(&object).copied().unwrap_or(0);
                left <= 0 && !ready()
            }
            EventKind::Wait | EventKind::Receive | EventKind::Depart | EventKind::Sleep => !ready(),
            _ => false,
        }
    }
}

/// How many permits of a semaphore an operation takes, if it takes or gives any.
fn taken_permits(operation: &Operation) -> Option<i64> {
    let taken = if operation.kind == EventKind::Receive {
        1
    } else {
        -1
    };
    operation.is_permit().then_some(taken)
}

/// How far each chain is, in events and in nodes.
struct Progress {
    /// By chain: its events.
    events: Vec<Vec<u32>>,
    done: Vec<usize>,
    nodes: Vec<NodeCount>,
}

impl Progress {
    fn new(chains: &Chains) -> Progress {
        let mut events: Vec<Vec<u32>> = vec![Vec::new(); chains.count()];
        for (event, chain) in (0..).zip(&chains.of) {
            events[chain.position()].push(event);
        }
        Progress {
            events,
            done: vec![0; chains.count()],
            nodes: vec![0; chains.count()],
        }
    }

    /// Goes on with a chain; its next event, if there is one.
    fn advance(&mut self, chain: Chain, events: u64, graph: &Graph) -> Option<u32> {
        let position = chain.position();
        self.done[position] += events as usize;
        let done = self.done[position];
        let node = &mut self.nodes[position];
        while *node < graph.length(chain) && graph.events_before(chain, *node + 1) as usize <= done
        {
            *node += 1;
        }
        self.events[position].get(done).copied()
    }

    fn is_ready(&self, chain: Chain, graph: &Graph) -> bool {
        let node = self.nodes[chain.position()];
        run(graph, &self.nodes, chain, graph.length(chain).min(node + 1)) > node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{PlaceNumber, ThreadIndex};

    fn count(steps: &[Step]) -> u64 {
        cost(Execution::of(steps)).unwrap().preemptive
    }

    #[test]
    fn waiting_for_a_lock_is_no_preemption_and_a_free_lock_is_no_reason_to_wait() {
        use EventKind::*;
        let step = |thread, kind| Step {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 0, 0x10, PlaceNumber(0)),
        };
        let waits = [
            step(0, Acquire),
            step(0, Release),
            step(1, Acquire),
            step(1, Release),
        ];
        assert_eq!(count(&waits), 0);
        let free = [
            step(0, Acquire),
            step(0, Release),
            step(1, Acquire),
            step(1, Release),
            step(0, Acquire),
        ];
        assert_eq!(count(&free), 1);
        let held = [
            step(0, AcquireShared),
            step(1, AcquireShared),
            step(0, ReleaseShared),
            step(1, ReleaseShared),
            step(0, Acquire),
        ];
        // Away from 0 and from 1, who could give their shares back; then from 0,
        // who has to wait for the share of 1.
        assert_eq!(count(&held), 2);
    }

    #[test]
    fn a_thread_that_the_failure_cut_off_was_preempted() {
        use crate::example::step;
        use EventKind::*;
        let steps = [step(0, Acquire, 0x10), step(1, Read, 0x20)];
        let count = |pending: &[Step]| {
            let execution = Execution {
                pending,
                ..Execution::of(&steps)
            };
            cost(execution).unwrap().preemptive
        };
        assert_eq!(count(&[]), 0, "it may have ended");
        assert_eq!(count(&[step(0, Write, 0x20)]), 1);
        assert_eq!(count(&[step(0, Acquire, 0x10)]), 0, "it waits for a lock");
    }

    #[test]
    fn a_permit_that_others_take_later_was_there() {
        use crate::example::step;
        use EventKind::*;
        let permit = |thread, kind, semaphore| {
            let mut step = step(thread, kind, semaphore);
            step.operation.size = 1;
            step
        };
        // Each takes one and wants the other's; the second one has to wait.
        let steps = [permit(0, Receive, 0x10), permit(1, Receive, 0x20)];
        let pending = [permit(0, Receive, 0x20), permit(1, Receive, 0x10)];
        let execution = Execution {
            pending: &pending,
            ..Execution::of(&steps)
        };
        assert_eq!(preemptions(execution), [0]);
        // Nobody takes anything more: there may have been nothing.
        let execution = Execution {
            pending: &[permit(0, Receive, 0x30)],
            ..execution
        };
        assert_eq!(preemptions(execution), []);
    }
}
