//! A loop whose condition comes last: the gate stands at the top, behind the
//! phis, which move to a block of their own.

use super::super::phi::{add_incoming, incoming, phis_of, successors, users_of};
use super::super::question::{Question, insert_here};
use super::{Again, Maker};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use std::collections::HashMap;

/// A value that is used after the loop, and the stack slot that it goes through.
struct Slot {
    value: LLVMValueRef,
    address: LLVMValueRef,
}

impl Maker<'_> {
    /// # Safety
    /// As for all of [`Maker`].
    pub(super) unsafe fn last(&mut self, question: &Question<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            let header = self.function.block(self.shape.header);
            let latch = self.function.block(self.shortcut.decision);
            let decision = LLVMGetBasicBlockTerminator(latch);
            let top = self.new_block(header);
            let skip = self.new_block(header);
            self.lead_to(top);
            LLVMPositionBuilderAtEnd(self.builder, top);
            for phi in phis_of(header) {
                LLVMInstructionRemoveFromParent(phi);
                insert_here(self.builder, phi);
            }
            self.ask(top, question, (skip, header));
            let slots = self.keep();
            let again = self.run_again(skip);
            for slot in &slots {
                let value = self.in_place_of(slot.value, &again);
                LLVMBuildStore(self.builder, value, slot.address);
            }
            let mut next = self.next_values(&again);
            next.extend(self.values_behind(latch, decision, &again));
            self.decide_again(decision, &again);
            for (phi, value) in next {
                add_incoming(phi, value, skip);
            }
        }
    }

    /// Ends the skipped iteration with the loop's decision on values of its own.
    ///
    /// # Safety
    /// As for all of [`Maker`].
    unsafe fn decide_again(&self, decision: LLVMValueRef, again: &Again) {
        // SAFETY: the caller's promise.
        unsafe {
            // The condition is the first operand of both branches and switches.
            let condition = self.now(LLVMGetOperand(decision, 0), again);
            let copy = LLVMInstructionClone(decision);
            insert_here(self.builder, copy);
            LLVMSetOperand(copy, 0, condition);
        }
    }

    /// The phis that the decision can lead to outside, once per edge, with their
    /// values for an iteration that is left out.
    ///
    /// # Safety
    /// As for all of [`Maker`].
    unsafe fn values_behind(
        &self,
        latch: LLVMBasicBlockRef,
        decision: LLVMValueRef,
        again: &Again,
    ) -> Vec<(LLVMValueRef, LLVMValueRef)> {
        let mut values = HashMap::new();
        let mut phis = Vec::new();
        // SAFETY: the caller's promise.
        unsafe {
            let outside = successors(decision)
                .into_iter()
                .filter(|target| !self.function.is_in(*target, self.shape));
            for phi in outside.flat_map(|target| phis_of(target)) {
                let value = incoming(phi, |block| block == latch).unwrap_or(phi);
                let value = *values
                    .entry(value)
                    .or_insert_with(|| self.in_place_of(value, again));
                phis.push((phi, value));
            }
        }
        phis
    }

    /// What code after the loop gets for a value of an iteration that was left out.
    ///
    /// # Safety
    /// As for all of [`Maker`].
    unsafe fn in_place_of(&self, value: LLVMValueRef, again: &Again) -> LLVMValueRef {
        let plain = self.plain(value);
        let mut after = self.shortcut.after.iter();
        let other = after.find(|(number, _)| self.function.instruction(*number) == plain);
        match other.and_then(|(_, other)| other.instruction()) {
            Some(number) => {
                let other = self.function.instruction(number);
                *again.get(&other).unwrap_or(&other)
            }
            // SAFETY: the caller's promise.
            None => unsafe { self.now(value, again) },
        }
    }

    /// Values that are used after the loop go through stack slots, which the
    /// optimiser turns into phis where they are needed.
    ///
    /// # Safety
    /// As for all of [`Maker`].
    unsafe fn keep(&mut self) -> Vec<Slot> {
        let mut slots = Vec::new();
        // SAFETY: the caller's promise.
        unsafe {
            for (number, _) in &self.shortcut.after {
                let value = self.function.instruction(*number);
                let users = users_of(value);
                let address = self.slot_of(value);
                for user in users {
                    self.use_slot(user, value, address);
                }
                slots.push(Slot { value, address });
            }
        }
        slots
    }

    /// The slot that holds a value; one for all loops that it leaves.
    ///
    /// # Safety
    /// As for all of [`Maker`].
    unsafe fn slot_of(&mut self, value: LLVMValueRef) -> LLVMValueRef {
        if let Some(address) = self.function.slots.get(&value) {
            return *address;
        }
        // SAFETY: the caller's promise.
        unsafe {
            let entry = LLVMGetEntryBasicBlock(self.function.value);
            LLVMPositionBuilderBefore(self.builder, LLVMGetFirstInstruction(entry));
            let address = LLVMBuildAlloca(self.builder, LLVMTypeOf(value), c"".as_ptr());
            LLVMPositionBuilderBefore(self.builder, behind(value));
            LLVMBuildStore(self.builder, value, address);
            self.function.slots.insert(value, address);
            address
        }
    }

    /// Has a user outside the loop load the slot instead of taking the value. A
    /// phi that takes it on an edge from inside needs no change.
    ///
    /// # Safety
    /// As for all of [`Maker`].
    unsafe fn use_slot(&mut self, user: LLVMValueRef, value: LLVMValueRef, address: LLVMValueRef) {
        // SAFETY: the users of an instruction are instructions; operands of a phi
        // are in the order of its predecessors.
        unsafe {
            let is_phi = !LLVMIsAPHINode(user).is_null();
            // A phi takes one value from a block, by however many edges.
            let mut loads = HashMap::new();
            for index in 0..LLVMGetNumOperands(user).cast_unsigned() {
                let (block, before) = if is_phi {
                    let from = LLVMGetIncomingBlock(user, index);
                    (from, LLVMGetBasicBlockTerminator(from))
                } else {
                    (LLVMGetInstructionParent(user), user)
                };
                if LLVMGetOperand(user, index) != value || self.function.is_in(block, self.shape) {
                    continue;
                }
                let loaded = *loads.entry(block).or_insert_with(|| {
                    LLVMPositionBuilderBefore(self.builder, before);
                    LLVMBuildLoad2(self.builder, LLVMTypeOf(value), address, c"".as_ptr())
                });
                self.function.kept.insert(loaded, value);
                LLVMSetOperand(user, index, loaded);
            }
        }
    }
}

/// The first place behind an instruction where others can stand.
///
/// # Safety
/// `instruction` must be one that others follow, or an invoke that alone leads
/// to where it returns.
unsafe fn behind(instruction: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: the caller's promise; a terminator ends every block.
    unsafe {
        let mut next = match LLVMIsAInvokeInst(instruction).is_null() {
            true => LLVMGetNextInstruction(instruction),
            false => LLVMGetFirstInstruction(LLVMGetNormalDest(instruction)),
        };
        while !LLVMIsAPHINode(next).is_null() || !LLVMIsALandingPadInst(next).is_null() {
            next = LLVMGetNextInstruction(next);
        }
        next
    }
}
