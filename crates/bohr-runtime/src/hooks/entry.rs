//! The ways from instrumented code into the runtime. An access that the running
//! thread has leave for uses up one event of it and goes on: a few instructions.
//!
//! The program's compiler does not know that there is a call, so registers,
//! vector registers and the flags are kept as `bohr_event::abi` says. Call frame
//! information is written by hand: stacks of failing threads lead through here.

use crate::{
    addresses::{HEAP, HEAP_BITS},
    grant::{CALL_SITE, GRANT, LAST_PLACE, SHADOW_OFFSET, VECTORS},
};
use bohr_event::{hook_announced as announced, hook_slow_path as slow_path};
use core::arch::naked_asm;

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
        "push rcx",
        ".cfi_adjust_cfa_offset 8",
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
        "push rax",
        "push rcx",
        ".cfi_adjust_cfa_offset 16",
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
        heap_bits = const HEAP_BITS,
        heap = const HEAP >> HEAP_BITS,
        shadow = sym SHADOW_OFFSET,
        grant = sym GRANT,
        last = sym LAST_PLACE,
        whole = sym whole_access,
    )
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
