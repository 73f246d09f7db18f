//! System calls that the C library makes by itself, behind every name that could
//! be shadowed: `fgets` that reads a pipe, a lock inside `printf`.
//!
//! Syscall User Dispatch (Linux 5.11) turns each system call from outside the
//! runtime's own code into a signal. The handler runs on the stack of the fiber
//! that made the call, so it can wait there as any interposed call does. Where
//! the kernel does not offer it, such calls block the whole run.

use crate::{
    control,
    engine::ENGINE,
    faults,
    footprint::{self, mappings, withheld},
    objects::OBJECTS,
    obstacles, omitted_stores, outlasting, system,
    system_calls::{
        self,
        copies::{self, Wanted},
    },
};
use core::{
    ffi::c_void,
    sync::atomic::{AtomicU8, Ordering},
};

/// `prctl` number and values.
const SET_DISPATCH: usize = 59;
const ON: usize = 1;
/// Values of the selector.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;
/// `si_code` of a signal that a dispatched call raised.
const DISPATCHED: i32 = 2;
/// Bytes of the `syscall` instruction.
const INSTRUCTION: i64 = 2;

/// What the kernel looks at before each call.
#[unsafe(link_section = "bohr_hot")]
static SELECTOR: AtomicU8 = AtomicU8::new(ALLOW);

/// In a run: from now on, calls from outside the runtime arrive in `dispatched`,
/// if the kernel can do that.
pub fn begin() -> bool {
    let (start, end) = OBJECTS.runtime_range();
    let selector = SELECTOR.as_ptr() as usize;
    let arguments = [
        SET_DISPATCH,
        ON,
        start as usize,
        (end - start) as usize,
        selector,
        0,
    ];
    // SAFETY: the selector and the handler live as long as the process.
    let supported = unsafe { system::try_call(libc::SYS_prctl, arguments) }.is_ok();
    if supported {
        SELECTOR.store(BLOCK, Ordering::Relaxed);
    }
    supported
}

/// Installs the handler; once, in the template.
pub fn install() {
    let flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    faults::set_action(libc::SIGSYS, dispatched as *const () as usize, flags);
}

/// The program runs uncontrolled from now on.
pub fn end() {
    SELECTOR.store(ALLOW, Ordering::Relaxed);
}

/// Calls of the C library that the runtime makes go straight to the kernel.
pub fn directly<R>(action: impl FnOnce() -> R) -> R {
    footprint::leave();
    in_passing(action)
}

/// The same for calls that leave nothing behind in this process.
pub fn in_passing<R>(action: impl FnOnce() -> R) -> R {
    if control::is_dispatching() && !control::is_shared() {
        ENGINE.note_strange();
    }
    let before = SELECTOR.swap(ALLOW, Ordering::Relaxed);
    let result = action();
    SELECTOR.store(before, Ordering::Relaxed);
    result
}

/// The call, as the kernel has interrupted it.
struct Call<'a> {
    context: &'a mut libc::ucontext_t,
}

impl Call<'_> {
    fn register(&self, number: i32) -> i64 {
        self.context.uc_mcontext.gregs[number as usize]
    }

    fn set(&mut self, number: i32, value: i64) {
        self.context.uc_mcontext.gregs[number as usize] = value;
    }

    fn number(&self) -> i64 {
        self.register(libc::REG_RAX)
    }

    fn arguments(&self) -> [usize; 6] {
        use libc::{REG_R8, REG_R9, REG_R10, REG_RDI, REG_RDX, REG_RSI};
        [REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9]
            .map(|register| self.register(register) as usize)
    }

    fn place(&self) -> u64 {
        self.register(libc::REG_RIP) as u64
    }

    fn answer(&mut self, answer: isize) {
        self.set(libc::REG_RAX, answer as i64);
    }

    /// Moves the caller to another stack, unless there is none.
    fn go_on_at(&mut self, stack: usize) {
        if stack != 0 {
            self.set(libc::REG_RSP, stack as i64);
        }
    }

    /// Makes a process that goes on here, with its own stack and with this one's
    /// memory, and waits for it.
    fn make_guest(&mut self, stack: usize) {
        let (number, arguments) = (self.number(), self.arguments());
        let here = self.register(libc::REG_RSP);
        self.answer(0);
        self.go_on_at(stack);
        // SAFETY: the context is the kernel's and shows what the guest begins with.
        let answer =
            unsafe { copies::make_guest(number, arguments, &raw mut *self.context as usize) };
        self.set(libc::REG_RSP, here);
        self.answer(answer);
    }

    /// Makes the call again where it was made, this time for real. The next
    /// announcement switches dispatching on again.
    fn repeat(&mut self) {
        SELECTOR.store(ALLOW, Ordering::Relaxed);
        self.set(libc::REG_RIP, self.register(libc::REG_RIP) - INSTRUCTION);
    }
}

/// Switches dispatching on again after a repeated call.
#[inline]
pub fn resume() {
    if SELECTOR.load(Ordering::Relaxed) == ALLOW && control::is_dispatching() {
        SELECTOR.store(BLOCK, Ordering::Relaxed);
    }
}

unsafe extern "C" fn dispatched(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes both.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    // SAFETY: as above.
    if unsafe { (*info).si_code } != DISPATCHED || !control::is_on() {
        // SAFETY: passes on what the kernel passed: a call that does not exist.
        return unsafe { faults::crashed(signal, info, (&raw mut *context).cast()) };
    }
    // SAFETY: `errno` is always there; the C library sets it from our answer.
    let errno = unsafe { *libc::__errno_location() };
    handle(&mut Call { context });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn handle(call: &mut Call) {
    let (number, arguments) = (call.number(), call.arguments());
    omitted_stores::take_back();
    obstacles::note_call(number, arguments);
    outlasting::note_call(number, arguments);
    if !system_calls::is_between_threads(number) {
        ENGINE.note_strange();
    }
    match number {
        libc::SYS_clone | libc::SYS_clone3 | libc::SYS_vfork | libc::SYS_fork => {
            match copies::wanted(number, arguments) {
                Wanted::Copy(copy) => {
                    let answer = copy.make();
                    call.answer(answer);
                    if answer == 0 {
                        call.go_on_at(copy.stack);
                    }
                }
                Wanted::Guest { stack } => call.make_guest(stack),
                // The stack under us is no place for both.
                Wanted::Sharer => call.repeat(),
            }
        }
        _ => {
            let answer = system_calls::answer(number, arguments, call.place());
            call.answer(answer.unwrap_or_else(|| pass_on(number, arguments)));
        }
    }
}

/// The kernel's answer to a call.
fn pass_on(number: i64, arguments: [usize; 6]) -> isize {
    if let Some(answer) = withheld::answer(number, arguments) {
        return answer;
    }
    withheld::before(number);
    let of_this_run = mappings::concerns(number, arguments);
    // SAFETY: what the C library asked for.
    let answer = unsafe {
        match of_this_run || footprint::only_asks(number, arguments) {
            true => system::call_in_passing(number, arguments),
            false => system::call(number, arguments),
        }
    };
    if of_this_run {
        mappings::note(number, arguments, answer);
    }
    answer
}
