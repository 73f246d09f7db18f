//! Makes private what nobody outside the merged module can refer to, so that
//! unused code goes and analyses see every caller of a function.
//!
//! Outside are native objects, shared libraries that call back by name,
//! exported symbols and the C runtime's `main`; the caller knows them from the
//! link line. What only the module itself can tell is decided here: symbols
//! marked as used, names that appear in assembly text, and names of library
//! routines to which code generation may add calls.

use inkwell::llvm_sys::comdat::{LLVMGetComdat, LLVMSetComdat};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::{LLVMLinkage, LLVMOpcode};
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use std::collections::HashSet;
use std::ffi::c_char;

/// Library routines that code generation calls without a call in the IR.
const LIBRARY_ROUTINES: &[&str] = &[
    "memcpy",
    "memmove",
    "memset",
    "memcmp",
    "bcmp",
    "strlen",
    "bzero",
    "sqrt",
    "sqrtf",
    "sin",
    "cos",
    "sincos",
    "sincosf",
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "pow",
    "powf",
    "fmod",
    "fmodf",
    "ldexp",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "round",
    "nearbyint",
    "fma",
    "fmaf",
    "fmin",
    "fmax",
    "__stack_chk_fail",
    "__stack_chk_guard",
    "__tls_get_addr",
    "_Unwind_Resume",
    "__cxa_end_cleanup",
    "abort",
];

/// Gives local linkage to every definition that is not needed outside, and
/// takes all definitions out of their comdats: once the parts are one module,
/// the only copies left are ours and those in native objects, and weak linkage
/// resolves those.
pub fn internalise(module: &Module<'_>, needed_outside: &dyn Fn(&str) -> bool) {
    let used = used_names(module);
    let keep = |name: &str| {
        needed_outside(name)
            || used.contains(name)
            || name.starts_with("llvm.")
            || LIBRARY_ROUTINES.contains(&name)
            || is_compiler_support(name)
    };
    for value in definitions(module) {
        let name = name_of(value);
        // SAFETY: `value` is a definition of this module.
        unsafe {
            let linkage = LLVMGetLinkage(value);
            if linkage == LLVMLinkage::LLVMAvailableExternallyLinkage {
                continue;
            }
            let in_comdat = leave_comdat(value);
            if linkage != LLVMLinkage::LLVMAppendingLinkage {
                let kept = keep(&name).then_some((linkage, in_comdat));
                LLVMSetLinkage(value, new_linkage(kept));
            }
        }
    }
}

/// The linkage of a definition that is kept for others (then with its old one
/// and whether it was in a comdat), or of one that nobody outside needs.
fn new_linkage(kept: Option<(LLVMLinkage, bool)>) -> LLVMLinkage {
    match kept {
        None => LLVMLinkage::LLVMInternalLinkage,
        // What may be dropped when unused here is still used elsewhere.
        Some((LLVMLinkage::LLVMLinkOnceAnyLinkage, _)) => LLVMLinkage::LLVMWeakAnyLinkage,
        Some((LLVMLinkage::LLVMLinkOnceODRLinkage, _)) => LLVMLinkage::LLVMWeakODRLinkage,
        // Without a comdat, only weak linkage keeps a second copy from clashing.
        Some((LLVMLinkage::LLVMExternalLinkage, true)) => LLVMLinkage::LLVMWeakODRLinkage,
        Some((linkage, _)) => linkage,
    }
}

