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
use core::arch::naked_asm;

/// Saves what a Rust function may change, calls it and goes back; `rax`, `r11`
/// and the flags are not kept.
///
/// ```text
///   rbp      caller's rbp
///   rbp-56   rcx, rdx, rsi, rdi, r8, r9, r10
///   rsp      16 xmm registers, or a whole XSAVE area (aligned to 64 bytes)
/// ```
macro_rules! slow_path {
    ($slow:literal) => {
        concat!(
            ".cfi_startproc\n",
            "push rbp\n mov rbp, rsp\n",
            ".cfi_def_cfa rbp, 16\n .cfi_offset rbp, -16\n",
            "push rcx\n push rdx\n push rsi\n push rdi\n push r8\n push r9\n push r10\n",
            "cmp qword ptr [rip + {vectors}], 0\n",
            "jne 3f\n",
            "sub rsp, 264\n and rsp, -16\n",
            "movaps [rsp], xmm0\n movaps [rsp + 16], xmm1\n",
            "movaps [rsp + 32], xmm2\n movaps [rsp + 48], xmm3\n",
            "movaps [rsp + 64], xmm4\n movaps [rsp + 80], xmm5\n",
            "movaps [rsp + 96], xmm6\n movaps [rsp + 112], xmm7\n",
            "movaps [rsp + 128], xmm8\n movaps [rsp + 144], xmm9\n",
            "movaps [rsp + 160], xmm10\n movaps [rsp + 176], xmm11\n",
            "movaps [rsp + 192], xmm12\n movaps [rsp + 208], xmm13\n",
            "movaps [rsp + 224], xmm14\n movaps [rsp + 240], xmm15\n",
            "call ",
            $slow,
            "\n",
            "movaps xmm0, [rsp]\n movaps xmm1, [rsp + 16]\n",
            "movaps xmm2, [rsp + 32]\n movaps xmm3, [rsp + 48]\n",
            "movaps xmm4, [rsp + 64]\n movaps xmm5, [rsp + 80]\n",
            "movaps xmm6, [rsp + 96]\n movaps xmm7, [rsp + 112]\n",
            "movaps xmm8, [rsp + 128]\n movaps xmm9, [rsp + 144]\n",
            "movaps xmm10, [rsp + 160]\n movaps xmm11, [rsp + 176]\n",
            "movaps xmm12, [rsp + 192]\n movaps xmm13, [rsp + 208]\n",
            "movaps xmm14, [rsp + 224]\n movaps xmm15, [rsp + 240]\n",
            "4:\n",
            "lea rsp, [rbp - 56]\n",
            "pop r10\n pop r9\n pop r8\n pop rdi\n pop rsi\n pop rdx\n pop rcx\n",
            ".cfi_remember_state\n",
            "pop rbp\n .cfi_def_cfa rsp, 8\n ret\n",
            ".cfi_restore_state\n",
            // Wide vectors: every state component from SSE (1) to ZMM (7) but x87's.
            "3:\n",
            "sub rsp, 4096\n and rsp, -64\n",
            "xor eax, eax\n",
            "mov [rsp + 512], rax\n mov [rsp + 520], rax\n mov [rsp + 528], rax\n",
            "mov [rsp + 536], rax\n mov [rsp + 544], rax\n mov [rsp + 552], rax\n",
            "mov [rsp + 560], rax\n mov [rsp + 568], rax\n",
            "mov r11, rdx\n mov eax, 0xe6\n xor edx, edx\n",
            "xsave64 [rsp]\n",
            "mov rdx, r11\n",
            "call ",
            $slow,
            "\n",
            "mov eax, 0xe6\n xor edx, edx\n",
            "xrstor64 [rsp]\n",
            "jmp 4b\n",
            ".cfi_endproc\n",
        )
    };
}

/// Lies behind the quick paths: an access that has to be announced. Comes here
/// with the stack as the stub left it.
macro_rules! announced {
    () => {
        concat!(
            "push rax\n .cfi_adjust_cfa_offset 8\n",
            "lahf\n seto al\n",
            "push rax\n push rdi\n push rsi\n .cfi_adjust_cfa_offset 24\n",
            "mov edi, [rsp + 40]\n mov rsi, r11\n",
            "call {whole}\n",
            "pop rsi\n pop rdi\n pop rax\n .cfi_adjust_cfa_offset -24\n",
            // Overflow again if it was set; the others from `ah`.
            "add al, 127\n sahf\n",
            "pop rax\n pop r11\n .cfi_adjust_cfa_offset -16\n",
            "lea rsp, [rsp + 8]\n .cfi_adjust_cfa_offset -8\n",
            "ret\n",
            ".cfi_endproc\n",
        )
    };
}

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

/// Tells where the next interposed call comes from.
#[unsafe(naked)]
pub unsafe extern "C" fn call() {
    naked_asm!(
        "mov [rip + {site}], rdi",
        "ret",
        site = sym CALL_SITE,
    )
}
