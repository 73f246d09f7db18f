//! Time: what clocks show, and sleeping. Both are virtual under control.

use super::{caller, cancel, interpose};
use crate::{
    clock::{CLOCK, nanoseconds, timespec},
    control,
    engine::{ENGINE, Woken, operation},
    given,
    real::real,
    signals::{self, Handled},
    system,
    thread::{Interruptible, Wait},
    timers,
};
use bohr_event::EventKind;

/// Sleeps until a deadline; the nanoseconds that are left where the handler of a
/// signal has ended it. The thread can be picked at once: any other may be slow
/// enough for that much time to have passed.
pub fn sleep_until(deadline: u64, place: u64) -> u64 {
    let sleep = operation(EventKind::Sleep, 0, place);
    let by = Interruptible::Always;
    match ENGINE.announce_interruptible(sleep, Wait::Nothing, u64::MAX, by) {
        Woken::Cancelled => cancel::act(),
        Woken::Interrupted => return deadline.saturating_sub(CLOCK.now()).max(1),
        Woken::Ready | Woken::Expired => {}
    }
    while CLOCK.now() < deadline {
        // A timer may be what ends the sleep.
        CLOCK.advance_to(timers::next().min(deadline));
        if signals::deliver(ENGINE.current(), place) != Handled::Nothing {
            return deadline.saturating_sub(CLOCK.now()).max(1);
        }
    }
    0
}

/// What a clock shows: what it showed in a recorded run, or virtual time.
fn read(clock: libc::clockid_t) -> u64 {
    let virtual_time = CLOCK.read(clock);
    given::time().unwrap_or(virtual_time)
}

fn is_valid(time: &libc::timespec) -> bool {
    time.tv_sec >= 0 && (0..1_000_000_000).contains(&time.tv_nsec)
}

/// Sleeps for the span that the program passed; its error number or 0.
unsafe fn sleep_for(span: *const libc::timespec, left: *mut libc::timespec, place: u64) -> i32 {
    // SAFETY: the program passes a time.
    let span = unsafe { &*span };
    if !is_valid(span) {
        return libc::EINVAL;
    }
    let rest = sleep_until(CLOCK.after(span), place);
    if !left.is_null() {
        // SAFETY: the program wants it there.
        unsafe { *left = timespec(rest) };
    }
    interruption(rest)
}

/// The error of a sleep of which so much is left.
fn interruption(rest: u64) -> i32 {
    if rest == 0 { 0 } else { libc::EINTR }
}

fn failed(error: i32) -> i32 {
    if error == 0 {
        return 0;
    }
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

interpose! {
    fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> i32 {
        if !control::is_on() {
            // Straight to the kernel: an allocator may ask while it is at work, where
            // looking up a function would allocate.
            let arguments = [clock as usize, time as usize, 0, 0, 0, 0];
            // SAFETY: passes on what the program passed.
            let answer = unsafe { system::try_call(libc::SYS_clock_gettime, arguments) };
            return failed(answer.err().unwrap_or(0));
        }
        // SAFETY: the program wants the time there.
        unsafe { *time = timespec(read(clock)) };
        // The look may have been what a timer waited for.
        signals::deliver(ENGINE.current(), caller());
        0
    }

    fn gettimeofday(time: *mut libc::timeval, zone: *mut libc::c_void) -> i32 {
        if !control::is_on() {
            let get = real!(fn gettimeofday(*mut libc::timeval, *mut libc::c_void) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(time, zone) };
        }
        let now = read(libc::CLOCK_REALTIME) / 1000;
        // SAFETY: the program wants the time there, if anywhere.
        if let Some(time) = unsafe { time.as_mut() } {
            time.tv_sec = (now / 1_000_000) as i64;
            time.tv_usec = (now % 1_000_000) as i64;
        }
        0
    }

    fn time(seconds: *mut libc::time_t) -> libc::time_t {
        if !control::is_on() {
            let get = real!(fn time(*mut libc::time_t) -> libc::time_t);
            // SAFETY: passes on what the program passed.
            return unsafe { get(seconds) };
        }
        let now = (read(libc::CLOCK_REALTIME) / 1_000_000_000) as libc::time_t;
        // SAFETY: the program wants the time there, if anywhere.
        if let Some(seconds) = unsafe { seconds.as_mut() } {
            *seconds = now;
        }
        now
    }

    fn timespec_get(time: *mut libc::timespec, base: i32) -> i32 {
        if !control::is_on() || base != 1 {
            let get = real!(fn timespec_get(*mut libc::timespec, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { get(time, base) };
        }
        // SAFETY: the program wants the time there.
        unsafe { *time = timespec(read(libc::CLOCK_REALTIME)) };
        base
    }

    fn clock() -> libc::clock_t {
        if !control::is_on() {
            let get = real!(fn clock() -> libc::clock_t);
            // SAFETY: passes on the call.
            return unsafe { get() };
        }
        (CLOCK.read(libc::CLOCK_PROCESS_CPUTIME_ID) / 1000) as libc::clock_t
    }

    fn nanosleep(span: *const libc::timespec, left: *mut libc::timespec) -> i32 {
        if !control::is_on() {
            let real = real!(fn nanosleep(*const libc::timespec, *mut libc::timespec) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(span, left) };
        }
        // SAFETY: passes on what the program passed.
        failed(unsafe { sleep_for(span, left, caller()) })
    }

    fn clock_nanosleep(
        clock: libc::clockid_t,
        flags: i32,
        time: *const libc::timespec,
        left: *mut libc::timespec,
    ) -> i32 {
        if !control::is_on() {
            let real = real!(fn clock_nanosleep(
                libc::clockid_t,
                i32,
                *const libc::timespec,
                *mut libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(clock, flags, time, left) };
        }
        let place = caller();
        if flags & libc::TIMER_ABSTIME == 0 {
            // SAFETY: passes on what the program passed.
            return unsafe { sleep_for(time, left, place) };
        }
        // SAFETY: the program passes a time.
        let time = unsafe { &*time };
        if !is_valid(time) {
            return libc::EINVAL;
        }
        interruption(sleep_until(CLOCK.deadline(clock, time), place))
    }

    fn usleep(microseconds: u32) -> i32 {
        let place = caller();
        let span = timespec(u64::from(microseconds) * 1000);
        if !control::is_on() {
            let real = real!(fn usleep(u32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(microseconds) };
        }
        let rest = sleep_until(CLOCK.now().saturating_add(nanoseconds(&span)), place);
        failed(interruption(rest))
    }

    fn sleep(seconds: u32) -> u32 {
        if !control::is_on() {
            let real = real!(fn sleep(u32) -> u32);
            // SAFETY: passes on what the program passed.
            return unsafe { real(seconds) };
        }
        let place = caller();
        let span = u64::from(seconds) * 1_000_000_000;
        let rest = sleep_until(CLOCK.now().saturating_add(span), place);
        rest.div_ceil(1_000_000_000) as u32
    }
}
