//! Fibers for programs that believe they run on threads.
//!
//! A fiber here has what a POSIX thread has: a stack, thread-local storage,
//! `errno`, keys, cleanup handlers. It gets them by borrowing: a real thread is
//! created, *parked* for good in a system call with all signals blocked, and a
//! fiber takes over its stack and its FS base. One thread of the system, the
//! *carrier*, runs all fibers and changes between them in user space; since it
//! is the only thread that runs, a plain `clone` copies the whole program.
//!
//! What it needs: Linux on x86-64 with the FSGSBASE instructions (any processor
//! and kernel since 2020). What it is not: a general coroutine library. A fiber
//! that has run never moves to another carrier and nothing preempts it.
//!
//! ```
//! use bohr_fiber::{Body, Fiber, ParkedThread, StackRegion};
//! use std::cell::{Cell, OnceCell};
//!
//! thread_local!(static MINE: Cell<u32> = const { Cell::new(0) });
//! struct Two { main: Fiber, other: OnceCell<Fiber> }
//!
//! extern "C-unwind" fn run(two: usize) {
//!     // SAFETY: the address comes from `main` below, which outlives the fiber.
//!     let two = unsafe { &*(two as *const Two) };
//!     MINE.set(MINE.get() + 7); // its own: starts at 0
//!     two.other.get().unwrap().switch_to(&two.main);
//! }
//! extern "C" fn finish(_: usize, _: bool) -> ! { unreachable!("never resumed again") }
//!
//! let two = Two { main: Fiber::of_carrier().unwrap(), other: OnceCell::new() };
//! MINE.set(1);
//! let parked = ParkedThread::new(StackRegion::map(64 << 10).unwrap(), libc::pthread_create).unwrap();
//! let body = Body { run, finish, argument: &two as *const Two as usize };
//! let other = two.other.get_or_init(|| Fiber::new(parked, body));
//! two.main.switch_to(other);
//! assert_eq!(MINE.get(), 1);
//! ```

#![no_std]

extern crate alloc;

mod dtv;
mod fiber;
mod park;
mod stack;
mod switch;
mod system;
mod tls;

pub use fiber::{Body, Fiber, Successor};
pub use park::{CreateThread, ParkedThread, Recycled};
pub use stack::StackRegion;
pub use switch::Registers;

/// Why there can be no fiber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FiberError {
    /// The processor or the kernel does not let user code set the FS base.
    #[error(
        "not supported here: fibers need the FSGSBASE instructions (Linux 5.9 or newer, \
         and a processor of the last ten years); use the back end with real threads"
    )]
    NoFsBase,
    /// The system gave no memory for a stack.
    #[error(
        "no memory for a stack: mmap failed with error {0}; run fewer threads or raise the limit (ulimit -v)"
    )]
    NoStack(i32),
    /// The system gave no thread to park.
    #[error(
        "no thread to park: pthread_create failed with error {0}; raise the limit on threads (ulimit -u)"
    )]
    NoThread(i32),
}
