//! What there is to choose: which write each read gets, which signal each waiter,
//! which permit each semaphore's taker.

use crate::creation::CreationOrder;
use crate::event::{Action, EventId, Problem, ReadPiece};
use crate::model::{Chains, NodeNumber};
use crate::term::{ReadNumber, Scalar};
use std::collections::{BTreeSet, HashMap};

/// A piece of memory that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) id: EventId,
    pub(crate) address: Scalar,
    pub(crate) size: u32,
    pub(crate) value: Scalar,
}

/// A part of a read that gets its bytes from one write.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) id: EventId,
    pub(crate) read: ReadNumber,
    /// The whole read's address and size.
    pub(crate) address: Scalar,
    pub(crate) whole: u32,
    /// Where in it the part begins, in bytes, and how long it is.
    pub(crate) offset: u32,
    pub(crate) size: u32,
    /// The writes it can get them from, in their order unless it is open; `None` is what
    /// was there in the beginning.
    pub(crate) candidates: Vec<Option<usize>>,
    /// Whether there are others, which are not listed until somebody asks for them.
    pub(crate) open: bool,
    /// Whether some of all these are at places that are not known.
    pub(crate) vague: bool,
}

impl Choice {
    /// Where a write stands among the candidates.
    pub(crate) fn candidate(&self, write: Option<usize>) -> Option<usize> {
        match self.open {
            true => self.candidates.iter().position(|one| *one == write),
            false => self.candidates.binary_search(&write).ok(),
        }
    }
}

/// Somebody who needs one of several events to have happened.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// Who.
    pub(crate) node: NodeNumber,
    /// The event that all of those have to follow, if any.
    pub(crate) behind: Option<NodeNumber>,
    /// The events; each with whether it serves only one.
    pub(crate) providers: Vec<(NodeNumber, bool)>,
    /// Permits that are there from the beginning, by number.
    pub(crate) permits: Vec<(u64, u32)>,
}

/// A stretch in which a lock is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) thread: usize,
    pub(crate) taken: NodeNumber,
    pub(crate) given: Option<NodeNumber>,
    pub(crate) shared: bool,
}

/// Everything there is to choose.
pub(crate) struct Choices {
    pub(crate) writes: Vec<Write>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) of_read: HashMap<ReadNumber, Vec<usize>>,
    /// The writes to each place that is known, by its first byte; and all others.
    pub(crate) known: HashMap<u64, Vec<usize>>,
    pub(crate) unknown: Vec<usize>,
    pub(crate) needs: Vec<Need>,
    pub(crate) sections: HashMap<u64, Vec<Section>>,
    /// Edges that barriers add.
    pub(crate) barriers: Vec<(NodeNumber, NodeNumber)>,
    pub(crate) before: CreationOrder,
}

/// Barriers whose threads do not come and go in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not modelled: a barrier that is used by more threads than it is for; `bohr solve --by execution` needs no model"
)]
pub struct OddBarrier;

impl Choices {
    /// So many candidates are listed; choices that would have more are left open.
    pub(crate) fn of(
        problem: &Problem,
        chains: &Chains,
        most: usize,
    ) -> Result<Choices, OddBarrier> {
        let mut choices = Choices {
            writes: writes(problem),
            choices: Vec::new(),
            of_read: HashMap::new(),
            known: HashMap::new(),
            unknown: Vec::new(),
            needs: Vec::new(),
            sections: HashMap::new(),
            barriers: Vec::new(),
            before: CreationOrder::of(problem),
        };
        choices.reads(problem, most);
        choices.needs(problem, chains);
        choices.locks(problem, chains);
        choices.barriers(problem, chains)?;
        Ok(choices)
    }

    fn reads(&mut self, problem: &Problem, most: usize) {
        let cuts = boundaries(problem);
        let mut left = most;
        for (number, write) in self.writes.iter().enumerate() {
            match write.address {
                Scalar::Known(address) => {
                    for (at, _) in cells(&cuts, address as u64, write.size) {
                        self.known.entry(at).or_default().push(number);
                    }
                }
                Scalar::Term(_) => self.unknown.push(number),
            }
        }
        for (id, event) in problem.events() {
            let Action::Access { reads, .. } = &event.action else {
                continue;
            };
            for piece in reads {
                self.piece(problem, id, piece, &cuts, &mut left);
            }
        }
    }

