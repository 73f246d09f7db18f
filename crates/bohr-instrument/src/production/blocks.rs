//! A counter of the blocks that a thread has begun, for those who want to align runs
//! by counting and not by the index of a place. It costs far more than all else that
//! a program carries in production, and is only added where it is asked for.

use crate::gates::Numbered;
use crate::production::probes::insertion_point;
use bohr_program::Program;
use bohr_program::index::BLOCK_COUNTER;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::{LLVMThreadLocalMode, LLVMVisibility};
use inkwell::module::Module;
use std::ffi::CString;

/// Adds the variable of the thread, and to every block that it counts itself.
pub(super) fn insert<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    program: &Program,
    numbered: &Numbered,
) {
    let Ok(name) = CString::new(BLOCK_COUNTER) else {
        return;
    };
    // SAFETY: a live module and its context.
    let (builder, word, counter) = unsafe {
        let word = LLVMInt64TypeInContext(context.as_ctx_ref());
        let counter = LLVMAddGlobal(module.as_mut_ptr(), word, name.as_ptr());
        LLVMSetInitializer(counter, LLVMConstInt(word, 0, 0));
        LLVMSetThreadLocalMode(counter, LLVMThreadLocalMode::LLVMInitialExecTLSModel);
        LLVMSetVisibility(counter, LLVMVisibility::LLVMHiddenVisibility);
        (
            LLVMCreateBuilderInContext(context.as_ctx_ref()),
            word,
            counter,
        )
    };
    for (_, body, own) in numbered.with_room(program) {
        for block in body.blocks.keys() {
            // SAFETY: a block of a live function; what is built has the types that its
            // operands have.
            unsafe {
                LLVMPositionBuilderBefore(builder, insertion_point(own.block(block)));
                LLVMSetCurrentDebugLocation2(builder, std::ptr::null_mut());
                let before = LLVMBuildLoad2(builder, word, counter, c"".as_ptr());
                let one = LLVMConstInt(word, 1, 0);
                let after = LLVMBuildAdd(builder, before, one, c"".as_ptr());
                LLVMBuildStore(builder, after, counter);
            }
        }
    }
    // SAFETY: made above, used by nobody else.
    unsafe { LLVMDisposeBuilder(builder) };
}
