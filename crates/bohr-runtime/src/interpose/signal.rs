//! Sending, blocking and handling signals.

use super::{caller, interpose, machine};
use crate::{
    control,
    engine::{ENGINE, operation},
    real::real,
    signals::{self, Action, Sent, alternate},
};
use bohr_event::EventKind;

fn fail(error: i32) -> i32 {
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Changes the running thread's mask; an error number or 0.
unsafe fn change_mask(how: i32, set: *const libc::sigset_t, old: *mut libc::sigset_t) -> i32 {
    // SAFETY: both are null or sets of the program; their first words hold all
    // signals, and the others of the old one are empty.
    unsafe {
        if !old.is_null() {
            libc::sigemptyset(old);
        }
        change_words(how, set.cast(), old.cast(), caller())
    }
}

/// The same with sets as the kernel has them.
///
/// # Safety
/// Both are null or words of the program.
pub unsafe fn change_words(how: i32, set: *const u64, old: *mut u64, place: u64) -> i32 {
    let thread = ENGINE.current();
    let before = thread.mask.get();
    // SAFETY: the caller answers for both.
    unsafe {
        if let Some(set) = set.as_ref() {
            let set = set & !(signals::bit(libc::SIGKILL) | signals::bit(libc::SIGSTOP));
            thread.mask.set(match how {
                libc::SIG_BLOCK => before | set,
                libc::SIG_UNBLOCK => before & !set,
                libc::SIG_SETMASK => set,
                _ => return libc::EINVAL,
            });
        }
        if let Some(old) = old.as_mut() {
            *old = before;
        }
    }
    if signals::is_due(thread) {
        signals::deliver(thread, place);
    }
    0
}

/// From one thread to another.
const BY_THREAD: Sent = Sent {
    code: libc::SI_TKILL,
    value: 0,
};

/// With a value.
fn queued(value: usize) -> Sent {
    Sent {
        code: libc::SI_QUEUE,
        value,
    }
}

/// Sends to the program's own process.
fn send_to_process(signal: i32, sent: Sent, place: u64) -> i32 {
    if signal == 0 {
        return 0;
    }
    if !signals::is_valid(signal) {
        return fail(libc::EINVAL);
    }
    ENGINE.step(operation(EventKind::Signal, 0, place));
    signals::send_to_process(signal, sent);
    signals::sent_by(ENGINE.current(), signal, place);
    0
}

/// Sends to one thread and lets it be picked.
fn send(handle: libc::pthread_t, signal: i32, sent: Sent, place: u64) -> i32 {
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
    signals::send_to_thread(thread, signal, sent);
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

    fn raise(signal: i32) -> i32 {
        if !control::is_on() {
            let raise = real!(fn raise(i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { raise(signal) };
        }
        let place = caller();
        match send(ENGINE.current().handle.get(), signal, BY_THREAD, place) {
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
        send(handle, signal, BY_THREAD, caller())
    }

    fn pthread_sigqueue(handle: libc::pthread_t, signal: i32, value: usize) -> i32 {
        if !control::is_on() {
            let queue = real!(fn pthread_sigqueue(libc::pthread_t, i32, usize) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { queue(handle, signal, value) };
        }
        send(handle, signal, queued(value), caller())
    }

    fn tgkill(process: i32, thread: i32, signal: i32) -> i32 {
        if !control::is_on() || process != machine::PROCESS {
            let kill = real!(fn tgkill(i32, i32, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { kill(process, thread, signal) };
        }
        let place = caller();
        let position = usize::try_from(thread - machine::PROCESS).ok();
        let threads = ENGINE.threads();
        let Some(target) = position.and_then(|position| threads.get(position)) else {
            return fail(libc::ESRCH);
        };
        match send(target.handle.get(), signal, BY_THREAD, place) {
            0 => 0,
            error => fail(error),
        }
    }

    fn sigqueue(process: i32, signal: i32, value: usize) -> i32 {
        if !control::is_on() || process != machine::PROCESS {
            let queue = real!(fn sigqueue(i32, i32, usize) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { queue(process, signal, value) };
        }
        send_to_process(signal, queued(value), caller())
    }

    fn kill(process: i32, signal: i32) -> i32 {
        if !control::is_on() || process != machine::PROCESS {
            let kill = real!(fn kill(i32, i32) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { kill(process, signal) };
        }
        send_to_process(signal, Sent::default(), caller())
    }

    fn sigaltstack(stack: *const libc::stack_t, old: *mut libc::stack_t) -> i32 {
        if !control::is_watching() {
            let set = real!(fn sigaltstack(*const libc::stack_t, *mut libc::stack_t) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(stack, old) };
        }
        // SAFETY: the program's descriptions, if any.
        match unsafe { alternate::change(stack, old) } {
            0 => 0,
            error => fail(error),
        }
    }
}
