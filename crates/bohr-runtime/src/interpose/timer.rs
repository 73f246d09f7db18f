//! Alarms, interval timers, POSIX timers and timer descriptors, all in virtual time.

use super::{
    caller, interpose,
    notification::{Event, detached},
};
use crate::{
    carrier::CarrierOnly,
    clock::{CLOCK, nanoseconds, timespec},
    control, descriptors,
    engine::{ENGINE, operation},
    real::real,
    signals::{self, Sent},
    system,
    thread::{Start, Wait},
    threads,
    timers::{self, Notification, Setting},
};
use alloc::vec::Vec;
use bohr_event::{EventKind, ThreadIndex};
use core::{cell::RefCell, ffi::c_void};

/// Signals of the interval timers, by their numbers: real, virtual, profiling.
const SIGNALS: [i32; 3] = [libc::SIGALRM, libc::SIGVTALRM, libc::SIGPROF];

/// Timers that are there without having been created, by number in [`SIGNALS`].
static INTERVALS: CarrierOnly<RefCell<[Option<usize>; 3]>> =
    CarrierOnly::new(RefCell::new([None; 3]));

/// POSIX timers by number: the clocks that they were created for.
static CLOCKS: CarrierOnly<RefCell<Vec<(usize, libc::clockid_t)>>> =
    CarrierOnly::new(RefCell::new(Vec::new()));

/// What the program wants to be called when a timer with a thread expires.
static CALLS: CarrierOnly<RefCell<Vec<(usize, Start, usize)>>> =
    CarrierOnly::new(RefCell::new(Vec::new()));

