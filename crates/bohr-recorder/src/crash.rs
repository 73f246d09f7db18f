//! Fatal signals: which thread got the first, and where. Then they do what they
//! would have done.

use crate::area::header;
use crate::register::pen;
use crate::signals::real_action;
use crate::thread::Thread;
use bohr_event::recording::{HeaderWord, NOBODY};
use core::mem;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;
use libc::{c_int, c_void, siginfo_t, ucontext_t};

const SIGNALS: [c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Notes fatal signals from now on, those that the program has no handler for.
pub fn watch() {
    for signal in SIGNALS {
        // SAFETY: plain data; the handler is a function of its kind.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            real_action(signal, null_mut(), &mut action);
            if action.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            action.sa_sigaction = handler();
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
            real_action(signal, &action, null_mut());
        }
    }
}

/// What is called.
pub fn handler() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = note;
    handler as usize
}

/// The system's own action is back when this returns; a fault happens again, and
/// a signal that somebody sent is sent again.
extern "C" fn note(signal: c_int, facts: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes both to a handler of this kind.
    let (facts, registers) = unsafe { (&*facts, &(*context.cast::<ucontext_t>()).uc_mcontext) };
    // SAFETY: the calling thread's pen.
    let thread = pen().and_then(|pen| unsafe { Thread::of(pen) });
    let first = header(HeaderWord::Signal).is_some_and(|word| {
        let number = signal as u64;
        let taken = word.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        taken.is_ok()
    });
    if first {
        let note = |word, value| {
            if let Some(word) = header(word) {
                word.store(value, Ordering::Relaxed);
            }
        };
        note(HeaderWord::Thread, thread.map_or(NOBODY, Thread::index));
        note(
            HeaderWord::Counter,
            registers.gregs[libc::REG_RIP as usize] as u64,
        );
        // SAFETY: whether it means anything depends on the signal.
        note(HeaderWord::Address, unsafe { facts.si_addr() } as u64);
    }
    if facts.si_code <= 0 {
        // SAFETY: sends a signal to this thread.
        unsafe { libc::raise(signal) };
    }
}
