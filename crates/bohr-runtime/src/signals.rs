//! Signals are virtual: whoever sends one marks it as pending, and a thread that
//! does not block it runs the handler at its next scheduling point.

use crate::{
    carrier::CarrierOnly,
    engine::{ENGINE, operation},
    faults,
    thread::Thread,
    verdict,
};
use alloc::format;
use bohr_event::{EventKind, FailureKind};
use core::{
    cell::{Cell, RefCell},
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicU64, Ordering},
};

/// `struct sigaction` of the C library.
pub type Action = libc::sigaction;

/// Signals are numbered from 1 on.
pub const COUNT: usize = 65;

/// Signals whose default is to be ignored.
const IGNORED: [i32; 4] = [libc::SIGCHLD, libc::SIGURG, libc::SIGWINCH, libc::SIGCONT];

/// Sent to the process as a whole; the kernel's handler marks them here, too.
#[unsafe(link_section = "bohr_hot")]
static PENDING: AtomicU64 = AtomicU64::new(0);

/// The program's actions, by signal number; `None` is the default.
static ACTIONS: CarrierOnly<RefCell<[Option<Action>; COUNT]>> =
    CarrierOnly::new(RefCell::new([None; COUNT]));

/// Handlers that run now, one inside the other.
#[unsafe(link_section = "bohr_hot")]
static DEPTH: CarrierOnly<Cell<u32>> = CarrierOnly::new(Cell::new(0));

/// The bit of a signal in a set.
pub fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Whether the number names a signal.
pub fn is_valid(signal: i32) -> bool {
    (1..COUNT as i32).contains(&signal)
}

/// The default action, as the C library would report it.
pub fn default_action() -> Action {
    // SAFETY: all zeroes are `SIG_DFL` with an empty mask.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// The program's action.
pub fn action(signal: i32) -> Action {
    ACTIONS.borrow()[signal as usize].unwrap_or_else(default_action)
}

/// Sets the program's action, and makes the kernel tell us what comes from
/// outside. Crashes are ours in any case.
pub fn set_action(signal: i32, action: Action) {
    ACTIONS.borrow_mut()[signal as usize] = Some(action);
    if !faults::CRASHES.contains(&signal) {
        match action.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => faults::set_action(signal, action.sa_sigaction, 0),
            _ => faults::set_action(
                signal,
                from_outside as *const () as usize,
                libc::SA_RESTART | libc::SA_ONSTACK,
            ),
        }
    }
}

/// Whether the program has a handler of its own.
pub fn is_caught(signal: i32) -> bool {
    !matches!(action(signal).sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
}

extern "C" fn from_outside(signal: i32) {
    PENDING.fetch_or(bit(signal), Ordering::Relaxed);
}

/// Sends a signal to the process.
pub fn send_to_process(signal: i32) {
    PENDING.fetch_or(bit(signal), Ordering::Relaxed);
}

/// Sends a signal to a thread.
pub fn send_to_thread(thread: &Thread, signal: i32) {
    thread.signals.set(thread.signals.get() | bit(signal));
}

/// What is pending for the thread, blocked or not.
pub fn pending(thread: &Thread) -> u64 {
    thread.signals.get() | PENDING.load(Ordering::Relaxed)
}

/// Whether the thread has something to handle now.
#[inline]
pub fn is_due(thread: &Thread) -> bool {
    pending(thread) & !thread.mask.get() != 0
}

/// Takes the lowest pending signal of a set away from the thread or process.
pub fn take(thread: &Thread, set: u64) -> Option<i32> {
    let matching = pending(thread) & set;
    if matching == 0 {
        return None;
    }
    let signal = matching.trailing_zeros() as i32 + 1;
    if thread.signals.get() & bit(signal) != 0 {
        thread.signals.set(thread.signals.get() & !bit(signal));
    } else {
        PENDING.fetch_and(!bit(signal), Ordering::Relaxed);
    }
    Some(signal)
}

/// Handles what is due for the running thread. Each handler is an event.
pub fn deliver(thread: &Thread, place: u64) {
    while let Some(signal) = take(thread, !thread.mask.get()) {
        handle(thread, signal, place);
    }
}

fn handle(thread: &Thread, signal: i32, place: u64) {
    let action = action(signal);
    match action.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL if IGNORED.contains(&signal) => {}
        libc::SIG_DFL => verdict::fail(
            match signal {
                libc::SIGABRT => FailureKind::Abort,
                _ => FailureKind::Crash { signal },
            },
            &format!("ended by signal {signal}"),
        ),
        _ => {
            ENGINE.handling(operation(EventKind::Handle, signal as usize, place));
            let before = thread.mask.get();
            thread
                .mask
                .set(before | mask(&action.sa_mask) | bit(signal));
            DEPTH.set(DEPTH.get() + 1);
            // SAFETY: the program's own handler; there is no interrupted context.
            unsafe { call(&action, signal, ptr::null_mut(), ptr::null_mut()) };
            DEPTH.set(DEPTH.get() - 1);
            thread.mask.set(before);
        }
    }
}

/// The first 64 signals of a set.
pub fn mask(set: &libc::sigset_t) -> u64 {
    // SAFETY: a set is an array of words; the first holds all 64 signals.
    unsafe { *ptr::from_ref(set).cast::<u64>() }
}

/// Calls the program's handler with the kernel's arguments.
///
/// # Safety
/// The action must be the program's, and the arguments what its type wants.
pub unsafe fn call(action: &Action, signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the program passed a function of one of these types.
    unsafe {
        if action.sa_flags & libc::SA_SIGINFO != 0 {
            type Detailed = unsafe extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            let mut empty: libc::siginfo_t = MaybeUninit::zeroed().assume_init();
            empty.si_signo = signal;
            let info = if info.is_null() { &raw mut empty } else { info };
            core::mem::transmute::<usize, Detailed>(action.sa_sigaction)(signal, info, context);
        } else {
            type Plain = unsafe extern "C-unwind" fn(c_int);
            core::mem::transmute::<usize, Plain>(action.sa_sigaction)(signal);
        }
    }
}

/// Calls the program's handler for a crash, if it has one.
///
/// # Safety
/// The arguments must be what the kernel passed.
pub unsafe fn program_handles(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) -> bool {
    if !is_caught(signal) {
        return false;
    }
    // SAFETY: passes on what the kernel passed.
    unsafe { call(&action(signal), signal, info, context) };
    true
}
