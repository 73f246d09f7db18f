//! Waiting for a word to change, and time.

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

/// Nanoseconds of the monotonic clock.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Nanoseconds that a thread of this process has spent on a processor; `None` if it
/// has ended.
pub fn processor_time(thread: u32) -> Option<u64> {
    // The kernel's name for the clock of a thread: its number, turned round, and
    // what kind of clock it is.
    const OF_THREAD: i32 = 4;
    const SCHEDULER: i32 = 2;
    read((!(thread as i32) << 3) | OF_THREAD | SCHEDULER)
}

fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock writes into a local.
    let known = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    known.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The system's number of this thread.
pub fn thread() -> u32 {
    // SAFETY: asks for a number.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// Waits until somebody changes `word` from `seen` and says so, or until the
/// deadline; may come back for no reason.
fn wait_once(word: &AtomicU32, seen: u32, deadline: u64) {
    let time = libc::timespec {
        tv_sec: (deadline / 1_000_000_000) as i64,
        tv_nsec: (deadline % 1_000_000_000) as i64,
    };
    // A bit set says until when, instead of for how long.
    let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    let nobody: *const u32 = ptr::null();
    // SAFETY: word and time live as long as the call.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation,
            seen,
            &raw const time,
            nobody,
            libc::FUTEX_BITSET_MATCH_ANY,
        )
    };
}

/// Waits until `done` says so of the word; `false` if the deadline comes first.
pub fn wait(word: &AtomicU32, deadline: u64, done: impl Fn(u32) -> bool) -> bool {
    loop {
        let seen = word.load(Ordering::SeqCst);
        if done(seen) {
            return true;
        }
        if now() >= deadline {
            return false;
        }
        wait_once(word, seen, deadline);
    }
}

/// Wakes all who wait for the word.
pub fn wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives as long as the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, i32::MAX) };
}

/// Does nothing for so long, as exactly as the system can tell time: what it puts up
/// with by itself, 50 µs for most threads, is half of what most statements are given.
pub fn sleep(nanoseconds: u64) {
    let word = AtomicU32::new(0);
    exactly(|| wait(&word, now().saturating_add(nanoseconds), |_| false));
}

/// Waits with timers that are not late, and leaves the thread's as they were.
fn exactly<R>(work: impl FnOnce() -> R) -> R {
    const EXACT: libc::c_ulong = 1;
    // SAFETY: asks for a number.
    let usual = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    let set = |slack: libc::c_ulong| {
        // SAFETY: concerns the timers of this thread alone.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) }
    };
    // Zero is that of threads whose timers are exact anyway.
    let usual = libc::c_ulong::try_from(usual)
        .ok()
        .filter(|usual| *usual > EXACT);
    if usual.is_some() {
        set(EXACT);
    }
    let result = work();
    usual.map(set);
    result
}

/// A lock for moments: 0 free, 1 held, 2 held and wanted.
pub struct Lock(AtomicU32);

impl Lock {
    pub const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    /// Whoever held it is in another process.
    pub fn abandon(&self) {
        self.0.store(0, Ordering::SeqCst);
    }

    /// Does something under the lock.
    pub fn hold<R>(&self, work: impl FnOnce() -> R) -> R {
        let free = self
            .0
            .compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst);
        if free.is_err() {
            while self.0.swap(2, Ordering::SeqCst) != 0 {
                wait_once(&self.0, 2, u64::MAX / 2);
            }
        }
        let result = work();
        if self.0.swap(0, Ordering::SeqCst) == 2 {
            wake(&self.0);
        }
        result
    }
}

/// Does something and leaves the program's `errno` as it was.
pub fn keeping_errno(work: impl FnOnce()) {
    // SAFETY: every thread has its own.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *place };
    work();
    // SAFETY: as above.
    unsafe { *place = before };
}
