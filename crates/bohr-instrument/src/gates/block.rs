//! Gates of marked blocks: the one that the mark's assembly gives becomes an
//! answer of the runtime.

use super::question::Question;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::LLVMValueRef;

/// Puts the question in place of a mark, which is gone afterwards.
pub fn insert(context: &Context, mark: LLVMValueRef, question: &Question<'_>) {
    // SAFETY: marks are calls of assembly that give an integer.
    unsafe {
        let builder = LLVMCreateBuilderInContext(context.as_ctx_ref());
        LLVMPositionBuilderBefore(builder, mark);
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(mark));
        let skip = question.iteration(builder);
        let enter = LLVMBuildNot(builder, skip, c"".as_ptr());
        let enter = LLVMBuildZExt(builder, enter, LLVMTypeOf(mark), c"".as_ptr());
        LLVMReplaceAllUsesWith(mark, enter);
        LLVMInstructionEraseFromParent(mark);
        LLVMDisposeBuilder(builder);
    }
}
