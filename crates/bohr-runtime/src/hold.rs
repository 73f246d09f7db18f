//! Where a run failed, it can be made to wait for a debugger.

use crate::system;
use bohr_event::control::FAILED_THREAD;
use core::sync::atomic::{AtomicBool, Ordering};

static HOLDS: AtomicBool = AtomicBool::new(false);

/// In a fresh child: whether it waits where it fails.
pub fn set(holds: bool) {
    HOLDS.store(holds, Ordering::Relaxed);
}

/// Stops the whole process until somebody continues it, if it was told to.
pub fn at_failure() {
    if HOLDS.swap(false, Ordering::Relaxed) {
        now();
    }
}

/// Stops the whole process until somebody continues it.
pub fn now() {
    let anybody = libc::PR_SET_PTRACER_ANY as usize;
    // To this thread: one for the process may reach another thread, and this
    // one would go on for a while.
    let process = system::process_number() as usize;
    let thread = system::thread_number() as usize;
    // SAFETY: names this thread, lets other processes of the user attach, and
    // stops this one.
    unsafe {
        let name = FAILED_THREAD.as_ptr() as usize;
        system::call(
            libc::SYS_prctl,
            [libc::PR_SET_NAME as usize, name, 0, 0, 0, 0],
        );
        system::call(
            libc::SYS_prctl,
            [libc::PR_SET_PTRACER as usize, anybody, 0, 0, 0, 0],
        );
        system::call(
            libc::SYS_tgkill,
            [process, thread, libc::SIGSTOP as usize, 0, 0, 0],
        );
    }
}