    fn piece(
        &mut self,
        problem: &Problem,
        id: EventId,
        piece: &ReadPiece,
        cuts: &BTreeSet<u64>,
        left: &mut usize,
    ) {
        let parts = match piece.address {
            Scalar::Known(address) => cells(cuts, address as u64, piece.size),
            Scalar::Term(_) => vec![(0, piece.size)],
        };
        for (at, size) in parts {
            let (offset, count) = match piece.address {
                Scalar::Known(address) => {
                    let known = self.known.get(&at).map_or(0, Vec::len);
                    ((at - address as u64) as u32, known + self.unknown.len())
                }
                Scalar::Term(_) => (0, self.writes.len()),
            };
            let mut choice = Choice {
                id,
                read: piece.read,
                address: piece.address,
                whole: piece.size,
                offset,
                size,
                candidates: Vec::new(),
                open: count > *left,
                vague: piece.address.known().is_none() || !self.unknown.is_empty(),
            };
            if !choice.open {
                choice.candidates = self.universe(problem, &choice);
                *left -= choice.candidates.len().min(*left);
            }
            let of_read = self.of_read.entry(piece.read).or_default();
            of_read.push(self.choices.len());
            self.choices.push(choice);
        }
    }

    /// All that a choice can be between, in their order.
    pub(crate) fn universe(&self, problem: &Problem, choice: &Choice) -> Vec<Option<usize>> {
        let (near, far) = match choice.address {
            Scalar::Known(address) => {
                let at = address as u64 + u64::from(choice.offset);
                let near = self.known.get(&at).cloned().unwrap_or_default();
                let unknown = self.unknown.iter().copied();
                (near, self.might_meet(problem, choice, unknown))
            }
            Scalar::Term(_) => {
                let near = self.might_meet(problem, choice, 0..self.writes.len());
                (near, Vec::new())
            }
        };
        self.possible(choice.id, choice.address, near, far)
    }

    /// Writes of the same size that may be to the same place as a read, of which at
    /// least one address is not known.
    fn might_meet(
        &self,
        problem: &Problem,
        choice: &Choice,
        among: impl Iterator<Item = usize>,
    ) -> Vec<usize> {
        let object = |address: Scalar| problem.initial.object_of(&problem.terms, address);
        let mine = object(choice.address);
        let meets = |write: &Write| {
            let other = object(write.address);
            write.size == choice.whole && (mine.is_none() || other.is_none() || mine == other)
        };
        among
            .filter(|number| meets(&self.writes[*number]))
            .collect()
    }

    /// Without those that come too late or are surely written over.
    fn possible(
        &self,
        read: EventId,
        address: Scalar,
        near: Vec<usize>,
        far: Vec<usize>,
    ) -> Vec<Option<usize>> {
        let sure = address.known().is_some();
        // The last of each thread that surely comes before the read.
        let mut last: HashMap<usize, EventId> = HashMap::new();
        if sure {
            for number in &near {
                let id = self.writes[*number].id;
                if id != read && self.before.is_before(id, read) {
                    let latest = last.entry(id.thread).or_insert(id);
                    *latest = (*latest).max(id);
                }
            }
        }
        let begins = last.is_empty().then_some(None);
        let all = near.into_iter().chain(far).filter(|number| {
            let id = self.writes[*number].id;
            let late = id == read || self.before.is_before(read, id);
            !late && !last.values().any(|later| self.before.is_before(id, *later))
        });
        let mut all: Vec<Option<usize>> = begins.into_iter().chain(all.map(Some)).collect();
        all.sort_unstable();
        all
    }

    fn needs(&mut self, problem: &Problem, chains: &Chains) {
        for (id, event) in problem.events() {
            let behind = match event.action {
                Action::Wake { alone: false, .. } => true,
                Action::Take(_) => false,
                _ => continue,
            };
            let node = chains.event(id);
            let sleep = EventId {
                event: id.event.saturating_sub(1),
                ..id
            };
            let providers = problem.events().filter_map(|(other, other_event)| {
                let single = serves(&other_event.action, &event.action)?;
                let own = other.thread == id.thread && (behind || other.event > id.event);
                let impossible = own
                    || self.before.is_before(id, other)
                    || behind && self.before.is_before(other, sleep);
                (!impossible).then(|| (chains.event(other), single))
            });
            let providers = providers.collect();
            let permits = match event.action {
                Action::Take(semaphore) => {
                    let count = problem.semaphores.get(&semaphore).copied().unwrap_or(0);
                    (0..count.min(1 << 10) as u32)
                        .map(|permit| (semaphore, permit))
                        .collect()
                }
                _ => Vec::new(),
            };
            self.needs.push(Need {
                node,
                behind: behind.then(|| chains.event(sleep)),
                providers,
                permits,
            });
        }
    }

