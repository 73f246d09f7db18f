//! Functions that others than named calls reach, and what they are reached by: a
//! function in front of them, which takes over their name and all that refers to
//! it, says who is entered, and goes on into them. Calls by name pass it by.

use super::effects;
use super::pen::{Pen, Words};
use crate::internalise::name_of;
use crate::split::copy_convention;
use crate::wrap::rename;
use bohr_program::FunctionNumber;
use bohr_program::paths::{ENTERED, MARK_BITS, Paths};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBuilderRef, LLVMValueRef};
use inkwell::llvm_sys::{LLVMLinkage, LLVMTailCallKind, LLVMTypeKind, LLVMUnnamedAddr};

/// Puts a function in front of another one. Whoever calls that by name has to be
/// sent there again ([`call_itself`]).
pub fn put_in_front(words: &Words, paths: &Paths, number: FunctionNumber, function: LLVMValueRef) {
    // SAFETY: a live function with a body; the new one has its type, and is only
    // handed out whole.
    unsafe {
        let module = LLVMGetGlobalParent(function);
        let kind = LLVMGlobalGetValueType(function);
        let front = LLVMAddFunction(module, c"".as_ptr(), kind);
        copy_convention(function, front);
        LLVMSetLinkage(front, LLVMGetLinkage(function));
        LLVMSetVisibility(front, LLVMGetVisibility(function));
        LLVMSetUnnamedAddress(front, LLVMGetUnnamedAddress(function));
        LLVMReplaceAllUsesWith(function, front);
        let name = name_of(function);
        rename(function, &format!("{name}.announced"));
        rename(front, &name);
        LLVMSetLinkage(function, LLVMLinkage::LLVMInternalLinkage);
        LLVMSetUnnamedAddress(function, LLVMUnnamedAddr::LLVMGlobalUnnamedAddr);
        let context = LLVMGetTypeContext(kind);
        let builder = LLVMCreateBuilderInContext(context);
        let block = LLVMAppendBasicBlockInContext(context, front, c"".as_ptr());
        LLVMPositionBuilderAtEnd(builder, block);
        go_on(builder, front, function);
        LLVMDisposeBuilder(builder);
        effects::admit(front);
        let pen = Pen::new(words, front);
        pen.stand_at_entry();
        pen.take_up();
        let bits = paths.function_bits();
        pen.look(MARK_BITS + bits);
        let word = ENTERED << bits | u64::from(number.as_u32());
        pen.append(word, MARK_BITS + bits);
    }
}

/// Ends a function by becoming another one of its type.
///
/// # Safety
/// The builder must stand at the end of a block of `from`.
unsafe fn go_on(builder: LLVMBuilderRef, from: LLVMValueRef, to: LLVMValueRef) {
    // SAFETY: the caller's promise; arguments are those that came.
    unsafe {
        let kind = LLVMGlobalGetValueType(to);
        let count = LLVMCountParams(from);
        let mut arguments: Vec<LLVMValueRef> =
            (0..count).map(|at| LLVMGetParam(from, at)).collect();
        let name = c"".as_ptr();
        let call = LLVMBuildCall2(builder, kind, to, arguments.as_mut_ptr(), count, name);
        LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(to));
        for index in 0..=count {
            let mut attributes =
                vec![std::ptr::null_mut(); LLVMGetAttributeCountAtIndex(to, index) as usize];
            LLVMGetAttributesAtIndex(to, index, attributes.as_mut_ptr());
            for attribute in attributes {
                LLVMAddCallSiteAttribute(call, index, attribute);
            }
        }
        LLVMSetTailCallKind(call, LLVMTailCallKind::LLVMTailCallKindMustTail);
        if LLVMGetTypeKind(LLVMGetReturnType(kind)) == LLVMTypeKind::LLVMVoidTypeKind {
            LLVMBuildRetVoid(builder);
        } else {
            LLVMBuildRet(builder, call);
        }
    }
}

/// Has a call by name lead to the function and not to what is in front of it.
pub fn call_itself(call: LLVMValueRef, function: LLVMValueRef) {
    // SAFETY: a live call, whose callee is its last operand.
    unsafe { LLVMSetOperand(call, LLVMGetNumOperands(call) as u32 - 1, function) };
}
