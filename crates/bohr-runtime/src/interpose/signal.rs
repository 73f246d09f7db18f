//! Sending, blocking, handling and awaiting signals.

use super::{caller, cancel, interpose, machine};
use crate::{
    clock::CLOCK,
    control,
    engine::{ENGINE, Woken, operation},
    real::real,
    signals::{self, Action},
    thread::Wait,
};
use bohr_event::EventKind;
use core::ffi::c_void;

fn fail(error: i32) -> i32 {
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Waits for a signal of the set; its number, or `None` when the time is up.
fn await_signal(set: u64, deadline: u64, place: u64) -> Option<i32> {
    let receive = operation(EventKind::Receive, 0, place);
    match ENGINE.announce_cancellable(receive, Wait::Signal(set), deadline) {
        Woken::Cancelled => cancel::act(),
        Woken::Ready | Woken::Expired => signals::take(ENGINE.current(), set),
    }
}

/// Changes the running thread's mask; an error number or 0.
unsafe fn change_mask(how: i32, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> i32 {
    let thread = ENGINE.current();
    let before = thread.mask.get();
    // SAFETY: both are null or sets of the program.
    unsafe {
        if let Some(set) = set.as_ref() {
            let set =
                signals::mask(set) & !(signals::bit(libc::SIGKILL) | signals::bit(libc::SIGSTOP));
            thread.mask.set(match how {
                libc::SIG_BLOCK => before | set,
                libc::SIG_UNBLOCK => before & !set,
                libc::SIG_SETMASK => set,
                _ => return libc::EINVAL,
            });
        }
        if !old.is_null() {
            libc::sigemptyset(old);
            *old.cast::<u64>() = before;
        }
    }
    if signals::is_due(thread) {
        signals::deliver(thread, caller());
    }
    0
}

/// Sends to one thread and lets it be picked.
fn send(handle: libc::pthread_t, signal: i32, place: u64) -> i32 {
    let Some(thread) = ENGINE.by_handle(handle) else {
        return libc::ESRCH;
    };
    if signal == 0 {
        return 0;
    }
    if !signals::is_valid(signal) {
        return libc::EINVAL;
    }
    ENGINE.step(operation(EventKind::Signal, thread.object(), place));
    signals::send_to_thread(thread, signal);
    if thread.index == ENGINE.current().index {
        signals::deliver(thread, place);
    }
    0
}

interpose! {
    fn sigaction(signal: i32, action: *const Action, old: *mut Action) -> i32 {
        if !control::is_watching() {
            let set = real!(fn sigaction(i32, *const Action, *mut Action) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(signal, action, old) };
        }
        if !signals::is_valid(signal) {
            return fail(libc::EINVAL);
        }
        let before = signals::action(signal);
        // SAFETY: both are null or valid.
        unsafe {
            if let Some(action) = action.as_ref() {
                signals::set_action(signal, *action);
            }
            if let Some(old) = old.as_mut() {
                *old = before;
            }
        }
        0
    }

    fn signal(signal: i32, handler: usize) -> usize {
        if !control::is_watching() {
            let set = real!(fn signal(i32, usize) -> usize);
            // SAFETY: passes on what the program passed.
            return unsafe { set(signal, handler) };
        }
        if !signals::is_valid(signal) {
            fail(libc::EINVAL);
            return libc::SIG_ERR;
        }
        let before = signals::action(signal).sa_sigaction;
        let mut action = signals::default_action();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        signals::set_action(signal, action);
        before
    }

    fn pthread_sigmask(how: i32, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> i32 {
        if !control::is_on() {
            let change = real!(fn pthread_sigmask(i32, *const libc::sigset_t, *mut libc::sigset_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { change(how, set, old) };
        }
        // SAFETY: the program's sets.
        unsafe { change_mask(how, set, old) }
    }

    fn sigprocmask(how: i32, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> i32 {
        if !control::is_on() {
            let change = real!(fn sigprocmask(i32, *const libc::sigset_t, *mut libc::sigset_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { change(how, set, old) };
        }
        // SAFETY: the program's sets.
        match unsafe { change_mask(how, set, old) } {
            0 => 0,
            error => fail(error),
        }
    }

    fn sigpending(set: *mut libc::sigset_t) -> i32 {
        if !control::is_on() {
            let pending = real!(fn sigpending(*mut libc::sigset_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { pending(set) };
        }
        let thread = ENGINE.current();
        // SAFETY: the program wants the set there.
        unsafe {
            libc::sigemptyset(set);
            *set.cast::<u64>() = signals::pending(thread) & thread.mask.get();
        }
        0
    }

    fn sigwait(set: *const libc::sigset_t, signal: *mut i32) -> i32 {
        if !control::is_on() {
            let wait = real!(fn sigwait(*const libc::sigset_t, *mut i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(set, signal) };
        }
        // SAFETY: the program's set.
        let found = await_signal(signals::mask(unsafe { &*set }), u64::MAX, caller());
        // SAFETY: the program wants the number there.
        unsafe { *signal = found.unwrap_or(0) };
        0
    }

    fn sigwaitinfo(set: *const libc::sigset_t, info: *mut libc::siginfo_t) -> i32 {
        if !control::is_on() {
            let wait = real!(fn sigwaitinfo(*const libc::sigset_t, *mut libc::siginfo_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { wait(set, info) };
        }
        // SAFETY: the program's set.
        let found = await_signal(signals::mask(unsafe { &*set }), u64::MAX, caller());
        found.unwrap_or_else(|| fail(libc::EINTR))
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
        // SAFETY: null, or a time of the program.
        let deadline = unsafe { time.as_ref() }.map_or(u64::MAX, |time| CLOCK.after(time));
        // SAFETY: the program's set.
        let found = await_signal(signals::mask(unsafe { &*set }), deadline, caller());
        found.unwrap_or_else(|| fail(libc::EAGAIN))
    }

    fn pause() -> i32 {
        if !control::is_on() {
            let pause = real!(fn pause() -> i32);
            // SAFETY: passes on the call.
            return unsafe { pause() };
        }
        let receive = operation(EventKind::Receive, 0, caller());
        let caught = !ENGINE.current().mask.get();
        if ENGINE.announce_cancellable(receive, Wait::Signal(caught), u64::MAX) == Woken::Cancelled {
            cancel::act();
        }
        signals::deliver(ENGINE.current(), caller());
        fail(libc::EINTR)
    }

    fn raise(signal: i32) -> i32 {
        if !control::is_on() {
            let raise = real!(fn raise(i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { raise(signal) };
        }
        let place = caller();
        match send(ENGINE.current().handle.get(), signal, place) {
            0 => 0,
            error => fail(error),
        }
    }

    fn pthread_kill(handle: libc::pthread_t, signal: i32) -> i32 {
        if !control::is_on() {
            let kill = real!(fn pthread_kill(libc::pthread_t, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { kill(handle, signal) };
        }
        send(handle, signal, caller())
    }

    fn kill(process: i32, signal: i32) -> i32 {
        if !control::is_on() || process != machine::PROCESS {
            let kill = real!(fn kill(i32, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { kill(process, signal) };
        }
        let place = caller();
        if signal != 0 {
            if !signals::is_valid(signal) {
                return fail(libc::EINVAL);
            }
            ENGINE.step(operation(EventKind::Signal, 0, place));
            signals::send_to_process(signal);
            signals::deliver(ENGINE.current(), place);
        }
        0
    }

    fn sigaltstack(stack: *const libc::stack_t, old: *mut libc::stack_t) -> i32 {
        if !control::is_watching() {
            let set = real!(fn sigaltstack(*const libc::stack_t, *mut libc::stack_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(stack, old) };
        }
        // Handlers run on the stack of the thread, or on the runtime's own.
        // SAFETY: the program wants the old one there, if anywhere.
        if let Some(old) = unsafe { old.as_mut() } {
            *old = libc::stack_t {
                ss_sp: core::ptr::null_mut::<c_void>(),
                ss_flags: libc::SS_DISABLE,
                ss_size: 0,
            };
        }
        0
    }
}
