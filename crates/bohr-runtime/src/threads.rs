//! Threads of the target: creation, first and last steps, joining.

use crate::{
    addresses, baton,
    carrier::CarrierOnly,
    engine::{ENGINE, Woken, operation},
    heap,
    interpose::{cancel, keys, machine},
    outpost,
    pool::POOL,
    real::real,
    signals,
    thread::{Life, NOW, Start, Thread, Wait},
};
use alloc::{boxed::Box, vec::Vec};
use bohr_event::{EventKind, ThreadIndex, ThreadPath};
use bohr_fiber::{Body, Fiber, ParkedThread};
use core::{cell::RefCell, ffi::c_void, mem::MaybeUninit};

/// What the creator asks for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// What to run.
    pub start: (Start, usize),
    /// Bytes of stack; 0 for the usual.
    pub stack: usize,
    /// Memory that is to be the stack: its lowest address and the first behind it.
    pub given: Option<(usize, usize)>,
    /// Nobody will join it.
    pub detached: bool,
    /// The processors that it is to run on, if not those of its parent.
    pub processors: Option<u8>,
    /// Signals that it blocks, if that is not what its creator blocks.
    pub blocked: Option<u64>,
}

impl Wish {
    /// A thread like any other.
    pub fn new(start: Start, argument: usize) -> Wish {
        Wish {
            start: (start, argument),
            stack: 0,
            given: None,
            detached: false,
            processors: None,
            blocked: None,
        }
    }
}

/// Creates a thread; gives its handle, or an error number.
pub fn create(wish: Wish, place: u64) -> Result<libc::pthread_t, i32> {
    outpost::first_question();
    sweep(place);
    let size = wish.given.map_or(wish.stack, |_| 0);
    let parked = POOL.take(size).map_err(|_| libc::EAGAIN)?;
    let parent = ENGINE.current();
    let object = ENGINE.next_index().object() as usize;
    ENGINE.step(operation(EventKind::Fork, object, place));
    let path = parent.path.child(parent.next_child());
    let thread = ENGINE.add(path.clone(), heap::region_of(hash(&path)));
    thread.detached.set(wish.detached);
    thread.mask.set(wish.blocked.unwrap_or(parent.mask.get()));
    let processors = wish.processors.unwrap_or(parent.processors.get());
    thread.processors.set(processors);
    thread.name.set(machine::name(parent));
    thread.start.set(Some(wish.start));
    let place = entry(wish.start.0 as usize);
    ENGINE.set_pending(
        thread.index,
        operation(EventKind::Start, thread.object(), place),
    );
    board(thread, parked, wish.given);
    Ok(thread.handle.get())
}

/// Gives a thread what it runs on. Memory that the program gives serves as the
/// stack, and thread-local storage stays with the parked thread.
fn board(thread: &'static Thread, parked: ParkedThread, given: Option<(usize, usize)>) {
    thread.handle.set(parked.handle());
    let region = parked.region();
    let stack = given.unwrap_or((region.start(), region.end()));
    thread.stack.set(stack);
    thread
        .reserve
        .set(given.map_or(addresses::STACK_RESERVE, |_| 0));
    let body = body(thread);
    let fiber = Box::new(match given {
        None => Fiber::new(parked, body),
        // SAFETY: the program gives this memory to the thread, and to nobody else.
        Some((_, end)) => unsafe { Fiber::on_stack(parked, end, body) },
    });
    thread.fiber.set(Box::leak(fiber));
}

/// What a thread does from its first turn to its end.
fn body(thread: &'static Thread) -> Body {
    Body {
        run,
        finish,
        argument: core::ptr::from_ref(thread) as usize,
    }
}

/// A number for a path: equal paths, equal numbers; never 0.
fn hash(path: &ThreadPath) -> u64 {
    let mut mixed = 0xcbf2_9ce4_8422_2325u64;
    for &step in path.steps() {
        mixed = (mixed ^ u64::from(step)).wrapping_mul(0x0000_0100_0000_01b3);
        mixed ^= mixed >> 32;
    }
    mixed.max(1)
}

/// First code of a thread on its own stack.
extern "C-unwind" fn run(thread: usize) {
    // SAFETY: `create` passes a thread, and threads are never freed.
    let thread = unsafe { &*(thread as *const Thread) };
    if baton::is_used() {
        baton::arrive();
    }
    thread.owner_number.set(owner_number());
    let Some((start, argument)) = thread.start.get() else {
        return;
    };
    started(EventKind::Start, entry(start as usize));
    // SAFETY: calls what the program passed to `pthread_create`.
    let result = unsafe { start(argument as *mut c_void) };
    thread.result.set(result as usize);
}

/// Where a thread begins, as a place: those are return addresses, and belong to
/// the function that holds the byte before.
pub fn entry(start: usize) -> u64 {
    start as u64 + 1
}

