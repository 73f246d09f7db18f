//! A program with threads, run on known values under a schedule of the caller's
//! choice: what the recorder sees of a run, without a machine. The same code that
//! executes recorded paths on unknown values runs here on known ones, so what this
//! gives can be held against the compiled program.

use crate::error::{ExecuteError, explain};
use crate::event::{Action, Spot};
use crate::execute::{
    Code, End, Guide, Halt, Moment, Progress, Step, Thread, World, handle_of, not_modelled,
    of_handle,
};
use crate::memory::{Memory, function_at};
use crate::path::{Ending, Run, Way};
use crate::synchronisation::Synchronisation;
use crate::term::{Scalar, Terms};
use bohr_event::ThreadPath;
use bohr_program::{FunctionNumber, Program};
use std::collections::{HashMap, HashSet};

/// What a played run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// The run, as a recorder would have seen it.
    pub run: Run,
    /// Whether the program was still running when steps ran out or nobody could go on.
    pub stuck: bool,
}

/// Makes the choices of a run.
pub trait Chooser {
    /// Which of these threads, by position in the list, executes its next instruction.
    fn thread(&mut self, ready: &[usize]) -> usize;
}

impl<F: FnMut(&[usize]) -> usize> Chooser for F {
    fn thread(&mut self, ready: &[usize]) -> usize {
        self(ready)
    }
}

/// Runs a program.
///
/// # Errors
/// If it does something that is not modelled.
pub fn play(
    program: &Program,
    arguments: &[&str],
    chooser: &mut dyn Chooser,
    most_steps: u64,
) -> Result<Played, ExecuteError> {
    let code = Code::new(program, Vec::new());
    let arguments = arguments.iter().map(|one| one.as_bytes().to_vec());
    let arguments: Vec<Vec<u8>> = arguments.collect();
    Stage::begin(&code, &arguments)?.run(chooser, most_steps, &arguments)
}

/// Constructors by priority, as `llvm.global_ctors` lists them.
fn constructors(code: &Code<'_>) -> Step<Vec<FunctionNumber>> {
    let program = code.program;
    let mut globals = program.globals.values();
    let list = globals
        .find(|global| &program.texts[global.name] == "llvm.global_ctors")
        .and_then(|list| list.initialiser.expand());
    let mut found = Vec::new();
    for entry in list
        .map(|list| program.constants[list].value.parts())
        .unwrap_or_default()
    {
        let entry = code.constant(entry, &HashMap::new())?;
        if let [priority, function, ..] = entry.parts() {
            let address = function.scalar().known().unwrap_or(0) as u64;
            if let Some(function) = function_at(address, program.functions.len()) {
                found.push((priority.scalar(), function));
            }
        }
    }
    found.sort_by_key(|one| one.0);
    Ok(found.into_iter().map(|one| one.1).collect())
}

/// A program that is being run.
pub(crate) struct Stage<'p> {
    pub(crate) code: &'p Code<'p>,
    pub(crate) world: Plain,
    pub(crate) threads: Vec<(Thread<'p>, Option<End>)>,
    pub(crate) paths: Vec<ThreadPath>,
    children: HashMap<usize, u32>,
}

