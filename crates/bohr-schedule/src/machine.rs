//! A toy machine for the tests: threads, variables, locks and conditions as
//! data. It asks a strategy just as the runtime does, and can also be walked by
//! brute force, so that a claim about a strategy can be held against the
//! plain definition.

use crate::{Decision, Pending, Plan, Position, Stop, Strategy, Used, View};
use alloc::{boxed::Box, vec, vec::Vec};
use bohr_event::{
    Anchor, Choice, ChoiceKind, EventKind, Operation, PlaceNumber, Schedule, Segment, ThreadIndex,
    ThreadPath,
};

/// One step of a toy thread. Variables, locks and conditions are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Loads a variable into the thread's register.
    Read(u8),
    /// Stores the register plus a constant.
    Add(u8, i8),
    /// Stores a constant.
    Set(u8, i8),
    /// Takes a lock.
    Lock(u8),
    /// Gives it back.
    Unlock(u8),
    /// Gives the lock back, waits for the condition, takes the lock.
    Wait { condition: u8, lock: u8 },
    /// Wakes one waiter.
    Signal(u8),
    /// Starts the thread with this number.
    Fork(u8),
    /// Waits for its end.
    Join(u8),
    /// Reads a variable again and again until it holds at least this.
    Await(u8, i8),
    /// Gives a variable back, as if it were a block on the heap: it holds [`FREED`].
    Free(u8),
    /// Fails the run if the register holds this.
    FailIf(i8),
}

/// A toy program: thread 0 runs first, the others when they are forked.
pub type Program = Vec<Vec<Step>>;

/// How a toy run ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Ended(Vec<i8>),
    Deadlock,
    Failed(u32),
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Absent,
    AtStart,
    Running,
    /// Inside `Wait`: given the lock back, not yet woken.
    Waiting,
    /// Inside `Wait`: woken, has to take the lock.
    Woken,
    Gone,
}

#[derive(Clone, Debug)]
struct Thread {
    next: usize,
    register: i8,
    phase: Phase,
    signalled: bool,
}

/// The state of a toy run.
#[derive(Clone, Debug)]
pub struct Machine<'p> {
    program: &'p Program,
    threads: Vec<Thread>,
    variables: Vec<i8>,
    locks: Vec<Option<ThreadIndex>>,
    waiters: Vec<(u8, ThreadIndex)>,
    failed: Option<u32>,
    pub trace: Vec<(ThreadIndex, Operation)>,
    pub choices: Vec<Choice>,
    asked: Vec<u32>,
}

/// Threads of a toy program are all children of the first.
pub fn path(thread: ThreadIndex) -> ThreadPath {
    match thread.0 {
        0 => ThreadPath::MAIN,
        number => ThreadPath::MAIN.child(number),
    }
}

/// What a variable holds that was given back.
pub const FREED: i8 = i8::MIN;

const LOCK: u64 = 0x1000;
const CONDITION: u64 = 0x2000;

