//! Threads that run the same code, told apart by the order in which they were created
//! among those who come by. That stays as it is when a program starts other threads as
//! well, or sooner.

use crate::meeting::lock;
use crate::progress::system_number;
use crate::settings;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Held up for this long if the program says nothing else.
const PAUSE: Duration = Duration::from_millis(100);

/// So many threads that run the same code. A static item, asked at the places that they
/// come by, in [`Breakpoint::when`](crate::Breakpoint::when): all places that ask the
/// same one mean the same threads.
///
/// ```
/// use bohr_break::{Breakpoint, Roll};
/// use std::sync::Mutex;
///
/// static TELLERS: Roll = Roll::of(2);
/// static YOUNGER_FIRST: Breakpoint = Breakpoint::conflict("younger first");
/// static LEDGER: Mutex<String> = Mutex::new(String::new());
///
/// fn enter(name: char) {
///     // The second of the two is the first to write.
///     let side = if TELLERS.which() == Some(2) { 0 } else { 1 };
///     let _turn = YOUNGER_FIRST.side(side, &LEDGER);
///     LEDGER.lock().unwrap().push(name);
/// }
///
/// bohr_break::arm();
/// std::thread::scope(|scope| {
///     scope.spawn(|| enter('a'));
///     scope.spawn(|| enter('b'));
/// });
/// # #[cfg(feature = "armed")]
/// assert_eq!(*LEDGER.lock().unwrap(), "ba");
/// ```
#[derive(Debug)]
pub struct Roll {
    of: usize,
    pause: Duration,
    called: Mutex<Called>,
    changed: Condvar,
}

#[derive(Debug)]
struct Called {
    /// With the system's numbers; in the order of creation once it is closed, and who
    /// comes late is behind.
    threads: Vec<(ThreadId, Option<u32>)>,
    /// All are there, or nobody waits for the others any longer.
    is_closed: bool,
}

impl Roll {
    /// Of so many.
    #[must_use]
    pub const fn of(threads: usize) -> Roll {
        Roll {
            of: threads,
            pause: PAUSE,
            called: Mutex::new(Called {
                threads: Vec::new(),
                is_closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Holds threads up for at most this long instead of 100 ms.
    #[must_use]
    pub const fn pause(mut self, pause: Duration) -> Roll {
        self.pause = pause;
        self
    }

    /// Which of them this thread is, from 1, in the order in which they were created;
    /// nothing if it is none of them, or if breakpoints sleep. Who comes before all are
    /// there is held up, at its first visit.
    #[inline]
    pub fn which(&self) -> Option<usize> {
        settings::are_armed().then(|| self.call())?
    }

    #[cold]
    fn call(&self) -> Option<usize> {
        let own = std::thread::current().id();
        let mut called = lock(&self.called);
        if called.position(own).is_none() && called.threads.len() < self.of {
            called.threads.push((own, system_number()));
            if called.threads.len() == self.of {
                called.close();
                self.changed.notify_all();
            }
        }
        let deadline = Instant::now() + settings::pause(self.pause);
        while !called.is_closed {
            let left = deadline.saturating_duration_since(Instant::now());
            let waited = self.changed.wait_timeout(called, left);
            called = waited.unwrap_or_else(PoisonError::into_inner).0;
            if left.is_zero() {
                called.close();
                self.changed.notify_all();
            }
        }
        called.position(own).map(|position| position + 1)
    }
}

impl Called {
    fn position(&self, thread: ThreadId) -> Option<usize> {
        self.threads.iter().position(|(one, _)| *one == thread)
    }

    fn close(&mut self) {
        if !self.is_closed {
            self.is_closed = true;
            // The system's numbers begin again from below when they come to their end;
            // none is smaller than the process's before.
            let begin = std::process::id();
            self.threads
                .sort_by_key(|(_, number)| number.map(|number| (number < begin, number)));
        }
    }
}
