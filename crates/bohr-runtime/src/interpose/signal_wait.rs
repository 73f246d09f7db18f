//! Waiting for signals.

use super::{caller, cancel, interpose};
use crate::{
    clock::CLOCK,
    control,
    engine::{ENGINE, Woken, operation},
    real::real,
    signals::{self, Sent, signal_file},
    thread::{Interruptible, Wait},
};
use bohr_event::EventKind;

fn fail(error: i32) -> i32 {
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Waits for a signal of the set; an error number when the time is up, or when
/// the handler of another has run.
fn await_signal(
    set: u64,
    deadline: u64,
    by: Interruptible,
    place: u64,
) -> Result<(i32, Sent), i32> {
    let receive = operation(EventKind::Receive, 0, place);
    match ENGINE.announce_interruptible(receive, Wait::Signal(set), deadline, by) {
        Woken::Cancelled => cancel::act(),
        Woken::Interrupted => Err(libc::EINTR),
        Woken::Ready | Woken::Expired => signals::take(ENGINE.current(), set).ok_or(libc::EAGAIN),
    }
}

/// Tells the program about a signal; its number, or an error.
unsafe fn tell(found: Result<(i32, Sent), i32>, info: *mut libc::siginfo_t) -> i32 {
    match found {
        Ok((signal, sent)) => {
            // SAFETY: the program wants it there, if anywhere.
            if let Some(info) = unsafe { info.as_mut() } {
                *info = signals::information(signal, sent);
            }
            signal
        }
        Err(error) => fail(error),
    }
}

/// Waits until the handler of a signal has run that is not in the mask.
fn suspend(mask: u64, place: u64) -> i32 {
    let thread = ENGINE.current();
    let before = thread.mask.replace(mask);
    let receive = operation(EventKind::Receive, 0, place);
    let wait = Wait::Signal(!mask);
    let by = Interruptible::Always;
    let woken = ENGINE.announce_interruptible(receive, wait, u64::MAX, by);
    if woken != Woken::Interrupted {
        signals::deliver(thread, place);
    }
    thread.mask.set(before);
    if woken == Woken::Cancelled {
        cancel::act();
    }
    signals::deliver(thread, place);
    fail(libc::EINTR)
}

interpose! {
    fn sigwait(set: *const libc::sigset_t, signal: *mut i32) -> i32 {
        if !control::is_on() {
            let wait = real!(fn sigwait(*const libc::sigset_t, *mut i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(set, signal) };
        }
        // SAFETY: the program's set.
        let set = signals::mask(unsafe { &*set });
        match await_signal(set, u64::MAX, Interruptible::Never, caller()) {
            Ok((found, _)) => {
                // SAFETY: the program wants the number there.
                unsafe { *signal = found };
                0
            }
            Err(error) => error,
        }
    }

    fn sigwaitinfo(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> i32 {
        if !control::is_on() {
            let wait = real!(fn sigwaitinfo(*const libc::sigset_t, *mut libc::siginfo_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(set, info) };
        }
        // SAFETY: the program's set, and where it wants to be told.
        unsafe {
            let found = await_signal(signals::mask(&*set), u64::MAX, Interruptible::Always, caller());
            tell(found, info)
        }
    }

    fn sigtimedwait(
        set: *const libc::sigset_t,
        info: *mut libc::siginfo_t,
        time: *const libc::timespec,
    ) -> i32 {
        if !control::is_on() {
            let wait = real!(fn sigtimedwait(
                *const libc::sigset_t,
                *mut libc::siginfo_t,
                *const libc::timespec,
            ) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(set, info, time) };
        }
        // SAFETY: null, or a time of the program; its set, and where it wants to be told.
        unsafe {
            let deadline = time.as_ref().map_or(u64::MAX, |time| CLOCK.after(time));
            let found = await_signal(signals::mask(&*set), deadline, Interruptible::Always, caller());
            tell(found, info)
        }
    }

    fn pause() -> i32 {
        if !control::is_on() {
            let pause = real!(fn pause() -> i32);
            // SAFETY: passes on the call.
            return unsafe { pause() };
        }
        suspend(ENGINE.current().mask.get(), caller())
    }

    fn sigsuspend(mask: *const libc::sigset_t) -> i32 {
        if !control::is_on() {
            let suspend = real!(fn sigsuspend(*const libc::sigset_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { suspend(mask) };
        }
        // SAFETY: the program's set.
        suspend(signals::mask(unsafe { &*mask }), caller())
    }

    fn signalfd(descriptor: i32, mask: *const libc::sigset_t, flags: i32) -> i32 {
        if !control::is_on() {
            let make = real!(fn signalfd(i32, *const libc::sigset_t, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { make(descriptor, mask, flags) };
        }
        // SAFETY: the program's set.
        let signals = signals::mask(unsafe { &*mask });
        if descriptor >= 0 {
            return if signal_file::change(descriptor, signals) { descriptor } else { fail(libc::EINVAL) };
        }
        signal_file::create(signals, flags).unwrap_or_else(fail)
    }
}
