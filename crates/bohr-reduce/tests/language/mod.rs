//! A small concurrent language and its interpreter: threads, variables, locks,
//! conditions. Programs are random; an execution is a list of threads, one for
//! each step, and yields the trace that bohr would have recorded.

use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex, control::Step};
use proptest::prelude::*;
use std::collections::VecDeque;

/// One statement. Numbers name variables, locks and conditions.
#[derive(Clone, Copy, Debug)]
pub enum Statement {
    /// Mixes the variable into the thread's register.
    Load(u8),
    /// Stores the register.
    Store(u8),
    /// Mixes, then stores, in one step.
    Exchange(u8),
    /// Under the lock: loads and stores the variable.
    Locked(u8, u8),
    /// Under the lock: waits on the condition.
    Await(u8, u8),
    /// Wakes who waits longest on the condition.
    Wake(u8),
    /// Wakes all.
    WakeAll(u8),
    /// Allocates a block, writes it, gives it back.
    Borrow(u8),
}

/// Statements by thread; the first thread creates and joins the others.
pub type Program = Vec<Vec<Statement>>;

/// A random program.
pub fn programs(threads: usize, statements: usize) -> impl Strategy<Value = Program> {
    let statement = prop_oneof![
        4 => (0u8..4).prop_map(Statement::Load),
        4 => (0u8..4).prop_map(Statement::Store),
        1 => (0u8..4).prop_map(Statement::Exchange),
        3 => (0u8..2, 0u8..4).prop_map(|(lock, variable)| Statement::Locked(lock, variable)),
        1 => (0u8..2, 0u8..2).prop_map(|(lock, condition)| Statement::Await(lock, condition)),
        2 => (0u8..2).prop_map(Statement::Wake),
        1 => (0u8..2).prop_map(Statement::WakeAll),
        1 => (0u8..2).prop_map(Statement::Borrow),
    ];
    prop::collection::vec(prop::collection::vec(statement, 0..statements), 1..=threads)
}

/// Operations of a thread, made from its statements.
fn operations(program: &Program, thread: usize) -> Vec<(EventKind, u64)> {
    use EventKind::*;
    let [variable, lock, condition] = [0x100u64, 0x200, 0x300];
    let own = ThreadIndex(thread as u32).object();
    let children = || (1..program.len() as u32).map(|child| ThreadIndex(child).object());
    let mut list = vec![(Start, own)];
    if thread == 0 {
        list.extend(children().map(|child| (Fork, child)));
    }
    for statement in &program[thread] {
        let at = |base: u64, number: u8| base + 8 * u64::from(number);
        match *statement {
            Statement::Load(v) => list.push((Read, at(variable, v))),
            Statement::Store(v) => list.push((Write, at(variable, v))),
            Statement::Exchange(v) => list.push((Update, at(variable, v))),
            Statement::Locked(l, v) => list.extend([
                (Acquire, at(lock, l)),
                (Read, at(variable, v)),
                (Write, at(variable, v)),
                (Release, at(lock, l)),
            ]),
            Statement::Await(l, c) => list.extend([
                (Acquire, at(lock, l)),
                (Release, at(lock, l)),
                (Wait, at(condition, c)),
                (Acquire, at(lock, l)),
                (Release, at(lock, l)),
            ]),
            Statement::Wake(c) => list.push((Signal, at(condition, c))),
            Statement::WakeAll(c) => list.push((Broadcast, at(condition, c))),
            Statement::Borrow(b) => {
                list.extend([
                    (Alloc, at(0x400, b)),
                    (Write, at(0x400, b)),
                    (Free, at(0x400, b)),
                ]);
            }
        }
    }
    if thread == 0 {
        list.extend(children().map(|child| (Join, child)));
    }
    list.push((Exit, own));
    list
}

/// A thread that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    next: usize,
    register: u64,
    /// Every value it has read.
    read: Vec<u64>,
    woken: bool,
}

/// An execution under way.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Interpreter {
    code: Vec<Vec<(EventKind, u64)>>,
    threads: Vec<Thread>,
    memory: std::collections::BTreeMap<u64, u64>,
    held: std::collections::BTreeMap<u64, usize>,
    queues: std::collections::BTreeMap<u64, VecDeque<usize>>,
    created: Vec<bool>,
}

/// All that can be seen at the end of an execution.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    memory: std::collections::BTreeMap<u64, u64>,
    threads: Vec<(usize, u64, Vec<u64>)>,
}

impl Interpreter {
    pub fn new(program: &Program) -> Interpreter {
        let threads = (0..program.len()).map(|number| Thread {
            next: 0,
            register: number as u64 + 1,
            read: Vec::new(),
            woken: false,
        });
        Interpreter {
            code: (0..program.len())
                .map(|thread| operations(program, thread))
                .collect(),
            threads: threads.collect(),
            memory: Default::default(),
            held: Default::default(),
            queues: Default::default(),
            created: (0..program.len()).map(|thread| thread == 0).collect(),
        }
    }

