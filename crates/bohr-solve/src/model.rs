//! What a memory model makes of the events: nodes in chains. Without store buffers
//! each thread is a chain and each event a node. With them, a store that waits has a
//! second node, its commit, in the chain of its queue: exactly what the runtime
//! simulates and replays.

use crate::check::needs_empty_buffer;
use crate::event::{Action, Buffered, EventId, Problem};
use crate::term::Scalar;
use bohr_event::{MemoryModel, MemoryOrder};
use std::collections::HashMap;

/// A store that waits in its thread's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Store {
    /// It waits behind all before it, whatever their address.
    pub(crate) is_release: bool,
    /// Fences that order stores come between stores of different epochs.
    pub(crate) epoch: u32,
}

/// Bytes that a store buffer takes at once.
pub(crate) const WIDEST: u32 = 64;

/// The stores that wait, under a model.
pub(crate) fn stores(problem: &Problem, model: MemoryModel) -> HashMap<EventId, Store> {
    let mut found = HashMap::new();
    if !model.has_buffers() {
        return found;
    }
    for (thread, acting) in problem.threads.iter().enumerate() {
        let mut epoch = 0;
        for (event, what) in acting.events.iter().enumerate() {
            match &what.action {
                Action::Access {
                    reads,
                    writes,
                    order,
                    buffer: Buffered::Waits,
                } if reads.is_empty() && writes.len() == 1 => {
                    let is_release =
                        matches!(order, MemoryOrder::Release | MemoryOrder::AcquireRelease);
                    found.insert(EventId { thread, event }, Store { is_release, epoch });
                }
                Action::Fence(order) if *order != MemoryOrder::Acquire => epoch += 1,
                _ => {}
            }
        }
    }
    found
}

/// Reads that a store of their own thread in its buffer covers in part: they wait until
/// the last of those is in memory, as on x86.
pub(crate) fn held_up(
    problem: &Problem,
    stores: &HashMap<EventId, Store>,
) -> HashMap<EventId, EventId> {
    let mut found = HashMap::new();
    for thread in 0..problem.threads.len() {
        // By byte: the last store there.
        let mut last: HashMap<u64, EventId> = HashMap::new();
        for (event, what) in problem.threads[thread].events.iter().enumerate() {
            let id = EventId { thread, event };
            let Action::Access { reads, writes, .. } = &what.action else {
                continue;
            };
            if stores.contains_key(&id) {
                last.extend(bytes(&writes[0].address, writes[0].size).map(|byte| (byte, id)));
            } else if !last.is_empty() && !reads.is_empty() {
                let read = reads.iter().flat_map(|one| bytes(&one.address, one.size));
                let covering: Vec<_> = read.map(|byte| last.get(&byte)).collect();
                let latest = covering.iter().flatten().max().copied();
                if let Some(latest) = latest
                    && covering.iter().any(|store| *store != Some(latest))
                {
                    found.insert(id, *latest);
                }
            }
        }
    }
    found
}

/// The bytes of a piece, if it is known where it lies.
fn bytes(address: &Scalar, size: u32) -> impl Iterator<Item = u64> + use<> {
    let start = address.known().map(|address| address as u64);
    start
        .into_iter()
        .flat_map(move |start| start..start + u64::from(size))
}

/// A node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) chain: usize,
    pub(crate) position: usize,
    pub(crate) event: EventId,
    pub(crate) commits: bool,
}

/// The number of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeNumber(pub(crate) usize);

/// All nodes, in chains.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chains {
    pub(crate) nodes: Vec<Node>,
    /// Nodes by chain; those of the threads come first.
    pub(crate) chains: Vec<Vec<NodeNumber>>,
    pub(crate) threads: usize,
    /// By thread and event: both are looked up all the time.
    of_event: Vec<Vec<NodeNumber>>,
    of_commit: Vec<Vec<Option<NodeNumber>>>,
    /// Edges between chains that hold in any case.
    pub(crate) fixed: Vec<(NodeNumber, NodeNumber)>,
    pub(crate) stores: HashMap<EventId, Store>,
}