/// The running thread's first event. What was sent to it before is handled before it
/// does anything else.
pub fn started(kind: EventKind, place: u64) {
    let thread = ENGINE.current();
    ENGINE.picked(operation(kind, thread.object(), place));
    signals::deliver(thread, place);
}

/// Last code of a thread.
extern "C" fn finish(thread: usize, early: bool) -> ! {
    // SAFETY: as in `run`.
    let thread = unsafe { &*(thread as *const Thread) };
    thread.left_early.set(early);
    finished(thread)
}

/// Runs the destructors of thread-local data and ends the thread.
pub fn finished(thread: &'static Thread) -> ! {
    let call_destructors = real!(fn __call_tls_dtors());
    // SAFETY: runs what was registered for this thread, on this thread.
    unsafe { call_destructors() };
    keys::destroy();
    let place = thread
        .start
        .get()
        .map_or(0, |(start, _)| entry(start as usize));
    crate::interpose::robust::give_up_locks(place);
    thread.leaves.set(true);
    if ENGINE.do_all_leave() {
        // SAFETY: as the C library does when the last thread ends, `main` long gone.
        unsafe { libc::exit(0) };
    }
    ENGINE.step(operation(EventKind::Exit, thread.object(), place));
    thread.life.set(Life::Ended);
    if thread.detached.get() {
        thread.life.set(Life::Gone);
        LEFT_BEHIND.borrow_mut().push(thread);
    }
    ENGINE.end_current()
}

/// Waits for the end of a thread; its result.
pub fn join(thread: &'static Thread, place: u64, deadline: u64) -> Result<usize, i32> {
    let joining = operation(EventKind::Join, thread.object(), place);
    let wait = Wait::End(thread.index);
    let woken = match deadline {
        // Only who may wait can be cancelled there.
        NOW => ENGINE.announce(joining, wait, NOW),
        deadline => ENGINE.announce_cancellable(joining, wait, deadline),
    };
    match woken {
        Woken::Expired => Err(libc::ETIMEDOUT),
        Woken::Cancelled => cancel::act(),
        Woken::Ready | Woken::Interrupted => {
            thread.life.set(Life::Gone);
            recycle(thread);
            Ok(thread.result.get())
        }
    }
}

/// The running thread ends the process. Others that are still there may go on until it
/// does, and see what it has done last.
pub fn ends_process() {
    let thread = ENGINE.current();
    let mut is_last = true;
    ENGINE.each_live(|other| is_last &= other.queue.is_some() || other.index == thread.index);
    if !is_last {
        let place = thread
            .start
            .get()
            .map_or(0, |(start, _)| entry(start as usize));
        ENGINE.step(operation(EventKind::Exit, thread.object(), place));
    }
}

/// Nobody will join the thread.
pub fn detach(thread: &'static Thread) {
    thread.detached.set(true);
    if thread.life.get() == Life::Ended {
        thread.life.set(Life::Gone);
        recycle(thread);
    }
}

/// Detached threads that have ended, whose stacks are still theirs.
#[unsafe(link_section = "bohr_hot")]
static LEFT_BEHIND: CarrierOnly<RefCell<Vec<&'static Thread>>> =
    CarrierOnly::new(RefCell::new(Vec::new()));

/// Gives the stacks of detached threads that have ended back. A thread cannot
/// do that itself: it stands on its stack until it has ended. Whoever takes over
/// the stack knows of that end, which the event tells.
fn sweep(place: u64) {
    // One at a time: others run meanwhile, and sweep as well.
    loop {
        let mut left_behind = LEFT_BEHIND.borrow_mut();
        if left_behind.is_empty() {
            return;
        }
        let thread = left_behind.remove(0);
        drop(left_behind);
        if thread.index != ThreadIndex::MAIN {
            ENGINE.step(operation(EventKind::Join, thread.object(), place));
            recycle(thread);
        }
    }
}

fn recycle(thread: &Thread) {
    let fiber = thread.fiber.replace(core::ptr::null());
    if fiber.is_null() || thread.left_early.get() {
        return;
    }
    // SAFETY: made from a box in `create`, and the thread has ended.
    let fiber = unsafe { Box::from_raw(fiber.cast_mut()) };
    if let Some(recycled) = fiber.recycle() {
        POOL.give(recycled.reset());
    }
}

/// The number by which the C library notes the running thread as an owner,
/// found out by locking a mutex and looking.
pub fn owner_number() -> i32 {
    let lock = real!(fn pthread_mutex_lock(*mut libc::pthread_mutex_t) -> i32);
    let unlock = real!(fn pthread_mutex_unlock(*mut libc::pthread_mutex_t) -> i32);
    let mut mutex = MaybeUninit::new(libc::PTHREAD_MUTEX_INITIALIZER);
    // SAFETY: a mutex of our own that nobody else knows.
    unsafe {
        lock(mutex.as_mut_ptr());
        let owner = crate::layout::Mutex::at(mutex.as_ptr() as usize).owner();
        unlock(mutex.as_mut_ptr());
        owner
    }
}
