//! What an instrumented object tells the runtime about itself, and the thunks
//! through which its stubs call the runtime: one assembly text per module.
//!
//! The layout is that of `bohr_event::abi::Module`; a test reads it back through
//! that type.

use bohr_event::abi::{ABI_VERSION, MODULE_MAGIC, Profile, SiteInfo, Vectors};
use std::fmt::Write;

/// The facts that go into the tables.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Hash of the bundle.
    pub program: [u8; 32],
    /// Kind, order and size of every site.
    pub sites: Vec<SiteInfo>,
    /// How many gates there are.
    pub gates: u32,
    /// Which vector registers the code uses.
    pub vectors: Vectors,
    /// Which set of hooks it has.
    pub profile: Profile,
}

/// One hook as its thunk sees it.
struct Thunk {
    name: &'static str,
    /// Position in the hook table.
    slot: u32,
    /// Words that the stub has pushed above the return address, the site first.
    pushed: u32,
    /// Registers that take the words after the site, the last one pushed last.
    arguments: &'static [&'static str],
}

const THUNKS: [Thunk; 5] = [
    Thunk {
        name: "range",
        slot: 1,
        pushed: 3,
        arguments: &["rsi", "rdx"],
    },
    Thunk {
        name: "copy",
        slot: 2,
        pushed: 4,
        arguments: &["rsi", "rdx", "rcx"],
    },
    Thunk {
        name: "fence",
        slot: 3,
        pushed: 1,
        arguments: &[],
    },
    Thunk {
        name: "call",
        slot: 4,
        pushed: 2,
        arguments: &["rsi"],
    },
    Thunk {
        name: "point",
        slot: 7,
        pushed: 2,
        arguments: &["rsi"],
    },
];

/// Gates keep to LLVM's `preserve_most` convention and need no saving.
const GATES: [(&str, u32); 2] = [("iteration", 5), ("body", 6)];

/// The one for accesses, whose stubs push `r11` and put the address into it.
const ACCESS: (&str, u32) = ("access", 0);

/// How many hooks the table has.
const SLOTS: u32 = 8;

/// The whole text.
#[must_use]
pub fn assembly(tables: &Tables) -> String {
    let mut text = String::with_capacity(tables.sites.len() * 16 + 8192);
    data(&mut text, tables);
    constructor(&mut text);
    access_thunk(&mut text);
    for thunk in &THUNKS {
        saving_thunk(&mut text, thunk);
    }
    for (name, slot) in GATES {
        begin(&mut text, name);
        let at = slot * 8;
        let _ = write!(
            text,
            "leaq __bohr_module(%rip), %r11\njmpq *__bohr_hooks+{at}(%rip)\n.cfi_endproc\n"
        );
    }
    text
}

fn data(text: &mut String, tables: &Tables) {
    for name in [
        "__bohr_flags",
        "__bohr_base",
        "__bohr_hooks",
        "__bohr_module",
    ] {
        let _ = write!(
            text,
            ".globl {name}\n.hidden {name}\n.type {name}, @object\n"
        );
    }
    // An object without hooks has no stubs; the section must exist for its ends to.
    let _ = write!(
        text,
        ".hidden __start_bohr_stubs\n.hidden __stop_bohr_stubs\n\
         .section bohr_stubs,\"axR\",@progbits\n.p2align 5\n\
         .hidden __start_bohr_stubs_points\n.hidden __stop_bohr_stubs_points\n\
         .section bohr_stubs_points,\"axR\",@progbits\n.p2align 5\n\
         .bss\n.p2align 3\n__bohr_hooks: .zero {hooks}\n__bohr_base: .zero 4\n__bohr_flags: .zero 1\n\
         .data\n.p2align 3\n__bohr_module:\n.quad {MODULE_MAGIC:#x}\n.long {ABI_VERSION}\n.long {profile}\n",
        hooks = SLOTS * 8,
        profile = tables.profile as u32,
    );
    for byte in tables.program {
        let _ = writeln!(text, ".byte {byte}");
    }
    for pointer in [
        "__bohr_flags",
        "__bohr_base",
        "__bohr_hooks",
        ".Lbohr_sites",
        "__start_bohr_stubs",
        "__stop_bohr_stubs",
    ] {
        let _ = writeln!(text, ".quad {pointer}");
    }
    let sites = tables.sites.len();
    let (gates, vectors) = (tables.gates, tables.vectors as u32);
    let _ = write!(
        text,
        ".long {sites}\n.long {gates}\n.long {vectors}\n.long 0\n\
         .quad __start_bohr_stubs_points\n.quad __stop_bohr_stubs_points\n\
         .section .rodata.bohr,\"a\",@progbits\n.p2align 2\n.Lbohr_sites:\n"
    );
    for site in &tables.sites {
        let _ = writeln!(text, ".long {:#x}", site.0);
    }
}

