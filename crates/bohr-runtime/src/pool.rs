//! The parked threads that fibers borrow from, on stacks at fixed addresses.
//!
//! The template parks them before it clones runs, since a clone of a parked
//! thread's memory is cheaper than a new thread in every run.

use crate::{addresses, carrier::CarrierOnly, dispatch, heap, real::real};
use alloc::vec::Vec;
use bohr_fiber::{CreateThread, FiberError, ParkedThread, StackRegion};
use core::{
    cell::{Cell, RefCell},
    ffi::c_void,
};

/// Parked threads.
pub struct Pool {
    /// Free ones; the last one is taken first.
    free: RefCell<Vec<ParkedThread>>,
    /// Where the next stack goes.
    next: Cell<usize>,
    /// How many are taken.
    taken: Cell<usize>,
}

/// The pool of this process.
#[unsafe(link_section = "bohr_hot")]
pub static POOL: CarrierOnly<Pool> = CarrierOnly::new(Pool {
    free: RefCell::new(Vec::new()),
    next: Cell::new(addresses::STACKS),
    taken: Cell::new(0),
});

/// Size of a thread's stack if it asks for nothing else, as the C library has it
/// by default, plus room for thread-local storage.
pub const DEFAULT_STACK: usize = 8 << 20;

impl Pool {
    /// Parks threads until `count` are free.
    pub fn fill(&self, count: usize) -> Result<(), FiberError> {
        let missing = count.saturating_sub(self.free.borrow().len());
        let mut fresh = (0..missing)
            .map(|_| self.park(DEFAULT_STACK))
            .collect::<Result<Vec<_>, _>>()?;
        // The first to be taken is the one parked first.
        fresh.reverse();
        self.free.borrow_mut().splice(0..0, fresh);
        Ok(())
    }

    /// A parked thread with at least this much stack.
    pub fn take(&self, stack: usize) -> Result<ParkedThread, FiberError> {
        self.taken.set(self.taken.get() + 1);
        let mut free = self.free.borrow_mut();
        let fitting = free
            .iter()
            .rposition(|parked| parked.region().length() >= stack);
        match fitting {
            Some(position) => Ok(free.remove(position)),
            None => {
                drop(free);
                self.park(stack.max(DEFAULT_STACK))
            }
        }
    }

    /// Takes one back.
    pub fn give(&self, parked: ParkedThread) {
        self.free.borrow_mut().push(parked);
    }

    fn park(&self, stack: usize) -> Result<ParkedThread, FiberError> {
        let _account = heap::OwnAccount::open();
        let region = self.region(stack)?;
        dispatch::directly(|| ParkedThread::new(region, self.creator()))
    }

    /// A stack that nobody has used.
    pub fn region(&self, stack: usize) -> Result<StackRegion, FiberError> {
        let length = stack.max(DEFAULT_STACK).next_multiple_of(1 << 20);
        let start = self.next.get();
        self.next.set(start + length + addresses::STACK_GAP);
        StackRegion::map_at(start, length)
    }

    /// The C library's `pthread_create`.
    pub fn creator(&self) -> CreateThread {
        let create = real!(
            fn pthread_create(
                *mut libc::pthread_t,
                *const libc::pthread_attr_t,
                extern "C" fn(*mut c_void) -> *mut c_void,
                *mut c_void,
            ) -> i32
        );
        // SAFETY: the two types differ in whether unwinding may pass, and thread
        // creation does not unwind.
        unsafe { core::mem::transmute::<RealCreate, CreateThread>(create) }
    }
}

type RealCreate = unsafe extern "C-unwind" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> i32;
