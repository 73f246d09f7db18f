//! What each event touches, and whether it leaves it as it was: the base of
//! the dependence relation (SimTrace, Definition 4), for every kind of event.
//!
//! Two events of different threads depend on each other if they touch the same
//! variable and not both merely observe it. Every synchronisation operation
//! counts as a write of its object, so that unlock to lock, fork to start, exit
//! to join and notify to wait follow. Deviations from the paper, each of which
//! was needed to replay native programs:
//!
//! - Read-locking and joining merely observe: readers of a lock, or two who
//!   join the same thread, may pass each other.
//! - Who waits on a condition queues up before its `Wait` event, which is the
//!   return; so the event before a `Wait` touches the condition too. Without
//!   that a signal that nobody heard could move to where somebody hears it.
//! - Memory that is given out and given back: `Alloc` and `Free` write the
//!   whole block, and the heap of the thread that allocated it, since the order
//!   of frees decides what later allocations return.
//! - Steps on the world outside are ordered among themselves.
//! - Time passes when nobody can go on, so a `Sleep` stays behind all that came
//!   before it, and before all that came behind it; so does the handler of a signal,
//!   which may be a timer's.
//! - A signal is handled before the next that its thread does: so the event before a
//!   `Handle` touches what signals to its thread touch. Without that a signal could
//!   move to before it.
//! - `Look` counts as a write of what it looks at: whether a lock could be had
//!   depends on its readers, too.
//! - Fences and yields touch nothing: executions are sequentially consistent.

use crate::buffers::Buffers;
use crate::order::{Chain, Chains, Execution};
use crate::variables::{VariableNumber, Variables};
use bohr_event::{EventKind, Operation, control::Step};
use std::collections::HashMap;

/// One variable that an event touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Which.
    pub variable: VariableNumber,
    /// Whether it may change.
    pub writes: bool,
}

/// What all events of a trace touch.
pub struct Footprints {
    spans: Vec<Span>,
    /// Beyond their spans, by event.
    extras: Vec<(u32, VariableNumber)>,
    variables: u32,
    /// Those that stand for heaps.
    heaps: std::ops::Range<u32>,
}

/// The variables of an event: `count` from `first` on.
#[derive(Clone, Copy, Default)]
struct Span {
    first: u32,
    count: u32,
    writes: bool,
    extra: bool,
}

/// Whether the object of the operation is memory or something that others can
/// name as well.
fn names_object(operation: &Operation) -> bool {
    use EventKind::*;
    match operation.kind {
        Fence | Yield | Handle | External | Alloc | Free | Store => false,
        // A sleep, or a wait that has come to its limit.
        Sleep => operation.object != 0,
        _ => true,
    }
}

/// Whether the operation leaves its object as it was.
fn observes(kind: EventKind) -> bool {
    use EventKind::*;
    matches!(kind, Read | AcquireShared | ReleaseShared | Join)
}

impl Footprints {
    /// Looks through a trace.
    #[must_use]
    pub fn new(execution: Execution<'_>, chains: &Chains) -> Footprints {
        let Execution { steps, pending, .. } = execution;
        let buffers = Buffers::new(execution, chains);
        let variables = Variables::new(steps.iter().chain(pending), names_object);
        let mut special = Special::new(&variables, chains);
        let mut footprints = Footprints {
            spans: Vec::with_capacity(steps.len()),
            extras: Vec::new(),
            variables: special.count(),
            heaps: special.heaps(),
        };
        let mut last_of: Vec<Option<u32>> = vec![None; chains.count()];
        let mut order = Barriers::new(chains.count());
        for (event, (step, &chain)) in (0u32..).zip(steps.iter().zip(&chains.of)) {
            let (span, extra) = special.span(&step.operation, chain, &variables);
            footprints.spans.push(span);
            footprints
                .extras
                .extend(extra.map(|variable| (event, variable)));
            let concerned = buffers.concerned(chain, &step.operation);
            let buffer = concerned.map(|owner| (event, special.buffer(owner)));
            footprints.extras.extend(buffer);
            let before = last_of[chain.position()].replace(event);
            for queue in queues(step, &variables) {
                // Queues up right after what it did before; others could come between.
                let own = (step.operation.kind != EventKind::Wait).then_some(event);
                let events = before.into_iter().chain(own);
                footprints.extras.extend(events.map(|event| (event, queue)));
            }
            let pairs = order.take_in(event, step, chain);
            for (earlier, later) in pairs {
                let fence = VariableNumber(footprints.variables);
                footprints.variables += 1;
                footprints.extras.extend([(earlier, fence), (later, fence)]);
            }
        }
        for wait in pending
            .iter()
            .filter(|step| step.operation.kind == EventKind::Wait)
        {
            let queue = VariableNumber(variables.of(&wait.operation).start);
            let chain = chains
                .threads
                .iter()
                .position(|thread| *thread == wait.thread);
            let last = chain.and_then(|chain| last_of[chain]);
            footprints.extras.extend(last.map(|last| (last, queue)));
        }
        footprints.extras.sort_unstable_by_key(|extra| extra.0);
        for (event, _) in &footprints.extras {
            footprints.spans[*event as usize].extra = true;
        }
        footprints
    }

    /// How many variables there are; numbers are smaller.
    #[must_use]
    pub fn variables(&self) -> usize {
        self.variables as usize
    }

