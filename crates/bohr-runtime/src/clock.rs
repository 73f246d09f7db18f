//! Virtual time. It stands still while threads run, moves a little with each
//! look at it, so that loops that wait for the clock end, and jumps when
//! everybody sleeps.

use crate::{carrier::CarrierOnly, timers};
use core::cell::Cell;

/// How far a look at the clock moves it: one microsecond.
const GLANCE: u64 = 1_000;

/// The clocks of the target.
pub struct Clock {
    /// Nanoseconds since the fork point.
    elapsed: Cell<u64>,
    /// What the real-time clock showed there.
    epoch: Cell<u64>,
    /// How often the target has looked.
    looks: Cell<u64>,
}

/// The clock of this process.
#[unsafe(link_section = "bohr_hot")]
pub static CLOCK: CarrierOnly<Clock> = CarrierOnly::new(Clock {
    elapsed: Cell::new(0),
    epoch: Cell::new(0),
    looks: Cell::new(0),
});

/// What the monotonic clock shows at the fork point: a machine that has been up for a day.
const UPTIME: u64 = 86_400_000_000_000;

impl Clock {
    /// Sets the real-time clock.
    pub fn set_epoch(&self, epoch: u64) {
        self.epoch.set(epoch);
    }

    /// Virtual nanoseconds since the fork point.
    pub fn now(&self) -> u64 {
        self.elapsed.get()
    }

    /// Lets time pass up to `moment`; it never runs backwards.
    pub fn advance_to(&self, moment: u64) {
        self.elapsed.set(self.elapsed.get().max(moment));
        timers::fire_due();
    }

    /// A look at a clock of the system.
    pub fn read(&self, clock: libc::clockid_t) -> u64 {
        self.looks.set(self.looks.get() + 1);
        self.advance_to(self.elapsed.get() + GLANCE);
        self.origin(clock) + self.elapsed.get()
    }

    /// How often the target has looked at a clock.
    pub fn looks(&self) -> u64 {
        self.looks.get()
    }

    /// What the clock shows at the fork point.
    pub fn origin(&self, clock: libc::clockid_t) -> u64 {
        match clock {
            libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => {
                self.epoch.get()
            }
            libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => 0,
            _ => UPTIME,
        }
    }

    /// A moment on one of the system's clocks as a deadline.
    pub fn deadline(&self, clock: libc::clockid_t, time: &libc::timespec) -> u64 {
        nanoseconds(time).saturating_sub(self.origin(clock))
    }

    /// The same for calls that refuse a time that is none.
    pub fn valid_deadline(&self, clock: libc::clockid_t, time: &libc::timespec) -> Option<u64> {
        let is_valid = (0..1_000_000_000).contains(&time.tv_nsec);
        is_valid.then(|| self.deadline(clock, time))
    }

    /// A span of time from now on as a deadline.
    pub fn after(&self, span: &libc::timespec) -> u64 {
        self.elapsed.get().saturating_add(nanoseconds(span))
    }
}

/// A time as a number; negative ones are long past.
pub fn nanoseconds(time: &libc::timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// A number as a time.
pub fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}
