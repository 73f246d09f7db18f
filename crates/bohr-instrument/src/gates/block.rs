//! Gates of blocks that their author has marked with `BOHR_RCB_BEGIN` (C, C++)
//! or `bohr_mark::block!` (Rust).
//!
//! A mark is inline assembly without instructions that gives a one which the
//! compiler cannot look through, so it survives every optimisation. Here the one
//! becomes an answer of the runtime.

use super::{GateKind, Gates, Questions};
use crate::internalise::{assembly_of_call, name_of};
use crate::sites::ModuleSites;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::AsValueRef;
use std::collections::HashMap;

/// The comment that makes assembly a mark.
pub const MARK: &str = "bohr.rcb";

/// Turns every mark of a module into a gate. Copies that the compiler made of a
/// mark (by unrolling, by inlining) are the same gate: the text of a mark says
/// where it stands in the source.
pub fn insert(
    context: &Context,
    sites: &ModuleSites<'_>,
    questions: &Questions,
    gates: &mut Gates,
) {
    let mut numbers: HashMap<String, u32> = HashMap::new();
    for function in &sites.functions {
        let marks: Vec<LLVMValueRef> = function
            .function
            .get_basic_block_iter()
            .flat_map(|block| block.get_instructions())
            .map(|instruction| instruction.as_value_ref())
            .filter(|instruction| is_mark(*instruction))
            .collect();
        for mark in marks {
            let number = *numbers.entry(assembly_of_call(mark)).or_insert_with(|| {
                let name = name_of(function.function.as_value_ref());
                gates.add(GateKind::Block, function.id, name)
            });
            // SAFETY: a call of this module that gives an integer.
            unsafe { replace(context, mark, questions, number) };
        }
    }
}

/// Whether an instruction is the mark of a block.
#[must_use]
pub fn is_mark(instruction: LLVMValueRef) -> bool {
    assembly_of_call(instruction).contains(MARK)
}

/// # Safety
/// `mark` must be a call in the module that gives an integer.
unsafe fn replace(context: &Context, mark: LLVMValueRef, questions: &Questions, number: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        let builder = LLVMCreateBuilderInContext(context.as_ctx_ref());
        LLVMPositionBuilderBefore(builder, mark);
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(mark));
        let skip = questions.ask(builder, GateKind::Block, number);
        let enter = LLVMBuildNot(builder, skip, c"".as_ptr());
        let enter = LLVMBuildZExt(builder, enter, LLVMTypeOf(mark), c"".as_ptr());
        LLVMReplaceAllUsesWith(mark, enter);
        LLVMInstructionEraseFromParent(mark);
        LLVMDisposeBuilder(builder);
    }
}
