//! Signals are virtual: whoever sends one marks it as pending, and a thread that
//! does not block it runs the handler at its next scheduling point.

pub mod alternate;
pub mod frame;
mod queue;
pub mod signal_file;

pub use queue::Sent;

use crate::{
    carrier::CarrierOnly,
    engine::{ENGINE, operation},
    faults,
    interpose::machine,
    thread::{Life, Thread, Wait},
    verdict,
};
use alloc::format;
use bohr_event::{EventKind, FailureKind, ThreadIndex};
use core::{
    cell::{Cell, RefCell},
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

/// Signals by which threads of one program call each other; others come from outside,
/// or are crashes.
const INTERNAL: [i32; 7] = [
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGURG,
];

/// There has been a handler of such a signal.
#[unsafe(link_section = "bohr_hot")]
static HANDLERS: CarrierOnly<Cell<bool>> = CarrierOnly::new(Cell::new(false));

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
    HANDLERS.set(HANDLERS.get() || is_caught(signal) && INTERNAL.contains(&signal));
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

/// Whether the program has handlers by which threads may call each other.
pub fn has_handlers() -> bool {
    HANDLERS.get()
}

/// Whether the program has a handler of its own for this signal.
pub fn is_caught(signal: i32) -> bool {
    !matches!(action(signal).sa_sigaction, libc::SIG_DFL | libc::SIG_IGN)
}

extern "C" fn from_outside(signal: i32) {
    PENDING.fetch_or(bit(signal), Ordering::Relaxed);
}

/// Sends a signal to the process.
pub fn send_to_process(signal: i32, sent: Sent) {
    send(signal, None, sent);
}

/// Sends a signal to a thread.
pub fn send_to_thread(thread: &Thread, signal: i32, sent: Sent) {
    send(signal, Some(thread), sent);
}

fn send(signal: i32, thread: Option<&Thread>, sent: Sent) {
    if is_ignored(signal) || signal_file::takes(signal, thread, sent) {
        return;
    }
    queue::add(signal, thread.map(|thread| thread.index), sent);
    match thread {
        Some(thread) => {
            thread.signals.set(thread.signals.get() | bit(signal));
            ENGINE.disturb(thread);
        }
        None => drop(PENDING.fetch_or(bit(signal), Ordering::Relaxed)),
    }
}

/// Whether nobody would notice it.
fn is_ignored(signal: i32) -> bool {
    match action(signal).sa_sigaction {
        libc::SIG_IGN => true,
        libc::SIG_DFL => IGNORED.contains(&signal),
        _ => false,
    }
}

/// What is pending for the thread, blocked or not.
pub fn pending(thread: &Thread) -> u64 {
    thread.signals.get() | PENDING.load(Ordering::Relaxed)
}

/// Whether something is pending that was sent to no thread in particular.
pub fn is_any_for_all() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

/// What is pending and may be taken by the thread, blocked or not. As in Linux, a signal
/// for the process is main's unless that blocks it, however many others would take it:
/// so a timer ends the wait of main, and not that of others. What has no handler, and
/// ends the process, may be anybody's.
#[inline]
pub fn within_reach(thread: &Thread) -> u64 {
    match PENDING.load(Ordering::Relaxed) {
        0 => thread.signals.get(),
        for_all if thread.index == ThreadIndex::MAIN => thread.signals.get() | for_all,
        for_all => thread.signals.get() | for_all & !kept_for_main(for_all),
    }
}

#[cold]
fn kept_for_main(signals: u64) -> u64 {
    let main = ENGINE.thread(ThreadIndex::MAIN);
    if main.life.get() != Life::Alive {
        return 0;
    }
    let mut left = signals & !main.mask.get();
    let mut kept = 0;
    while left != 0 {
        let signal = left.trailing_zeros() as i32 + 1;
        left &= !bit(signal);
        if is_caught(signal) {
            kept |= bit(signal);
        }
    }
    kept
}

/// Whether a signal has been sent to the thread, or to the process, and nobody has
/// taken it.
pub fn is_waiting(signal: i32, thread: Option<&Thread>) -> bool {
    let sent = match thread {
        Some(thread) => thread.signals.get(),
        None => PENDING.load(Ordering::Relaxed),
    };
    sent & bit(signal) != 0
}

/// Whether the thread has something to handle now.
#[inline]
pub fn is_due(thread: &Thread) -> bool {
    within_reach(thread) & !thread.mask.get() != 0
}

/// Whether a thread other than this one could take a signal that is sent to the process.
fn is_for_another(thread: &Thread, signal: i32) -> bool {
    let mut found = false;
    ENGINE.each_live(|other| {
        let waits = matches!(other.wait.get(), Wait::Signal(set) if set & bit(signal) != 0);
        let takes = waits || other.mask.get() & bit(signal) == 0;
        found |= takes && other.index != thread.index;
    });
    found
}

/// Takes the lowest pending signal of a set away from the thread or process.
pub fn take(thread: &Thread, set: u64) -> Option<(i32, Sent)> {
    let matching = within_reach(thread) & set;
    if matching == 0 {
        return None;
    }
    let signal = matching.trailing_zeros() as i32 + 1;
    let own = thread.signals.get() & bit(signal) != 0;
    let index = own.then_some(thread.index);
    // What comes from outside is not queued.
    let sent = queue::take(signal, index).unwrap_or_default();
    if queue::waiting(index) & bit(signal) == 0 {
        if own {
            thread.signals.set(thread.signals.get() & !bit(signal));
        } else {
            PENDING.fetch_and(!bit(signal), Ordering::Relaxed);
        }
    }
    Some((signal, sent))
}

/// What handlers that have run mean for a call that was waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// None has.
    Nothing,
    /// All of them want the call to go on (`SA_RESTART`).
    Restarts,
    /// One of them does not.
    Interrupts,
}

