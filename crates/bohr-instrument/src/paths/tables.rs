//! What a path profile tells the recorder about itself, and the way from its
//! code into the recorder: one assembly text per module.
//!
//! The layout is that of `bohr_event::recording::PathModule` and `Pen`.

use bohr_event::recording::{PATH_MAGIC, RECORDING_VERSION, REGISTER_SYMBOL};
use std::fmt::Write;

/// Registers that the calling convention of `__bohr_path_full` keeps and that of
/// the recorder does not; with one more word the stack is aligned.
pub const KEPT: [&str; 8] = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10"];

/// The whole text.
#[must_use]
pub fn assembly(program: &[u8; 32]) -> String {
    let mut text = String::new();
    data(&mut text, program);
    constructor(&mut text);
    full(&mut text);
    text
}

fn data(text: &mut String, program: &[u8; 32]) {
    for (name, kind) in [
        ("__bohr_pen", "@tls_object"),
        ("__bohr_path_module", "@object"),
    ] {
        let _ = write!(
            text,
            ".globl {name}\n.hidden {name}\n.type {name}, {kind}\n"
        );
    }
    let _ = write!(
        text,
        ".section .tdata,\"awT\",@progbits\n.p2align 3\n\
         __bohr_pen: .quad .Lbohr_nobody\n.quad 1\n.quad 0\n\
         .section .data.bohr,\"aw\",@progbits\n.p2align 3\n\
         .Lbohr_nobody: .quad {full:#x}\n.Lbohr_full: .quad 0\n\
         __bohr_path_module:\n.quad {PATH_MAGIC:#x}\n.long {RECORDING_VERSION}\n.long 0\n",
        full = 1u64 << 63,
    );
    for byte in program {
        let _ = writeln!(text, ".byte {byte}");
    }
    text.push_str(".quad .Lbohr_full\n.quad .Lbohr_here\n");
}

/// Before the constructors of the program, and without effect unless the
/// recorder is there.
fn constructor(text: &mut String) {
    let symbol = REGISTER_SYMBOL;
    let _ = write!(
        text,
        ".text\n.weak {symbol}\n.type {symbol}, @function\n.Lbohr_record:\n.cfi_startproc\n\
         movq {symbol}@GOTPCREL(%rip), %rax\ntestq %rax, %rax\nje 1f\n\
         leaq __bohr_path_module(%rip), %rdi\njmpq *%rax\n1: ret\n.cfi_endproc\n\
         .section .init_array.00000,\"aw\",@init_array\n.p2align 3\n.quad .Lbohr_record\n\
         .text\n.Lbohr_here:\n.cfi_startproc\nmovq %fs:0, %rax\n\
         leaq __bohr_pen@tpoff(%rax), %rax\nret\n.cfi_endproc\n"
    );
}

/// Goes on to the next word. Within a page of the thread's own piece, which the
/// recorder has cleared, that is all there is to do; else the recorder is called, and
/// without one, what is written goes nowhere.
fn full(text: &mut String) {
    text.push_str(
        ".p2align 4\n.globl __bohr_path_full\n.hidden __bohr_path_full\n\
         .type __bohr_path_full, @function\n__bohr_path_full:\n.cfi_startproc\n",
    );
    next_word(text);
    for register in KEPT {
        let _ = write!(text, "pushq %{register}\n.cfi_adjust_cfa_offset 8\n");
    }
    text.push_str(
        "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\nmovq %fs:0, %rdi\n\
         leaq __bohr_pen@tpoff(%rdi), %rdi\nmovq .Lbohr_full(%rip), %rax\n\
         testq %rax, %rax\nje 1f\ncallq *%rax\njmp 2f\n\
         1: leaq 8(%rdi), %rax\nmovq %rax, (%rdi)\nmovq $1, (%rax)\n\
         2: addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n",
    );
    for register in KEPT.iter().rev() {
        let _ = write!(text, "popq %{register}\n.cfi_adjust_cfa_offset -8\n");
    }
    text.push_str("ret\n.cfi_endproc\n");
}

/// Falls through to what follows if the pen points to the word that nobody reads, if
/// the thread is not known yet, and where a page ends: pieces end with one. The calling
/// convention lets `r11` go. First the word, then the pen, for whoever interrupts.
fn next_word(text: &mut String) {
    text.push_str(
        "pushq %rax\n.cfi_adjust_cfa_offset 8\n\
         movq %fs:0, %rax\nleaq __bohr_pen@tpoff(%rax), %rax\n\
         movq (%rax), %r11\naddq $8, %r11\n\
         testl $0xfff, %r11d\nje 3f\n\
         addq $16, %rax\ncmpq %rax, %r11\nje 3f\n\
         cmpq $0, (%rax)\nje 3f\n\
         movq $1, (%r11)\nmovq %r11, -16(%rax)\n\
         popq %rax\n.cfi_adjust_cfa_offset -8\nret\n\
         3: .cfi_adjust_cfa_offset 8\npopq %rax\n.cfi_adjust_cfa_offset -8\n",
    );
}
