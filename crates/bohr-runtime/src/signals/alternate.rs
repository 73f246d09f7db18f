//! `sigaltstack`: the stack on which a thread wants its handlers to run.
//!
//! Hooks and calls in a handler take more room than programs provide there, since
//! the engine works on the stack that it is called on. Handlers of a stack that is too
//! small for that run on one of the runtime's instead, which each thread has for
//! itself; the thread is told all the same what it has asked for.

use crate::{addresses, carrier::CarrierOnly, control, engine::ENGINE, thread::Thread};
use alloc::vec;
use core::{cell::Cell, ffi::c_void, ptr};

/// Bytes that the kernel asks for at least.
const LEAST: usize = 2048;
/// Bytes of the stack that stands in for one that is too small.
const SUBSTITUTE: usize = 2 * addresses::STACK_RESERVE;
/// Flag of Linux: a stack that a handler has been called on is not used for others
/// that begin meanwhile, and may be left for good.
const SS_AUTODISARM: i32 = i32::MIN;

/// A thread's stack for handlers, as it has described it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alternate {
    start: usize,
    /// 0 if there is none.
    length: usize,
    disarms: bool,
    /// The lowest address of what stands in for it, if that was needed already.
    substitute: usize,
}

/// What was asked for before `main`, by the thread that will run it.
static BEFORE_MAIN: CarrierOnly<Cell<Alternate>> = CarrierOnly::new(Cell::new(Alternate {
    start: 0,
    length: 0,
    disarms: false,
    substitute: 0,
}));

impl Alternate {
    /// Where handlers really run: the lowest address and the first behind it.
    pub fn bounds(&self) -> (usize, usize) {
        match self.substitute {
            0 => (self.start & !7, (self.start + self.length) & !7),
            lowest => (lowest, lowest + SUBSTITUTE),
        }
    }

    /// Whether this address is on it.
    fn holds(&self, pointer: usize) -> bool {
        let (start, end) = self.bounds();
        (start..end).contains(&pointer)
    }

    /// Whether a handler runs on it that has been called from there, as far as the
    /// kernel would know.
    fn is_in_use(&self, pointer: usize) -> bool {
        self.length != 0 && !self.disarms && self.holds(pointer)
    }

    fn describe(&self, pointer: usize) -> libc::stack_t {
        let state = match self.length {
            0 => libc::SS_DISABLE,
            _ if self.is_in_use(pointer) => libc::SS_ONSTACK,
            _ => 0,
        };
        libc::stack_t {
            ss_sp: self.start as *mut c_void,
            ss_flags: state | if self.disarms { SS_AUTODISARM } else { 0 },
            ss_size: self.length,
        }
    }

    /// The same with another description; an error number if that is none.
    fn changed(self, wanted: &libc::stack_t) -> Result<Alternate, i32> {
        let disarms = wanted.ss_flags & SS_AUTODISARM != 0;
        let (start, length) = match wanted.ss_flags & !SS_AUTODISARM {
            libc::SS_DISABLE => (0, 0),
            0 | libc::SS_ONSTACK if wanted.ss_size < LEAST => return Err(libc::ENOMEM),
            0 | libc::SS_ONSTACK => (wanted.ss_sp as usize, wanted.ss_size),
            _ => return Err(libc::EINVAL),
        };
        Ok(Alternate {
            start,
            length,
            disarms,
            substitute: match length < addresses::STACK_RESERVE {
                true => self.substitute,
                false => 0,
            },
        })
    }
}

/// The thread that runs `main` has asked for this one.
pub fn before_main() -> Alternate {
    BEFORE_MAIN.get()
}

/// `sigaltstack`, called by the running thread; an error number or 0.
///
/// # Safety
/// Both are null or descriptions of the program's.
pub unsafe fn change(new: *const libc::stack_t, old: *mut libc::stack_t) -> i32 {
    let cell = match control::is_on() {
        true => &ENGINE.current().alternate,
        false => &*BEFORE_MAIN,
    };
    let before = cell.get();
    let here = ptr::from_ref(&before) as usize;
    // SAFETY: the caller answers for both.
    let (new, old) = unsafe { (new.as_ref().copied(), old.as_mut()) };
    if let Some(old) = old {
        *old = before.describe(here);
    }
    match new.map(|new| before.changed(&new)) {
        None => 0,
        Some(_) if before.is_in_use(here) => libc::EPERM,
        Some(Err(error)) => error,
        Some(Ok(after)) => {
            cell.set(after);
            0
        }
    }
}

/// Where a handler that wants it begins, if what it interrupts has its stack at
/// `pointer`: the end of the alternate stack, or `None` if there is none or it is in use.
pub fn entry(thread: &Thread, pointer: usize) -> Option<usize> {
    let mut stack = thread.alternate.get();
    if stack.length == 0 || stack.is_in_use(pointer) {
        return None;
    }
    if stack.length < addresses::STACK_RESERVE && stack.substitute == 0 {
        stack.substitute = vec![0u64; SUBSTITUTE / 8].leak().as_ptr() as usize;
        thread.alternate.set(stack);
    }
    Some(stack.bounds().1)
}

/// What the context of a handler tells of it, before the handler is called.
pub fn describe(thread: &Thread, pointer: usize) -> libc::stack_t {
    let stack = thread.alternate.get();
    let described = stack.describe(pointer);
    if stack.disarms {
        // Nobody's until the handler has returned.
        thread.alternate.set(Alternate { length: 0, ..stack });
    }
    described
}

/// The handler has returned: its context tells which stack comes next.
pub fn take_back(thread: &Thread, described: &libc::stack_t) {
    if let Ok(stack) = thread.alternate.get().changed(described) {
        thread.alternate.set(stack);
    }
}
