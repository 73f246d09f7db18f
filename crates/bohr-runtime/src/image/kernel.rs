//! What the kernel knows of a run's only thread, kept in the memory of the run, so
//! that an image has it.

use crate::{carrier::CarrierOnly, faults::KernelAction, system};
use core::cell::Cell;

/// Signals of the system.
const SIGNALS: usize = 64;
/// Limits of a process.
const LIMITS: usize = 16;

#[derive(Clone, Copy)]
struct Known {
    actions: [[u64; 4]; SIGNALS],
    alternate: [usize; 3],
    mask: u64,
    creation_mask: usize,
    limits: [[u64; 2]; LIMITS],
    heap_end: usize,
}

static KNOWN: CarrierOnly<Cell<Option<Known>>> = CarrierOnly::new(Cell::new(None));

const _: () = assert!(size_of::<KernelAction>() == size_of::<[u64; 4]>());

/// In a run that stops.
pub fn note() {
    let mut known = Known {
        actions: [[0; 4]; SIGNALS],
        alternate: [0; 3],
        mask: 0,
        creation_mask: 0,
        limits: [[0; 2]; LIMITS],
        heap_end: 0,
    };
    for (position, action) in known.actions.iter_mut().enumerate() {
        let action = action.as_mut_ptr() as usize;
        ask(libc::SYS_rt_sigaction, [position + 1, 0, action, 8]);
    }
    let alternate = known.alternate.as_mut_ptr() as usize;
    ask(libc::SYS_sigaltstack, [0, alternate, 0, 0]);
    let mask = &raw mut known.mask as usize;
    ask(libc::SYS_rt_sigprocmask, [0, 0, mask, 8]);
    known.creation_mask = ask(libc::SYS_umask, [0, 0, 0, 0]);
    ask(libc::SYS_umask, [known.creation_mask, 0, 0, 0]);
    for (resource, limit) in known.limits.iter_mut().enumerate() {
        let limit = limit.as_mut_ptr() as usize;
        ask(libc::SYS_prlimit64, [0, resource, 0, limit]);
    }
    known.heap_end = ask(libc::SYS_brk, [0; 4]);
    KNOWN.set(Some(known));
}

/// In a process that was made from the image.
pub fn put_back() {
    let Some(known) = KNOWN.take() else {
        return;
    };
    for (position, action) in known.actions.iter().enumerate() {
        // Two of them the kernel refuses: nobody can have changed those.
        let action = action.as_ptr() as usize;
        ask(libc::SYS_rt_sigaction, [position + 1, action, 0, 8]);
    }
    let alternate = known.alternate.as_ptr() as usize;
    ask(libc::SYS_sigaltstack, [alternate, 0, 0, 0]);
    let mask = &raw const known.mask as usize;
    ask(
        libc::SYS_rt_sigprocmask,
        [libc::SIG_SETMASK as usize, mask, 0, 8],
    );
    ask(libc::SYS_umask, [known.creation_mask, 0, 0, 0]);
    for (resource, limit) in known.limits.iter().enumerate() {
        // A higher one may be refused, and then the program has what there is.
        let limit = limit.as_ptr() as usize;
        ask(libc::SYS_prlimit64, [0, resource, limit, 0]);
    }
    ask(libc::SYS_brk, [known.heap_end, 0, 0, 0]);
}

/// A system call whose answer is a number, or of which nobody needs one.
fn ask(number: i64, [first, second, third, fourth]: [usize; 4]) -> usize {
    // SAFETY: the calls above read and write what they are given, and set what the run
    // had.
    unsafe { system::call_in_passing(number, [first, second, third, fourth, 0, 0]) as usize }
}
