//! The way from the code of an order profile into the recorder, beside what every
//! recorded program tells about itself.

use crate::paths::{self, KEPT};
use bohr_event::recording::{BEGIN_SYMBOL, END_SYMBOL};
use std::ffi::CStr;
use std::fmt::Write;

/// Called before an access.
pub const BEFORE: &CStr = c"__bohr_order_before";

/// Called behind one.
pub const BEHIND: &CStr = c"__bohr_order_behind";

/// The whole text.
#[must_use]
pub fn assembly(program: &[u8; 32]) -> String {
    let mut text = paths::assembly(program);
    passage(&mut text, BEFORE, BEGIN_SYMBOL);
    passage(&mut text, BEHIND, END_SYMBOL);
    text
}

/// A function that keeps the registers of its caller and passes its arguments on, if
/// the recorder is there.
fn passage(text: &mut String, name: &CStr, symbol: &str) {
    let name = name.to_str().expect("a name in ASCII");
    let _ = write!(
        text,
        ".text\n.p2align 4\n.weak {symbol}\n.type {symbol}, @function\n\
         .globl {name}\n.hidden {name}\n.type {name}, @function\n{name}:\n.cfi_startproc\n"
    );
    for register in KEPT {
        let _ = write!(text, "pushq %{register}\n.cfi_adjust_cfa_offset 8\n");
    }
    let _ = write!(
        text,
        "subq $8, %rsp\n.cfi_adjust_cfa_offset 8\nmovq {symbol}@GOTPCREL(%rip), %rax\n\
         testq %rax, %rax\nje 1f\ncallq *%rax\n\
         1: addq $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
    );
    for register in KEPT.iter().rev() {
        let _ = write!(text, "popq %{register}\n.cfi_adjust_cfa_offset -8\n");
    }
    text.push_str("ret\n.cfi_endproc\n");
}
