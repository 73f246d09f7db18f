//! Whether a thread has done what it was about to do, as far as the system tells. A
//! plain call does not say where its statement ends; on a busy machine it may not even
//! have begun when a fixed moment is over.

use std::fs::{read_link, read_to_string};
use std::time::{Duration, Instant};

/// What those who come after one that took a plain step wait, since nobody tells them
/// when its statement is done; on a busy machine until it has run.
const SETTLING: Duration = Duration::from_millis(1);

/// Nanoseconds on a processor in which a thread is sure to have come back to its
/// program and made its statement.
const STATEMENT: u64 = 20_000;

/// A thread, and how long it had been on a processor when it went on. Nothing is
/// known where there is no Linux to tell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// The system's number of the thread.
    thread: Option<i32>,
    spent: u64,
}

impl Progress {
    /// Nobody's.
    pub const NONE: Progress = Progress {
        thread: None,
        spent: 0,
    };

    pub fn of_this_thread() -> Progress {
        let thread = system_number().and_then(|number| number.try_into().ok());
        Progress {
            thread,
            spent: thread.and_then(processor_time).unwrap_or(0),
        }
    }

    /// Gives it a moment, on a busy machine until it has run or waits for somebody.
    pub fn let_run(self, deadline: Instant) {
        std::thread::sleep(SETTLING);
        while Instant::now() < deadline && self.is_late() {
            std::thread::sleep(SETTLING);
        }
    }

    /// Whether it could run, and has not run for as long as a statement takes.
    pub fn is_late(self) -> bool {
        let Some(thread) = self.thread else {
            return false;
        };
        let stat = read_to_string(format!("/proc/self/task/{thread}/stat"));
        // The state follows the name, which may have brackets of its own.
        let could = stat.is_ok_and(|stat| {
            let state = stat.rsplit_once(") ");
            state.is_some_and(|(_, rest)| rest.starts_with('R'))
        });
        could && processor_time(thread).is_some_and(|time| time < self.spent + STATEMENT)
    }
}

/// The system's number of this thread, if there is a Linux to tell.
pub(crate) fn system_number() -> Option<u32> {
    let own = read_link("/proc/thread-self").ok()?;
    own.file_name()?.to_str()?.parse().ok()
}

/// Nanoseconds that a thread of this process has spent on a processor; `None` if it has
/// ended, or if nobody can tell.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn processor_time(thread: i32) -> Option<u64> {
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    // The system's name for the clock of a thread: its number, turned round, and what
    // kind of clock it is.
    let clock = (!thread << 3) | 4 | 2;
    let mut time = [0; 2];
    // SAFETY: seconds and nanoseconds are written into a local.
    let known = unsafe { clock_gettime(clock, &raw mut time) } == 0;
    known.then_some(time[0] as u64 * 1_000_000_000 + time[1] as u64)
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
fn processor_time(_: i32) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn who_runs_or_waits_or_has_ended_is_not_late() {
        let (tell, told) = channel();
        let (end, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(Progress::of_this_thread()).unwrap();
            let _ = ended.recv();
        });
        let waiting = told.recv().unwrap();
        assert!(waiting.thread.is_some() && waiting.spent > 0);
        while waiting.is_late() {
            std::thread::yield_now();
        }
        drop(end);
        thread.join().unwrap();
        assert!(!waiting.is_late());
        let own = Progress::of_this_thread();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
        assert!(!own.is_late());
    }

    #[test]
    fn who_has_not_run_yet_is_late() {
        let own = Progress::of_this_thread();
        let ahead = Progress {
            spent: own.spent + 1_000_000_000,
            ..own
        };
        assert!(ahead.is_late());
    }
}
