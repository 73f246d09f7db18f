//! How handlers of the program begin and end: with a context of what they
//! interrupt, on the stack that they have asked for, and with the mask that the context
//! names at their end.
//!
//! A virtual signal comes where its thread has called the runtime, so its handler
//! is called from there. A fault interrupts the program itself: what the kernel has put
//! on the runtime's own stack is copied to where the kernel would have put it, and
//! the program goes on at the handler. From there it may be left for other threads, or
//! by a jump, as any code may.
//!
//! ```text
//!      interrupted stack, or the end of the alternate one
//!      ├ state of the floating-point unit     as long as the kernel says
//!      ├ siginfo_t
//!      ├ ucontext_t                           ◀─ rsp when `redirected` begins
//!      ┆ handler
//! ```

use super::{Action, alternate, bit, mask, set_action};
use crate::{
    addresses, elsewhere::call_on, engine::ENGINE, peek, thread::Thread, unwind::Registers,
};
use core::{arch::naked_asm, ffi::c_int, mem::MaybeUninit, ptr};

/// Below its stack pointer a function may have data of its own.
const RED_ZONE: usize = 128;
/// Bytes of `ucontext_t` that the kernel knows: the rest is the C library's.
const KERNEL_CONTEXT: usize = 304;
/// State of the floating-point unit as `fxsave` writes it.
const FLOATING: usize = 512;
/// Where in it the kernel notes that there is more, and how much in all.
const MORE: usize = 464;
const MORE_MAGIC: u32 = 0x4650_5853;
/// What the kernel asks of its address.
const FLOATING_ALIGNMENT: usize = 64;

/// What the handler of a virtual signal is told about the moment.
#[repr(C, align(64))]
struct Moment {
    floating: [u8; FLOATING],
    context: libc::ucontext_t,
}

/// Calls the handler of a virtual signal in the running thread. Never a part of its caller,
/// which is on every way to the engine: what handlers are told is large, and the stacks of
/// coroutines are small.
#[cold]
#[inline(never)]
pub fn call(thread: &Thread, action: &Action, signal: i32, mut info: libc::siginfo_t) {
    let registers = Registers::here();
    let mut moment = MaybeUninit::<Moment>::zeroed();
    // SAFETY: all zeroes are a context, and the state of the unit is written as a whole.
    let moment = unsafe {
        let moment = moment.assume_init_mut();
        core::arch::x86_64::_fxsave64(moment.floating.as_mut_ptr());
        moment
    };
    registers.describe(&mut moment.context);
    moment.context.uc_mcontext.fpregs = (&raw mut moment.floating).cast();
    let pointer = registers.stack_pointer();
    let stack = stack_for(thread, action, pointer);
    // SAFETY: a handler of the program, with arguments of either type; its stack has room.
    unsafe {
        handle(
            thread,
            action,
            signal,
            &mut info,
            &mut moment.context,
            stack,
        )
    };
}

/// Where the handler's stack begins, or 0 if it is that of what it interrupts.
fn stack_for(thread: &Thread, action: &Action, pointer: usize) -> usize {
    match action.sa_flags & libc::SA_ONSTACK {
        0 => 0,
        _ => alternate::entry(thread, pointer).unwrap_or(0),
    }
}

/// Calls the handler with its mask and takes back what its context says then.
///
/// # Safety
/// The action must be the program's, the arguments what its type wants, and the stack
/// 0 or the end of a free one.
unsafe fn handle(
    thread: &Thread,
    action: &Action,
    signal: i32,
    info: &mut libc::siginfo_t,
    context: &mut libc::ucontext_t,
    stack: usize,
) {
    let before = thread.mask.get();
    let own = match action.sa_flags & libc::SA_NODEFER {
        0 => bit(signal),
        _ => 0,
    };
    let pointer = context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize;
    context.uc_stack = alternate::describe(thread, pointer);
    set_words(&mut context.uc_sigmask, before);
    thread.mask.set(before | mask(&action.sa_mask) | own);
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        set_action(signal, super::default_action());
    }
    // SAFETY: the caller answers for it.
    unsafe {
        let (info, context) = (
            ptr::from_mut(info) as usize,
            ptr::from_mut(context) as usize,
        );
        call_on(action.sa_sigaction, signal as usize, info, context, stack);
    }
    let unstoppable = bit(libc::SIGKILL) | bit(libc::SIGSTOP);
    thread.mask.set(mask(&context.uc_sigmask) & !unstoppable);
    alternate::take_back(thread, &context.uc_stack);
}

