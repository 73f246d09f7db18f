//! Nobody is preempted but at a few given points: before or after an event that is
//! no access to memory, or between the accesses that follow such an event. Points are
//! named by their thread, the number of such events of that thread before them and
//! the number of accesses since, so that a name means the same in runs in which a
//! thread made more or fewer accesses before.
//!
//! Preemption points: M. Musuvathi, S. Qadeer, "Iterative Context Bounding for
//! Systematic Testing of Multithreaded Programs", PLDI 2007, as D. Weeratunge et
//! al., "Analyzing Multicore Dumps to Facilitate Concurrency Bug Reproduction",
//! ASPLOS 2010, section 5, use them.
//!
//! Events are counted from the first decision of a run on: before there is a second
//! thread nobody decides anything.
//!
//! Whoever gave way goes on when it is its turn again; or it is kept back until
//! somebody has freed what it is about to use, for which others may have to do all of
//! their work first.

use crate::{
    Decision, Grant, Position, Strategy, View,
    sequential::{STUBBORN, next_in_turn},
};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, EventKind, ThreadIndex, ThreadPath};
use serde::{Deserialize, Serialize};

/// Who comes when somebody blocks or ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precedence {
    /// The next one in the order of creation.
    #[default]
    InOrder,
    /// This thread whenever it can, so that all others have most of their work before
    /// them while it runs.
    First(ThreadPath),
    /// This thread only if nobody else can, so that all others have theirs behind them.
    Last(ThreadPath),
}

/// When a thread that gave way goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Return {
    /// When it is its turn.
    #[default]
    InTurn,
    /// As soon as the heap block at this address has been freed; before that only if
    /// nobody else can go on.
    OnceFreed(u64),
}

/// A point at which a thread gives way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Preemption {
    /// Who.
    pub thread: ThreadPath,
    /// Events of it before that are no accesses.
    pub number: u64,
    /// Accesses since the last of them; `None` for all, up to the next such event.
    pub accesses: Option<u64>,
    /// Who goes on.
    pub to: ThreadPath,
    /// Until when.
    pub until: Return,
    /// Events that are no accesses, of all threads, before the point in a run that has
    /// not been preempted before. Plans are told by it whether they share a checkpoint.
    pub turn: u32,
}

/// Where runs with these preemptions begin to differ from one without any.
pub(crate) fn first_turn(points: &[Preemption]) -> Position {
    let turns = points.iter().map(|point| point.turn);
    Position(turns.min().unwrap_or_default())
}

/// The view without some threads, if anybody else is left who is of use.
fn without<'v>(
    view: &View<'v>,
    left_out: impl Fn(ThreadIndex) -> bool,
    others: &'v mut Vec<ThreadIndex>,
) -> View<'v> {
    others.extend(
        view.enabled
            .iter()
            .copied()
            .filter(|&other| !left_out(other)),
    );
    match others.iter().any(|&other| !view.spins(other)) {
        true => View {
            enabled: others,
            ..*view
        },
        false => *view,
    }
}

/// How far a thread has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    /// Events that are no accesses.
    counted: u64,
    /// Accesses since the last of them.
    accesses: u64,
}

/// See the module.
pub struct Preempting<'a> {
    preemptions: &'a [Preemption],
    turns: &'a Precedence,
    /// Which of them have been.
    done: Vec<bool>,
    threads: Vec<ThreadPath>,
    /// By thread.
    progress: Vec<Progress>,
    /// Who was let go at the last decision for an event that is no access.
    executes: Option<ThreadIndex>,
    /// What it gives back with that.
    frees: Option<u64>,
    /// Who is kept back, and until which block is freed.
    kept_back: Vec<(ThreadIndex, u64)>,
    begun: bool,
}