/// Before the constructors of the program, and without effect unless the runtime
/// is there.
fn constructor(text: &mut String) {
    for (symbol, name, section) in [
        ("__bohr_register", "constructor", ".init_array.00000"),
        ("__bohr_unregister", "destructor", ".fini_array.00000"),
    ] {
        let kind = &section[1..11];
        let _ = write!(
            text,
            ".text\n.weak {symbol}\n.type {symbol}, @function\n.Lbohr_{name}:\n.cfi_startproc\n\
             movq {symbol}@GOTPCREL(%rip), %rax\ntestq %rax, %rax\nje 1f\n\
             leaq __bohr_module(%rip), %rdi\njmpq *%rax\n1: ret\n.cfi_endproc\n\
             .section {section},\"aw\",@{kind}\n.p2align 3\n.quad .Lbohr_{name}\n"
        );
    }
}

fn begin(text: &mut String, name: &str) {
    let symbol = format!("__bohr_thunk_{name}");
    let _ = write!(
        text,
        ".text\n.p2align 4\n.globl {symbol}\n.hidden {symbol}\n.type {symbol}, @function\n\
         {symbol}:\n.cfi_startproc\n"
    );
}

/// Leaves everything to the hook: the stub's words are still on the stack.
fn access_thunk(text: &mut String) {
    let (name, slot) = ACCESS;
    begin(text, name);
    let _ = write!(
        text,
        ".cfi_def_cfa_offset 24\njmpq *__bohr_hooks+{}(%rip)\n.cfi_endproc\n",
        slot * 8
    );
}

/// Saves `rax`, the flags and the argument registers, calls the hook, restores,
/// and returns behind the site, dropping what the stub pushed.
fn saving_thunk(text: &mut String, thunk: &Thunk) {
    begin(text, thunk.name);
    let mut saved = vec!["rdi"];
    saved.extend(thunk.arguments);
    saved.push("r11");
    let mut words = 1 + thunk.pushed;
    let _ = writeln!(text, ".cfi_def_cfa_offset {}", words * 8);
    let push = |text: &mut String, register: &str| {
        let _ = write!(text, "pushq %{register}\n.cfi_adjust_cfa_offset 8\n");
    };
    push(text, "rax");
    text.push_str("lahf\nseto %al\n");
    push(text, "rax");
    saved.iter().for_each(|register| push(text, register));
    words += 2 + saved.len() as u32;
    // Aligned wherever the function has made its frame.
    let padding = words % 2 * 8;
    let above = (2 + saved.len() as u32) * 8 + padding;
    if padding > 0 {
        let _ = write!(
            text,
            "leaq -{padding}(%rsp), %rsp\n.cfi_adjust_cfa_offset {padding}\n"
        );
    }
    let site = above + (thunk.pushed - 1) * 8;
    let _ = writeln!(text, "movl {site}(%rsp), %edi");
    for (position, register) in (1..).zip(thunk.arguments) {
        let _ = writeln!(text, "movq {}(%rsp), %{register}", site - position * 8);
    }
    let _ = write!(
        text,
        "movl __bohr_base(%rip), %r11d\ncallq *__bohr_hooks+{}(%rip)\n",
        thunk.slot * 8
    );
    if padding > 0 {
        let _ = write!(
            text,
            "leaq {padding}(%rsp), %rsp\n.cfi_adjust_cfa_offset -{padding}\n"
        );
    }
    let pop = |text: &mut String, register: &str| {
        let _ = write!(text, "popq %{register}\n.cfi_adjust_cfa_offset -8\n");
    };
    saved.iter().rev().for_each(|register| pop(text, register));
    pop(text, "rax");
    text.push_str("addb $127, %al\nsahf\n");
    pop(text, "rax");
    let _ = write!(
        text,
        "leaq {}(%rsp), %rsp\nret\n.cfi_endproc\n",
        thunk.pushed * 8
    );
}
