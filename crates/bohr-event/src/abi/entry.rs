//! The assembly with which hooks keep the registers of instrumented code, for
//! those who define hooks: `bohr-runtime` and `bohr-native`. Text only: the code
//! is made where it is used, by `naked_asm!`, with these operands:
//!
//! ```text
//!   vectors   a word that is not 0 if wide vector registers may be in use
//!   slow      the function behind a hook, for `hook_slow_path`
//!   whole     a function made of `hook_slow_path`, for `hook_announced`
//! ```

/// Saves what a Rust function may change, calls it and goes back; `rax`, `r11`
/// and the flags are not kept.
///
/// ```text
///   rbp      caller's rbp
///   rbp-56   rcx, rdx, rsi, rdi, r8, r9, r10
///   rsp      16 xmm registers, or a whole XSAVE area (aligned to 64 bytes)
/// ```
#[macro_export]
macro_rules! hook_slow_path {
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
#[macro_export]
macro_rules! hook_announced {
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