impl<'p> Stage<'p> {
    pub(crate) fn begin(
        code: &'p Code<'p>,
        arguments: &[Vec<u8>],
    ) -> Result<Stage<'p>, ExecuteError> {
        let main = code.program.functions_named("main").next();
        let main = main.ok_or(ExecuteError::NoMain)?;
        let mut stage = Stage {
            code,
            world: Plain::default(),
            threads: Vec::new(),
            paths: vec![ThreadPath::MAIN],
            children: HashMap::new(),
        };
        let begun = stage.enter(main, arguments);
        begun.map_err(|halt| explain(code.program, None, halt))?;
        Ok(stage)
    }

    fn enter(&mut self, main: FunctionNumber, arguments: &[Vec<u8>]) -> Step<()> {
        self.world.memory = self.code.memory()?;
        let mut ahead = vec![(main, Vec::new())];
        let constructors = constructors(self.code)?;
        ahead.extend(
            constructors
                .into_iter()
                .rev()
                .map(|function| (function, Vec::new())),
        );
        let mut thread = Thread::new(self.code, 0, Guide::Choose(Vec::new()), Vec::new(), ahead);
        thread.prepare(&mut self.world.memory, Some(arguments))?;
        self.threads.push((thread, None));
        Ok(())
    }

    fn run(
        mut self,
        chooser: &mut dyn Chooser,
        most_steps: u64,
        arguments: &[Vec<u8>],
    ) -> Result<Played, ExecuteError> {
        let program = self.code.program;
        let mut blocked = Vec::new();
        for _ in 0..most_steps {
            let all = 0..self.threads.len();
            let ready: Vec<usize> = all
                .filter(|thread| self.threads[*thread].1.is_none() && !blocked.contains(thread))
                .collect();
            if ready.is_empty() {
                break;
            }
            let picked = ready[chooser.thread(&ready) % ready.len()];
            let thread = &mut self.threads[picked].0;
            let progress = match thread.step(&mut self.world) {
                Err(Halt::Fault(_)) => {
                    return Ok(self.finish(picked, Some(Ending::Crashed), arguments));
                }
                other => other.map_err(|halt| explain(program, Some(thread.spot()), halt))?,
            };
            match progress {
                Progress::Blocked => blocked.push(picked),
                Progress::On => blocked.clear(),
                Progress::Over(end) => {
                    blocked.clear();
                    if let Some(ending) = self.over(picked, end) {
                        return Ok(self.finish(picked, Some(ending), arguments));
                    }
                }
            }
            self.spawn().map_err(|halt| explain(program, None, halt))?;
        }
        Ok(self.finish(0, None, arguments))
    }

    /// A thread is over; how the process ends, if that ends it.
    pub(crate) fn over(&mut self, number: usize, end: End) -> Option<Ending> {
        let (thread, over) = &mut self.threads[number];
        let code = |value: Scalar| Ending::Exited(value.known().unwrap_or(0) as i32 & 0xff);
        let ending = match &end {
            End::Aborted => Some(Ending::Aborted),
            End::Exited(value) => Some(code(*value)),
            End::Returned if number == 0 => Some(code(thread.result)),
            _ => None,
        };
        self.world.results.insert(number, thread.result);
        self.world.rules.happens(number, &Action::Exit);
        *over = Some(end);
        ending
    }

    /// Threads that were created begin to exist.
    pub(crate) fn spawn(&mut self) -> Step<()> {
        for (parent, number, function, arguments) in std::mem::take(&mut self.world.created) {
            let child = self.children.entry(parent).or_default();
            *child += 1;
            self.paths.push(self.paths[parent].child(*child));
            let arguments = arguments.into_iter().map(Into::into).collect();
            let ahead = vec![(function, arguments)];
            let guide = Guide::Choose(Vec::new());
            let mut thread = Thread::new(self.code, number, guide, Vec::new(), ahead);
            thread.prepare(&mut self.world.memory, None)?;
            self.threads.push((thread, None));
        }
        Ok(())
    }

    pub(crate) fn finish(
        self,
        failed: usize,
        ending: Option<Ending>,
        arguments: &[Vec<u8>],
    ) -> Played {
        let threads = self.threads.into_iter().zip(self.paths);
        let threads = threads.map(|((thread, _), path)| {
            let Guide::Choose(steps) = thread.guide else {
                unreachable!("played threads choose their way")
            };
            Way {
                thread: path,
                certain: steps.len(),
                steps,
                inputs: Vec::new(),
            }
        });
        Played {
            run: Run {
                arguments: arguments.to_vec(),
                environment: self.code.environment.clone(),
                threads: threads.collect(),
                failed,
                ending: ending.unwrap_or(Ending::Exited(0)),
            },
            stuck: ending.is_none(),
        }
    }
}

/// A world in which everything is known.
#[derive(Default)]
pub(crate) struct Plain {
    terms: Terms,
    memory: Memory,
    rules: Synchronisation,
    barriers: HashMap<u64, u32>,
    threads: usize,
    created: Vec<(usize, usize, FunctionNumber, Vec<Scalar>)>,
    results: HashMap<usize, Scalar>,
    /// Of a run that is traced: the accesses that count, and how much each thread has
    /// done that does.
    pub(crate) is_seen: Option<HashSet<Spot>>,
    ticks: HashMap<usize, u32>,
    expected: HashMap<usize, u32>,
    /// How much the current thread may have done at the end of its step.
    pub(crate) limit: Option<u32>,
    pub(crate) current: usize,
    /// The next store waits; its address in the traced run.
    pub(crate) buffers_next: Option<u64>,
    buffers: HashMap<usize, Vec<Waiting>>,
}

/// A store that waits in its thread's buffer.
#[derive(Clone, Copy)]
struct Waiting {
    /// Its address in the traced run.
    object: u64,
    address: Scalar,
    size: u32,
    value: Scalar,
}

