//! Processes that were cloned here: waiting for their end, and ending those that
//! take too long.

use crate::{
    faults::{self, WATCHDOG},
    system,
};
use alloc::{format, vec::Vec};
use bohr_event::{
    FailureKind, ThreadIndex,
    control::{Failure, Outcome},
};
use core::mem::MaybeUninit;

/// Time between looks at the clock.
pub const TICK: u64 = 50_000_000;
/// How long an overdue process may take to tell where it is.
const LAST_WORDS: u64 = 2_000_000_000;
/// Interrupts waits. Reserved as [`WATCHDOG`] is.
const TICKER: i32 = 62;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// Killed by us: too late, and no answer to the watchdog.
    Overdue,
}

impl End {
    /// The outcome by the word of the kernel, for a run that left none of its own.
    pub fn outcome(self, milliseconds: u32) -> Outcome {
        let (kind, message) = match self {
            End::Exited(code) => return Outcome::Exited { code },
            End::Killed(signal) => (
                FailureKind::Crash { signal },
                format!("killed by signal {signal}"),
            ),
            End::Overdue => (
                FailureKind::TimeLimit,
                format!("did not answer after {milliseconds} ms"),
            ),
        };
        Outcome::Failed(Failure {
            kind,
            thread: ThreadIndex::MAIN,
            place: None,
            address: 0,
            message,
            states: Vec::new(),
        })
    }
}

/// Waits for a child. The clock is looked at when the tick interrupts the wait,
/// so a short run costs one system call here. `runs` tells how many runs the child
/// has done with, since the limit is for one; or `None` if it does not hold any more.
pub fn wait_for(child: usize, milliseconds: u32, runs: impl Fn() -> Option<u64>) -> End {
    let limit = u64::from(milliseconds) * 1_000_000;
    let mut begin = (0, None);
    let mut asked = false;
    let mut killed = false;
    loop {
        let mut status = 0i32;
        // Its end sends no signal, unless it has become another program by then.
        let any = libc::__WALL as u32 as usize;
        let arguments = [child, &raw mut status as usize, any, 0, 0, 0];
        // SAFETY: writes the status.
        if unsafe { system::try_call(libc::SYS_wait4, arguments) }.is_ok() {
            return match (libc::WIFEXITED(status), killed) {
                (_, true) => End::Overdue,
                (true, _) => End::Exited(libc::WEXITSTATUS(status)),
                (false, _) => End::Killed(libc::WTERMSIG(status)),
            };
        }
        let now = system::monotonic();
        let Some(done) = runs().filter(|_| limit > 0) else {
            continue;
        };
        if done != begin.0 && !asked {
            begin = (done, None);
        }
        let elapsed = now - *begin.1.get_or_insert(now);
        if elapsed > limit && !asked {
            asked = true;
            send_signal(child, WATCHDOG);
        } else if asked && elapsed > limit + LAST_WORDS {
            killed = true;
            send_signal(child, libc::SIGKILL);
        }
    }
}

fn send_signal(process: usize, signal: i32) {
    // SAFETY: the process is our child and has not been waited for.
    unsafe { system::call(libc::SYS_kill, [process, signal as usize, 0, 0, 0, 0]) };
}

/// Makes a signal interrupt waits regularly. Clones do not inherit the timer.
pub fn start_ticking() {
    extern "C" fn tick(_: i32) {}
    faults::set_action(TICKER, tick as *const () as usize, 0);
    // SAFETY: all zeroes are a valid event, and what matters is set.
    let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
    event.sigev_notify = libc::SIGEV_SIGNAL;
    event.sigev_signo = TICKER;
    let interval = libc::timespec {
        tv_sec: 0,
        tv_nsec: TICK as i64,
    };
    let timer = libc::itimerspec {
        it_interval: interval,
        it_value: interval,
    };
    let mut number = 0i32;
    let create = [
        libc::CLOCK_MONOTONIC as usize,
        &raw const event as usize,
        &raw mut number as usize,
        0,
        0,
        0,
    ];
    // SAFETY: reads the event and writes the number of the timer.
    if unsafe { system::try_call(libc::SYS_timer_create, create) }.is_ok() {
        let set = [number as usize, 0, &raw const timer as usize, 0, 0, 0];
        // SAFETY: sets the timer that was just made.
        unsafe { system::call(libc::SYS_timer_settime, set) };
    }
}
