//! Handlers of signals. One that interrupts recorded code would write in the middle
//! of a word that this code has in a register, so handlers write where nobody reads:
//! their way is not part of the log, and the interrupted one stays whole.

use crate::crash;
use crate::real::real;
use crate::register::pen;
use core::ffi::{c_int, c_void};
use core::mem;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};
use libc::{sigaction as Action, sighandler_t, siginfo_t};

/// Signals are numbered from 1 to this.
const LAST: usize = 64;

/// What the program wants to be called.
static HANDLERS: [AtomicUsize; LAST + 1] = [const { AtomicUsize::new(0) }; LAST + 1];

/// With or without the last two: what is not looked at may be passed.
type Handler = unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);

/// The C library's own.
///
/// # Safety
/// As of the C library's.
pub unsafe fn real_action(signal: c_int, action: *const Action, before: *mut Action) -> c_int {
    let real = real!(fn sigaction(c_int, *const Action, *mut Action) -> c_int);
    // SAFETY: the caller's promise.
    unsafe { real(signal, action, before) }
}

unsafe extern "C-unwind" fn handle(signal: c_int, facts: *mut siginfo_t, context: *mut c_void) {
    let handler = HANDLERS[signal as usize].load(Ordering::Relaxed);
    let pen = pen();
    // SAFETY: this thread's pen, which the interrupted code goes on to use as it was;
    // the handler is what the program has set for this signal.
    unsafe {
        let word = pen.map(|pen| {
            (*pen).nowhere = 1;
            mem::replace(&mut (*pen).word, &raw mut (*pen).nowhere)
        });
        mem::transmute::<usize, Handler>(handler)(signal, facts, context);
        if let (Some(pen), Some(word)) = (pen, word) {
            (*pen).word = word;
        }
    }
}

/// Where a handler of the program's is called from.
fn own() -> sighandler_t {
    let handler: Handler = handle;
    handler as usize
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sigaction(
    signal: c_int,
    action: *const Action,
    before: *mut Action,
) -> c_int {
    let known = (1..=LAST).contains(&(signal as usize)) && pen().is_some();
    if !known {
        // SAFETY: the caller's own arguments.
        return unsafe { real_action(signal, action, before) };
    }
    let place = &HANDLERS[signal as usize];
    let earlier = place.load(Ordering::Relaxed);
    // SAFETY: the caller's own arguments; what is passed on is a copy.
    unsafe {
        let mut changed = action.as_ref().copied();
        if let Some(changed) = &mut changed {
            let handler = changed.sa_sigaction;
            if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
                place.store(handler, Ordering::Relaxed);
                changed.sa_sigaction = own();
            }
        }
        let passed = changed
            .as_ref()
            .map_or(null_mut(), |action| (&raw const *action).cast_mut());
        let result = real_action(signal, passed, before);
        if let Some(before) = before.as_mut().filter(|_| result == 0) {
            if before.sa_sigaction == own() {
                before.sa_sigaction = earlier;
            } else if before.sa_sigaction == crash::handler() {
                before.sa_sigaction = libc::SIG_DFL;
            }
        }
        result
    }
}

/// Shadows the C library's, which does not come by the name above.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: plain data; an empty set is all zero.
    unsafe {
        let mut action: Action = mem::zeroed();
        let mut before: Action = mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_RESTART;
        match sigaction(signal, &raw const action, &raw mut before) {
            0 => before.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }
}
