//! Constructors and destructors of a module as the arrays that the C library
//! runs today.
//!
//! LLVM's C interface leaves code generation set to the older `.ctors` section,
//! which nothing runs any more; compilers set it otherwise. So the lists leave
//! LLVM's hands here and become data in the right sections.

use inkwell::llvm_sys::LLVMLinkage;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::Module;
use inkwell::values::AsValueRef;

/// Priority of what asks for none.
const LAST: u64 = 65535;

/// Turns both lists into arrays.
pub fn place(module: &Module<'_>) {
    for (list, section) in [
        ("llvm.global_ctors", ".init_array"),
        ("llvm.global_dtors", ".fini_array"),
    ] {
        let Some(list) = module.get_global(list) else {
            continue;
        };
        let list = list.as_value_ref();
        // SAFETY: the list's initialiser is an array of structures of priority,
        // function and key; afterwards nothing refers to the list.
        unsafe {
            let entries = LLVMGetInitializer(list);
            if !entries.is_null() {
                for index in 0..LLVMGetNumOperands(entries).cast_unsigned() {
                    place_one(module, LLVMGetOperand(entries, index), section);
                }
            }
            LLVMDeleteGlobal(list);
        }
    }
}

/// # Safety
/// `entry` must be a structure of priority and function.
unsafe fn place_one(module: &Module<'_>, entry: LLVMValueRef, section: &str) {
    // SAFETY: the caller's promise; the new variable belongs to the module.
    unsafe {
        let priority = LLVMConstIntGetZExtValue(LLVMGetOperand(entry, 0));
        let function = LLVMGetOperand(entry, 1);
        if LLVMIsNull(function) != 0 {
            return;
        }
        let section = match priority {
            LAST => format!("{section}\0"),
            _ => format!("{section}.{priority:05}\0"),
        };
        let name = c"bohr.run";
        let variable = LLVMAddGlobal(module.as_mut_ptr(), LLVMTypeOf(function), name.as_ptr());
        LLVMSetInitializer(variable, function);
        LLVMSetSection(variable, section.as_ptr().cast());
        LLVMSetAlignment(variable, 8);
        // Not local, or the optimiser would drop what nobody reads; weak, since
        // parts that are compiled alone use the same names.
        LLVMSetLinkage(variable, LLVMLinkage::LLVMWeakAnyLinkage);
        LLVMSetVisibility(
            variable,
            inkwell::llvm_sys::LLVMVisibility::LLVMHiddenVisibility,
        );
    }
}
