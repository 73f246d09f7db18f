//! One run of a depth-first search: take the given turns, then go on without
//! preemption, and write down what else could have been done at every step.
//!
//! Sleep sets: Godefroid, "Partial-Order Methods for the Verification of
//! Concurrent Systems", LNCS 1032, 1996, chapter 5. A thread is asleep while
//! running it would only repeat, in another order of independent steps, what
//! the search has seen; it wakes when a step that depends on its own is taken.
//!
//! Deviation: a thread that spins is left alone while another can go on, so
//! that searches of programs with spin locks end. Runs in which a spin loop
//! goes round more often are not seen. Where all that could go on instead are
//! asleep, what they would do has been seen, and the run is over.

use crate::{Decision, Grant, Position, Stop, Strategy, View, sequential::next_in_turn};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, EventKind, Operation, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// Decisions that a single run can report; later ones are not branched at.
pub const DEEPEST: usize = 20_000;

/// One step of a search tree's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Turn {
    /// This thread executes one event.
    Thread(ThreadIndex),
    /// A question gets this answer.
    Answer(u32),
}

/// Where a run starts to be its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// What to do up to there.
    pub turns: Vec<Turn>,
    /// Who is asleep there.
    pub asleep: Vec<ThreadIndex>,
}

/// What could be done at one step, and what was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Node {
    /// A decision between threads.
    Threads {
        /// The enabled ones, with what they were about to do.
        options: Vec<(ThreadIndex, Operation)>,
        /// Who ran before, if it could go on.
        current: Option<ThreadIndex>,
        /// Who was taken.
        picked: ThreadIndex,
        /// Which of them are store buffers: those preempt nobody.
        buffers: Vec<ThreadIndex>,
    },
    /// A question with so many answers; the first was taken.
    Outcomes(u32),
}

/// Whether the order of two steps of different threads can matter.
///
/// Wider than [`Operation::conflicts`]: the step that gives back a lock may be
/// the beginning of a wait, which a signal can miss; the end of the main thread
/// ends all others; and the clock belongs to everybody.
#[must_use]
pub fn dependent(one: &Operation, other: &Operation) -> bool {
    use EventKind::*;
    let wakes = |operation: &Operation| matches!(operation.kind, Signal | Broadcast);
    let waits = |operation: &Operation| matches!(operation.kind, Release | Wait);
    let world = |operation: &Operation| matches!(operation.kind, External | Sleep | Handle);
    let ends = |operation: &Operation| {
        operation.kind == Exit && operation.object == ThreadIndex::MAIN.object()
    };
    one.conflicts(other)
        || wakes(one) && waits(other)
        || waits(one) && wakes(other)
        || world(one) && world(other)
        || ends(one)
        || ends(other)
}

/// See the module.
pub struct Systematic<'a> {
    branch: &'a Branch,
    /// Turns taken of the branch.
    taken: usize,
    /// Who is asleep, with the step that it would take.
    asleep: Vec<(ThreadIndex, Operation)>,
    /// What was decided behind the branch.
    nodes: Vec<Node>,
    report: Vec<u8>,
}

