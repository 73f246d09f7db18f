//! Processes that were cloned here: waiting for their end, ending those that
//! take too long, and what they leave behind.

use crate::{
    faults::{self, WATCHDOG},
    system,
};
use alloc::{format, vec::Vec};
use bohr_event::{
    FailureKind, ThreadIndex,
    control::{Failure, Outcome},
};
use core::{
    mem::MaybeUninit,
    sync::atomic::{AtomicBool, Ordering},
};

/// Time between looks at the clock.
pub const TICK: u64 = 50_000_000;
/// How long an overdue process may take to begin to tell where it is.
const LAST_WORDS: u64 = 2_000_000_000;
/// How long one may take to tell it: a schedule can be long, and without it a run cannot be
/// made again.
const REPORT: u64 = 20_000_000_000;
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
/// `reports` tells whether the child writes down how its run went.
pub fn wait_for(
    child: usize,
    milliseconds: u32,
    runs: impl Fn() -> Option<u64>,
    reports: impl Fn() -> bool,
) -> End {
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
            end_orphans();
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
        } else if asked && elapsed > limit + if reports() { REPORT } else { LAST_WORDS } {
            killed = true;
            send_signal(child, libc::SIGKILL);
        }
    }
}

/// Whether what runs leave behind is ours.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Has processes become ours whose parents end, so that what a run has started can go with
/// it. Clones do not inherit that. Where the program has children before `main`, nobody can
/// tell whose a child is.
pub fn adopt() {
    let alone = wait_for_any(libc::WNOHANG) == Err(libc::ECHILD);
    ADOPTS.store(alone, Ordering::Relaxed);
    let arguments = [
        libc::PR_SET_CHILD_SUBREAPER as usize,
        usize::from(alone),
        0,
        0,
        0,
        0,
    ];
    // SAFETY: sets an attribute of this process.
    unsafe { system::call(libc::SYS_prctl, arguments) };
}

/// Ends whatever the last clone has left behind. There is never more than one clone, so all
/// children that are there after its end were the program's.
fn end_orphans() {
    while ADOPTS.load(Ordering::Relaxed) {
        match wait_for_any(libc::WNOHANG) {
            Ok(0) if end_children() => drop(wait_for_any(0)),
            Ok(1..) | Err(libc::EINTR) => {}
            // There are none, or nobody can tell which they are.
            Ok(0) | Err(_) => return,
        }
    }
}

fn wait_for_any(options: i32) -> Result<usize, i32> {
    let any = (options | libc::__WALL) as u32 as usize;
    // SAFETY: nobody wants to know how they ended.
    unsafe { system::try_call(libc::SYS_wait4, [usize::MAX, 0, any, 0, 0, 0]) }
}

/// Kills the children of this thread; whether there was one that is known.
fn end_children() -> bool {
    let path = c"/proc/thread-self/children".as_ptr() as usize;
    let open = [libc::AT_FDCWD as usize, path, 0, 0, 0, 0];
    // SAFETY: opens a file for reading.
    let Ok(file) = (unsafe { system::try_call(libc::SYS_openat, open) }) else {
        return false;
    };
    let mut text = [0u8; 1024];
    let read = [file, text.as_mut_ptr() as usize, text.len(), 0, 0, 0];
    // SAFETY: reads into the buffer, and closes what was opened here.
    let length = unsafe {
        let length = system::try_call(libc::SYS_read, read);
        system::call(libc::SYS_close, [file, 0, 0, 0, 0, 0]);
        length.unwrap_or(0)
    };
    let mut numbers = text[..length].split(|byte| !byte.is_ascii_digit());
    let mut found = false;
    // The last one may be cut, and is whole next time.
    let cut = length == text.len();
    while let Some(number) = numbers.next() {
        let is_last = cut && numbers.clone().next().is_none();
        let digits = number.iter().map(|digit| usize::from(digit - b'0'));
        let process = digits.fold(0, |sum, digit| sum * 10 + digit);
        if process != 0 && !is_last {
            send_signal(process, libc::SIGKILL);
            found = true;
        }
    }
    found
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
