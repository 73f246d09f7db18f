//! Signals by which a run fails: crashes, and the watchdog's question.

use crate::{
    addresses, control, dispatch,
    engine::ENGINE,
    grant::CALLER,
    objects::OBJECTS,
    peek, signals, system, unwind,
    verdict::{self, REPORTING},
};
use alloc::{format, string::String};
use bohr_event::FailureKind;
use core::{arch::naked_asm, ffi::c_void};

/// Signals that a crash raises.
pub const CRASHES: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGABRT,
];

/// By which the template asks a run that takes too long where it is.
pub const WATCHDOG: i32 = 63;

/// Bytes of the stack that handlers run on.
const HANDLER_STACK: usize = 512 << 10;

/// How far below its end a stack that has overflowed is written to by the runtime.
const BELOW: usize = 64 << 10;

/// The kernel's own form of `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct KernelAction {
    /// Address of the handler, `SIG_DFL` or `SIG_IGN`.
    pub handler: usize,
    /// `SA_…`.
    pub flags: u64,
    /// What the handler returns to.
    pub restorer: usize,
    /// Signals blocked meanwhile.
    pub mask: u64,
}

const SA_RESTORER: u64 = 0x0400_0000;

#[unsafe(naked)]
unsafe extern "C" fn restore() {
    naked_asm!("mov eax, 15", "syscall") // rt_sigreturn
}

/// Sets what the kernel does at a signal.
pub fn set_action(signal: i32, handler: usize, flags: i32) {
    let action = KernelAction {
        handler,
        flags: flags as u64 | SA_RESTORER,
        restorer: restore as *const () as usize,
        mask: 0,
    };
    let arguments = [signal as usize, &raw const action as usize, 0, 8, 0, 0];
    // SAFETY: the handlers given here live as long as the process.
    unsafe { system::call(libc::SYS_rt_sigaction, arguments) };
}

/// Gives the calling thread a stack for handlers: the one in use may be what has
/// overflowed.
pub fn use_own_stack() {
    let stack = alloc::vec![0u8; HANDLER_STACK].leak();
    let description = libc::stack_t {
        ss_sp: stack.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: HANDLER_STACK,
    };
    let description = &raw const description as usize;
    // SAFETY: the memory is leaked, so it stays.
    unsafe { system::call(libc::SYS_sigaltstack, [description, 0, 0, 0, 0, 0]) };
}

/// Installs the handlers.
pub fn install() {
    use_own_stack();
    let flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
    for signal in CRASHES {
        set_action(signal, crashed as *const () as usize, flags);
    }
    set_action(WATCHDOG, overdue as *const () as usize, flags);
    dispatch::install();
}

/// The kernel reports a crash.
///
/// # Safety
/// The arguments must be what the kernel passed.
pub unsafe extern "C" fn crashed(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a context, which it takes back as it is left.
    let instruction = unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        &mut registers[libc::REG_RIP as usize]
    };
    if let Some(recovery) = peek::recovery(*instruction as u64) {
        *instruction = recovery as i64;
        return;
    }
    // SAFETY: the kernel passes both.
    let (address, registers) = unsafe {
        (
            (*info).si_addr() as usize,
            unwind::Registers::of_signal(&*context.cast::<libc::ucontext_t>()),
        )
    };
    if signal == libc::SIGBUS && is_trace(address) {
        verdict::no_room();
    }
    if !control::is_on() || REPORTING.is_closing() {
        return give_up(signal);
    }
    let in_runtime = OBJECTS.is_runtime(registers.instruction());
    // Hooks and calls run on the stack of the program. Where they do not fit there,
    // the engine is in the middle of something, and no handler may begin.
    let unfit = in_runtime && is_below_stack(address);
    // SAFETY: the kernel's arguments are passed on.
    if !unfit && unsafe { signals::program_handles(signal, info, context) } {
        return;
    }
    let mut place = OBJECTS.place(registers.place());
    if in_runtime {
        if is_own(address) {
            verdict::broken(&format!("signal {signal} in the runtime at {place:x?}"));
        }
        // An interposed call got a bad pointer: the C library would have crashed there.
        place = OBJECTS.place(CALLER.get());
    }
    REPORTING.set_context(registers);
    let (kind, message) = match signal {
        libc::SIGABRT => (FailureKind::Abort, String::from("aborted")),
        _ => (
            FailureKind::Crash { signal },
            format!("{} at address {address:#x}", name(signal)),
        ),
    };
    verdict::fail_at(kind, &message, Some(place), address)
}

/// Whether the address is that of the trace, which cannot be written where the
/// disk is full.
fn is_trace(address: usize) -> bool {
    (addresses::TRACE..addresses::ARENA).contains(&address)
}

/// Whether the address is where a stack that has overflowed is written to.
fn is_below_stack(address: usize) -> bool {
    let (start, _) = ENGINE.current().stack.get();
    (start.saturating_sub(BELOW)..start).contains(&address)
}

/// Whether the address is the runtime's own business.
fn is_own(address: usize) -> bool {
    (addresses::ARENA..addresses::ARENA + addresses::ARENA_LENGTH).contains(&address)
}

fn name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "segmentation fault",
        libc::SIGBUS => "bus error",
        libc::SIGFPE => "arithmetic fault",
        libc::SIGILL => "illegal instruction",
        libc::SIGTRAP => "trap",
        _ => "fatal signal",
    }
}

/// Lets the signal do what it does without us.
fn give_up(signal: i32) {
    set_action(signal, libc::SIG_DFL, 0);
    let (process, thread) = (system::process_number(), system::thread_number());
    let arguments = [process as usize, thread as usize, signal as usize, 0, 0, 0];
    // SAFETY: ends this process with the signal.
    unsafe { system::call(libc::SYS_tgkill, arguments) };
}

/// The template asks where the run is, after the wall-clock limit.
unsafe extern "C" fn overdue(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    if !control::is_on() || REPORTING.is_closing() {
        return;
    }
    // SAFETY: the kernel passes a context.
    let registers = unsafe { unwind::Registers::of_signal(&*context.cast::<libc::ucontext_t>()) };
    REPORTING.set_context(registers);
    let place = OBJECTS.place(registers.place());
    let events = ENGINE.events();
    verdict::fail_at(
        FailureKind::TimeLimit,
        &format!("still running after the time limit, {events} events into the run"),
        Some(place),
        0,
    )
}
