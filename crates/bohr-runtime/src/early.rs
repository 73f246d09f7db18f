//! Threads that the program has started before `main`, in static constructors: real
//! ones, outside control. Runs are clones that hold their own first thread only, so
//! `main` begins once the others have ended, or after a time. In a run, one that has
//! ended can be joined as ever; one that has not stands still for good.

use crate::{
    dispatch,
    engine::{ENGINE, operation},
    notices,
    real::real,
    system, verdict,
};
use alloc::format;
use bohr_event::{EventKind, control::Notice};
use core::{
    ffi::c_void,
    mem::MaybeUninit,
    sync::atomic::{AtomicUsize, Ordering},
};

/// How many are kept track of.
const MOST: usize = 1024;
/// How long `main` waits for them: enough for what sets something up, and not much
/// longer than a start may take where one works in the background for good.
const PATIENCE: u64 = 1_000_000_000;
/// Milliseconds between two looks.
const PAUSE: usize = 1;
/// Links of the folder of threads that are not for threads: its own and its parent's.
const OWN_LINKS: u64 = 2;

/// Their handles; 0 where there is none.
static HANDLES: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];

/// A thread has been created before control.
pub fn note(handle: libc::pthread_t) {
    notices::note(Notice::EarlyThread);
    replace(0, handle as usize);
}

/// It has been joined, or will not be.
pub fn forget(handle: libc::pthread_t) {
    replace(handle as usize, 0);
}

/// Whether it is one that somebody may join.
pub fn is_known(handle: libc::pthread_t) -> bool {
    handle != 0
        && HANDLES
            .iter()
            .any(|it| it.load(Ordering::Relaxed) == handle as usize)
}

/// Several threads may create others at the same time.
fn replace(from: usize, to: usize) {
    let swap = |it: &AtomicUsize| {
        let order = Ordering::Relaxed;
        it.compare_exchange(from, to, order, order).is_ok()
    };
    HANDLES.iter().any(swap);
}

/// Before `main`: waits until there is only one thread, if that comes soon.
pub fn await_end() {
    let begun = system::monotonic();
    while threads().is_some_and(|count| count > 1) {
        notices::note(Notice::EarlyThread);
        if system::monotonic() - begun > PATIENCE {
            return;
        }
        // SAFETY: waits for nothing.
        unsafe { system::call(libc::SYS_poll, [0, 0, PAUSE, 0, 0, 0]) };
    }
}

/// How many threads this process has; `None` if the system does not say.
fn threads() -> Option<u64> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    let path = c"/proc/self/task".as_ptr() as usize;
    let arguments = [path, status.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: reads the path and writes the status, which is valid as zeroes, too.
    let status = unsafe {
        system::try_call(libc::SYS_stat, arguments).ok()?;
        status.assume_init()
    };
    status.st_nlink.checked_sub(OWN_LINKS)
}

/// Joins one of them under control. Whether it has ended is settled: `attempt` is for
/// who would not wait for it anyway.
pub fn join(handle: libc::pthread_t, result: *mut *mut c_void, place: u64, attempt: bool) -> i32 {
    ENGINE.step(operation(EventKind::External, 0, place));
    let join = real!(fn pthread_tryjoin_np(libc::pthread_t, *mut *mut c_void) -> i32);
    // SAFETY: the thread is there, and nobody has joined it.
    let error = dispatch::directly(|| unsafe { join(handle, result) });
    if error == 0 {
        forget(handle);
    }
    if error == libc::EBUSY && !attempt {
        verdict::unsupported(&format!(
            "it waits for a thread that was started before `main` and was still running {} s \
             later; bohr controls the threads that are started from `main` on",
            PATIENCE / 1_000_000_000
        ));
    }
    error
}

/// Nobody will join it.
pub fn detach(handle: libc::pthread_t) -> i32 {
    let detach = real!(fn pthread_detach(libc::pthread_t) -> i32);
    forget(handle);
    // SAFETY: the thread is there, and nobody has joined it.
    dispatch::directly(|| unsafe { detach(handle) })
}
