//! Phis, and who uses a value: what LLVM's C interface leaves to its users.

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};

/// The phis at the top of a block.
///
/// # Safety
/// `block` must be a block with a terminator.
pub unsafe fn phis_of(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    // SAFETY: the caller's promise; the terminator ends the walk.
    unsafe {
        std::iter::successors(Some(LLVMGetFirstInstruction(block)), |phi| {
            Some(LLVMGetNextInstruction(*phi))
        })
        .take_while(|instruction| !LLVMIsAPHINode(*instruction).is_null())
        .collect()
    }
}

/// The value that a phi takes from a predecessor.
///
/// # Safety
/// `phi` must be a phi.
pub unsafe fn incoming(
    phi: LLVMValueRef,
    from: impl Fn(LLVMBasicBlockRef) -> bool,
) -> Option<LLVMValueRef> {
    // SAFETY: indices below the number of predecessors.
    unsafe {
        (0..LLVMCountIncoming(phi))
            .find(|index| from(LLVMGetIncomingBlock(phi, *index)))
            .map(|index| LLVMGetIncomingValue(phi, index))
    }
}

/// Gives a phi its value from a new predecessor.
///
/// # Safety
/// `phi` must be a phi, and `block` a new predecessor of its block.
pub unsafe fn add_incoming(
    phi: LLVMValueRef,
    mut value: LLVMValueRef,
    mut block: LLVMBasicBlockRef,
) {
    // SAFETY: the caller's promise.
    unsafe { LLVMAddIncoming(phi, &mut value, &mut block, 1) };
}

/// What uses a value, each once.
///
/// # Safety
/// `value` must be live.
pub unsafe fn users_of(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut users = Vec::new();
    // SAFETY: the caller's promise; null ends the list.
    unsafe {
        let mut each = LLVMGetFirstUse(value);
        while !each.is_null() {
            let user = LLVMGetUser(each);
            if !users.contains(&user) {
                users.push(user);
            }
            each = LLVMGetNextUse(each);
        }
    }
    users
}

/// The blocks that a terminator can go to, once per edge.
///
/// # Safety
/// `terminator` must be one.
pub unsafe fn successors(terminator: LLVMValueRef) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: indices below the number of successors.
    unsafe {
        (0..LLVMGetNumSuccessors(terminator))
            .map(|way| LLVMGetSuccessor(terminator, way))
            .collect()
    }
}

/// Leads every edge of a terminator from one block to another.
///
/// # Safety
/// `terminator` must be one, and `to` a block of its function.
pub unsafe fn redirect(terminator: LLVMValueRef, from: LLVMBasicBlockRef, to: LLVMBasicBlockRef) {
    // SAFETY: the caller's promise.
    unsafe {
        for (way, target) in (0..).zip(successors(terminator)) {
            if target == from {
                LLVMSetSuccessor(terminator, way, to);
            }
        }
    }
}
