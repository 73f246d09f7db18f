//! Threads that run the same code, told apart by the order in which they were created
//! among those who come by. That stays as it is when a program starts other threads as
//! well, or sooner. Those who were made to wait for the others go on in that order, too,
//! each after a moment, so they begin as they would have begun.

use crate::meeting::lock;
use crate::namesakes::{Namesake, first};
use crate::progress::{Progress, system_number};
use crate::settings;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Held up for this long if the program says nothing else.
const PAUSE: Duration = Duration::from_millis(100);

/// So many threads that run the same code. A static item, asked at the places that they
/// come by, in [`Breakpoint::when`](crate::Breakpoint::when): all places that ask one of
/// this name mean the same threads.
///
/// ```
/// use bohr_break::{Breakpoint, Roll};
/// use std::sync::Mutex;
///
/// static TELLERS: Roll = Roll::of("tellers", 2);
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
    name: &'static str,
    /// Who stands for all of this name.
    one: Namesake<Roll>,
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
    /// How many have gone on, and who was the last.
    gone: usize,
    last: Progress,
}

impl Roll {
    /// Of so many.
    #[must_use]
    pub const fn of(name: &'static str, threads: usize) -> Roll {
        Roll {
            name,
            one: Namesake::new(),
            of: threads,
            pause: PAUSE,
            called: Mutex::new(Called {
                threads: Vec::new(),
                is_closed: false,
                gone: 0,
                last: Progress::NONE,
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
    pub fn which(&'static self) -> Option<usize> {
        let one = || self.one.get_or_init(|| first(self.name, self));
        settings::are_armed().then(|| one().call())?
    }

    #[cold]
    fn call(&self) -> Option<usize> {
        let own = std::thread::current().id();
        let mut called = lock(&self.called);
        let comes = called.position(own).is_none() && called.threads.len() < self.of;
        if comes {
            called.threads.push((own, system_number()));
            if called.threads.len() == self.of {
                called.close();
                self.changed.notify_all();
            }
            called = self.wait(called, |called| called.is_closed);
            called.close();
            self.changed.notify_all();
        }
        let before = called.position(own)?;
        if comes {
            called = self.wait(called, |called| called.gone >= before);
            let last = called.last;
            drop(called);
            if before > 0 {
                last.let_run(Instant::now() + settings::pause(self.pause));
            }
            let mut called = lock(&self.called);
            called.last = Progress::of_this_thread();
            called.gone = called.gone.max(before + 1);
            self.changed.notify_all();
        }
        Some(before + 1)
    }

    /// Waits until something is so, or the pause is over.
    fn wait<'a>(
        &self,
        called: MutexGuard<'a, Called>,
        is_so: impl Fn(&Called) -> bool,
    ) -> MutexGuard<'a, Called> {
        let pause = settings::pause(self.pause);
        let waited = self
            .changed
            .wait_timeout_while(called, pause, |called| !is_so(called));
        waited.unwrap_or_else(PoisonError::into_inner).0
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
