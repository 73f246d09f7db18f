//! Makes the memory of this process that of a run whose image was taken.
//!
//! All that is to be done is worked out first, as a list of system calls
//! ([`script`]), and written to a place that no image has. Then a fiber on a stack
//! there makes the calls one after the other, and touches nothing else: whatever it
//! would touch is being replaced.

mod script;

use super::{aside, maps};
use crate::{
    channel::Channel,
    engine::ENGINE,
    ledger::Ledger,
    lifecycle,
    output::{self, Outputs},
    system,
    task::Task,
};
use alloc::{boxed::Box, format, string::String, vec::Vec};
use bohr_event::{
    abi,
    control::{Job, Script},
};
use bohr_fiber::Fiber;
use core::{ptr, slice};
use script::Call;

/// What the process that goes on from an image has to know of the one that made it.
#[derive(Clone, Copy)]
pub struct Begin {
    /// To the explorer.
    pub channel: Channel,
    /// For what runs leave.
    pub ledger: Ledger,
    /// How many templates it descends from.
    pub depth: u32,
    /// Where the output of runs goes.
    pub outputs: Outputs,
    /// The job, as bytes.
    job: Part,
    calls: Part,
}

/// A part of the memory that images leave free.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    length: usize,
}

impl Begin {
    /// The job that the image was restored for.
    pub fn job(&self) -> Option<Box<Job>> {
        // SAFETY: written by `begin_from`, and nobody writes there again.
        let bytes = unsafe { slice::from_raw_parts(self.job.start as *const u8, self.job.length) };
        postcard::from_bytes(bytes).ok()
    }
}

fn place() -> *mut Begin {
    abi::IMAGE_NOTE as *mut Begin
}

/// In a process that was made from an image.
pub fn begun() -> Begin {
    // SAFETY: `begin_from` has written it.
    unsafe { *place() }
}

/// Gives back what was needed to make the process.
pub fn clean_up() {
    let begin = begun();
    let end = begin.calls.start + begin.calls.length;
    let note = abi::IMAGE_NOTE as usize;
    let stack = abi::IMAGE_STACK as usize;
    for (start, end) in [(note, end), (stack, stack + super::STACK)] {
        let arguments = [start, (end - start).next_multiple_of(4096), 0, 0, 0, 0];
        // SAFETY: nobody uses it any more.
        unsafe { system::call(libc::SYS_munmap, arguments) };
    }
}

/// In a clone of the template: goes on from the unpacked image at `task.job.from`.
/// Returns only if that is not possible, with the reason.
pub fn begin_from(task: &Task, channel: Channel, ledger: Ledger, depth: u32) -> String {
    match prepare(task, channel, ledger, depth) {
        Ok(fiber) => {
            if let Some(own) = lifecycle::main_fiber() {
                own.switch_to(fiber);
            }
            String::from("the template has no stack of its own")
        }
        Err(reason) => reason,
    }
}

fn prepare(
    task: &Task,
    channel: Channel,
    ledger: Ledger,
    depth: u32,
) -> Result<&'static Fiber, String> {
    let (file, script) = open(&task.job.from)?;
    let calls = script::compile(&script, file)?;
    let job = postcard::to_allocvec(&task.job).map_err(|error| format!("{error}"))?;
    let length = |calls: &[Call]| size_of_val(calls);
    let head = size_of::<Begin>().next_multiple_of(64);
    let body = job.len().next_multiple_of(64);
    let all = (head + body + length(&calls)).next_multiple_of(4096);
    let start = system::map_at(abi::IMAGE_NOTE as usize, all, false)
        .map_err(|error| format!("no memory for an image: error {error}"))?;
    let begin = Begin {
        channel,
        ledger,
        depth,
        outputs: output::hand_over(),
        job: Part {
            start: start + head,
            length: job.len(),
        },
        calls: Part {
            start: start + head + body,
            length: length(&calls),
        },
    };
    // SAFETY: fresh memory that is long enough for all three.
    unsafe {
        place().write(begin);
        ptr::copy_nonoverlapping(job.as_ptr(), begin.job.start as *mut u8, job.len());
        let calls_there = begin.calls.start as *mut Call;
        ptr::copy_nonoverlapping(calls.as_ptr(), calls_there, calls.len());
    }
    aside(make)
}

/// The unpacked image: its file, and what is to be done with it.
fn open(path: &str) -> Result<(i32, Script), String> {
    let unreadable = |error: i32| format!("the unpacked image cannot be read: error {error}");
    let file = script::open(path, libc::O_RDONLY).map_err(unreadable)?;
    let mut length = [0; 8];
    let read = |bytes: &mut [u8]| system::read_all(file, bytes).map_err(unreadable);
    read(&mut length)?;
    let mut bytes: Vec<u8> = alloc::vec![0; u64::from_le_bytes(length) as usize];
    read(&mut bytes)?;
    let script = postcard::from_bytes(&bytes);
    let script = script.map_err(|_| String::from("the unpacked image makes no sense"))?;
    Ok((file, script))
}

/// What the fiber does.
extern "C-unwind" fn make(_: usize) {
    let Part { start, length } = begun().calls;
    // SAFETY: `prepare` has written so many calls there.
    let calls = unsafe { slice::from_raw_parts(start as *const Call, length / size_of::<Call>()) };
    for call in calls {
        // SAFETY: worked out for this process, whose memory is nobody's any more.
        let answer = unsafe { system::call_in_passing(call.number, call.arguments) };
        if call.wanted.is_some_and(|wanted| wanted != answer) {
            system::exit(script::FAILED);
        }
    }
    // SAFETY: `aside` has put it there.
    let own = unsafe { &*(abi::IMAGE_STACK as *const Fiber) };
    // From here on the engine is that of the image.
    own.switch_to(ENGINE.current().fiber());
}

/// What is mapped here, once the heap of the C library is as long as it is to be.
fn mapped(heap_end: u64) -> Option<Vec<maps::Own>> {
    if heap_end != 0 {
        // SAFETY: the C library's heap is nobody's any more.
        unsafe { system::call(libc::SYS_brk, [heap_end as usize, 0, 0, 0, 0, 0]) };
    }
    maps::read()
}
