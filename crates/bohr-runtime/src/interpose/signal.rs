//! What the program wants to happen at signals that crash it. The kernel's
//! handlers for these are the runtime's; the program's are called from there.

use super::interpose;
use crate::{carrier::CarrierOnly, control, faults::CRASHES, real::real};
use core::{
    cell::RefCell,
    ffi::{c_int, c_void},
    mem::MaybeUninit,
};

type Action = libc::sigaction;

/// The program's actions, by signal number; `None` is the default.
static ACTIONS: CarrierOnly<RefCell<[Option<Action>; 65]>> =
    CarrierOnly::new(RefCell::new([None; 65]));

/// Whether the program has a handler of its own.
pub fn program_catches(signal: i32) -> bool {
    let actions = ACTIONS.borrow();
    actions[signal as usize].is_some_and(|action| {
        action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
    })
}

/// Calls the program's handler, if it has one.
///
/// # Safety
/// The arguments must be what the kernel passed.
pub unsafe fn program_handles(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) -> bool {
    if !program_catches(signal) {
        return false;
    }
    let Some(action) = ACTIONS.borrow()[signal as usize] else {
        return false;
    };
    // SAFETY: the program passed a function of one of these types.
    unsafe {
        if action.sa_flags & libc::SA_SIGINFO != 0 {
            type Detailed = unsafe extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            core::mem::transmute::<usize, Detailed>(action.sa_sigaction)(signal, info, context);
        } else {
            type Plain = unsafe extern "C-unwind" fn(c_int);
            core::mem::transmute::<usize, Plain>(action.sa_sigaction)(signal);
        }
    }
    true
}

fn is_ours(signal: i32) -> bool {
    control::is_watching() && CRASHES.contains(&signal)
}

/// The default action, as the C library would report it.
fn default_action() -> Action {
    // SAFETY: all zeroes are `SIG_DFL` with an empty mask.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

interpose! {
    fn sigaction(signal: i32, action: *const Action, old: *mut Action) -> i32 {
        if !is_ours(signal) {
            let set = real!(fn sigaction(i32, *const Action, *mut Action) -> i32);
            // SAFETY: passes on what the program passed.
            return unsafe { set(signal, action, old) };
        }
        let mut actions = ACTIONS.borrow_mut();
        let slot = &mut actions[signal as usize];
        // SAFETY: both are null or valid.
        unsafe {
            if let Some(old) = old.as_mut() {
                *old = slot.unwrap_or_else(default_action);
            }
            if let Some(action) = action.as_ref() {
                *slot = Some(*action);
            }
        }
        0
    }

    fn signal(signal: i32, handler: usize) -> usize {
        if !is_ours(signal) {
            let set = real!(fn signal(i32, usize) -> usize);
            // SAFETY: passes on what the program passed.
            return unsafe { set(signal, handler) };
        }
        let mut action = default_action();
        action.sa_sigaction = handler;
        let old = ACTIONS.borrow_mut()[signal as usize].replace(action);
        old.map_or(libc::SIG_DFL, |old| old.sa_sigaction)
    }
}
