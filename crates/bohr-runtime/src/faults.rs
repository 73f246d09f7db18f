//! Signals by which a run fails: crashes, and the watchdog's question.

use crate::{
    addresses,
    carrier::CarrierOnly,
    control, dispatch,
    engine::ENGINE,
    grant::CALLER,
    hooks::{self, entry},
    objects::OBJECTS,
    peek,
    signals::frame,
    system,
    thread::Thread,
    unwind,
    verdict::{self, REPORTING},
};
use alloc::{format, string::String};
use bohr_event::{FailureKind, PlaceNumber};
use core::{arch::naked_asm, cell::Cell, ffi::c_void};

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

/// Whether the calling thread has such a stack. Threads that the program makes by `clone`
/// begin without one, and what the program itself sets never reaches the kernel.
#[cold]
pub fn has_own_stack() -> bool {
    let mut description = libc::stack_t {
        ss_sp: core::ptr::null_mut(),
        ss_flags: 0,
        ss_size: 0,
    };
    let answer = &raw mut description as usize;
    // SAFETY: writes the description.
    unsafe { system::call_in_passing(libc::SYS_sigaltstack, [0, answer, 0, 0, 0, 0]) };
    is_own(description.ss_sp as usize)
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
    let general = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let instruction = general[libc::REG_RIP as usize] as u64;
    if let Some(recovery) = peek::recovery(instruction) {
        general[libc::REG_RIP as usize] = recovery as i64;
        return;
    }
    let looks = entry::is_look_for_room(instruction);
    if looks && !(control::is_on() && lacks_room(general[libc::REG_RSP as usize] as usize)) {
        // The program has a stack of its own here, about which nothing is known.
        note_own_stack();
        return entry::skip_look(general);
    }
    // SAFETY: it is a fault of such a look.
    let overflown = looks.then(|| unsafe { entry::site_of_look(general) });
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
    if !unfit && unsafe { frame::redirect(signal, info, &mut *context.cast()) } {
        return;
    }
    let mut place = OBJECTS.place(registers.place());
    if in_runtime {
        if is_own(address) {
            verdict::broken(&format!("signal {signal} in the runtime at {place:x?}"));
        }
        // An access or call finds no room on the stack, or an interposed call got a bad
        // pointer: the C library would have crashed there.
        place = OVERFLOWN
            .take()
            .unwrap_or_else(|| OBJECTS.place(overflown.unwrap_or(CALLER.get())));
    }
    REPORTING.set_context(registers);
    let (kind, message) = match signal {
        libc::SIGABRT => (FailureKind::Abort, String::from("aborted")),
        _ => {
            let cause = match is_below_stack(address) {
                true => ": the stack of the thread has overflowed",
                false => "",
            };
            let message = format!("{} at address {address:#x}{cause}", name(signal));
            (FailureKind::Crash { signal }, message)
        }
    };
    verdict::fail_at(kind, &message, Some(place), address)
}

/// Whether the address is that of the trace, which cannot be written where the
/// disk is full.
fn is_trace(address: usize) -> bool {
    (addresses::TRACE..addresses::ARENA).contains(&address)
}

/// How many looks for room have faulted on stacks of the program's own.
#[unsafe(link_section = "bohr_hot")]
static LOOKS_IN_VAIN: CarrierOnly<Cell<u32>> = CarrierOnly::new(Cell::new(0));

/// So many are too many. Counted, not timed: the same in every run of a schedule.
const MANY_LOOKS: u32 = 256;

fn note_own_stack() {
    let looks = LOOKS_IN_VAIN.get() + 1;
    LOOKS_IN_VAIN.set(looks % MANY_LOOKS);
    if looks == MANY_LOOKS {
        hooks::look_no_more();
    }
}

/// Where the engine has found no room on the stack.
#[unsafe(link_section = "bohr_hot")]
static OVERFLOWN: CarrierOnly<Cell<Option<PlaceNumber>>> = CarrierOnly::new(Cell::new(None));

/// Whether the stack of the running thread, in use down to this address, has less than
/// its reserve left.
fn lacks_room(pointer: usize) -> bool {
    let thread = ENGINE.current();
    let (start, _) = thread.stack.get();
    pointer.wrapping_sub(start) < thread.reserve.get()
}

/// Called on behalf of an operation at `place`: fails as the program would have, a
/// little later, if the stack has too little room for what the engine does now and
/// then. Without this it would depend on what it does whether the stack overflows.
#[inline]
pub fn require_room(thread: &Thread, place: PlaceNumber) {
    let (start, _) = thread.stack.get();
    let left = (&raw const start as usize).wrapping_sub(start);
    if left < addresses::ENGINE_NEEDS && thread.reserve.get() != 0 {
        overflow(start, place);
    }
}

#[cold]
fn overflow(start: usize, place: PlaceNumber) {
    OVERFLOWN.set(Some(place));
    // SAFETY: nothing is there, and the handler of that fault has a stack of its own.
    unsafe { core::ptr::read_volatile((start - size_of::<usize>()) as *const usize) };
}

/// Whether the address is where a stack that has overflowed is written to.
fn is_below_stack(address: usize) -> bool {
    let (start, _) = ENGINE.current().stack.get();
    (start.saturating_sub(addresses::STACK_GAP)..start).contains(&address)
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