impl Plain {
    pub(crate) fn ticks(&self, thread: usize) -> u32 {
        self.ticks.get(&thread).copied().unwrap_or(0)
    }

    /// How much a thread has to have done when it has done one thing more.
    pub(crate) fn expect(&mut self, thread: usize) -> u32 {
        let expected = self.expected.entry(thread).or_default();
        *expected += 1;
        *expected
    }

    /// A thread that has not done all that the trace tells of.
    pub(crate) fn behind(&self) -> Option<usize> {
        let expected = self.expected.iter();
        let behind = expected.filter(|(thread, expected)| self.ticks(**thread) < **expected);
        behind.map(|(thread, _)| *thread).min()
    }

    fn tick(&mut self, thread: usize, count: u32) {
        *self.ticks.entry(thread).or_default() += count;
    }

    /// The oldest store of a thread to an address is in memory now.
    pub(crate) fn write_out(&mut self, thread: usize, object: u64) {
        let waiting = self.buffers.entry(thread).or_default();
        if let Some(at) = waiting.iter().position(|store| store.object == object) {
            let store = waiting.remove(at);
            // It was possible when it was put there.
            let _ = self
                .memory
                .store(&mut self.terms, store.address, store.size, store.value);
        }
    }
}

impl World for Plain {
    fn terms(&mut self) -> &mut Terms {
        &mut self.terms
    }

    fn begin(&mut self, moment: Moment) {
        if self
            .is_seen
            .as_ref()
            .is_some_and(|seen| seen.contains(&moment.spot))
        {
            self.tick(moment.thread, moment.counts);
        }
    }

    fn finish(&mut self) {}

    fn load(&mut self, address: Scalar, size: u32) -> Step<Scalar> {
        let waiting = self.buffers.get(&self.current).into_iter().flatten();
        let own = |store: &&Waiting| store.address == address && store.size == size;
        if let Some(store) = waiting.rev().find(own) {
            return Ok(store.value);
        }
        self.memory.load(&mut self.terms, address, size)
    }

    fn store(&mut self, address: Scalar, size: u32, value: Scalar) -> Step<()> {
        if let Some(object) = self.buffers_next.take() {
            self.buffers.entry(self.current).or_default().push(Waiting {
                object,
                address,
                size,
                value,
            });
            return Ok(());
        }
        self.memory.store(&mut self.terms, address, size, value)
    }

    fn add(&mut self, address: u64, size: u64) -> Step<()> {
        self.memory.add(address, size)
    }

    fn act(&mut self, moment: Moment, action: Action) -> Step<()> {
        // When buffers become empty, the traced run tells.
        if action == Action::Drain {
            return Ok(());
        }
        // Between two parts of one call others may do something.
        let done = self
            .limit
            .is_some_and(|limit| self.ticks(moment.thread) >= limit);
        if done || !self.rules.allows(moment.thread, &action) {
            return Err(Halt::Blocked);
        }
        self.rules.happens(moment.thread, &action);
        self.tick(moment.thread, 1);
        Ok(())
    }

    fn look(&mut self, moment: Moment) {
        self.tick(moment.thread, 1);
    }

    fn fork(&mut self, moment: Moment, routine: Scalar, arguments: Vec<Scalar>) -> Step<u64> {
        let address = routine.known().unwrap_or(0) as u64;
        let Some(function) = function_at(address, usize::MAX) else {
            return not_modelled("a thread that begins nowhere");
        };
        self.tick(moment.thread, 1);
        self.threads += 1;
        self.created
            .push((moment.thread, self.threads, function, arguments));
        Ok(handle_of(self.threads))
    }

    fn join(&mut self, moment: Moment, handle: Scalar) -> Step<Scalar> {
        let thread = of_handle(handle.known().unwrap_or(0) as u64);
        match thread.map(|thread| self.results.get(&thread)) {
            None => not_modelled("a join of something that is no thread"),
            Some(None) => Err(Halt::Blocked),
            Some(Some(result)) => {
                let result = *result;
                self.tick(moment.thread, 1);
                Ok(result)
            }
        }
    }

    fn demand(&mut self, _: Spot, _: Scalar) -> Step<()> {
        Ok(())
    }

    fn set_barrier(&mut self, barrier: u64, count: u32) {
        self.barriers.insert(barrier, count);
    }

    fn barrier(&self, barrier: u64) -> u32 {
        self.barriers.get(&barrier).copied().unwrap_or(1)
    }

    fn set_semaphore(&mut self, semaphore: u64, value: u64) {
        self.rules.set_semaphore(semaphore, value);
    }
}
