//! The parked threads that fibers borrow from, on stacks at fixed addresses.
//!
//! The template parks them before it clones runs, since a clone of a parked
//! thread's memory is cheaper than a new thread in every run.

use crate::{addresses, carrier::CarrierOnly, dispatch, engine::ENGINE, heap, real::real, system};
use alloc::vec::Vec;
use bohr_fiber::{CreateThread, Fiber, FiberError, ParkedThread, StackRegion};
use core::{
    cell::{Cell, RefCell},
    ffi::c_void,
};

/// Parked threads.
pub struct Pool {
    usual: Shelf,
    /// Apart, and never filled in advance: where a thread finds its stack depends
    /// on its own run only, not on what the template has learnt from others.
    large: Shelf,
}

/// Parked threads at addresses that follow each other.
struct Shelf {
    /// Free ones; the last one is taken first.
    free: RefCell<Vec<ParkedThread>>,
    /// Where the next stack goes.
    next: Cell<usize>,
}

/// The pool of this process.
#[unsafe(link_section = "bohr_hot")]
pub static POOL: CarrierOnly<Pool> = CarrierOnly::new(Pool {
    usual: Shelf::at(addresses::STACKS),
    large: Shelf::at(addresses::LARGE_STACKS),
});

/// Size of a thread's stack if it does not ask for more, as the C library has it
/// by default; thread-local storage lies at its upper end.
const DEFAULT_STACK: usize = 8 << 20;

impl Pool {
    /// Parks threads until `count` are free.
    pub fn fill(&self, count: usize) -> Result<(), FiberError> {
        let missing = count.saturating_sub(self.usual.free.borrow().len());
        let mut fresh = (0..missing)
            .map(|_| self.usual.park(DEFAULT_STACK))
            .collect::<Result<Vec<_>, _>>()?;
        // The first to be taken is the one parked first.
        fresh.reverse();
        self.usual.free.borrow_mut().splice(0..0, fresh);
        Ok(())
    }

    /// A parked thread with at least this much stack.
    pub fn take(&self, stack: usize) -> Result<ParkedThread, FiberError> {
        if stack <= DEFAULT_STACK {
            return self.usual.take(DEFAULT_STACK);
        }
        self.large.take(stack.next_multiple_of(1 << 20))
    }

    /// Takes one back.
    pub fn give(&self, parked: ParkedThread) {
        let shelf = match stack_of(&parked) {
            ..=DEFAULT_STACK => &self.usual,
            _ => &self.large,
        };
        shelf.free.borrow_mut().push(parked);
    }
}

impl Pool {
    /// In a process that was made from an image: nobody can get into the gaps below
    /// stacks, as far as the kernel can forbid single pages.
    pub fn forbid_gaps(&self) {
        const FORBID: usize = 102; // MADV_GUARD_INSTALL
        let forbid = |region: &StackRegion| {
            let gap = addresses::STACK_GAP;
            let arguments = [region.start() - gap, gap, FORBID, 0, 0, 0];
            // SAFETY: nothing lies there. Where it is unmapped, or the kernel is too old,
            // nothing changes.
            unsafe { system::call(libc::SYS_madvise, arguments) };
        };
        for shelf in [&self.usual, &self.large] {
            let free = shelf.free.borrow();
            free.iter().for_each(|parked| forbid(parked.region()));
        }
        for thread in ENGINE.threads() {
            // SAFETY: null, or the fiber of a thread that has not been joined.
            let fiber = unsafe { thread.fiber.get().as_ref() };
            let parked = fiber.and_then(Fiber::parked);
            parked
                .into_iter()
                .for_each(|parked| forbid(parked.region()));
        }
    }
}

impl Shelf {
    const fn at(start: usize) -> Shelf {
        Shelf {
            free: RefCell::new(Vec::new()),
            next: Cell::new(start),
        }
    }

    fn take(&self, stack: usize) -> Result<ParkedThread, FiberError> {
        let mut free = self.free.borrow_mut();
        let fitting = free.iter().rposition(|parked| stack_of(parked) >= stack);
        match fitting {
            Some(position) => Ok(free.remove(position)),
            None => {
                drop(free);
                self.park(stack)
            }
        }
    }

    fn park(&self, stack: usize) -> Result<ParkedThread, FiberError> {
        let _account = heap::OwnAccount::open();
        let (start, length) = (self.next.get(), stack + addresses::STACK_RESERVE);
        self.next.set(start + length + addresses::STACK_GAP);
        let region = StackRegion::map_above_gap(start, length, addresses::STACK_GAP)?;
        dispatch::directly(|| ParkedThread::new(region, creator()))
    }
}

/// What the program can use of a thread's stack.
fn stack_of(parked: &ParkedThread) -> usize {
    parked.region().length() - addresses::STACK_RESERVE
}

/// The C library's `pthread_create`.
fn creator() -> CreateThread {
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

type RealCreate = unsafe extern "C-unwind" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    extern "C" fn(*mut c_void) -> *mut c_void,
    *mut c_void,
) -> i32;