    fn locks(&mut self, problem: &Problem, chains: &Chains) {
        for (thread, acting) in problem.threads.iter().enumerate() {
            let mut open: HashMap<u64, usize> = HashMap::new();
            for (event, what) in acting.events.iter().enumerate() {
                let node = chains.event(EventId { thread, event });
                match what.action {
                    Action::Acquire(lock) | Action::AcquireShared(lock) => {
                        let sections = self.sections.entry(lock).or_default();
                        open.insert(lock, sections.len());
                        sections.push(Section {
                            thread,
                            taken: node,
                            given: None,
                            shared: matches!(what.action, Action::AcquireShared(_)),
                        });
                    }
                    Action::Release(lock)
                    | Action::ReleaseShared(lock)
                    | Action::Sleep { lock, .. } => {
                        if let Some(section) = open.remove(&lock) {
                            self.sections.entry(lock).or_default()[section].given = Some(node);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Nobody leaves a barrier before all have come, in each of its rounds.
    fn barriers(&mut self, problem: &Problem, chains: &Chains) -> Result<(), OddBarrier> {
        let mut comings: HashMap<u64, HashMap<usize, Vec<NodeNumber>>> = HashMap::new();
        let mut goings = Vec::new();
        for (id, event) in problem.events() {
            match event.action {
                Action::Arrive(barrier) => {
                    let comings = comings.entry(barrier).or_default();
                    comings.entry(id.thread).or_default().push(chains.event(id));
                }
                Action::Depart { barrier, count } => {
                    let round = comings[&barrier][&id.thread].len() - 1;
                    goings.push((barrier, count, id.thread, round, chains.event(id)));
                }
                _ => {}
            }
        }
        for (barrier, count, thread, round, node) in goings {
            if comings[&barrier].len() > count as usize {
                return Err(OddBarrier);
            }
            for (other, nodes) in &comings[&barrier] {
                if let Some(coming) = nodes.get(round).filter(|_| *other != thread) {
                    self.barriers.push((*coming, node));
                }
            }
        }
        Ok(())
    }
}

/// Whether an action is what another waits for; if so, whether it serves only one.
fn serves(action: &Action, waiting: &Action) -> Option<bool> {
    match (action, waiting) {
        (Action::Signal(one), Action::Wake { condition, .. }) if one == condition => Some(true),
        (Action::Broadcast(one), Action::Wake { condition, .. }) if one == condition => Some(false),
        (Action::Post(one), Action::Take(other)) if one == other => Some(true),
        _ => None,
    }
}

fn writes(problem: &Problem) -> Vec<Write> {
    let mut all = Vec::new();
    for (id, event) in problem.events() {
        if let Action::Access { writes, .. } = &event.action {
            all.extend(writes.iter().map(|piece| Write {
                id,
                address: piece.address,
                size: piece.size,
                value: piece.value,
            }));
        }
    }
    all
}

/// Where pieces at known addresses begin and end.
fn boundaries(problem: &Problem) -> BTreeSet<u64> {
    let mut cuts = BTreeSet::new();
    let mut cut = |address: Scalar, size: u32| {
        if let Scalar::Known(address) = address {
            cuts.extend([address as u64, address as u64 + u64::from(size)]);
        }
    };
    for (_, event) in problem.events() {
        if let Action::Access { reads, writes, .. } = &event.action {
            reads
                .iter()
                .for_each(|piece| cut(piece.address, piece.size));
            writes
                .iter()
                .for_each(|piece| cut(piece.address, piece.size));
        }
    }
    cuts
}

/// A piece, cut where others begin or end: addresses and sizes.
fn cells(cuts: &BTreeSet<u64>, address: u64, size: u32) -> Vec<(u64, u32)> {
    let end = address + u64::from(size);
    let mut starts: Vec<u64> = cuts.range(address..end).copied().collect();
    starts.push(end);
    starts
        .windows(2)
        .map(|pair| (pair[0], (pair[1] - pair[0]) as u32))
        .collect()
}