impl<'p> Machine<'p> {
    pub fn new(program: &'p Program) -> Machine<'p> {
        let thread = Thread {
            next: 0,
            register: 0,
            phase: Phase::Absent,
            signalled: false,
        };
        let mut threads = vec![thread; program.len()];
        threads[0].phase = Phase::AtStart;
        Machine {
            program,
            threads,
            variables: vec![0; 8],
            locks: vec![None; 8],
            waiters: Vec::new(),
            failed: None,
            trace: Vec::new(),
            choices: Vec::new(),
            asked: vec![0; program.len()],
        }
    }

    fn step(&self, thread: ThreadIndex) -> Option<Step> {
        self.program[thread.position()]
            .get(self.threads[thread.position()].next)
            .copied()
    }

    /// What `thread` is about to do.
    pub fn pending(&self, thread: ThreadIndex) -> Operation {
        use EventKind::*;
        let (kind, object) = match (self.threads[thread.position()].phase, self.step(thread)) {
            (Phase::Absent | Phase::AtStart, _) => (Start, thread.object()),
            (Phase::Waiting, Some(Step::Wait { condition, .. })) => {
                (Wait, CONDITION + u64::from(condition))
            }
            (Phase::Woken, Some(Step::Wait { lock, .. })) => (Acquire, LOCK + u64::from(lock)),
            (_, Some(Step::Read(variable) | Step::Await(variable, _))) => (Read, variable.into()),
            (_, Some(Step::Add(variable, _) | Step::Set(variable, _))) => (Write, variable.into()),
            (_, Some(Step::Free(variable))) => (Free, variable.into()),
            (_, Some(Step::Lock(lock))) => (Acquire, LOCK + u64::from(lock)),
            (_, Some(Step::Unlock(lock) | Step::Wait { lock, .. })) => {
                (Release, LOCK + u64::from(lock))
            }
            (_, Some(Step::Signal(condition))) => (Signal, CONDITION + u64::from(condition)),
            (_, Some(Step::Fork(child))) => (Fork, ThreadIndex(child.into()).object()),
            (_, Some(Step::Join(child))) => (Join, ThreadIndex(child.into()).object()),
            (_, Some(Step::FailIf(_)) | None) => (Exit, thread.object()),
        };
        Operation::plain(
            kind,
            1,
            object,
            PlaceNumber::new(thread.0 as u16, self.line(thread)),
        )
    }

    /// Where `thread` stands: 0 before its start, then the number of its step,
    /// counted from 1. The three events of a wait share one line.
    fn line(&self, thread: ThreadIndex) -> u64 {
        let state = &self.threads[thread.position()];
        match state.phase {
            Phase::Absent | Phase::AtStart => 0,
            _ => 1 + state.next as u64,
        }
    }

    fn is_enabled(&self, thread: ThreadIndex) -> bool {
        let state = &self.threads[thread.position()];
        match (state.phase, self.step(thread)) {
            (Phase::Absent | Phase::Gone, _) => false,
            (Phase::AtStart, _) => true,
            (Phase::Waiting, _) => state.signalled,
            (_, Some(Step::Lock(lock))) => self.locks[usize::from(lock)].is_none(),
            (Phase::Woken, Some(Step::Wait { lock, .. })) => {
                self.locks[usize::from(lock)].is_none()
            }
            (_, Some(Step::Join(child))) => self.threads[usize::from(child)].phase == Phase::Gone,
            _ => true,
        }
    }

    /// The thread that there is, if it is the only one and can go on.
    fn only_thread(&self) -> Option<ThreadIndex> {
        let alive = (0u32..).zip(&self.threads);
        let mut alive =
            alive.filter(|(_, thread)| !matches!(thread.phase, Phase::Absent | Phase::Gone));
        let only = ThreadIndex(alive.next()?.0);
        (alive.next().is_none() && self.is_enabled(only)).then_some(only)
    }

    /// The threads that could go on, ascending.
    pub fn enabled(&self) -> Vec<ThreadIndex> {
        let all = (0..self.threads.len() as u32).map(ThreadIndex);
        all.filter(|&thread| self.is_enabled(thread)).collect()
    }

    /// Executes the pending operation of an enabled thread. `wake` answers which
    /// of several waiters a signal wakes.
    pub fn execute(&mut self, thread: ThreadIndex, wake: &mut dyn FnMut(u32) -> u32) {
        assert!(self.is_enabled(thread), "{thread:?} cannot go on");
        self.trace.push((thread, self.pending(thread)));
        let step = self.step(thread);
        let phase = self.threads[thread.position()].phase;
        match (phase, step) {
            (Phase::AtStart, _) => self.threads[thread.position()].phase = Phase::Running,
            (Phase::Waiting, _) => {
                self.threads[thread.position()].phase = Phase::Woken;
                self.threads[thread.position()].signalled = false;
            }
            (_, None) => self.threads[thread.position()].phase = Phase::Gone,
            (_, Some(step)) => self.perform(thread, step, wake),
        }
        self.check(thread);
    }

    fn perform(&mut self, thread: ThreadIndex, step: Step, wake: &mut dyn FnMut(u32) -> u32) {
        let state = &mut self.threads[thread.position()];
        state.next += 1;
        match step {
            Step::Read(variable) => state.register = self.variables[usize::from(variable)],
            Step::Await(variable, value) => {
                let goes_on = self.variables[usize::from(variable)] >= value;
                state.next -= usize::from(!goes_on);
            }
            Step::Add(variable, value) => {
                self.variables[usize::from(variable)] = state.register.wrapping_add(value);
            }
            Step::Set(variable, value) => self.variables[usize::from(variable)] = value,
            Step::Free(variable) => self.variables[usize::from(variable)] = FREED,
            Step::Lock(lock) => self.locks[usize::from(lock)] = Some(thread),
            Step::Unlock(lock) => self.locks[usize::from(lock)] = None,
            Step::Wait { lock, .. } if state.phase == Phase::Woken => {
                state.phase = Phase::Running;
                self.locks[usize::from(lock)] = Some(thread);
            }
            Step::Wait { condition, lock } => {
                state.phase = Phase::Waiting;
                state.next -= 1;
                self.locks[usize::from(lock)] = None;
                self.waiters.push((condition, thread));
            }
            Step::Signal(condition) => self.signal(condition, wake),
            Step::Fork(child) => self.threads[usize::from(child)].phase = Phase::AtStart,
            Step::Join(_) => {}
            Step::FailIf(_) => unreachable!("is not an event"),
        }
    }

    fn signal(&mut self, condition: u8, wake: &mut dyn FnMut(u32) -> u32) {
        let mut waiting: Vec<usize> = (0..self.waiters.len()).collect();
        waiting.retain(|&position| self.waiters[position].0 == condition);
        let picked = match waiting.len() {
            0 => return,
            1 => 0,
            several => wake(several as u32) as usize,
        };
        let (_, woken) = self.waiters.remove(waiting[picked]);
        self.threads[woken.position()].signalled = true;
    }

    /// Checks between events are part of the event before them.
    fn check(&mut self, thread: ThreadIndex) {
        while let Some(Step::FailIf(value)) = self.step(thread) {
            let state = &mut self.threads[thread.position()];
            if state.register == value {
                self.failed = Some(thread.0 << 16 | state.next as u32);
            }
            state.next += 1;
        }
    }

    /// How the run has ended, if it has.
    pub fn outcome(&self) -> Option<Outcome> {
        if let Some(place) = self.failed {
            return Some(Outcome::Failed(place));
        }
        if !self.enabled().is_empty() {
            return None;
        }
        let done = self
            .threads
            .iter()
            .all(|thread| matches!(thread.phase, Phase::Gone | Phase::Absent));
        Some(match done {
            true => Outcome::Ended(self.variables.clone()),
            false => Outcome::Deadlock,
        })
    }

    fn pendings(&self) -> Vec<Pending> {
        let all = (0..self.threads.len() as u32).map(ThreadIndex);
        let pending = all.map(|thread| Pending {
            spins: self.spins(thread),
            ..Pending::new(self.pending(thread))
        });
        pending.collect()
    }

    /// Whether `thread` has just looked for what it is about to look for again.
    fn spins(&self, thread: ThreadIndex) -> bool {
        let last = self.trace.last();
        matches!(self.step(thread), Some(Step::Await(..)))
            && last.is_some_and(|last| *last == (thread, self.pending(thread)))
    }

    /// What was executed, in the form that replay takes.
    pub fn schedule(&self) -> Schedule<PlaceNumber> {
        let mut schedule = Schedule::default();
        for chunk in self.trace.chunk_by(|a, b| a.0 == b.0) {
            let place = chunk[chunk.len() - 1].1.place;
            let visits = chunk.iter().filter(|event| event.1.place == place).count();
            schedule.push(Segment {
                thread: path(chunk[0].0),
                events: chunk.len() as u64,
                end: Some(Anchor {
                    place,
                    visits: visits as u32,
                }),
            });
        }
        for choice in &self.choices {
            schedule.choose(choice.clone());
        }
        schedule
    }
}

/// What a strategy made of a program.
pub struct Run<'p> {
    pub outcome: Outcome,
    pub machine: Machine<'p>,
    pub stop: Option<Stop>,
    pub report: Vec<u8>,
}