impl<'a> Systematic<'a> {
    /// The run that leaves the known part of the tree at `branch`.
    #[must_use]
    pub fn new(branch: &'a Branch) -> Systematic<'a> {
        Systematic {
            branch,
            taken: 0,
            asleep: Vec::new(),
            nodes: Vec::new(),
            report: Vec::new(),
        }
    }

    /// The same run from a state in which the first turns of `branch` have been
    /// taken: nothing of the state of this strategy goes back to them.
    #[must_use]
    pub fn resume(branch: &'a Branch, position: Position) -> Systematic<'a> {
        Systematic {
            taken: position.0 as usize,
            ..Systematic::new(branch)
        }
    }

    fn turn(&mut self) -> Option<Turn> {
        let turn = self.branch.turns.get(self.taken).copied();
        self.taken += usize::from(turn.is_some());
        turn
    }

    /// Called at the first decision behind the branch.
    fn fall_asleep(&mut self, view: &View<'_>) {
        let sleepers = self.branch.asleep.iter();
        self.asleep = sleepers
            .map(|&thread| (thread, *view.operation(thread)))
            .collect();
    }

    fn pick(&self, view: &View<'_>) -> Option<ThreadIndex> {
        let is_awake = |thread: ThreadIndex| !self.asleep.iter().any(|entry| entry.0 == thread);
        let enabled: Vec<ThreadIndex> = view
            .enabled
            .iter()
            .copied()
            .filter(|&thread| is_awake(thread))
            .collect();
        let awake = View {
            enabled: &enabled,
            ..*view
        };
        let waits_for_sleepers = view.any_useful() && !awake.any_useful();
        if enabled.is_empty() || waits_for_sleepers {
            return None;
        }
        Some(next_in_turn(&awake))
    }

    fn note(&mut self, view: &View<'_>, picked: ThreadIndex) {
        if self.nodes.len() == DEEPEST {
            return;
        }
        let candidates = view.enabled.iter().copied();
        let useful = view.any_useful();
        let candidates = candidates.filter(|&thread| !useful || !view.spins(thread));
        let buffers = candidates.clone().filter(|&thread| view.is_buffer(thread));
        self.nodes.push(Node::Threads {
            buffers: buffers.collect(),
            options: candidates
                .map(|thread| (thread, *view.operation(thread)))
                .collect(),
            // Who spins gives way: that takes nothing from anybody, and a search
            // with a bound must not count it.
            current: view.current().filter(|&it| !useful || !view.spins(it)),
            picked,
        });
    }
}

impl Strategy for Systematic<'_> {
    fn thread_started(&mut self, _: ThreadIndex, _: &ThreadPath) {}

    fn decide(&mut self, view: &View<'_>) -> Decision {
        if let Some(Turn::Thread(thread)) = self.turn() {
            return match view.is_enabled(thread) {
                true => Decision::Run(Grant::once(thread)),
                false => Decision::Stop(Stop::Pruned),
            };
        }
        if self.nodes.is_empty() {
            self.fall_asleep(view);
        }
        let Some(picked) = self.pick(view) else {
            return Decision::Stop(Stop::Pruned);
        };
        self.note(view, picked);
        let step = *view.operation(picked);
        self.asleep
            .retain(|(_, sleeper)| !dependent(sleeper, &step));
        Decision::Run(Grant::once(picked))
    }

    /// A thread that is alone and asleep repeats what has been seen: the run is to
    /// stop. Otherwise there is nothing to decide, and so no step of the path.
    fn is_asked_alone(&self) -> bool {
        let behind = self.taken == self.branch.turns.len();
        let nobody_sleeps = match self.nodes.is_empty() {
            true => self.branch.asleep.is_empty(),
            false => self.asleep.is_empty(),
        };
        behind && !nobody_sleeps
    }

    fn position(&self) -> Option<Position> {
        let more = self.taken < self.branch.turns.len();
        more.then_some(Position(self.taken as u32))
    }

    fn choose(&mut self, _: ThreadIndex, _: ChoiceKind, options: u32) -> u32 {
        if let Some(Turn::Answer(answer)) = self.turn() {
            return answer.min(options - 1);
        }
        if self.nodes.len() < DEEPEST {
            self.nodes.push(Node::Outcomes(options));
        }
        0
    }

    fn report(&mut self, _: &View<'_>) -> &[u8] {
        self.report = crate::report::write(&self.nodes);
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pending, Used};
    use bohr_event::PlaceNumber;

    /// Thread 0 ran last and could go on; whether it spins decides whether
    /// running thread 1 takes the processor from it.
    fn current_before_a_switch(spins: bool) -> Option<ThreadIndex> {
        let read = Operation::plain(EventKind::Read, 4, 0x1000, PlaceNumber(1));
        let first = Pending {
            spins,
            ..Pending::new(read)
        };
        let view = View {
            pending: &[first, Pending::new(read)],
            enabled: &[ThreadIndex(0), ThreadIndex(1)],
            last: Some(Used {
                thread: ThreadIndex(0),
                running: ThreadIndex(0),
                events: 1,
                place: PlaceNumber(1),
            }),
        };
        let branch = Branch::default();
        let mut run = Systematic::new(&branch);
        run.note(&view, ThreadIndex(1));
        match run.nodes[0] {
            Node::Threads { current, .. } => current,
            Node::Outcomes(_) => panic!("a decision between threads"),
        }
    }

    /// What thread 0 does, which spins while thread 1 could go on but is asleep.
    #[test]
    fn who_spins_does_not_wait_for_who_sleeps() {
        let read = |object| Operation::plain(EventKind::Read, 4, object, PlaceNumber(1));
        let branch = Branch {
            turns: Vec::new(),
            asleep: [ThreadIndex(1)].to_vec(),
        };
        for spins in [false, true] {
            let first = Pending {
                spins,
                ..Pending::new(read(0x1000))
            };
            let view = View {
                pending: &[first, Pending::new(read(0x2000))],
                enabled: &[ThreadIndex(0), ThreadIndex(1)],
                last: None,
            };
            let expected = match spins {
                true => Decision::Stop(Stop::Pruned),
                false => Decision::Run(Grant::once(ThreadIndex(0))),
            };
            assert_eq!(Systematic::new(&branch).decide(&view), expected);
        }
    }

    #[test]
    fn who_spins_is_not_preempted() {
        assert_eq!(current_before_a_switch(false), Some(ThreadIndex(0)));
        assert_eq!(current_before_a_switch(true), None);
    }
}