fn set_words(set: &mut libc::sigset_t, first: u64) {
    // SAFETY: a set is an array of words; the first holds all 64 signals.
    unsafe { *ptr::from_mut(set).cast::<u64>() = first };
}

/// Called by the handler of a fault, with what the kernel has passed: makes the
/// program go on at its own handler, once this one has returned. `false` if the program
/// has none, or the kernel would not call it: the signal is blocked, or there is no
/// room for it.
///
/// # Safety
/// The arguments must be what the kernel passed.
pub unsafe fn redirect(
    signal: i32,
    info: *const libc::siginfo_t,
    context: &mut libc::ucontext_t,
) -> bool {
    let thread = ENGINE.current();
    if !super::is_caught(signal) || thread.mask.get() & bit(signal) != 0 {
        return false;
    }
    let pointer = context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize;
    let top = match stack_for(thread, &super::action(signal), pointer) {
        0 if !has_room(thread, pointer) => return false,
        0 => pointer - RED_ZONE,
        end => end,
    };
    // SAFETY: the kernel's own state, and free memory below `top`.
    let (copy, information) = unsafe { copy_below(top, info, context) };
    let general = &mut context.uc_mcontext.gregs;
    general[libc::REG_RDI as usize] = i64::from(signal);
    general[libc::REG_RSI as usize] = information as i64;
    general[libc::REG_RDX as usize] = copy as i64;
    general[libc::REG_RSP as usize] = copy as i64;
    general[libc::REG_RIP as usize] = redirected as *const () as i64;
    // Direction and trap flag are clear where a function begins.
    general[libc::REG_EFL as usize] &= !(0x400 | 0x100);
    true
}

/// Whether there is room for a handler and what the engine may do in it.
fn has_room(thread: &Thread, pointer: usize) -> bool {
    let (start, end) = thread.stack.get();
    match (start..end).contains(&pointer) {
        true => pointer - start >= thread.reserve.get() + RED_ZONE + FLOATING,
        // A stack of the program's own.
        false => peek::peek(pointer.wrapping_sub(addresses::ENGINE_NEEDS), 1).is_some(),
    }
}

/// Copies what the kernel has put on another stack to the one below `top`; where the
/// context and the information are.
///
/// # Safety
/// Both must be the kernel's, and the memory below `top` free.
unsafe fn copy_below(
    top: usize,
    info: *const libc::siginfo_t,
    context: &libc::ucontext_t,
) -> (usize, usize) {
    let floating = context.uc_mcontext.fpregs.cast::<u8>();
    // SAFETY: the caller answers for it.
    unsafe {
        let size = floating_size(floating);
        let state = (top - size) & !(FLOATING_ALIGNMENT - 1);
        ptr::copy_nonoverlapping(floating, state as *mut u8, size);
        let information = state - size_of::<libc::siginfo_t>();
        ptr::copy_nonoverlapping(info, information as *mut libc::siginfo_t, 1);
        let place = (information - size_of::<libc::ucontext_t>()) & !15;
        let copy = place as *mut libc::ucontext_t;
        ptr::write_bytes(copy, 0, 1);
        let original = ptr::from_ref(context).cast::<u8>();
        ptr::copy_nonoverlapping(original, copy.cast(), KERNEL_CONTEXT);
        (*copy).uc_mcontext.fpregs = state as *mut _;
        (place, information)
    }
}