fn fail(error: i32) -> i32 {
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// The timer behind one of the interval timers.
fn interval_timer(which: usize) -> usize {
    let known = INTERVALS.borrow()[which];
    known.unwrap_or_else(|| {
        let timer = timers::create(Notification::Signal {
            signal: SIGNALS[which],
            thread: None,
            sent: Sent::default(),
        });
        INTERVALS.borrow_mut()[which] = Some(timer);
        timer
    })
}

fn from_now(span: u64) -> u64 {
    match span {
        0 => u64::MAX,
        span => CLOCK.now().saturating_add(span),
    }
}

/// Nanoseconds to an expiry; 0 for never.
fn left(setting: Setting) -> u64 {
    match setting.next {
        u64::MAX => 0,
        next => next.saturating_sub(CLOCK.now()).max(1),
    }
}

/// Sets an interval timer; what was left of it.
fn set_interval(which: usize, span: u64, interval: u64) -> Setting {
    let timer = interval_timer(which);
    let next = from_now(span);
    let before = timers::set(timer, Setting { next, interval });
    Setting {
        next: left(before),
        ..before
    }
}

fn microseconds(time: &libc::timeval) -> u64 {
    (time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64) * 1000
}

fn timeval(nanoseconds: u64) -> libc::timeval {
    let microseconds = nanoseconds.div_ceil(1000);
    libc::timeval {
        tv_sec: (microseconds / 1_000_000) as i64,
        tv_usec: (microseconds % 1_000_000) as i64,
    }
}

/// What the program asks for, on one of the system's clocks.
fn wanted(clock: libc::clockid_t, absolute: bool, value: &libc::itimerspec) -> Setting {
    let next = match nanoseconds(&value.it_value) {
        0 => u64::MAX,
        _ if absolute => CLOCK.deadline(clock, &value.it_value),
        span => CLOCK.now().saturating_add(span),
    };
    Setting {
        next,
        interval: nanoseconds(&value.it_interval),
    }
}

fn told(setting: Setting) -> libc::itimerspec {
    libc::itimerspec {
        it_interval: timespec(setting.interval),
        it_value: timespec(left(setting)),
    }
}

fn clock_of(timer: usize) -> libc::clockid_t {
    let clocks = CLOCKS.borrow();
    let known = clocks.iter().find(|(number, _)| *number == timer);
    known.map_or(libc::CLOCK_MONOTONIC, |(_, clock)| *clock)
}

/// Sets a timer as the program asks, and tells it what it was set to.
unsafe fn set(
    timer: usize,
    absolute: bool,
    value: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> i32 {
    // SAFETY: the program passes a setting.
    let setting = wanted(clock_of(timer), absolute, unsafe { &*value });
    let before = timers::set(timer, setting);
    // SAFETY: the program wants it there, if anywhere.
    if let Some(old) = unsafe { old.as_mut() } {
        *old = told(before);
    }
    signals::deliver(ENGINE.current(), caller());
    0
}

/// A POSIX timer's number as the program knows it: not 0.
fn named(timer: usize) -> *mut c_void {
    (timer + 1) as *mut c_void
}

fn timer(name: *mut c_void) -> Option<usize> {
    let timer = (name as usize).checked_sub(1)?;
    timers::exists(timer).then_some(timer)
}

fn create(event: &Event, place: u64) -> Result<usize, i32> {
    let signal = |thread| Notification::Signal {
        signal: event.signal,
        thread,
        sent: Sent {
            code: libc::SI_TIMER,
            value: event.value,
        },
    };
    match event.notify {
        libc::SIGEV_NONE => Ok(timers::create(Notification::None)),
        libc::SIGEV_SIGNAL => Ok(timers::create(signal(None))),
        libc::SIGEV_THREAD_ID => {
            let number = event.function as i32 - super::machine::PROCESS;
            let number = u32::try_from(number).map_err(|_| libc::EINVAL)?;
            if number >= ENGINE.thread_count() {
                return Err(libc::EINVAL);
            }
            Ok(timers::create(signal(Some(ThreadIndex(number)))))
        }
        libc::SIGEV_THREAD => {
            let timer = timers::create(Notification::Waiter);
            CALLS.borrow_mut().push((timer, event.start(), event.value));
            threads::create(detached(serve, timer), place)?;
            Ok(timer)
        }
        _ => Err(libc::EINVAL),
    }
}

/// A thread that starts another at every expiry, as the C library does.
unsafe extern "C-unwind" fn serve(timer: *mut c_void) -> *mut c_void {
    let timer = timer as usize;
    let call = CALLS.borrow().iter().find(|call| call.0 == timer).copied();
    let Some((_, function, value)) = call else {
        return core::ptr::null_mut();
    };
    loop {
        let receive = operation(EventKind::Receive, timer, function as usize as u64);
        ENGINE.announce(receive, Wait::Timer(timer), u64::MAX);
        if !timers::take_expiry(timer) {
            return core::ptr::null_mut();
        }
        // Where there is no thread for it, this expiry goes by.
        let _ = threads::create(detached(function, value), function as usize as u64);
    }
}

interpose! {
    fn alarm(seconds: u32) -> u32 {
        if !control::is_on() {
            let alarm = real!(fn alarm(u32) -> u32);
            // SAFETY: passes on what the program passed.
            return unsafe { alarm(seconds) };
        }
        let before = set_interval(0, u64::from(seconds) * 1_000_000_000, 0);
        before.next.div_ceil(1_000_000_000) as u32
    }

    fn ualarm(span: u32, interval: u32) -> u32 {
        if !control::is_on() {
            let alarm = real!(fn ualarm(u32, u32) -> u32);
            // SAFETY: passes on what the program passed.
            return unsafe { alarm(span, interval) };
        }
        let before = set_interval(0, u64::from(span) * 1000, u64::from(interval) * 1000);
        before.next.div_ceil(1000) as u32
    }

    fn setitimer(which: i32, new: *const libc::itimerval, old: *mut libc::itimerval) -> i32 {
        if !control::is_on() {
            let set = real!(fn setitimer(i32, *const libc::itimerval, *mut libc::itimerval) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(which, new, old) };
        }
        if !(0..3).contains(&which) {
            return fail(libc::EINVAL);
        }
        // SAFETY: the program passes a setting, and wants the old one there, if anywhere.
        unsafe {
            let new = &*new;
            let (span, interval) = (microseconds(&new.it_value), microseconds(&new.it_interval));
            let before = set_interval(which as usize, span, interval);
            if let Some(old) = old.as_mut() {
                old.it_value = timeval(before.next);
                old.it_interval = timeval(before.interval);
            }
        }
        0
    }

    fn getitimer(which: i32, now: *mut libc::itimerval) -> i32 {
        if !control::is_on() {
            let get = real!(fn getitimer(i32, *mut libc::itimerval) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(which, now) };
        }
        if !(0..3).contains(&which) {
            return fail(libc::EINVAL);
        }
        let setting = timers::get(interval_timer(which as usize));
        // SAFETY: the program wants it there.
        unsafe {
            (*now).it_value = timeval(left(setting));
            (*now).it_interval = timeval(setting.interval);
        }
        0
    }

    fn timer_create(clock: libc::clockid_t, event: *const c_void, name: *mut *mut c_void) -> i32 {
        if !control::is_on() {
            let create = real!(fn timer_create(libc::clockid_t, *const c_void, *mut *mut c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { create(clock, event, name) };
        }
        let place = caller();
        let usual = Event { value: 0, signal: libc::SIGALRM, notify: libc::SIGEV_SIGNAL, function: 0 };
        // SAFETY: null, or what the program wants.
        let event = unsafe { event.cast::<Event>().as_ref() }.unwrap_or(&usual);
        match create(event, place) {
            Ok(timer) => {
                CLOCKS.borrow_mut().push((timer, clock));
                // SAFETY: the program wants the name there.
                unsafe { *name = named(timer) };
                0
            }
            Err(error) => fail(error),
        }
    }

    fn timer_settime(
        name: *mut c_void,
        flags: i32,
        value: *const libc::itimerspec,
        old: *mut libc::itimerspec,
    ) -> i32 {
        if !control::is_on() {
            let set = real!(fn timer_settime(*mut c_void, i32, *const libc::itimerspec, *mut libc::itimerspec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(name, flags, value, old) };
        }
        match timer(name) {
            // SAFETY: what the program passed.
            Some(timer) => unsafe { set(timer, flags & libc::TIMER_ABSTIME != 0, value, old) },
            None => fail(libc::EINVAL),
        }
    }

    fn timer_gettime(name: *mut c_void, value: *mut libc::itimerspec) -> i32 {
        if !control::is_on() {
            let get = real!(fn timer_gettime(*mut c_void, *mut libc::itimerspec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(name, value) };
        }
        let Some(timer) = timer(name) else {
            return fail(libc::EINVAL);
        };
        // SAFETY: the program wants it there.
        unsafe { *value = told(timers::get(timer)) };
        0
    }

    fn timer_getoverrun(name: *mut c_void) -> i32 {
        if !control::is_on() {
            let get = real!(fn timer_getoverrun(*mut c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(name) };
        }
        match timer(name) {
            Some(timer) => i32::try_from(timers::overrun(timer)).unwrap_or(i32::MAX),
            None => fail(libc::EINVAL),
        }
    }

    fn timer_delete(name: *mut c_void) -> i32 {
        if !control::is_on() {
            let delete = real!(fn timer_delete(*mut c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { delete(name) };
        }
        match timer(name) {
            Some(timer) => {
                timers::delete(timer);
                0
            }
            None => fail(libc::EINVAL),
        }
    }

    fn timerfd_create(clock: libc::clockid_t, flags: i32) -> i32 {
        if !control::is_on() {
            let create = real!(fn timerfd_create(libc::clockid_t, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { create(clock, flags) };
        }
        // A counter that is read as a timer is; both have the same flags.
        // SAFETY: makes a descriptor.
        let made = unsafe { system::try_call(libc::SYS_eventfd2, [0, flags as usize, 0, 0, 0, 0]) };
        match made {
            Ok(descriptor) => {
                let descriptor = descriptor as i32;
                descriptors::set_internal(descriptor, true);
                let timer = timers::create(Notification::Descriptor(descriptor));
                CLOCKS.borrow_mut().push((timer, clock));
                descriptor
            }
            Err(error) => fail(error),
        }
    }

    fn timerfd_settime(
        descriptor: i32,
        flags: i32,
        value: *const libc::itimerspec,
        old: *mut libc::itimerspec,
    ) -> i32 {
        if !control::is_on() {
            let set = real!(fn timerfd_settime(i32, i32, *const libc::itimerspec, *mut libc::itimerspec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(descriptor, flags, value, old) };
        }
        let Some(timer) = timers::of_descriptor(descriptor) else {
            return fail(libc::EINVAL);
        };
        if descriptors::is_ready(descriptor, libc::POLLIN) {
            let mut expiries = 0u64;
            let arguments = [descriptor as usize, &raw mut expiries as usize, 8, 0, 0, 0];
            // SAFETY: expiries of before do not count any more.
            unsafe { system::call(libc::SYS_read, arguments) };
        }
        // SAFETY: what the program passed; the flag for absolute times is 1.
        unsafe { set(timer, flags & 1 != 0, value, old) }
    }

    fn timerfd_gettime(descriptor: i32, value: *mut libc::itimerspec) -> i32 {
        if !control::is_on() {
            let get = real!(fn timerfd_gettime(i32, *mut libc::itimerspec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(descriptor, value) };
        }
        let Some(timer) = timers::of_descriptor(descriptor) else {
            return fail(libc::EINVAL);
        };
        // SAFETY: the program wants it there.
        unsafe { *value = told(timers::get(timer)) };
        0
    }
}