/// Software arithmetic (`__udivti3`, `__muloti4` …) that code generation calls.
fn is_compiler_support(name: &str) -> bool {
    name.strip_prefix("__").is_some_and(|rest| {
        rest.ends_with(['2', '3', '4']) && rest.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// Takes a definition out of its comdat; tells whether it was in one.
///
/// # Safety
/// `value` must be a definition.
unsafe fn leave_comdat(value: LLVMValueRef) -> bool {
    // SAFETY: aliases and ifuncs have no comdat of their own to take away.
    unsafe {
        if LLVMIsAGlobalObject(value).is_null() || LLVMGetComdat(value).is_null() {
            return false;
        }
        LLVMSetComdat(value, std::ptr::null_mut());
        true
    }
}

/// Functions, variables, aliases and ifuncs that are defined here.
pub(crate) fn definitions(module: &Module<'_>) -> Vec<LLVMValueRef> {
    let raw = module.as_mut_ptr();
    // SAFETY: the four lists belong to a live module and end with null.
    unsafe {
        let lists = [
            (
                LLVMGetFirstFunction(raw),
                LLVMGetNextFunction as unsafe extern "C" fn(_) -> _,
            ),
            (LLVMGetFirstGlobal(raw), LLVMGetNextGlobal),
            (LLVMGetFirstGlobalAlias(raw), LLVMGetNextGlobalAlias),
            (LLVMGetFirstGlobalIFunc(raw), LLVMGetNextGlobalIFunc),
        ];
        lists
            .into_iter()
            .flat_map(|(first, next)| {
                let some = |value: LLVMValueRef| (!value.is_null()).then_some(value);
                std::iter::successors(some(first), move |value| some(next(*value)))
            })
            .filter(|value| LLVMIsDeclaration(*value) == 0)
            .collect()
    }
}

/// The name of a global value as the linker sees it: LLVM marks names that are
/// to be taken literally with a leading byte 1.
pub(crate) fn name_of(value: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: `value` is a live value; LLVM returns its name and length.
    let bytes = unsafe {
        let name = LLVMGetValueName2(value, &mut length);
        std::slice::from_raw_parts(name.cast::<u8>(), length)
    };
    let name = String::from_utf8_lossy(bytes);
    name.strip_prefix('\u{1}').unwrap_or(&name).to_string()
}

/// Names that the module mentions outside of ordinary references.
fn used_names(module: &Module<'_>) -> HashSet<String> {
    let mut names = marked_as_used(module);
    add_words(&mut names, &module_assembly(module));
    for function in module.get_functions() {
        for block in function.get_basic_block_iter() {
            for instruction in block.get_instructions() {
                add_words(&mut names, &assembly_of_call(instruction.as_value_ref()));
            }
        }
    }
    names
}

/// Lists of symbols that no optimiser may drop.
pub(crate) const USED_LISTS: [&str; 2] = ["llvm.used", "llvm.compiler.used"];

/// The names in those lists.
pub(crate) fn marked_as_used(module: &Module<'_>) -> HashSet<String> {
    let mut names: HashSet<String> = HashSet::new();
    for list in USED_LISTS {
        let elements = module
            .get_global(list)
            .and_then(|list| list.get_initializer());
        if let Some(array) = elements {
            let array = array.as_value_ref();
            // SAFETY: an initialiser's operands are its elements.
            unsafe {
                let count = LLVMGetNumOperands(array).cast_unsigned();
                names.extend((0..count).map(|index| name_of(LLVMGetOperand(array, index))));
            }
        }
    }
    names
}

pub(crate) fn add_words(names: &mut HashSet<String>, assembly: &str) {
    let is_symbol = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    names.extend(
        assembly
            .split(|c| !is_symbol(c))
            .filter(|word| !word.is_empty())
            .map(str::to_string),
    );
}

pub(crate) fn module_assembly(module: &Module<'_>) -> String {
    let mut length = 0;
    // SAFETY: LLVM returns text that lives as long as the module.
    unsafe {
        text(
            LLVMGetModuleInlineAsm(module.as_mut_ptr(), &mut length),
            length,
        )
    }
}

/// The text of the inline assembly that an instruction calls, or nothing.
pub(crate) fn assembly_of_call(instruction: LLVMValueRef) -> String {
    // SAFETY: only calls are asked for their callee.
    unsafe {
        if !matches!(
            LLVMGetInstructionOpcode(instruction),
            LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke | LLVMOpcode::LLVMCallBr
        ) {
            return String::new();
        }
        let callee = LLVMGetCalledValue(instruction);
        if LLVMIsAInlineAsm(callee).is_null() {
            return String::new();
        }
        let mut length = 0;
        text(LLVMGetInlineAsmAsmString(callee, &mut length), length)
    }
}

/// Its constraints: operands and what it clobbers.
pub(crate) fn constraints_of_assembly(assembly: LLVMValueRef) -> String {
    let mut length = 0;
    // SAFETY: null for what is no inline assembly, which `text` takes.
    unsafe {
        match LLVMIsAInlineAsm(assembly).is_null() {
            true => String::new(),
            false => text(
                LLVMGetInlineAsmConstraintString(assembly, &mut length),
                length,
            ),
        }
    }
}

/// # Safety
/// `start` must point to `length` bytes, or be null.
unsafe fn text(start: *const c_char, length: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}
