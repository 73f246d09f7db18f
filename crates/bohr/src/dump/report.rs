//! What is told of a core.

use bohr_dump::variables::{Call, Information, Sections, Variable};
use bohr_dump::{
    Awaited, Dump, Fault, Found, Frame, Loaded, Stacks, ThreadImage, Wait, circles, last_of_chain,
    wait,
};
use serde::Serialize;

/// Frames of a stack that are told.
const MOST_FRAMES: usize = 64;

/// Frames among which the function is that has begun to wait.
const NEAREST: usize = 6;

/// How the variables begin that a production build adds.
const TALLIES: &str = "bohr.";

/// All of it.
#[derive(Serialize)]
pub struct Report {
    pub command: Option<String>,
    /// Where the program was.
    pub program: Option<String>,
    pub fault: Option<Fault>,
    /// The thread that got that signal is not in the core.
    pub failed_is_missing: bool,
    /// The one that failed first.
    pub threads: Vec<ThreadReport>,
    /// Numbers of threads that wait for each other.
    pub deadlocks: Vec<Vec<i32>>,
    /// Every thread waits for others, and none for a limited time.
    pub standstill: bool,
    /// Files that were mapped and are not to be found.
    pub missing_files: Vec<String>,
    /// Objects without debug information that were on a stack.
    pub without_debug_information: Vec<String>,
    /// Bytes that the core should have and has not.
    pub missing_bytes: u64,
}

/// One thread.
#[derive(Serialize)]
pub struct ThreadReport {
    pub number: i32,
    pub failed: bool,
    /// What it waits for.
    pub waits: Option<WaitReport>,
    pub frames: Vec<FrameReport>,
    /// Frames further out.
    pub more: usize,
}

/// What a thread waits for.
#[derive(Serialize)]
pub struct WaitReport {
    #[serde(flatten)]
    pub wait: Wait,
    /// The name of the object, if it is a global variable.
    pub name: Option<String>,
}

/// One frame of its stack, or a function that was inlined into it.
#[derive(Serialize)]
pub struct FrameReport {
    pub address: u64,
    #[serde(flatten)]
    pub call: Call,
    /// The object that it belongs to.
    pub object: Option<String>,
    /// Found by a frame pointer: others may be missing in between.
    pub guessed: bool,
    pub variables: Vec<Variable>,
}

impl Report {
    /// Of a core with these objects.
    pub fn of(dump: &Dump<'_>, objects: &[Loaded<'_>], missing: &[String]) -> Report {
        let sections: Vec<Sections<'_>> = objects.iter().map(Sections::of).collect();
        let known = objects.iter().zip(&sections);
        let information: Vec<_> = known
            .map(|(object, sections)| (object, Information::read(sections, object.bias)))
            .collect();
        let stacks = Stacks::new(&dump.memory, objects);
        let teller = Teller {
            dump,
            stacks,
            information,
        };
        let threads: Vec<ThreadReport> = (0..dump.threads.len())
            .map(|position| teller.thread(position))
            .collect();
        Report {
            command: dump.command.clone(),
            program: bohr_dump::loaded::program(dump).map(String::from),
            fault: dump.fault,
            failed_is_missing: dump.failed_is_missing,
            standstill: threads.iter().all(ThreadReport::is_stuck),
            without_debug_information: teller.silent(&threads),
            deadlocks: circles(
                &threads
                    .iter()
                    .map(ThreadReport::waits_for)
                    .collect::<Vec<_>>(),
            ),
            threads,
            missing_files: missing.to_vec(),
            missing_bytes: dump.missing,
        }
    }
}

impl Report {
    /// The threads that cannot go on: those of a circle, or all; none if nobody is to
    /// blame, or a signal of a thread's own. The first is the one to look at: of a
    /// circle, any; otherwise the one that the main thread waits for in the end.
    pub fn stuck(&self) -> Vec<i32> {
        if let Some(circle) = self.deadlocks.first() {
            return circle.clone();
        }
        let outside = self.fault.is_none_or(|fault| fault.is_from_outside());
        let Some(first) = self.threads.first().filter(|_| self.standstill && outside) else {
            return Vec::new();
        };
        let waits: Vec<_> = self.threads.iter().map(ThreadReport::waits_for).collect();
        let lowest = waits.iter().map(|wait| wait.0).min();
        let last = last_of_chain(&waits, lowest.unwrap_or(first.number));
        let others = waits.iter().map(|wait| wait.0);
        [last]
            .into_iter()
            .chain(others.filter(|number| *number != last))
            .collect()
    }
}

