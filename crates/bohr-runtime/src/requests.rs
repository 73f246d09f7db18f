//! Asynchronous input and output by the names of POSIX. The C library has threads
//! of its own for it, which nobody would control; here each request is a thread of
//! the program.
//!
//! Requests of one descriptor are done one after the other, as the C library does
//! them. Their state is where the C library keeps it: in the control block.

use crate::{
    carrier::CarrierOnly,
    descriptors::{self, Kind},
    engine::{ENGINE, Woken, operation},
    interpose::{
        cancel, condition, input_output,
        notification::{Event, detached},
    },
    output, system,
    thread::{Interruptible, Wait},
    threads,
};
use alloc::vec::Vec;
use bohr_event::EventKind;
use core::{
    cell::RefCell,
    ffi::{c_int, c_void},
    ptr::NonNull,
};

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Brings the file to the disk, or only its contents.
    Synchronise {
        /// Only the contents.
        data: bool,
    },
}

/// `struct aiocb`.
#[repr(C)]
pub struct Block {
    descriptor: c_int,
    /// What to do, in a list of requests.
    pub code: c_int,
    priority: c_int,
    buffer: *mut c_void,
    length: usize,
    event: [u64; 8],
    /// The C library's own; not needed here.
    order: [usize; 2],
    error: c_int,
    result: isize,
    offset: i64,
}

/// A control block of the program.
pub type Request = NonNull<Block>;

/// A request that is not done.
struct Pending {
    request: usize,
    work: Work,
    descriptor: i32,
    /// Whoever is to be told when all of it is done.
    batch: Option<usize>,
}

struct Requests {
    pending: RefCell<Vec<Pending>>,
    /// What is to be told once nothing of a list is left.
    batches: RefCell<Vec<Event>>,
}

static REQUESTS: CarrierOnly<Requests> = CarrierOnly::new(Requests {
    pending: RefCell::new(Vec::new()),
    batches: RefCell::new(Vec::new()),
});

/// Where all wait who wait for a request.
fn lobby() -> usize {
    &raw const REQUESTS as usize
}

/// How a request stands: `EINPROGRESS`, 0, or an error number.
pub fn state(request: Request, place: u64) -> i32 {
    ENGINE.step(operation(
        EventKind::Receive,
        request.as_ptr() as usize,
        place,
    ));
    // SAFETY: the program's control block, which only the running thread touches.
    unsafe { (*request.as_ptr()).error }
}

/// What the call has answered.
pub fn result(request: Request) -> isize {
    // SAFETY: as above.
    unsafe { (*request.as_ptr()).result }
}

/// Something to be told when a list of requests is done; its number.
pub fn batch(event: Event) -> usize {
    let mut batches = REQUESTS.batches.borrow_mut();
    batches.push(event);
    batches.len() - 1
}

/// Nothing of this list is left, or ever was: tells who wants to know.
pub fn conclude(batch: usize, place: u64) {
    let pending = REQUESTS.pending.borrow();
    let left = pending.iter().any(|pending| pending.batch == Some(batch));
    drop(pending);
    if !left {
        let event = REQUESTS.batches.borrow()[batch];
        event.tell(libc::SI_ASYNCIO, place);
    }
}

/// Puts a request on its way.
pub fn submit(request: Request, work: Work, batch: Option<usize>, place: u64) -> Result<(), i32> {
    // SAFETY: the program's control block.
    let block = unsafe { &mut *request.as_ptr() };
    block.error = libc::EINPROGRESS;
    block.result = -1;
    REQUESTS.pending.borrow_mut().push(Pending {
        request: request.as_ptr() as usize,
        work,
        descriptor: block.descriptor,
        batch,
    });
    let wish = detached(serve, request.as_ptr() as usize);
    // Whoever serves takes no signals of the program.
    let creator = ENGINE.current();
    let mask = creator.mask.replace(u64::MAX);
    let created = threads::create(wish, place);
    creator.mask.set(mask);
    created.map(drop).inspect_err(|&error| {
        leave(request.as_ptr() as usize);
        block.error = error;
    })
}

