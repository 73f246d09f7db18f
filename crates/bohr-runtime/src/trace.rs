//! The trace of a run: every event is written, as it happens, into the file that
//! the explorer named, through a mapping that the two share. What was written is
//! there whatever becomes of the run, and no system call is made for an event.
//!
//! A value is what memory holds once the access is done. Of a read that is what
//! it holds when the thread is let go on. A write is kept back until its thread
//! comes to the runtime again; nobody else has run meanwhile, so what memory
//! holds then is what was written, unless code without hooks has written over it.
//!
//! A process that was cloned in the middle of a traced run goes on with a trace
//! of its own, which begins with a copy of all that happened up to there.

mod store;

pub use store::{close, end_of, open};

use crate::{carrier::CarrierOnly, engine::ENGINE, peek::peek, system};
use bohr_event::{
    ChoiceKind, EventKind, Operation, ThreadIndex, ThreadPath,
    control::{Detailing, Job},
};
use bohr_trace::{Record, Writer};
use core::cell::{Cell, RefCell};
use store::Store;

/// See the module.
pub struct Tracer {
    writer: RefCell<Option<Writer<Store>>>,
    /// Events that may still be written.
    left: Cell<u64>,
    /// The last event, if it is a write that has not been written yet.
    held: Cell<Option<Record>>,
}

/// The trace of this process.
#[unsafe(link_section = "bohr_hot")]
pub static TRACER: CarrierOnly<Tracer> = CarrierOnly::new(Tracer {
    writer: RefCell::new(None),
    left: Cell::new(0),
    held: Cell::new(None),
});

impl Tracer {
    /// In a run that begins: its trace goes to this file, from this offset on.
    pub fn begin(&self, job: &Job, file: Option<i32>, offset: u64) {
        let wanted = file.filter(|_| job.trace != Detailing::Never);
        ENGINE.trace(wanted.is_some());
        let Some(file) = wanted else {
            // What was written is somebody else's. To free the writer would
            // touch pages for nothing.
            core::mem::forget(self.writer.take());
            return;
        };
        let mut writer = self.writer.borrow_mut();
        let store = Store::map(file, offset);
        let begun = match writer.as_mut() {
            None => store.and_then(|store| {
                *writer = Some(Writer::new(store).ok()?);
                self.left.set(job.trace_limit);
                Some(())
            }),
            Some(writer) => store.and_then(|store| writer.relocate(store).ok().map(Store::unmap)),
        };
        if begun.is_none() {
            system::say("bohr: no room for the trace of a run; see TMPDIR and ulimit -v -f\n");
            system::exit(2);
        }
    }

    /// A thread has come into being.
    pub fn name_thread(&self, index: ThreadIndex, path: &ThreadPath) {
        if let Some(writer) = self.writer.borrow_mut().as_mut() {
            writer.name_thread(index, path.steps());
        }
    }

    /// Where there are threads when the trace begins.
    pub fn name_threads(&self) {
        for thread in ENGINE.threads() {
            self.name_thread(thread.index, &thread.path);
        }
    }

    /// Writes an event that happens as soon as this returns.
    #[inline]
    pub fn step(&self, thread: ThreadIndex, operation: Operation) {
        self.settle();
        if self.left.get() == 0 {
            return ENGINE.trace(false);
        }
        self.left.set(self.left.get() - 1);
        let mut record = Record {
            thread,
            operation,
            value: None,
        };
        match operation.kind {
            EventKind::Write | EventKind::Update | EventKind::Store => self.held.set(Some(record)),
            EventKind::Read => {
                record.value = value(&operation);
                self.push(&record);
            }
            _ => self.push(&record),
        }
    }

    /// The running thread has come to the runtime: what it was to write before is
    /// in memory.
    #[inline]
    pub fn settle(&self) {
        if let Some(mut record) = self.held.take() {
            record.value = value(&record.operation).filter(|_| !is_dead(&record));
            self.push(&record);
        }
    }

    #[inline]
    fn push(&self, record: &Record) {
        if let Some(writer) = self.writer.borrow_mut().as_mut() {
            writer.push(record);
        }
    }

    /// Writes an answer of the strategy that is not the ordinary one.
    pub fn choice(&self, thread: ThreadIndex, number: u32, kind: ChoiceKind, picked: u32) {
        if let Some(writer) = self.writer.borrow_mut().as_mut() {
            writer.choose(thread, number, kind, picked);
        }
    }

    /// At the end of the run, after so many events; `fault` is the address that
    /// it failed at, whose access has not been made.
    pub fn finish(&self, events: u64, fault: Option<u64>) {
        // Where the run ended inside the writer, what it holds stays as it is.
        let Ok(mut writer) = self.writer.try_borrow_mut() else {
            return;
        };
        if let Some(mut writer) = writer.take() {
            if let Some(mut record) = self.held.take() {
                let operation = &record.operation;
                let at_fault = fault.is_some_and(|fault| {
                    fault.wrapping_sub(operation.object) < u64::from(operation.size.max(1))
                });
                record.value = value(operation).filter(|_| !at_fault);
                writer.push(&record);
            }
            let missing = events.saturating_sub(writer.next().0);
            writer.leave_out(missing);
            writer.finish();
        }
    }
}

fn value(operation: &Operation) -> Option<u64> {
    peek(operation.object as usize, operation.size)
}

/// Whether what was written lay on the writer's stack and has been given up: the
/// stack ends above it now.
fn is_dead(record: &Record) -> bool {
    let (start, end) = ENGINE.thread(record.thread).stack.get();
    let top = &raw const *record as usize;
    let object = record.operation.object as usize;
    (start..end).contains(&object) && (start..end).contains(&top) && object < top
}
