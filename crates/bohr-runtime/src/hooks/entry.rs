//! The ways from instrumented code into the runtime. An access that the running
//! thread has leave for uses up one event of it and goes on: a few instructions.
//!
//! The program's compiler does not know that there is a call, so registers,
//! vector registers and the flags are kept as `bohr_event::abi` says. Call frame
//! information is written by hand: stacks of failing threads lead through here.
//!
//! Their first instruction looks whether the engine would find room on the stack, and
//! faults where it would not: a stack overflows at the same access whether that has to
//! be announced or not.

use crate::{
    addresses::{HEAP, HEAP_BITS, STACK_RESERVE},
    grant::{CALL_SITE, GRANT, LAST_PLACE, SHADOW_OFFSET, VECTORS},
};
use bohr_event::{hook_announced as announced, hook_slow_path as slow_path};
use core::{arch::naked_asm, ops::Range};

#[unsafe(naked)]
unsafe extern "C" fn whole_access() {
    naked_asm!(slow_path!("{slow}"), vectors = sym VECTORS, slow = sym super::slow_access)
}

/// An access of a size that the site table knows. The quick path needs no flags,
/// so it does not have to save them.
#[unsafe(naked)]
pub unsafe extern "C" fn access() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_def_cfa_offset 24",
        "push qword ptr [rsp - {reserve}]",
        ".cfi_adjust_cfa_offset 8",
        "mov [rsp], rcx",
        "mov rcx, [rip + {grant}]",
        "jrcxz 2f",
        "lea rcx, [rcx - 1]",
        "mov [rip + {grant}], rcx",
        ".cfi_remember_state",
        "pop rcx",
        "pop r11",
        "pop qword ptr [rip + {last}]",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_restore_state",
        "2:",
        "pop rcx",
        // Absolute: LLVM's assembler takes adjustments from before the restored state.
        ".cfi_def_cfa_offset 24",
        announced!(),
        reserve = const STACK_RESERVE,
        grant = sym GRANT,
        last = sym LAST_PLACE,
        whole = sym whole_access,
    )
}

/// The same where freed memory is watched: the shadow of heap addresses is
/// looked at first.
#[unsafe(naked)]
pub unsafe extern "C" fn watched_access() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_def_cfa_offset 24",
        "push qword ptr [rsp - {reserve}]",
        ".cfi_adjust_cfa_offset 8",
        "mov [rsp], rax",
        "push rcx",
        ".cfi_adjust_cfa_offset 8",
        "lahf",
        "seto al",
        "mov rcx, r11",
        "shr rcx, {heap_bits}",
        "cmp rcx, {heap}",
        "jne 5f",
        "mov rcx, r11",
        "shr rcx, 4",
        "add rcx, [rip + {shadow}]",
        "cmp byte ptr [rcx], 0",
        "jne 2f",
        "5:",
        "mov rcx, [rip + {grant}]",
        "sub rcx, 1",
        "jb 2f",
        "mov [rip + {grant}], rcx",
        "add al, 127",
        "sahf",
        ".cfi_remember_state",
        "pop rcx",
        "pop rax",
        "pop r11",
        "pop qword ptr [rip + {last}]",
        ".cfi_def_cfa_offset 8",
        "ret",
        ".cfi_restore_state",
        "2:",
        "add al, 127",
        "sahf",
        "pop rcx",
        "pop rax",
        ".cfi_def_cfa_offset 24", // absolute, as above
        announced!(),
        reserve = const STACK_RESERVE,
        heap_bits = const HEAP_BITS,
        heap = const HEAP >> HEAP_BITS,
        shadow = sym SHADOW_OFFSET,
        grant = sym GRANT,
        last = sym LAST_PLACE,
        whole = sym whole_access,
    )
}

/// The same without a look for room, where looks are too dear: each is announced, and
/// the engine looks for itself.
#[unsafe(naked)]
pub unsafe extern "C" fn announced_access() {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_def_cfa_offset 24",
        announced!(),
        whole = sym whole_access,
    )
}

/// Bytes of the instruction that looks for room.
const LOOK_LENGTH: i64 = 7;

/// A fault at this instruction: whether it was a look for room, from the stack at
/// this address.
pub fn is_look_for_room(instruction: u64) -> bool {
    [access as *const (), watched_access as *const ()]
        .iter()
        .any(|&entry| entry as u64 == instruction)
}

/// The site of the access that looked for room.
///
/// # Safety
/// The registers must be those of a fault for which [`is_look_for_room`] holds.
pub unsafe fn site_of_look(registers: &[i64; 23]) -> u64 {
    let stack = registers[libc::REG_RSP as usize] as *const u64;
    // SAFETY: the stub has pushed the site, then the program's `r11`.
    unsafe { u64::from(*stack.add(1).cast::<u32>()) }
}

/// Goes on behind the look: what it pushes is overwritten there.
pub fn skip_look(registers: &mut [i64; 23]) {
    registers[libc::REG_RSP as usize] -= size_of::<u64>() as i64;
    registers[libc::REG_RIP as usize] += LOOK_LENGTH;
}

/// An access of a size known only now. Rare, so it has no fast path.
#[unsafe(naked)]
pub unsafe extern "C" fn range() {
    naked_asm!(slow_path!("{slow}"), vectors = sym VECTORS, slow = sym super::slow_range)
}

/// A read of one range and a write of another.
#[unsafe(naked)]
pub unsafe extern "C" fn copy() {
    naked_asm!(slow_path!("{slow}"), vectors = sym VECTORS, slow = sym super::slow_copy)
}

/// A fence.
#[unsafe(naked)]
pub unsafe extern "C" fn fence() {
    naked_asm!(slow_path!("{slow}"), vectors = sym VECTORS, slow = sym super::slow_fence)
}

/// Whether the function that begins here keeps the program's registers on the stack, as
/// `hook_slow_path` does.
pub fn saves_registers(function: u64) -> bool {
    [
        whole_access as *const (),
        range as *const (),
        copy as *const (),
        fence as *const (),
        point as *const (),
    ]
    .iter()
    .any(|&entry| entry as u64 == function)
}

/// Where such a function keeps them, by its `rbp` and `rsp` where it calls on: from which
/// address on, but for vector registers, and where those are.
pub fn saved_registers(frame: u64, stack: u64) -> (usize, Range<usize>) {
    let (lowest, stack) = (frame as usize - 7 * size_of::<u64>(), stack as usize);
    let vectors = match VECTORS.get() {
        0 => stack..stack + 16 * size_of::<u128>(),
        _ => stack..lowest,
    };
    (lowest, vectors)
}

/// Control comes to a point that is watched.
#[unsafe(naked)]
pub unsafe extern "C" fn point() {
    naked_asm!(slow_path!("{slow}"), vectors = sym VECTORS, slow = sym super::slow_point)
}

/// Tells where the next interposed call comes from.
#[unsafe(naked)]
pub unsafe extern "C" fn call() {
    naked_asm!(
        "mov [rip + {site}], rdi",
        "ret",
        site = sym CALL_SITE,
    )
}
