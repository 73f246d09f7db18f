//! Gates of calls whose results nobody uses: a way around each.
//!
//! ```text
//!   block: before; call; after         top: before ── gate ──▶ block: after
//!                                      calling: call ──────▶ block
//!
//!   block: before; invoke ─▶ normal    top: before ── gate ──▶ normal
//!                                      block: invoke ──────▶ normal
//! ```
//!
//! `top` is new and takes over what led to the block, which stays the one that
//! phis further down know.

use super::body::forget_promises;
use super::phi::{add_incoming, incoming, phis_of, redirect, users_of};
use super::question::{Question, insert_here, set_location};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMValueRef};

/// Puts the question before a call, or an invoke.
pub fn insert(context: &Context, call: LLVMValueRef, question: &Question<'_>) {
    let context = context.as_ctx_ref();
    // SAFETY: the model has made sure that the call has no users, that its block
    // is reached by branches only, and that it is not bound to be the last thing.
    unsafe {
        let block = LLVMGetInstructionParent(call);
        let function = LLVMGetBasicBlockParent(block);
        forget_promises(function);
        let builder = LLVMCreateBuilderInContext(context);
        let new_block = || LLVMInsertBasicBlockInContext(context, block, c"".as_ptr());
        let top = new_block();
        lead_to(block, top);
        LLVMPositionBuilderAtEnd(builder, top);
        move_before(builder, block, call);
        set_location(builder, function);
        let answer = question.iteration(builder);
        if LLVMIsAInvokeInst(call).is_null() {
            let calling = new_block();
            LLVMBuildCondBr(builder, answer, block, calling);
            LLVMPositionBuilderAtEnd(builder, calling);
            LLVMInstructionRemoveFromParent(call);
            insert_here(builder, call);
            LLVMBuildBr(builder, block);
        } else {
            let normal = LLVMGetNormalDest(call);
            LLVMBuildCondBr(builder, answer, normal, block);
            for phi in phis_of(normal) {
                let value = incoming(phi, |from| from == block);
                add_incoming(phi, value.unwrap_or(phi), top);
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Leads what branches to a block to another one.
///
/// # Safety
/// Both must be blocks of a function, reached by branches only.
pub(crate) unsafe fn lead_to(block: LLVMBasicBlockRef, top: LLVMBasicBlockRef) {
    // SAFETY: the caller's promise.
    unsafe {
        for user in users_of(LLVMBasicBlockAsValue(block)) {
            if !LLVMIsATerminatorInst(user).is_null() {
                redirect(user, block, top);
            }
        }
    }
}

/// Moves what comes before an instruction in its block to where the builder is.
///
/// # Safety
/// The instruction must be one of the block.
pub(crate) unsafe fn move_before(
    builder: LLVMBuilderRef,
    block: LLVMBasicBlockRef,
    end: LLVMValueRef,
) {
    // SAFETY: the caller's promise: the walk comes to that instruction.
    unsafe {
        loop {
            let instruction = LLVMGetFirstInstruction(block);
            if instruction == end {
                return;
            }
            LLVMInstructionRemoveFromParent(instruction);
            insert_here(builder, instruction);
        }
    }
}
