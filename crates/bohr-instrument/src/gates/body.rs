//! Gates at the entry of thread bodies: a block that asks and, if told so,
//! returns at once.

use super::numbered::NumberedFunction;
use super::question::{Question, Questions, insert_here, set_location};
use crate::hooks::has_attribute;
use bohr_program::Neutral;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMAttributeFunctionIndex;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMContextRef, LLVMValueRef};

/// Bytes before the value in an object of libstdc++'s `_Result<T>`: the pointer
/// to its virtual functions and the exception. Numbers are aligned there.
const RESULT_VALUE: u64 = 16;

/// Puts a block before the entry that asks and, if told so, returns.
pub fn insert(
    context: &Context,
    function: &NumberedFunction,
    neutral: Neutral,
    question: &Question<'_>,
) {
    let function = function.value;
    // SAFETY: a function with a body, whose result is as the model says.
    unsafe {
        let context = context.as_ctx_ref();
        let entry = LLVMGetEntryBasicBlock(function);
        let builder = new_entry(context, function);
        let skip = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
        let answer = question.body(builder);
        LLVMBuildCondBr(builder, answer, skip, entry);
        LLVMPositionBuilderAtEnd(builder, skip);
        set_location(builder, function);
        leave(context, builder, function, neutral);
        LLVMDisposeBuilder(builder);
    }
}

/// Tells the runtime that a body begins which cannot be left out, so that it
/// does not take a gate further down for the thread's own.
pub fn insert_shut(context: &Context, function: &NumberedFunction, questions: &Questions) {
    let function = function.value;
    // SAFETY: a function with a body.
    unsafe {
        if has_attribute(function, "naked") {
            return;
        }
        let entry = LLVMGetEntryBasicBlock(function);
        let builder = new_entry(context.as_ctx_ref(), function);
        questions.of_shut_body().body(builder);
        LLVMBuildBr(builder, entry);
        LLVMDisposeBuilder(builder);
    }
}

/// A new first block with the stack slots of the old one, and a builder at its end.
///
/// # Safety
/// `function` must have a body.
unsafe fn new_entry(context: LLVMContextRef, function: LLVMValueRef) -> LLVMBuilderRef {
    // SAFETY: the caller's promise; block and builder belong to the context.
    unsafe {
        forget_promises(function);
        let entry = LLVMGetEntryBasicBlock(function);
        let first = LLVMInsertBasicBlockInContext(context, entry, c"".as_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, first);
        move_slots(entry, builder);
        set_location(builder, function);
        builder
    }
}

/// A function that asks reads memory that its author did not know of.
///
/// # Safety
/// `function` must be live.
pub(super) unsafe fn forget_promises(function: LLVMValueRef) {
    for name in ["memory", "nosync", "speculatable"] {
        // SAFETY: an attribute by its name; removing what is not there is allowed.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
        }
    }
}

/// Returns without having done anything.
///
/// # Safety
/// The builder must stand in the function, whose result is as `neutral` says.
unsafe fn leave(
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    neutral: Neutral,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match neutral {
            Neutral::Zero => {
                let result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
                LLVMBuildRet(builder, LLVMConstNull(result));
                return;
            }
            Neutral::Nothing => {}
            Neutral::Task { bytes } => hand_over(context, builder, function, bytes),
        }
        LLVMBuildRetVoid(builder);
    }
}

/// Moves the result object of a task to its future, with a value of zero.
///
/// ```text
/// result room ◀── 0 ── (the function) ── 1 ──▶ task ──▶ owner ──▶ result object
/// ```
///
/// # Safety
/// As for `leave`, of a function that runs a task.
unsafe fn hand_over(
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    function: LLVMValueRef,
    bytes: u8,
) {
    // SAFETY: the caller's promise: two pointers are the arguments.
    unsafe {
        let pointer = LLVMPointerTypeInContext(context, 0);
        let load = |from| LLVMBuildLoad2(builder, pointer, from, c"".as_ptr());
        let owner = load(LLVMGetParam(function, 1));
        let object = load(owner);
        LLVMBuildStore(builder, LLVMConstNull(pointer), owner);
        LLVMBuildStore(builder, object, LLVMGetParam(function, 0));
        if bytes > 0 {
            let byte = LLVMInt8TypeInContext(context);
            let mut at = LLVMConstInt(LLVMInt64TypeInContext(context), RESULT_VALUE, 0);
            let value = LLVMBuildGEP2(builder, byte, object, &mut at, 1, c"".as_ptr());
            let zero = LLVMConstNull(LLVMArrayType2(byte, u64::from(bytes)));
            LLVMSetAlignment(LLVMBuildStore(builder, zero, value), 1);
        }
    }
}

/// Stack slots must be in the first block, or they cost a stack adjustment each.
///
/// # Safety
/// The builder must stand at the end of the block that becomes the first.
unsafe fn move_slots(entry: LLVMBasicBlockRef, builder: LLVMBuilderRef) {
    // SAFETY: the next instruction is asked for before the current one moves.
    unsafe {
        let mut instruction = LLVMGetFirstInstruction(entry);
        while !instruction.is_null() {
            let next = LLVMGetNextInstruction(instruction);
            if !LLVMIsAAllocaInst(instruction).is_null()
                && !LLVMIsAConstantInt(LLVMGetOperand(instruction, 0)).is_null()
            {
                LLVMInstructionRemoveFromParent(instruction);
                insert_here(builder, instruction);
            }
            instruction = next;
        }
    }
}
