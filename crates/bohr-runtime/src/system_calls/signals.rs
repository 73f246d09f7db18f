//! Masks and handlers of signals, as the C library changes them behind other
//! names: `siglongjmp`, `sighold`, `sigset`, `siginterrupt`, `swapcontext`; and the
//! stack that handlers run on.

use crate::{
    interpose::signal,
    signals::{self, Action, alternate},
};

/// `struct sigaction` of the kernel.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelAction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Answers a call; `None` if it is none of these.
pub fn answer(number: i64, arguments: [usize; 6], place: u64) -> Option<isize> {
    let [first, second, third, ..] = arguments;
    match number {
        libc::SYS_rt_sigprocmask => {
            // SAFETY: null, or words of the caller.
            let error = unsafe {
                signal::change_words(first as i32, second as *const u64, third as *mut u64, place)
            };
            Some(-(error as isize))
        }
        libc::SYS_rt_sigaction => {
            // SAFETY: null, or structures of the caller.
            let answer =
                unsafe { change_action(first as i32, second as *const _, third as *mut _) };
            Some(answer)
        }
        libc::SYS_sigaltstack => {
            // SAFETY: null, or descriptions of the caller.
            let error = unsafe { alternate::change(first as *const _, second as *mut _) };
            Some(-(error as isize))
        }
        _ => None,
    }
}

unsafe fn change_action(signal: i32, new: *const KernelAction, old: *mut KernelAction) -> isize {
    if !signals::is_valid(signal) {
        return -(libc::EINVAL as isize);
    }
    let before = signals::action(signal);
    // SAFETY: the caller answers for both.
    unsafe {
        if let Some(new) = new.as_ref() {
            signals::set_action(signal, inward(new));
        }
        if let Some(old) = old.as_mut() {
            *old = outward(&before);
        }
    }
    0
}

fn inward(action: &KernelAction) -> Action {
    let mut inward = signals::default_action();
    inward.sa_sigaction = action.handler;
    inward.sa_flags = action.flags as i32;
    // SAFETY: a set is an array of words; the first holds all 64 signals.
    unsafe { *(&raw mut inward.sa_mask).cast::<u64>() = action.mask };
    inward
}

fn outward(action: &Action) -> KernelAction {
    KernelAction {
        handler: action.sa_sigaction,
        flags: action.sa_flags as u64,
        restorer: 0,
        mask: signals::mask(&action.sa_mask),
    }
}
