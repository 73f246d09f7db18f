//! System calls that the C library makes by itself, behind every name that could
//! be shadowed: `fgets` that reads a pipe, a lock inside `printf`.
//!
//! Syscall User Dispatch (Linux 5.11) turns each system call from outside the
//! runtime's own code into a signal. The handler runs on the stack of the fiber
//! that made the call, so it can wait there as any interposed call does. Where
//! the kernel does not offer it, such calls block the whole run.

use crate::{
    clock::{CLOCK, timespec},
    control,
    descriptors::{self, Kind},
    faults,
    interpose::{futex::Futex, input_output, random, time},
    objects::OBJECTS,
    obstacles, output, system,
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
    let before = SELECTOR.swap(ALLOW, Ordering::Relaxed);
    let result = action();
    SELECTOR.store(before, Ordering::Relaxed);
    result
}

/// The registers of the call.
struct Call<'a> {
    registers: &'a mut [i64; 23],
}

impl Call<'_> {
    fn number(&self) -> i64 {
        self.registers[libc::REG_RAX as usize]
    }

    fn arguments(&self) -> [usize; 6] {
        use libc::{REG_R8, REG_R9, REG_R10, REG_RDI, REG_RDX, REG_RSI};
        [REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9]
            .map(|register| self.registers[register as usize] as usize)
    }

    fn place(&self) -> u64 {
        self.registers[libc::REG_RIP as usize] as u64
    }

    fn answer(&mut self, answer: isize) {
        self.registers[libc::REG_RAX as usize] = answer as i64;
    }

    /// Makes the call again where it was made, this time for real. The next
    /// announcement switches dispatching on again.
    fn repeat(&mut self) {
        SELECTOR.store(ALLOW, Ordering::Relaxed);
        self.registers[libc::REG_RIP as usize] -= INSTRUCTION;
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
    handle(&mut Call {
        registers: &mut context.uc_mcontext.gregs,
    });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn handle(call: &mut Call) {
    let [first, second, third, fourth, fifth, sixth] = call.arguments();
    let place = call.place();
    obstacles::note_call(call.number(), call.arguments());
    match call.number() {
        // They create a line of execution that goes on where the call was made.
        libc::SYS_clone | libc::SYS_clone3 | libc::SYS_vfork | libc::SYS_fork => call.repeat(),
        libc::SYS_futex => {
            let futex = Futex {
                word: first,
                operation: second as i32,
                value: third as u32,
                fourth,
                second_word: fifth,
                third_value: sixth as u32,
                place,
            };
            let answer = futex.call_if_known().unwrap_or_else(|| raw(call));
            call.answer(answer);
        }
        libc::SYS_read if descriptors::kind(first as i32) == Kind::Chance => {
            // SAFETY: the C library wants the bytes there.
            unsafe { random::fill(second as *mut c_void, third) };
            call.answer(third as isize);
        }
        libc::SYS_getrandom => {
            // SAFETY: as above.
            unsafe { random::fill(first as *mut c_void, second) };
            call.answer(second as isize);
        }
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_accept
        | libc::SYS_accept4 => {
            let answer = match input_output::await_input(first as i32, place) {
                true => raw(call),
                false => -(libc::EINTR as isize),
            };
            call.answer(answer);
        }
        libc::SYS_write | libc::SYS_writev => {
            let answer = raw(call);
            output::note_written(first as i32, usize::try_from(answer).unwrap_or(0));
            call.answer(answer);
        }
        libc::SYS_nanosleep => call.answer(sleep(first, second, place)),
        libc::SYS_clock_nanosleep if second == 0 => call.answer(sleep(third, fourth, place)),
        _ => {
            let answer = raw(call);
            call.answer(answer);
        }
    }
}

fn raw(call: &Call) -> isize {
    // SAFETY: what the C library asked for.
    unsafe { system::call(call.number(), call.arguments()) }
}

fn sleep(span: usize, left: usize, place: u64) -> isize {
    // SAFETY: the C library passes a time, and room for the rest or nothing.
    unsafe {
        let rest = time::sleep_until(CLOCK.after(&*(span as *const libc::timespec)), place);
        if left != 0 {
            *(left as *mut libc::timespec) = timespec(rest);
        }
        if rest == 0 {
            0
        } else {
            -(libc::EINTR as isize)
        }
    }
}