impl ThreadReport {
    /// Whom it cannot go on without.
    fn waits_for(&self) -> (i32, Option<i32>) {
        let wait = self.waits.as_ref().map(|waits| waits.wait);
        let wait = wait.filter(|wait| !wait.limited);
        (self.number, wait.and_then(|wait| wait.holder))
    }

    fn is_stuck(&self) -> bool {
        { self.waits.as_ref() }.is_some_and(|waits| !waits.wait.limited)
    }
}

/// What is waited for inside a function of the C library of this name.
fn awaited(function: &str) -> Option<Awaited> {
    let named = |parts: &[&str]| parts.iter().any(|part| function.contains(part));
    if named(&["rwlock_"]) {
        return Some(Awaited::ReaderWriterLock);
    }
    named(&["mutex_", "lll_lock"]).then_some(Awaited::Mutex)
}

struct Teller<'t, 'a> {
    dump: &'t Dump<'a>,
    stacks: Stacks<'t, 'a>,
    information: Vec<(&'t Loaded<'a>, Information<'t>)>,
}

impl Teller<'_, '_> {
    fn thread(&self, position: usize) -> ThreadReport {
        let thread = &self.dump.threads[position];
        let frames = self.stacks.of(&thread.registers);
        let told = 0..frames.len().min(MOST_FRAMES);
        let told: Vec<FrameReport> = told
            .flat_map(|depth| self.frame(&frames[depth..]))
            .collect();
        ThreadReport {
            number: thread.number,
            failed: position == 0 && self.dump.fault.is_some() && !self.dump.failed_is_missing,
            waits: self.wait(thread, &told),
            frames: told,
            more: frames.len().saturating_sub(MOST_FRAMES),
        }
    }

    fn wait(&self, thread: &ThreadImage, frames: &[FrameReport]) -> Option<WaitReport> {
        let names = frames
            .iter()
            .filter_map(|frame| frame.call.function.as_deref());
        let awaited = names.take(NEAREST).find_map(awaited).unwrap_or_default();
        let wait = wait(thread, &self.dump.threads, &self.dump.memory, awaited)?;
        let mut objects = self.information.iter();
        let name = objects.find_map(|(object, _)| object.variable(wait.object));
        Some(WaitReport { wait, name })
    }

    /// The first of these frames, with what was inlined into it before it.
    fn frame(&self, frames: &[Frame]) -> Vec<FrameReport> {
        let Some(frame) = frames.first() else {
            return Vec::new();
        };
        let address = frame.instruction();
        let known = self
            .information
            .iter()
            .find(|(object, _)| object.range.contains(&address));
        let mut calls = known.map_or_else(Vec::new, |(_, known)| known.calls(frame));
        if calls.is_empty() {
            calls.push(Call {
                function: known.and_then(|(object, _)| object.symbol(address)),
                ..Call::default()
            });
        }
        let mut variables = known.map_or_else(Vec::new, |(_, known)| {
            known.variables(frames, &self.dump.memory)
        });
        // What counts iterations is bohr's, not the author's.
        variables.retain(|variable| !variable.name.starts_with(TALLIES));
        let report = |call: Call| FrameReport {
            address: frame.place(),
            object: known.map(|(object, _)| object.path.clone()),
            guessed: frame.found == Found::FramePointer,
            // The innermost line has them all: blocks and inlined functions share one frame.
            variables: std::mem::take(&mut variables),
            call,
        };
        calls.into_iter().map(report).collect()
    }

    /// Objects on stacks about which nothing is known but names.
    fn silent(&self, threads: &[ThreadReport]) -> Vec<String> {
        let frames = threads.iter().flat_map(|thread| &thread.frames);
        let on_stacks: Vec<&String> = frames.filter_map(|frame| frame.object.as_ref()).collect();
        let silent = self
            .information
            .iter()
            .filter(|(_, known)| known.is_empty());
        let paths = silent.map(|(object, _)| &object.path);
        paths
            .filter(|path| on_stacks.contains(path))
            .cloned()
            .collect()
    }
}
