//! The end of a run, whatever it is: what happened is written down for the
//! template, and the process ends.

use crate::{
    carrier::CarrierOnly,
    engine::ENGINE,
    footprint, gates, hold,
    interpose::loading,
    ledger::{Ledger, Summary},
    notices,
    objects::OBJECTS,
    omitted_stores, output, probe,
    record::RECORD,
    rewind, system,
    thread::{Life, Thread, Wait},
    trace::TRACER,
    unwind, waiting, watch,
};
use alloc::{format, string::String, vec::Vec};
use bohr_event::{
    FailureKind, PlaceNumber, ThreadPath,
    control::{Detail, Failure, Job, Outcome, ThreadState},
};
use bohr_fiber::Fiber;
use bohr_schedule::Stop;
use core::{cell::Cell, ops::Range};

/// What a run needs to know in order to report.
pub struct Reporting {
    job: Cell<Option<&'static Job>>,
    ledger: Cell<Option<Ledger>>,
    /// Set once the end has begun: a fault from now on is the runtime's own.
    closing: Cell<bool>,
    /// The registers of the failing thread, where a signal brought them.
    context: Cell<Option<unwind::Registers>>,
}

/// The reporting of this process.
#[unsafe(link_section = "bohr_hot")]
pub static REPORTING: CarrierOnly<Reporting> = CarrierOnly::new(Reporting {
    job: Cell::new(None),
    ledger: Cell::new(None),
    closing: Cell::new(false),
    context: Cell::new(None),
});

/// Exit code of a process whose verdict is in the ledger.
const CLOSED: i32 = 70;

impl Reporting {
    /// In a fresh child.
    pub fn begin(&self, job: &'static Job, ledger: Ledger) {
        self.job.set(Some(job));
        self.ledger.set(Some(ledger));
    }

    /// Sets where the unwinder starts in the failing thread.
    pub fn set_context(&self, registers: unwind::Registers) {
        self.context.set(Some(registers));
    }

    /// Memory that is shared with the template.
    pub fn memory(&self) -> Option<Range<usize>> {
        self.ledger.get().map(|ledger| ledger.memory())
    }

    /// Begins the end of the run; whether that had begun.
    fn close(&self) -> bool {
        if let Some(ledger) = self.ledger.get() {
            ledger.close();
        }
        self.closing.replace(true)
    }

    /// Whether a run is being closed.
    pub fn is_closing(&self) -> bool {
        self.closing.get()
    }
}

/// The program did something that it must not.
pub fn fail(kind: FailureKind, message: &str) -> ! {
    fail_at(kind, message, None, 0)
}

/// The same, with the place of the failing instruction and the address it used.
pub fn fail_at(kind: FailureKind, message: &str, place: Option<PlaceNumber>, address: usize) -> ! {
    // Waits are told from the state as it is; nobody may move it any more.
    let thread = ENGINE.current();
    let failure = Failure {
        kind,
        thread: thread.index,
        place,
        address: address as u64,
        message: String::from(message),
        states: states(thread),
    };
    close(Outcome::Failed(failure))
}

/// No thread can go on, and time does not help.
pub fn stuck() -> ! {
    fail(FailureKind::Deadlock, "no thread can go on")
}

/// The strategy wants no more of this run.
pub fn stopped(stop: &Stop) -> ! {
    close(Outcome::Stopped(
        postcard::to_allocvec(stop).unwrap_or_default(),
    ))
}

/// The trace cannot be written. That may come to light when its end is, so this
/// says so whatever was to be said.
pub fn no_room() -> ! {
    record(Summary::default(), &Outcome::NoRoom, &None);
    system::exit(CLOSED)
}

/// The run cannot go on: the program needs what bohr does not do.
pub fn unsupported(reason: &str) -> ! {
    close(Outcome::Unsupported(String::from(reason)))
}

/// The runtime made a mistake.
pub fn broken(message: &str) -> ! {
    close(Outcome::Broken(String::from(message)))
}

/// The program ends by itself: writes down the run and lets it go on to its end,
/// or, where nothing is lost by it, undoes the run instead. `settle` does what is
/// left to be done before.
pub fn exited(code: i32, settle: impl FnOnce()) {
    if REPORTING.close() {
        return;
    }
    let outcome = Outcome::Exited { code };
    let summary = summary(&outcome);
    let detail = detail(&outcome);
    if code == 0 && detail.is_none() && footprint::is_clean() {
        settle();
        rewind::undo(summary);
    }
    record(summary, &outcome, &detail);
}

fn close(outcome: Outcome) -> ! {
    if !REPORTING.close() {
        write(&outcome);
    }
    if matches!(outcome, Outcome::Failed(_)) {
        hold::at_failure();
    }
    system::exit(CLOSED)
}