/// Runs a program under a strategy.
pub fn run<'p>(program: &'p Program, strategy: &mut dyn Strategy) -> Run<'p> {
    let mut machine = Machine::new(program);
    let mut known = 0;
    let mut last = None;
    let mut stop = None;
    let outcome = loop {
        announce(&machine, &mut known, strategy);
        if let Some(outcome) = machine.outcome() {
            break outcome;
        }
        if let (Some(thread), false) = (machine.only_thread(), strategy.is_asked_alone()) {
            let used = use_grant(&mut machine, strategy, crate::Grant::once(thread));
            let events = last.map_or(0, |last: Used| last.events) + used.events;
            last = Some(Used { events, ..used });
            continue;
        }
        let view = View {
            pending: &machine.pendings(),
            enabled: &machine.enabled(),
            last,
        };
        match strategy.decide(&view) {
            Decision::Run(grant) => last = Some(use_grant(&mut machine, strategy, grant)),
            Decision::Stop(reason) => {
                stop = Some(reason);
                break Outcome::Stopped;
            }
        }
    };
    let (pending, enabled) = (machine.pendings(), machine.enabled());
    let end = View {
        pending: &pending,
        enabled: &enabled,
        last,
    };
    let report = strategy.report(&end).to_vec();
    Run {
        outcome,
        machine,
        stop,
        report,
    }
}