impl<'a> Preempting<'a> {
    /// With these preemptions.
    #[must_use]
    pub fn new(preemptions: &'a [Preemption], turns: &'a Precedence) -> Preempting<'a> {
        Preempting {
            preemptions,
            turns,
            done: preemptions.iter().map(|_| false).collect(),
            threads: Vec::new(),
            progress: Vec::new(),
            executes: None,
            frees: None,
            kept_back: Vec::new(),
            begun: false,
        }
    }

    /// The same from a state that a strategy without preemptions so far has left with
    /// this memory.
    #[must_use]
    pub fn resume(
        preemptions: &'a [Preemption],
        turns: &'a Precedence,
        memory: &[u64],
    ) -> Preempting<'a> {
        let (executes, progress) = memory.split_first().unwrap_or((&0, &[]));
        let progress = progress.as_chunks::<2>().0.iter();
        Preempting {
            progress: progress
                .map(|&[counted, accesses]| Progress { counted, accesses })
                .collect(),
            executes: executes.checked_sub(1).map(|one| ThreadIndex(one as u32)),
            begun: true,
            ..Preempting::new(preemptions, turns)
        }
    }

    /// Whether what a thread is about to do is no access.
    fn counts(view: &View<'_>, thread: ThreadIndex) -> bool {
        !view.is_buffer(thread) && !view.operation(thread).kind.is_access()
    }

    /// Takes in what has become of the last decision.
    fn settle(&mut self, view: &View<'_>) {
        let Some(last) = view.last.filter(|_| self.begun) else {
            return;
        };
        let Some(progress) = self.progress.get_mut(last.thread.position()) else {
            return;
        };
        match self.executes.take() {
            Some(_) => {
                progress.counted += 1;
                progress.accesses = 0;
            }
            None => progress.accesses += last.events,
        }
    }

    /// The points of a thread that are still to come in the block that it is in.
    fn open(&self, thread: ThreadIndex) -> impl Iterator<Item = (usize, &'a Preemption)> + '_ {
        let place = self.threads.get(thread.position());
        let progress = self.progress.get(thread.position());
        let all = self.preemptions.iter().enumerate();
        all.filter(move |(number, point)| {
            !self.done[*number]
                && Some(&point.thread) == place
                && progress.is_some_and(|progress| progress.counted == point.number)
        })
    }

    /// Whom the thread gives way to here, if it does.
    fn instead(&mut self, view: &View<'_>, thread: ThreadIndex) -> Option<ThreadIndex> {
        let accesses = self.progress.get(thread.position())?.accesses;
        let stands_before = Self::counts(view, thread);
        let here = |point: &Preemption| match point.accesses {
            Some(number) => number == accesses,
            None => stands_before,
        };
        let target = |point: &Preemption| {
            let to = self.threads.iter().position(|path| *path == point.to)?;
            let to = ThreadIndex(to as u32);
            view.is_enabled(to).then_some(to)
        };
        let found = {
            let mut open = self.open(thread).filter(|(_, point)| here(point));
            open.find_map(|(number, point)| Some((number, target(point)?)))
        };
        let (number, to) = found?;
        self.done[number] = true;
        if let Return::OnceFreed(block) = self.preemptions[number].until {
            self.kept_back.push((thread, block));
        }
        Some(to)
    }

    /// Who has waited for what was freed last.
    fn called_back(&mut self, view: &View<'_>) -> Option<ThreadIndex> {
        let freed = self.frees.take()?;
        let mut kept = self.kept_back.iter();
        let (thread, _) =
            *kept.find(|(thread, block)| *block == freed && view.is_enabled(*thread))?;
        Some(thread)
    }

    /// Who goes on if nobody is preempted.
    fn next(&self, view: &View<'_>) -> ThreadIndex {
        let kept_back = |thread: ThreadIndex| self.kept_back.iter().any(|kept| kept.0 == thread);
        match self.kept_back.is_empty() {
            true => self.next_of_these(view),
            false => self.next_of_these(&without(view, kept_back, &mut Vec::new())),
        }
    }

    /// The same of all that are enabled in a view.
    fn next_of_these(&self, view: &View<'_>) -> ThreadIndex {
        let goes_on = |thread: ThreadIndex| view.is_enabled(thread) && !view.spins(thread);
        let running = view.last.map_or(ThreadIndex::MAIN, |last| last.running);
        let path = match self.turns {
            Precedence::InOrder => return next_in_turn(view),
            _ if goes_on(running) => return next_in_turn(view),
            Precedence::First(path) | Precedence::Last(path) => path,
        };
        let one = self.threads.iter().position(|thread| thread == path);
        let Some(one) = one.map(|position| ThreadIndex(position as u32)) else {
            return next_in_turn(view);
        };
        if matches!(self.turns, Precedence::First(_)) {
            return match goes_on(one) && view.any_buffer().is_none() {
                true => one,
                false => next_in_turn(view),
            };
        }
        next_in_turn(&without(view, |thread| thread == one, &mut Vec::new()))
    }

    /// How many accesses the thread can make up to its next point.
    fn distance(&self, thread: ThreadIndex) -> u64 {
        let made = self.progress.get(thread.position());
        let made = made.map_or(0, |progress| progress.accesses);
        let points = self.open(thread).filter_map(|(_, point)| point.accesses);
        let ahead = points.filter_map(|number| number.checked_sub(made));
        ahead.filter(|&ahead| ahead > 0).min().unwrap_or(STUBBORN)
    }
}

