//! A loop whose condition comes first: the gate stands between it and the body.

use super::super::phi::{add_incoming, incoming, phis_of, redirect, successors};
use super::super::question::{Question, insert_here};
use super::Maker;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};

impl Maker<'_> {
    /// # Safety
    /// As for all of [`Maker`].
    pub(super) unsafe fn first(&mut self, question: &Question<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            let header = self.function.block(self.shape.header);
            let decision = LLVMGetBasicBlockTerminator(header);
            let top = self.new_block(header);
            let gate = self.new_block(header);
            let skip = self.new_block(header);
            self.lead_to(top);
            self.move_to(top, header, decision);
            self.decide(top, header, decision, gate);
            self.ask(gate, question, (skip, header));
            let again = self.run_again(skip);
            let next = self.next_values(&again);
            LLVMBuildBr(self.builder, top);
            for (phi, value) in next {
                add_incoming(phi, value, skip);
            }
        }
    }

    /// Moves all but the decision from the header to the top.
    ///
    /// # Safety
    /// As for all of [`Maker`].
    unsafe fn move_to(
        &self,
        top: LLVMBasicBlockRef,
        header: LLVMBasicBlockRef,
        decision: LLVMValueRef,
    ) {
        // SAFETY: the caller's promise; the decision ends the header.
        unsafe {
            LLVMPositionBuilderAtEnd(self.builder, top);
            loop {
                let instruction = LLVMGetFirstInstruction(header);
                if instruction == decision {
                    return;
                }
                LLVMInstructionRemoveFromParent(instruction);
                insert_here(self.builder, instruction);
            }
        }
    }

    /// Ends the top with the same decision, which leads on to the gate instead of
    /// into the loop.
    ///
    /// # Safety
    /// As for all of [`Maker`].
    unsafe fn decide(
        &self,
        top: LLVMBasicBlockRef,
        header: LLVMBasicBlockRef,
        decision: LLVMValueRef,
        gate: LLVMBasicBlockRef,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let copy = LLVMInstructionClone(decision);
            insert_here(self.builder, copy);
            for target in successors(decision) {
                if self.function.is_in(target, self.shape) {
                    redirect(copy, target, gate);
                    continue;
                }
                for phi in phis_of(target) {
                    let value = incoming(phi, |block| block == header);
                    add_incoming(phi, value.unwrap_or(phi), top);
                }
            }
        }
    }
}
