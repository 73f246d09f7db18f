//! One run of a reads-from search: Wolff, Shi, Duck, Mathur, Roychoudhury,
//! "Greybox Fuzzing for Concurrency Testing", ASPLOS 2024 (RFF).
//!
//! The run is steered towards an *abstract schedule*: a set of wishes that a
//! read at one place gets, or does not get, its value from a write at another.
//! Between wishes events are ordered as in partial order sampling. What each
//! read really got is reported, and a search keeps the wishes that led to
//! something new.
//!
//! Deviations: places are sites and call sites, not source lines. A wish is
//! pursued for the object that the read is about to touch: the read is held
//! back until the last write there is the wanted one, and then goes first. A
//! thread is held back at most a bounded number of times, in place of the
//! paper's check that an unfulfilled wish can still come true.

use crate::{Decision, Grant, Strategy, View, pos::PartialOrderSampling};
use alloc::{collections::BTreeMap, collections::BTreeSet, vec::Vec};
use bohr_event::{ChoiceKind, EventKind, Operation, PlaceNumber, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// How often one thread is held back for the sake of wishes.
const PATIENCE: u32 = 200;

/// Events of a thread that nobody competes with after which not every one of
/// them is looked at.
const SERIAL: u64 = 10_000;

/// Distinct observations that a run reports; a longer run repeats itself.
const MOST_OBSERVED: usize = 4_096;

/// That a read gets its value from a certain write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReadsFrom {
    /// Where the value was written; `None` for what was there at the start.
    pub write: Option<PlaceNumber>,
    /// Where it was read.
    pub read: PlaceNumber,
}

/// What a run is steered towards or away from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Wish {
    /// The pair.
    pub pair: ReadsFrom,
    /// Whether to bring it about or to avoid it.
    pub wanted: bool,
}

/// What a run reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// Which read got its value where.
    pub pairs: BTreeSet<ReadsFrom>,
    /// Writes and reads that touched the same object: what could be wished for.
    pub meetings: BTreeSet<ReadsFrom>,
}

/// What has been seen of one object.
#[derive(Clone, Debug, Default)]
struct Touched {
    last_write: Option<PlaceNumber>,
    writes: BTreeSet<PlaceNumber>,
    reads: BTreeSet<PlaceNumber>,
}

/// See the module.
pub struct Feedback<'a> {
    order: PartialOrderSampling,
    wishes: &'a [Wish],
    objects: BTreeMap<u64, Touched>,
    /// By thread index.
    held_back: Vec<u32>,
    observed: Observed,
    /// Events since anybody but the running thread could go on.
    alone: u64,
    report: Vec<u8>,
}

fn reads(operation: &Operation) -> bool {
    use EventKind::*;
    matches!(
        operation.kind,
        Read | Update | Acquire | AcquireShared | Look
    )
}

fn writes(operation: &Operation) -> bool {
    use EventKind::*;
    matches!(
        operation.kind,
        Write | Update | Acquire | Release | ReleaseShared
    )
}

impl<'a> Feedback<'a> {
    /// The run of this seed, steered by `wishes`.
    #[must_use]
    pub fn new(seed: u64, wishes: &'a [Wish]) -> Feedback<'a> {
        Feedback {
            order: PartialOrderSampling::new(seed),
            wishes,
            objects: BTreeMap::new(),
            held_back: Vec::new(),
            observed: Observed::default(),
            alone: 0,
            report: Vec::new(),
        }
    }

    fn last_write(&self, operation: &Operation) -> Option<PlaceNumber> {
        self.objects.get(&operation.object)?.last_write
    }

    /// Whether executing this read now would go against a wish.
    fn goes_against(&self, operation: &Operation) -> bool {
        let source = self.last_write(operation);
        reads(operation)
            && self.wishes.iter().any(|wish| {
                wish.pair.read == operation.place && wish.wanted != (wish.pair.write == source)
            })
    }

    /// Whether executing this read now fulfils a wish.
    fn fulfils(&self, operation: &Operation) -> bool {
        let pair = ReadsFrom {
            write: self.last_write(operation),
            read: operation.place,
        };
        reads(operation) && self.wishes.contains(&Wish { pair, wanted: true })
    }

    /// The thread that a wish speaks for now, or the one that is first by
    /// chance among those that no wish speaks against.
    fn pick(&mut self, view: &View<'_>) -> ThreadIndex {
        let lucky = |thread: &ThreadIndex| self.fulfils(view.operation(*thread));
        if let Some(thread) = view.enabled.iter().copied().find(lucky) {
            return self
                .order
                .first(view, |other| other == thread)
                .unwrap_or(thread);
        }
        let held: Vec<ThreadIndex> = view
            .enabled
            .iter()
            .copied()
            .filter(|&thread| self.held_back[thread.position()] < PATIENCE)
            .filter(|&thread| self.goes_against(view.operation(thread)))
            .collect();
        if held.len() < view.enabled.len() {
            held.iter()
                .for_each(|thread| self.held_back[thread.position()] += 1);
            if let Some(thread) = self.order.first(view, |thread| !held.contains(&thread)) {
                return thread;
            }
        }
        self.order.first(view, |_| true).unwrap_or(view.enabled[0])
    }

    fn observe(&mut self, operation: &Operation) {
        if !reads(operation) && !writes(operation) {
            return;
        }
        let touched = self.objects.entry(operation.object).or_default();
        if reads(operation) {
            let pair = ReadsFrom {
                write: touched.last_write,
                read: operation.place,
            };
            if self.observed.pairs.len() < MOST_OBSERVED {
                self.observed.pairs.insert(pair);
            }
            touched.reads.insert(operation.place);
        }
        if writes(operation) {
            touched.last_write = Some(operation.place);
            touched.writes.insert(operation.place);
        }
    }

    /// How many events the picked thread may execute: one, unless there has been
    /// nobody else for so long that a serial phase goes by in ever larger steps.
    fn stride(&mut self, view: &View<'_>) -> u64 {
        match (view.enabled.len(), view.last) {
            (1, Some(last)) => self.alone += last.events,
            _ => self.alone = 0,
        }
        (self.alone / SERIAL).max(1)
    }

    fn meet(&mut self) {
        for touched in self.objects.values() {
            for &read in &touched.reads {
                let sources = touched.writes.iter().copied().map(Some).chain([None]);
                for write in sources {
                    if self.observed.meetings.len() == MOST_OBSERVED {
                        return;
                    }
                    self.observed.meetings.insert(ReadsFrom { write, read });
                }
            }
        }
    }
}

impl Strategy for Feedback<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        let needed = self.held_back.len().max(thread.position() + 1);
        self.held_back.resize(needed, 0);
        self.held_back[thread.position()] = 0;
        self.order.thread_started(thread, path);
    }

    /// What main reads after the last join tells who wrote last.
    fn is_asked_alone(&self) -> bool {
        true
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        let thread = self.pick(view);
        self.observe(&view.operation(thread).clone());
        let stride = self.stride(view);
        Decision::Run(Grant::accesses(view, thread, stride))
    }

    fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        self.order.choose(thread, kind, options)
    }

    fn report(&mut self, _: &View<'_>) -> &[u8] {
        self.meet();
        self.report = crate::report::write(&self.observed);
        &self.report
    }
}
