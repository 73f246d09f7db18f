//! The second back end: real threads that pass a baton. Only who has it runs, so
//! the engine, the strategy and the events are those of fibers; a debugger sees
//! threads.

use crate::{
    carrier::CarrierOnly, dispatch, faults, heap, pool::POOL, system, thread::Thread, threads,
    unwind,
};
use alloc::boxed::Box;
use bohr_fiber::StackRegion;
use core::{
    cell::Cell,
    ffi::c_void,
    mem::MaybeUninit,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
};

static USED: CarrierOnly<Cell<bool>> = CarrierOnly::new(Cell::new(false));

/// Whether threads pass a baton in this run.
pub fn is_used() -> bool {
    USED.get()
}

/// Chooses the back end of this run.
pub fn use_for_run(used: bool) {
    USED.set(used);
    if used {
        system::stay_on_this_processor();
    }
}

/// A thread's side of the baton.
#[derive(Debug)]
pub struct Baton {
    /// 1 when it is this thread's turn.
    turn: AtomicU32,
    /// 1 when a new thread has come to its first wait.
    ready: AtomicU32,
    /// Address of the thread's entry in the table, set before its first turn.
    thread: AtomicUsize,
    /// Where it waits, for the stacks of a failing run.
    registers: Cell<Option<unwind::Registers>>,
}

impl Baton {
    /// One that stays for good.
    pub fn new() -> &'static Baton {
        Box::leak(Box::new(Baton {
            turn: AtomicU32::new(0),
            ready: AtomicU32::new(0),
            thread: AtomicUsize::new(0),
            registers: Cell::new(None),
        }))
    }

    /// Gives it to this thread.
    pub fn pass(&self) {
        raise(&self.turn);
    }

    /// Notes where this thread is going to wait; before it passes the baton on,
    /// since from then on another may look.
    pub fn note(&self, registers: unwind::Registers) {
        self.registers.set(Some(registers));
    }

    /// Waits for it.
    pub fn wait(&self) {
        await_raised(&self.turn);
        self.turn.store(0, Ordering::Relaxed);
    }

    /// Where the thread waits.
    pub fn registers(&self) -> Option<unwind::Registers> {
        self.registers.get()
    }

    /// Tells a new thread who it is.
    pub fn introduce(&self, thread: &'static Thread) {
        self.thread
            .store(core::ptr::from_ref(thread) as usize, Ordering::Release);
    }
}

fn raise(word: &AtomicU32) {
    word.store(1, Ordering::Release);
    futex(word, libc::FUTEX_WAKE, 1);
}

fn await_raised(word: &AtomicU32) {
    while word.load(Ordering::Acquire) == 0 {
        futex(word, libc::FUTEX_WAIT, 0);
    }
}

fn futex(word: &AtomicU32, operation: i32, value: usize) {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: waits or wakes on a word that stays.
    unsafe {
        system::call(
            libc::SYS_futex,
            [word.as_ptr() as usize, operation, value, 0, 0, 0],
        )
    };
}

/// Waits until the process ends: a thread that has ended does no more, so that
/// nothing runs beside the one that has the baton.
pub fn rest() -> ! {
    static NEVER: AtomicU32 = AtomicU32::new(0);
    loop {
        futex(&NEVER, libc::FUTEX_WAIT, 0);
    }
}

/// Creates a thread that waits for its first turn; its handle and side of the baton.
pub fn start(region: &StackRegion) -> Result<(libc::pthread_t, &'static Baton), i32> {
    let baton = Baton::new();
    let mut attributes = MaybeUninit::uninit();
    let mut handle = 0;
    let argument = core::ptr::from_ref(baton).cast_mut().cast();
    let create = POOL.creator();
    let _account = heap::OwnAccount::open();
    // SAFETY: valid pointers throughout; the region stays mapped.
    let error = dispatch::directly(|| unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        let memory = region.start() as *mut c_void;
        libc::pthread_attr_setstack(attributes.as_mut_ptr(), memory, region.length());
        let error = create(&raw mut handle, attributes.as_ptr(), enter, argument);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        error
    });
    if error != 0 {
        return Err(error);
    }
    await_raised(&baton.ready);
    Ok((handle, baton))
}

/// First code of a thread.
extern "C" fn enter(baton: *mut c_void) -> *mut c_void {
    // SAFETY: `start` passes a baton, which stays.
    let baton = unsafe { &*baton.cast::<Baton>() };
    faults::use_own_stack();
    raise(&baton.ready);
    baton.wait();
    dispatch::begin();
    // SAFETY: introduced before its first turn; threads are never freed.
    let thread = unsafe { &*(baton.thread.load(Ordering::Acquire) as *const Thread) };
    threads::body(thread).run_here()
}