fn write(outcome: &Outcome) {
    record(summary(outcome), outcome, &detail(outcome));
}

fn record(summary: Summary, outcome: &Outcome, detail: &Option<Detail>) {
    if let Some(ledger) = REPORTING.ledger.get() {
        ledger.write(summary, outcome, detail);
    }
}

/// Closes the record of the run.
fn summary(outcome: &Outcome) -> Summary {
    omitted_stores::take_back();
    let events = ENGINE.events();
    RECORD.finish(ENGINE.last_ran(), events);
    TRACER.finish(
        ENGINE.traced_events(),
        match outcome {
            Outcome::Failed(failure) => Some(failure.address),
            _ => None,
        },
    );
    Summary {
        threads: ENGINE.program_threads(),
        events,
        begun: ENGINE.begun(),
        switches: RECORD.switches(),
        hash: RECORD.hash(),
    }
}

/// What the job wants to know beyond the figures.
fn detail(outcome: &Outcome) -> Option<Detail> {
    let job = REPORTING.job.get()?;
    let failing = !matches!(outcome, Outcome::Exited { code: 0 });
    if !job.details.covers(failing) {
        return None;
    }
    let threads: Vec<ThreadPath> = ENGINE.threads().iter().map(|t| t.path.clone()).collect();
    let recorded = RECORD.recorded(&threads);
    if loading::has_loaded() {
        OBJECTS.refresh();
    }
    Some(Detail {
        threads,
        schedule: recorded.schedule,
        segments_lost: recorded.segments_lost,
        // The template reads the output once the run has ended.
        output: Vec::new(),
        standing: standing(outcome),
        learnt: ENGINE.learnt(),
        objects: OBJECTS.list(),
        notices: notices::list(),
        left_out: gates::left_out(),
        passes: gates::passes()
            .into_iter()
            .chain(omitted_stores::passes())
            .collect(),
        probed: probe::seen(),
        watched: watch::watched(),
    })
}

/// Every thread of a run that the strategy stopped.
fn standing(outcome: &Outcome) -> Vec<ThreadState> {
    let Outcome::Stopped(_) = outcome else {
        return Vec::new();
    };
    let mut states = states(ENGINE.current());
    for state in &mut states {
        state.operation = ENGINE.pending(state.thread);
    }
    states
}

/// Every live thread with its stack; `running` is the one on whose stack this is.
fn states(running: &Thread) -> Vec<ThreadState> {
    let mut states = Vec::new();
    ENGINE.each_live(|thread| {
        if thread.life.get() == Life::Alive {
            states.push(state(thread, thread.index == running.index));
        }
    });
    states
}

fn state(thread: &Thread, failing: bool) -> ThreadState {
    ThreadState {
        thread: thread.index,
        operation: if failing && thread.wait.get() == Wait::Nothing {
            ENGINE.last_operation()
        } else {
            ENGINE.pending(thread.index)
        },
        enabled: thread.wait.get() == Wait::Nothing || waiting::is_over(thread),
        holder: waiting::holder(thread),
        frames: frames(thread, failing),
    }
}

fn frames(thread: &Thread, failing: bool) -> Vec<PlaceNumber> {
    let registers = if failing {
        match REPORTING.context.get() {
            Some(context) => Some(context),
            None => Some(unwind::Registers::here()),
        }
    } else {
        registers(thread)
    };
    registers.map_or_else(Vec::new, |registers| program_frames(registers, thread))
}

/// Where a thread will go on that does not run now.
pub fn registers(thread: &Thread) -> Option<unwind::Registers> {
    // SAFETY: null, or the fiber of a live thread.
    let fiber = unsafe { thread.fiber.get().as_ref() };
    match fiber.and_then(Fiber::registers) {
        Some(suspended) => Some(unwind::Registers::of_fiber(suspended)),
        None => thread.baton.registers(),
    }
}

/// The stack of a thread from these registers on, without the runtime's frames.
pub fn program_frames(registers: unwind::Registers, thread: &Thread) -> Vec<PlaceNumber> {
    let bounds = [thread.stack.get(), thread.alternate.get().bounds()];
    let addresses = unwind::stack(registers, &bounds);
    addresses
        .into_iter()
        // The runtime's own frames say nothing about the program.
        .filter(|&address| !OBJECTS.is_runtime(address))
        .map(|address| OBJECTS.place(address))
        .collect()
}

/// The message of a failed assertion, as the C library words it.
pub fn assertion_message(expression: &str, file: &str, line: u32, function: &str) -> String {
    format!("{file}:{line}: {function}: Assertion `{expression}' failed.")
}

/// Output that the template captured belongs to the run that made it.
pub fn attach_output(detail: &mut Option<Detail>) {
    if let Some(detail) = detail {
        detail.output = output::captured();
    }
}