    /// Whether the thread's next operation is possible.
    pub fn enabled(&self, thread: usize) -> bool {
        let Some(&(kind, object)) = self.code[thread].get(self.threads[thread].next) else {
            return false;
        };
        match kind {
            EventKind::Start => self.created[thread],
            EventKind::Acquire => !self.held.contains_key(&object),
            EventKind::Wait => self.threads[thread].woken,
            EventKind::Join => {
                let child = ThreadIndex::from_object(object).unwrap().position();
                self.threads[child].next == self.code[child].len()
            }
            EventKind::Alloc => !self.memory.contains_key(&object),
            _ => true,
        }
    }

    /// Carries out the thread's next operation.
    pub fn step(&mut self, thread: usize) -> Step {
        assert!(self.enabled(thread), "thread {thread} cannot go on");
        let (kind, object) = self.code[thread][self.threads[thread].next];
        self.effect(thread, kind, object);
        self.threads[thread].next += 1;
        // Who waits queues up as soon as it has done what comes before.
        if let Some(&(EventKind::Wait, condition)) =
            self.code[thread].get(self.threads[thread].next)
        {
            self.threads[thread].woken = false;
            self.queues.entry(condition).or_default().push_back(thread);
        }
        self.announced(thread, kind, object)
    }

    /// What threads are about to do.
    pub fn pending(&self) -> Vec<Step> {
        let next = |(thread, state): (usize, &Thread)| {
            let &(kind, object) = self.code[thread].get(state.next)?;
            Some(self.announced(thread, kind, object))
        };
        self.threads.iter().enumerate().filter_map(next).collect()
    }

    fn announced(&self, thread: usize, kind: EventKind, object: u64) -> Step {
        Step {
            thread: ThreadIndex(thread as u32),
            operation: Operation {
                kind,
                order: MemoryOrder::Plain,
                size: if kind.is_access() || kind == EventKind::Alloc {
                    8
                } else {
                    0
                },
                object,
                place: PlaceNumber(self.threads[thread].next as u64),
            },
        }
    }

    fn effect(&mut self, thread: usize, kind: EventKind, object: u64) {
        let state = &mut self.threads[thread];
        if matches!(kind, EventKind::Read | EventKind::Update) {
            let value = self.memory.get(&object).copied().unwrap_or_default();
            state.read.push(value);
            state.register = state.register.wrapping_mul(31).wrapping_add(value ^ object);
        }
        let register = state.register;
        match kind {
            EventKind::Write | EventKind::Update => drop(self.memory.insert(object, register)),
            EventKind::Alloc => drop(self.memory.insert(object, 0)),
            EventKind::Free => drop(self.memory.remove(&object)),
            EventKind::Acquire => drop(self.held.insert(object, thread)),
            EventKind::Release => drop(self.held.remove(&object)),
            EventKind::Fork => {
                self.created[ThreadIndex::from_object(object).unwrap().position()] = true
            }
            EventKind::Signal => self.wake(object, 1),
            EventKind::Broadcast => self.wake(object, usize::MAX),
            _ => {}
        }
    }

    fn wake(&mut self, condition: u64, most: usize) {
        let queue = self.queues.entry(condition).or_default();
        let count = queue.len().min(most);
        for thread in queue.drain(..count) {
            self.threads[thread].woken = true;
        }
    }

    /// How far a thread has come, its register, and all that it has read.
    pub fn of(&self, thread: usize) -> (usize, u64, Vec<u64>) {
        let state = &self.threads[thread];
        (state.next, state.register, state.read.clone())
    }

    pub fn outcome(&self) -> Outcome {
        let threads = self.threads.iter();
        Outcome {
            memory: self.memory.clone(),
            threads: threads
                .map(|thread| (thread.next, thread.register, thread.read.clone()))
                .collect(),
        }
    }
}

/// Runs a program to its end or its deadlock; `pick` chooses among the threads
/// that can go on. What happened, what was about to happen, and the end.
pub fn execute(
    program: &Program,
    mut pick: impl FnMut(usize) -> usize,
) -> (Vec<Step>, Vec<Step>, Outcome) {
    let mut interpreter = Interpreter::new(program);
    let mut steps = Vec::new();
    loop {
        let enabled: Vec<usize> = (0..program.len())
            .filter(|&thread| interpreter.enabled(thread))
            .collect();
        if enabled.is_empty() {
            return (steps, interpreter.pending(), interpreter.outcome());
        }
        steps.push(interpreter.step(enabled[pick(enabled.len())]));
    }
}

/// Random picks.
pub fn picks(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    }
}
