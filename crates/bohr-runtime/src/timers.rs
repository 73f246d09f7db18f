//! Timers in virtual time: they expire when the clock comes by, and the clock
//! moves to them when nobody can go on.

use crate::{
    carrier::CarrierOnly,
    clock::CLOCK,
    engine::ENGINE,
    signals::{self, Sent},
    system,
};
use alloc::vec::Vec;
use bohr_event::ThreadIndex;
use core::cell::{Cell, RefCell};

/// What happens when a timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Nothing.
    None,
    /// A signal to the process, or to one thread.
    Signal {
        /// Which.
        signal: i32,
        /// To whom.
        thread: Option<ThreadIndex>,
        /// With what.
        sent: Sent,
    },
    /// The counter of a descriptor goes up.
    Descriptor(i32),
    /// A thread that waits for it goes on.
    Waiter,
}

/// When a timer expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Virtual time of the next expiry; `u64::MAX` for never.
    pub next: u64,
    /// From expiry to expiry; 0 for a single one.
    pub interval: u64,
}

impl Setting {
    /// Never.
    pub const OFF: Setting = Setting {
        next: u64::MAX,
        interval: 0,
    };
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    notification: Notification,
    setting: Setting,
    /// Expiries that nobody has taken note of.
    expiries: u64,
    /// Expiries since the one whose signal was sent last, which it stands for, too.
    overrun: u64,
    gone: bool,
}

struct Timers {
    /// Numbers are never used again.
    all: RefCell<Vec<Timer>>,
    /// The first expiry.
    next: Cell<u64>,
    /// Expiries since a wait has ended.
    fruitless: Cell<u32>,
}

static TIMERS: CarrierOnly<Timers> = CarrierOnly::new(Timers {
    all: RefCell::new(Vec::new()),
    next: Cell::new(u64::MAX),
    fruitless: Cell::new(0),
});

/// After so many expiries by which nobody can go on, a timer will not help.
const PATIENCE: u32 = 1000;

/// A new timer, which is off; its number.
pub fn create(notification: Notification) -> usize {
    let mut all = TIMERS.all.borrow_mut();
    all.push(Timer {
        notification,
        setting: Setting::OFF,
        expiries: 0,
        overrun: 0,
        gone: false,
    });
    all.len() - 1
}

/// The timer that counts for this descriptor.
pub fn of_descriptor(descriptor: i32) -> Option<usize> {
    let all = TIMERS.all.borrow();
    let counts =
        |timer: &Timer| timer.notification == Notification::Descriptor(descriptor) && !timer.gone;
    all.iter().position(counts)
}

/// Whether there is such a timer.
pub fn exists(number: usize) -> bool {
    let all = TIMERS.all.borrow();
    all.get(number).is_some_and(|timer| !timer.gone)
}

/// Sets a timer; what it was set to.
pub fn set(number: usize, setting: Setting) -> Setting {
    let before = {
        let mut all = TIMERS.all.borrow_mut();
        let timer = &mut all[number];
        timer.expiries = 0;
        timer.overrun = 0;
        core::mem::replace(&mut timer.setting, setting)
    };
    find_next();
    fire_due();
    before
}

/// What it is set to.
pub fn get(number: usize) -> Setting {
    TIMERS.all.borrow()[number].setting
}

/// The timer is no more; whoever waits for it goes on.
pub fn delete(number: usize) {
    let mut all = TIMERS.all.borrow_mut();
    all[number].gone = true;
    all[number].setting = Setting::OFF;
    drop(all);
    find_next();
}

/// Whether it has expired since somebody took note, or is gone.
pub fn has_expired(number: usize) -> bool {
    let timer = TIMERS.all.borrow()[number];
    timer.gone || timer.expiries > 0
}

/// Takes note of one expiry; whether there was one.
pub fn take_expiry(number: usize) -> bool {
    let mut all = TIMERS.all.borrow_mut();
    let timer = &mut all[number];
    let expired = timer.expiries > 0 && !timer.gone;
    timer.expiries = timer.expiries.saturating_sub(1);
    expired
}

/// The first expiry; `u64::MAX` if there is none.
pub fn next() -> u64 {
    TIMERS.next.get()
}

/// The same where nobody can go on, as long as there is hope that it helps.
pub fn next_for_others() -> u64 {
    if next() == u64::MAX || TIMERS.fruitless.get() > PATIENCE {
        return u64::MAX;
    }
    TIMERS.fruitless.set(TIMERS.fruitless.get() + 1);
    next()
}

/// A wait has ended. What handlers do while nobody's wait ends does not count: a timer
/// with a handler must not hide a deadlock.
#[inline]
pub fn somebody_went_on() {
    // Most programs have no timer, and need not touch this page.
    if TIMERS.fruitless.get() != 0 {
        TIMERS.fruitless.set(0);
    }
}

/// A thread goes round in circles: time may pass.
pub fn hurry() {
    if next() != u64::MAX {
        CLOCK.advance_to(next());
    }
}

/// The clock has moved.
#[inline]
pub fn fire_due() {
    if TIMERS.next.get() <= CLOCK.now() {
        fire();
    }
}

#[cold]
fn fire() {
    let now = CLOCK.now();
    let count = TIMERS.all.borrow().len();
    for number in 0..count {
        if let Some((notification, expiries)) = expire(number, now) {
            notify(number, notification, expiries);
        }
    }
    find_next();
}

/// Counts the expiries of a timer up to now.
fn expire(number: usize, now: u64) -> Option<(Notification, u64)> {
    let mut all = TIMERS.all.borrow_mut();
    let timer = &mut all[number];
    let Setting { next, interval } = timer.setting;
    if next > now {
        return None;
    }
    let expiries = match (now - next).checked_div(interval) {
        Some(more) => {
            timer.setting.next = next + (more + 1) * interval;
            more + 1
        }
        None => {
            timer.setting.next = u64::MAX;
            1
        }
    };
    timer.expiries += expiries;
    Some((timer.notification, expiries))
}

/// How many expiries the last signal stands for beyond the first.
pub fn overrun(number: usize) -> u64 {
    TIMERS.all.borrow()[number].overrun
}

/// Sends the signal of a timer, unless the one before has not been taken: then
/// that one stands for these expiries, too.
fn send(number: usize, signal: i32, thread: Option<ThreadIndex>, sent: Sent, expiries: u64) {
    let thread = thread.map(|thread| ENGINE.thread(thread));
    let waits = signals::is_waiting(signal, thread);
    let timer = &mut TIMERS.all.borrow_mut()[number];
    timer.overrun = match waits {
        true => timer.overrun + expiries,
        false => expiries - 1,
    };
    match thread {
        _ if waits => {}
        Some(thread) => signals::send_to_thread(thread, signal, sent),
        None => signals::send_to_process(signal, sent),
    }
}

fn notify(number: usize, notification: Notification, expiries: u64) {
    match notification {
        Notification::None | Notification::Waiter => {}
        Notification::Signal {
            signal,
            thread,
            sent,
        } => send(number, signal, thread, sent, expiries),
        Notification::Descriptor(descriptor) => {
            let address = &raw const expiries as usize;
            let arguments = [descriptor as usize, address, 8, 0, 0, 0];
            // SAFETY: reads the number; a descriptor that was closed is refused.
            unsafe { system::call(libc::SYS_write, arguments) };
        }
    }
}

fn find_next() {
    let all = TIMERS.all.borrow();
    let next = all.iter().map(|timer| timer.setting.next).min();
    TIMERS.next.set(next.unwrap_or(u64::MAX));
}