fn announce(machine: &Machine<'_>, known: &mut u64, strategy: &mut dyn Strategy) {
    for (number, thread) in (0u32..).zip(&machine.threads) {
        if thread.phase != Phase::Absent && *known & (1 << number) == 0 {
            *known |= 1 << number;
            strategy.thread_started(ThreadIndex(number), &path(ThreadIndex(number)));
        }
    }
}

fn use_grant(machine: &mut Machine<'_>, strategy: &mut dyn Strategy, grant: crate::Grant) -> Used {
    let thread = grant.thread;
    let mut events = 0;
    while events < grant.events && machine.is_enabled(thread) && machine.failed.is_none() {
        if events > 0 && machine.spins(thread) {
            break;
        }
        if grant.accesses_only && events > 0 && !machine.pending(thread).kind.is_access() {
            break;
        }
        let mut answers = Vec::new();
        machine.execute(thread, &mut |options| {
            let picked = strategy.choose(thread, ChoiceKind::Waiter, options);
            answers.push(picked);
            picked
        });
        for picked in answers {
            let number = machine.asked[thread.position()];
            machine.asked[thread.position()] += 1;
            machine.choices.push(Choice {
                thread: path(thread),
                number,
                kind: ChoiceKind::Waiter,
                picked,
            });
        }
        events += 1;
    }
    Used {
        thread,
        running: thread,
        events,
        place: machine.trace[machine.trace.len() - 1].1.place,
    }
}

/// Every complete run, by brute force.
pub fn enumerate(program: &Program) -> Vec<(Outcome, Vec<(ThreadIndex, Operation)>)> {
    fn walk(machine: &Machine<'_>, found: &mut Vec<(Outcome, Vec<(ThreadIndex, Operation)>)>) {
        if let Some(outcome) = machine.outcome() {
            found.push((outcome, machine.trace.clone()));
            return;
        }
        for thread in machine.enabled() {
            let waiters = machine.waiters.len().max(1) as u32;
            for wanted in 0..waiters {
                let mut next = machine.clone();
                let mut options = 1;
                next.execute(thread, &mut |several| {
                    options = several;
                    wanted.min(several - 1)
                });
                if wanted < options {
                    walk(&next, found);
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(&Machine::new(program), &mut found);
    found
}

/// Two threads that both add one to variable 0 without a lock; the last reader
/// of the sum fails if an addition was lost.
pub fn lost_update() -> Program {
    use Step::*;
    let adder = vec![Read(0), Add(0, 1)];
    let main = vec![Fork(1), Fork(2), Join(1), Join(2), Read(0), FailIf(1)];
    vec![main, adder.clone(), adder]
}

/// One thread waits in a loop, unrolled here, for what the other does last.
pub fn long_wait(turns: usize) -> Program {
    use Step::*;
    let spin = core::iter::repeat_n(Read(0), turns).chain([FailIf(0)]);
    vec![
        vec![Fork(1), Fork(2)],
        spin.collect(),
        vec![Set(1, 1), Set(0, 1)],
    ]
}

/// Two threads that take two locks in opposite order.
pub fn crossed_locks() -> Program {
    use Step::*;
    vec![
        vec![Fork(1), Fork(2)],
        vec![Lock(0), Lock(1), Unlock(1), Unlock(0)],
        vec![Lock(1), Lock(0), Unlock(0), Unlock(1)],
    ]
}

/// Follows one plan up to a position, and goes on with another one from there, as a
/// run does that is cloned from the middle of another.
pub struct Relay<'p> {
    now: Box<dyn Strategy + 'p>,
    then: Option<(&'p Plan, Position)>,
    threads: Vec<(ThreadIndex, ThreadPath)>,
}

impl<'p> Relay<'p> {
    /// At the first decision at which the first plan has come so far.
    pub fn new(first: &'p Plan, second: &'p Plan, at: Position) -> Relay<'p> {
        Relay {
            now: first.strategy(0),
            then: Some((second, at)),
            threads: Vec::new(),
        }
    }
}

impl Strategy for Relay<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        self.threads.push((thread, path.clone()));
        self.now.thread_started(thread, path);
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        let here = |then: &mut (&Plan, Position)| self.now.position() >= Some(then.1);
        if let Some((plan, at)) = self.then.take_if(here) {
            self.now = plan.resume(0, at, &self.now.memory());
            for (thread, path) in &self.threads {
                self.now.thread_started(*thread, path);
            }
        }
        self.now.decide(view)
    }

    fn is_asked_alone(&self) -> bool {
        self.now.is_asked_alone()
    }

    fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        self.now.choose(thread, kind, options)
    }

    fn report(&mut self, end: &View<'_>) -> &[u8] {
        self.now.report(end)
    }
}