/// # Safety
/// It must be null or what the kernel has saved.
unsafe fn floating_size(floating: *const u8) -> usize {
    if floating.is_null() {
        return 0;
    }
    // SAFETY: the kernel saves so many bytes at least.
    let [magic, size] = unsafe { floating.add(MORE).cast::<[u32; 2]>().read_unaligned() };
    match magic {
        MORE_MAGIC => size as usize,
        _ => FLOATING,
    }
}

/// Runs in the place of what a fault has interrupted, on the copy of what the kernel
/// saved, and gives that back to the kernel at the end.
///
/// For whoever unwinds through it: the caller's registers are in the context, which
/// begins at the stack pointer.
#[unsafe(naked)]
unsafe extern "C-unwind" fn redirected() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_signal_frame",
        // DW_CFA_def_cfa_expression: what is at rsp + 160, the stack pointer.
        ".cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06",
        // DW_CFA_expression: each register is at rsp and its offset.
        ".cfi_escape 0x10, 0x08, 0x02, 0x77, 0x28",       // r8
        ".cfi_escape 0x10, 0x09, 0x02, 0x77, 0x30",       // r9
        ".cfi_escape 0x10, 0x0a, 0x02, 0x77, 0x38",       // r10
        ".cfi_escape 0x10, 0x0b, 0x03, 0x77, 0xc0, 0x00", // r11
        ".cfi_escape 0x10, 0x0c, 0x03, 0x77, 0xc8, 0x00", // r12
        ".cfi_escape 0x10, 0x0d, 0x03, 0x77, 0xd0, 0x00", // r13
        ".cfi_escape 0x10, 0x0e, 0x03, 0x77, 0xd8, 0x00", // r14
        ".cfi_escape 0x10, 0x0f, 0x03, 0x77, 0xe0, 0x00", // r15
        ".cfi_escape 0x10, 0x05, 0x03, 0x77, 0xe8, 0x00", // rdi
        ".cfi_escape 0x10, 0x04, 0x03, 0x77, 0xf0, 0x00", // rsi
        ".cfi_escape 0x10, 0x06, 0x03, 0x77, 0xf8, 0x00", // rbp
        ".cfi_escape 0x10, 0x03, 0x03, 0x77, 0x80, 0x01", // rbx
        ".cfi_escape 0x10, 0x01, 0x03, 0x77, 0x88, 0x01", // rdx
        ".cfi_escape 0x10, 0x00, 0x03, 0x77, 0x90, 0x01", // rax
        ".cfi_escape 0x10, 0x02, 0x03, 0x77, 0x98, 0x01", // rcx
        ".cfi_escape 0x10, 0x10, 0x03, 0x77, 0xa8, 0x01", // rip
        "call {run}",
        ".globl bohr_end_of_handler",
        ".hidden bohr_end_of_handler",
        "bohr_end_of_handler:",
        "mov eax, 15", // rt_sigreturn
        "syscall",
        "ud2",
        ".cfi_endproc",
        run = sym run,
    )
}

unsafe extern "C" {
    safe static bohr_end_of_handler: u8;
}

/// Whether this is where the handler of a fault returns to. What was interrupted is
/// told by the context at the stack pointer there.
pub fn is_end(instruction: u64) -> bool {
    instruction == &raw const bohr_end_of_handler as u64
}

unsafe extern "C-unwind" fn run(
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    // SAFETY: `redirect` passes its copies.
    let (information, copy) = unsafe { (&mut *info, &mut *context) };
    // What is blocked for the kernel, and where handlers of its signals run, is the
    // runtime's business.
    let (blocked, stack) = (mask(&copy.uc_sigmask), copy.uc_stack);
    let action = super::action(signal);
    // SAFETY: the program's handler; it runs on the stack that has been chosen.
    unsafe { handle(ENGINE.current(), &action, signal, information, copy, 0) };
    set_words(&mut copy.uc_sigmask, blocked);
    copy.uc_stack = stack;
}

const _: () = assert!(size_of::<libc::ucontext_t>() >= KERNEL_CONTEXT);