impl Strategy for Preempting<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        let position = thread.position();
        if self.threads.len() <= position {
            self.threads.resize(position + 1, ThreadPath::MAIN);
        }
        self.threads[position] = path.clone();
        // Whoever resumes knows how far each has come.
        let known = self.progress.len().max(position + 1);
        self.progress.resize(known, Progress::default());
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.settle(view);
        self.begun = true;
        let mut thread = match self.called_back(view) {
            Some(thread) => thread,
            None => self.next(view),
        };
        // Who goes on instead may stand at a point of its own.
        for _ in 0..self.preemptions.len() {
            match self.instead(view, thread) {
                Some(other) => thread = other,
                None => break,
            }
        }
        // If nobody else could go on, it need not wait any longer either.
        self.kept_back.retain(|(kept, _)| *kept != thread);
        self.executes = Self::counts(view, thread).then_some(thread);
        let operation = view.operation(thread);
        self.frees = (operation.kind == EventKind::Free).then_some(operation.object);
        let most = self.distance(thread).min(STUBBORN);
        Decision::Run(Grant::accesses(view, thread, most))
    }

    /// Events that nobody asks about cannot be counted.
    fn is_asked_alone(&self) -> bool {
        self.begun
    }

    fn position(&self) -> Option<Position> {
        let counted = self.progress.iter().map(|progress| progress.counted);
        let counted = counted.sum::<u64>() + u64::from(self.executes.is_some());
        let position = Position(u32::try_from(counted).ok()?);
        let is_before = position < first_turn(self.preemptions) && !self.done.contains(&true);
        is_before.then_some(position)
    }

    fn memory(&self) -> Vec<u64> {
        let executes = self.executes.map_or(0, |thread| u64::from(thread.0) + 1);
        let progress = self.progress.iter();
        let progress = progress.flat_map(|progress| [progress.counted, progress.accesses]);
        [executes].into_iter().chain(progress).collect()
    }

    fn choose(&mut self, _: ThreadIndex, _: ChoiceKind, _: u32) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{FREED, Outcome, Relay, Step, lost_update, run};
    use crate::{Plan, Rule};
    use alloc::vec;

    fn children() -> [ThreadPath; 2] {
        [1, 2].map(|child| ThreadPath::MAIN.child(child))
    }

    fn point(number: u64, accesses: Option<u64>, turn: u32) -> Preemption {
        let [thread, to] = children();
        Preemption {
            thread,
            number,
            accesses,
            to,
            until: Return::InTurn,
            turn,
        }
    }

    #[test]
    fn a_point_that_nobody_comes_to_changes_nothing() {
        let program = lost_update();
        let never = vec![point(1_000, None, 1_000), point(0, Some(1_000), 0)];
        let plain = run(&program, &mut Preempting::new(&[], &Precedence::InOrder))
            .machine
            .trace;
        let same = run(&program, &mut Preempting::new(&never, &Precedence::InOrder))
            .machine
            .trace;
        assert_eq!(plain, same);
    }

    /// Each thread reads and writes; the other comes between the two.
    #[test]
    fn between_two_accesses() {
        let program = lost_update();
        // Behind its start, and one access.
        let between = [point(1, Some(1), 1)];
        let plain = run(&program, &mut Preempting::new(&[], &Precedence::InOrder));
        let preempted = run(
            &program,
            &mut Preempting::new(&between, &Precedence::InOrder),
        );
        assert_ne!(plain.machine.trace, preempted.machine.trace);
        // Main, the first child, the second, the rest of the first, main.
        let segments = |run: &crate::machine::Run| run.machine.schedule().segments().len();
        assert_eq!(segments(&plain) + 1, segments(&preempted));
    }

    #[test]
    fn one_thread_comes_first_or_last() {
        let program = lost_update();
        let [one, two] = children();
        let order = |turns: &Precedence| {
            let run = run(&program, &mut Preempting::new(&[], turns));
            let schedule = run.machine.schedule();
            let segments = schedule.segments().iter();
            segments
                .map(|segment| segment.thread.clone())
                .collect::<Vec<_>>()
        };
        let main = ThreadPath::MAIN;
        let in_order = order(&Precedence::InOrder);
        assert_eq!(in_order, [&main, &one, &two, &main].map(Clone::clone));
        assert_eq!(order(&Precedence::First(one.clone())), in_order);
        // Main waits for the first before it waits for the last one.
        let waits_between = [&main, &one, &main, &two, &main].map(Clone::clone);
        assert_eq!(order(&Precedence::Last(two.clone())), waits_between);
        let reversed = [&main, &two, &one, &main].map(Clone::clone);
        assert_eq!(order(&Precedence::First(two)), reversed);
        assert_eq!(order(&Precedence::Last(one)), reversed);
    }

    /// The first thread uses a block that main frees when the second has ended, and
    /// that is then used again.
    #[test]
    fn whoever_is_kept_back_goes_on_when_the_block_is_freed() {
        use Step::{Fork, Free, Join, Read, Set};
        let program = vec![
            vec![Fork(1), Fork(2), Join(2), Free(3), Set(3, 0)],
            vec![Read(3), Step::FailIf(FREED)],
            vec![Set(0, 1)],
        ];
        let [one, _] = children();
        let turns = Precedence::First(one);
        let outcome = |until| {
            let point = Preemption {
                until,
                ..point(1, Some(0), 1)
            };
            run(&program, &mut Preempting::new(&[point], &turns)).outcome
        };
        assert!(matches!(outcome(Return::InTurn), Outcome::Ended(_)));
        assert!(matches!(outcome(Return::OnceFreed(3)), Outcome::Failed(_)));
        // Nobody frees that: it goes on when the others have ended.
        assert!(matches!(outcome(Return::OnceFreed(7)), Outcome::Ended(_)));
    }

    #[test]
    fn a_run_can_begin_in_the_middle_of_another() {
        let program = lost_update();
        let plan = |points: Vec<Preemption>| {
            let turns = Precedence::InOrder;
            Plan::new(Rule::Preempting { points, turns })
        };
        let later = plan(vec![point(9, None, 1_000)]);
        for (number, accesses, turn) in
            [(1, Some(0), 1), (1, Some(1), 1), (1, None, 1), (2, None, 2)]
        {
            let other = plan(vec![point(number, accesses, turn)]);
            let whole = run(&program, &mut *other.strategy(0)).machine.trace;
            for at in (0..turn).map(Position) {
                assert!(later.agrees(&other, at));
                let mut relay = Relay::new(&later, &other, at);
                assert_eq!(run(&program, &mut relay).machine.trace, whole);
            }
            assert!(!later.agrees(&other, Position(turn)));
        }
    }
}