/// Waits until one of the requests, or each, is done; the error if the time is up
/// or a handler has ended the wait.
pub fn wait(requests: &[Request], all: bool, deadline: u64, place: u64) -> Result<(), i32> {
    let is_done = |request: &Request| !is_pending(request.as_ptr() as usize);
    loop {
        let over = match all {
            true => requests.iter().all(is_done),
            false => requests.iter().any(is_done),
        };
        if over {
            ENGINE.step(operation(EventKind::Receive, lobby(), place));
            return Ok(());
        }
        let waiting = operation(EventKind::Wait, lobby(), place);
        let wake = Wait::Wake(lobby());
        match ENGINE.announce_interruptible(waiting, wake, deadline, Interruptible::Always) {
            Woken::Cancelled => cancel::act(),
            Woken::Interrupted => return Err(libc::EINTR),
            Woken::Expired => return Err(libc::EAGAIN),
            Woken::Ready => {}
        }
    }
}

/// Whether requests of this descriptor are not done: this one, or any.
pub fn is_busy(descriptor: i32, request: Option<Request>) -> bool {
    let pending = REQUESTS.pending.borrow();
    pending.iter().any(|pending| {
        pending.descriptor == descriptor
            && request.is_none_or(|request| request.as_ptr() as usize == pending.request)
    })
}

/// The descriptor of a request.
pub fn descriptor(request: Request) -> i32 {
    // SAFETY: the program's control block.
    unsafe { (*request.as_ptr()).descriptor }
}

fn is_pending(request: usize) -> bool {
    let pending = REQUESTS.pending.borrow();
    pending.iter().any(|pending| pending.request == request)
}

/// It is no longer pending; the list that it belongs to.
fn leave(request: usize) -> Option<usize> {
    let mut pending = REQUESTS.pending.borrow_mut();
    let position = pending
        .iter()
        .position(|pending| pending.request == request)?;
    pending.remove(position).batch
}

/// What is pending for this request, if nothing of its descriptor is before it.
fn turn(request: usize) -> Option<Work> {
    let pending = REQUESTS.pending.borrow();
    let own = pending.iter().find(|pending| pending.request == request)?;
    let first = pending
        .iter()
        .find(|pending| pending.descriptor == own.descriptor)?;
    (first.request == request).then_some(own.work)
}

/// The thread of a request.
unsafe extern "C-unwind" fn serve(request: *mut c_void) -> *mut c_void {
    let place = serve as *const () as u64;
    let work = loop {
        if let Some(work) = turn(request as usize) {
            break work;
        }
        let waiting = operation(EventKind::Wait, lobby(), place);
        ENGINE.announce(waiting, Wait::Wake(lobby()), u64::MAX);
    };
    // SAFETY: the program keeps its control block until the request is done.
    let block = unsafe { &mut *request.cast::<Block>() };
    let answer = perform(block, work, place);
    ENGINE.step(operation(EventKind::Send, request as usize, place));
    block.result = answer.map_or(-1, |count| count as isize);
    block.error = answer.err().unwrap_or(0);
    let event = Event::from_words(block.event);
    let batch = leave(request as usize);
    condition::wake(lobby(), usize::MAX);
    event.tell(libc::SI_ASYNCIO, place);
    if let Some(batch) = batch {
        conclude(batch, place);
    }
    core::ptr::null_mut()
}

fn perform(block: &Block, work: Work, place: u64) -> system::Answer {
    let descriptor = block.descriptor as usize;
    let (buffer, length) = (block.buffer as usize, block.length);
    let placed = descriptors::kind(block.descriptor) == Kind::File;
    let offset = block.offset as usize;
    let (number, offset) = match (work, placed) {
        (Work::Read, true) => (libc::SYS_pread64, offset),
        (Work::Write, true) => (libc::SYS_pwrite64, offset),
        (Work::Read, false) => (libc::SYS_read, 0),
        (Work::Write, false) => (libc::SYS_write, 0),
        (Work::Synchronise { data: true }, _) => (libc::SYS_fdatasync, 0),
        (Work::Synchronise { data: false }, _) => (libc::SYS_fsync, 0),
    };
    match work {
        Work::Read if !placed => drop(input_output::await_input(block.descriptor, place)),
        Work::Write if !placed => drop(input_output::await_room(block.descriptor, place)),
        _ => {}
    }
    // SAFETY: what the program asked for.
    let answer = unsafe { system::try_call(number, [descriptor, buffer, length, offset, 0, 0]) };
    if let (Work::Write, Ok(count)) = (work, answer) {
        output::note_written(block.descriptor, count);
    }
    answer
}