    /// Whether a variable is the order in which blocks of a heap are given out and
    /// back, and no memory.
    #[must_use]
    pub fn is_heap(&self, variable: VariableNumber) -> bool {
        self.heaps.contains(&variable.0)
    }

    /// What an event touches, by its position in the trace.
    #[inline]
    pub fn touches(&self, event: usize) -> impl Iterator<Item = Touch> + '_ {
        let span = self.spans[event];
        let own = (span.first..span.first + span.count).map(move |variable| Touch {
            variable: VariableNumber(variable),
            writes: span.writes,
        });
        let extras = if span.extra {
            self.extras_of(event as u32)
        } else {
            &[]
        };
        let extras = extras.iter().map(|&(_, variable)| Touch {
            variable,
            writes: true,
        });
        own.chain(extras)
    }

    fn extras_of(&self, event: u32) -> &[(u32, VariableNumber)] {
        let start = self.extras.partition_point(|extra| extra.0 < event);
        let end = self.extras.partition_point(|extra| extra.0 <= event);
        &self.extras[start..end]
    }
}

/// What a thread that comes to this event has queued up for since the event before:
/// whoever notifies it, or sends it a signal, in between, changes what happens.
fn queues(step: &Step, variables: &Variables) -> Vec<VariableNumber> {
    let operation = &step.operation;
    match operation.kind {
        EventKind::Wait => vec![VariableNumber(variables.of(operation).start)],
        EventKind::Sleep if names_object(operation) => {
            vec![VariableNumber(variables.of(operation).start)]
        }
        // Signals go to a thread, or to all of them.
        EventKind::Handle => [step.thread.object(), 0]
            .into_iter()
            .filter_map(|object| variables.of_object(object))
            .map(VariableNumber)
            .collect(),
        _ => Vec::new(),
    }
}

/// Keeps all events on their side of some.
struct Barriers {
    /// By chain, since the last barrier: the last event.
    since: Vec<Option<u32>>,
    /// The last barrier, and whose it is.
    last: Option<(u32, Chain)>,
}

impl Barriers {
    fn new(chains: usize) -> Barriers {
        Barriers {
            since: vec![None; chains],
            last: None,
        }
    }

    /// Takes in an event; gives pairs of events that have to stay in this order, from
    /// which, by the order of each thread, all others follow.
    fn take_in(&mut self, event: u32, step: &Step, chain: Chain) -> Vec<(u32, u32)> {
        let is_barrier = matches!(step.operation.kind, EventKind::Sleep | EventKind::Handle);
        let mut pairs = Vec::new();
        let first = self.since[chain.position()].replace(event).is_none();
        if let Some((barrier, owner)) = self.last
            && first
            && owner != chain
        {
            pairs.push((barrier, event));
        }
        if is_barrier {
            self.since[chain.position()] = None;
            let others = self.since.iter_mut().filter_map(Option::take);
            pairs.extend(others.map(|earlier| (earlier, event)));
            self.last = Some((event, chain));
        }
        pairs
    }
}

/// Variables that are no memory, and who owns which block of the heap.
struct Special {
    /// First number behind those of memory.
    base: u32,
    chains: u32,
    /// By first address: who allocated the block, and its size.
    blocks: HashMap<u64, (Chain, u32)>,
}

impl Special {
    fn new(variables: &Variables, chains: &Chains) -> Special {
        Special {
            base: variables.count(),
            chains: chains.count() as u32,
            blocks: HashMap::new(),
        }
    }

    fn count(&self) -> u32 {
        self.base + 2 * self.chains + 2
    }

    fn outside(&self) -> u32 {
        self.base
    }

    fn heaps(&self) -> std::ops::Range<u32> {
        let first = self.heap(None).0;
        first..first + self.chains + 1
    }

    /// The heap of a thread, or the one of blocks that nobody saw allocated.
    fn heap(&self, owner: Option<Chain>) -> VariableNumber {
        VariableNumber(self.base + 1 + owner.map_or(0, |chain| chain.0 + 1))
    }

    /// What waits in the store buffer of a thread.
    fn buffer(&self, owner: Chain) -> VariableNumber {
        VariableNumber(self.base + self.chains + 2 + owner.0)
    }

    fn span(
        &mut self,
        operation: &Operation,
        chain: Chain,
        variables: &Variables,
    ) -> (Span, Option<VariableNumber>) {
        let writes = !observes(operation.kind);
        let span = |range: std::ops::Range<u32>| Span {
            first: range.start,
            count: range.end - range.start,
            writes,
            extra: false,
        };
        let block = |size: u32| span(variables.within(operation.object, u64::from(size.max(1))));
        match operation.kind {
            EventKind::Alloc => {
                self.blocks
                    .insert(operation.object, (chain, operation.size));
                (block(operation.size), Some(self.heap(Some(chain))))
            }
            EventKind::Free => {
                let known = self.blocks.get(&operation.object).copied();
                let size = known.map_or(operation.size, |(_, size)| size);
                (block(size), Some(self.heap(known.map(|(owner, _)| owner))))
            }
            EventKind::External => (span(self.outside()..self.outside() + 1), None),
            // Barriers order it.
            EventKind::Sleep => (span(0..0), None),
            _ if names_object(operation) => (span(variables.of(operation)), None),
            _ => (span(0..0), None),
        }
    }
}