impl Chains {
    pub(crate) fn of(problem: &Problem, model: MemoryModel) -> Chains {
        let mut chains = Chains {
            threads: problem.threads.len(),
            chains: vec![Vec::new(); problem.threads.len()],
            stores: stores(problem, model),
            of_event: vec![Vec::new(); problem.threads.len()],
            ..Chains::default()
        };
        for (id, _) in problem.events() {
            let node = chains.add(id.thread, id, false);
            chains.of_event[id.thread].push(node);
        }
        let events = chains.of_event.iter();
        chains.of_commit = events.map(|events| vec![None; events.len()]).collect();
        for thread in 0..problem.threads.len() {
            chains.buffer(problem, model, thread);
        }
        for (read, store) in held_up(problem, &chains.stores) {
            let edge = (chains.visible(store), chains.event(read));
            chains.fixed.push(edge);
        }
        chains.creations(problem);
        for pair in problem.sequence.windows(2) {
            let edge = (chains.event(pair[0]), chains.event(pair[1]));
            chains
                .fixed
                .extend((pair[0].thread != pair[1].thread).then_some(edge));
        }
        chains
    }

    fn add(&mut self, chain: usize, event: EventId, commits: bool) -> NodeNumber {
        let number = NodeNumber(self.nodes.len());
        self.nodes.push(Node {
            chain,
            position: self.chains[chain].len(),
            event,
            commits,
        });
        self.chains[chain].push(number);
        number
    }

    /// The node at which an event is executed.
    pub(crate) fn event(&self, id: EventId) -> NodeNumber {
        self.of_event[id.thread][id.event]
    }

    /// The node at which others see what an event wrote.
    pub(crate) fn visible(&self, id: EventId) -> NodeNumber {
        self.of_commit[id.thread][id.event].unwrap_or_else(|| self.event(id))
    }

    pub(crate) fn node(&self, number: NodeNumber) -> &Node {
        &self.nodes[number.0]
    }

    /// The queues of a thread's buffer.
    fn buffer(&mut self, problem: &Problem, model: MemoryModel, thread: usize) {
        let partial = model == MemoryModel::PartialStoreOrder;
        let mut queues: HashMap<Option<Scalar>, usize> = HashMap::new();
        // The last commit of each queue.
        let mut last: HashMap<usize, NodeNumber> = HashMap::new();
        let mut last_epoch = 0;
        // Commits that those of the next epoch wait for.
        let mut before_epoch: Vec<NodeNumber> = Vec::new();
        for (event, what) in problem.threads[thread].events.iter().enumerate() {
            let id = EventId { thread, event };
            let issue = self.event(id);
            if let Some(store) = self.stores.get(&id).copied() {
                let address = match &what.action {
                    Action::Access { writes, .. } => writes[0].address,
                    _ => Scalar::Known(0),
                };
                // Stores to unknown addresses share a queue with all.
                let key = (partial && address.known().is_some()).then_some(address);
                let next = self.chains.len();
                let chain = *queues.entry(key).or_insert(next);
                if chain == next {
                    self.chains.push(Vec::new());
                }
                let commit = self.add(chain, id, true);
                self.of_commit[thread][event] = Some(commit);
                self.fixed.push((issue, commit));
                if store.epoch != last_epoch {
                    before_epoch = last.values().copied().collect();
                    last_epoch = store.epoch;
                }
                let unknown = key.is_none() && partial;
                let behind: Vec<NodeNumber> = match store.is_release || unknown {
                    true => last.values().copied().collect(),
                    false => before_epoch.clone(),
                };
                for earlier in behind {
                    if self.node(earlier).chain != chain {
                        self.fixed.push((earlier, commit));
                    }
                }
                last.insert(chain, commit);
            } else if needs_empty_buffer(&what.action) {
                for commit in last.values() {
                    self.fixed.push((*commit, issue));
                }
            }
        }
    }

    fn creations(&mut self, problem: &Problem) {
        for (id, event) in problem.events() {
            match event.action {
                Action::Fork(child) => {
                    let first = self
                        .chains
                        .get(child)
                        .and_then(|chain| chain.first())
                        .copied();
                    if let Some(first) = first.filter(|_| child < self.threads) {
                        self.fixed.push((self.event(id), first));
                    }
                }
                Action::Join(child) if child < self.threads => {
                    let last = self.chains[child].last().copied();
                    if let Some(last) = last {
                        self.fixed.push((last, self.event(id)));
                    }
                }
                _ => {}
            }
        }
    }
}