/// The running thread has sent a signal to its process. If nobody else could handle it,
/// it has done so before its call ends; if somebody could, the schedule decides.
pub fn sent_by(thread: &Thread, signal: i32, place: u64) {
    if !is_caught(signal) || !is_for_another(thread, signal) {
        deliver(thread, place);
    }
}

/// Handles what is due for the running thread. Each handler is an event.
pub fn deliver(thread: &Thread, place: u64) -> Handled {
    let mut handled = Handled::Nothing;
    while let Some((signal, sent)) = take(thread, !thread.mask.get()) {
        match handle(thread, signal, sent, place) {
            Handled::Nothing => {}
            Handled::Restarts if handled == Handled::Interrupts => {}
            other => handled = other,
        }
    }
    handled
}

fn handle(thread: &Thread, signal: i32, sent: Sent, place: u64) -> Handled {
    let action = action(signal);
    match action.sa_sigaction {
        _ if is_ignored(signal) => return Handled::Nothing,
        libc::SIG_DFL => verdict::fail(
            match signal {
                libc::SIGABRT => FailureKind::Abort,
                _ => FailureKind::Crash { signal },
            },
            &format!("ended by signal {signal}"),
        ),
        _ => {}
    }
    ENGINE.handling(operation(EventKind::Handle, signal as usize, place));
    frame::call(thread, &action, signal, information(signal, sent));
    match action.sa_flags & libc::SA_RESTART {
        0 => Handled::Interrupts,
        _ => Handled::Restarts,
    }
}

/// What a handler, or who waits for a signal, is told about it.
pub fn information(signal: i32, sent: Sent) -> libc::siginfo_t {
    /// The beginning of `siginfo_t` for signals that somebody sends.
    #[repr(C)]
    struct Known {
        signal: i32,
        error: i32,
        code: i32,
        padding: i32,
        process: i32,
        user: u32,
        value: usize,
    }
    let mut whole = MaybeUninit::<libc::siginfo_t>::zeroed();
    let known = Known {
        signal,
        error: 0,
        code: sent.code,
        padding: 0,
        process: machine::PROCESS,
        user: 0,
        value: sent.value,
    };
    // SAFETY: the structure begins so, and all bytes of it are set.
    unsafe {
        whole.as_mut_ptr().cast::<Known>().write(known);
        whole.assume_init()
    }
}

/// The first 64 signals of a set.
pub fn mask(set: &libc::sigset_t) -> u64 {
    // SAFETY: a set is an array of words; the first holds all 64 signals.
    unsafe { *ptr::from_ref(set).cast::<u64>() }
}
