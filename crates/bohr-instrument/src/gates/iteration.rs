//! Gates of loops: the code that goes around an iteration.
//!
//! ```text
//!   the condition comes first                the condition comes last
//!
//!   top: phis; condition; leave?             top: phis
//!     │ ── gate ──▶ skip: advance;             │ ── gate ──▶ skip: advance; leave?
//!   header: leave? (no)   back to top        header: body      back to top
//!   body                                     latch: leave?     back to top
//! ```
//!
//! `top` is new and takes over what branches to the header led to. Blocks that
//! have phis keep the predecessors that those know.

mod first;
mod last;

use super::numbered::NumberedFunction;
use super::phi::{incoming, redirect, users_of};
use super::question::{Question, insert_here, set_location};
use bohr_program::graph::Loop;
use bohr_program::{Shortcut, Test};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMContextRef, LLVMValueRef};
use std::collections::HashMap;

/// Gives a loop its gate.
pub fn insert(
    context: &Context,
    function: &mut NumberedFunction,
    shape: &Loop,
    shortcut: &Shortcut,
    question: &Question<'_>,
) {
    let context = context.as_ctx_ref();
    // SAFETY: the model describes this very function, and has made sure that the
    // loop has the form that the two ways need.
    unsafe {
        let builder = LLVMCreateBuilderInContext(context);
        let mut maker = Maker {
            context,
            builder,
            function,
            shape,
            shortcut,
        };
        match shortcut.test {
            Test::First => maker.first(question),
            Test::Last => maker.last(question),
        }
        LLVMDisposeBuilder(builder);
    }
}

/// What instructions of an iteration that is left out have become.
type Again = HashMap<LLVMValueRef, LLVMValueRef>;

struct Maker<'a> {
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    function: &'a mut NumberedFunction,
    shape: &'a Loop,
    shortcut: &'a Shortcut,
}

/// All functions here rest on the promise of [`insert`]: numbers are those of
/// the function, which is alive and of the form that the model has checked.
impl Maker<'_> {
    /// A new block of the loop.
    ///
    /// # Safety
    /// As said above.
    unsafe fn new_block(&mut self, before: LLVMBasicBlockRef) -> LLVMBasicBlockRef {
        // SAFETY: the caller's promise.
        let block = unsafe { LLVMInsertBasicBlockInContext(self.context, before, c"".as_ptr()) };
        self.function.adopt(block, self.shape.header);
        block
    }

    /// Leads what branches to the header to `top`.
    ///
    /// # Safety
    /// As said above.
    unsafe fn lead_to(&self, top: LLVMBasicBlockRef) {
        let header = self.function.block(self.shape.header);
        // SAFETY: the caller's promise: only terminators and addresses use blocks.
        unsafe {
            for user in users_of(LLVMBasicBlockAsValue(header)) {
                if !LLVMIsATerminatorInst(user).is_null() {
                    redirect(user, header, top);
                }
            }
        }
    }

    /// Asks at the end of `block`; goes to `skip` or on to `otherwise`.
    ///
    /// # Safety
    /// As said above.
    unsafe fn ask(
        &self,
        block: LLVMBasicBlockRef,
        question: &Question<'_>,
        (skip, otherwise): (LLVMBasicBlockRef, LLVMBasicBlockRef),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            LLVMPositionBuilderAtEnd(self.builder, block);
            set_location(self.builder, self.function.value);
            let answer = question.iteration(self.builder);
            LLVMBuildCondBr(self.builder, answer, skip, otherwise);
        }
    }

    /// Copies the instructions that replace the iteration to the end of a block.
    ///
    /// # Safety
    /// As said above.
    unsafe fn run_again(&self, block: LLVMBasicBlockRef) -> Again {
        let mut again = Again::new();
        let wanted: Vec<LLVMValueRef> = self
            .shortcut
            .again
            .iter()
            .map(|number| self.function.instruction(*number))
            .collect();
        // SAFETY: the caller's promise.
        unsafe {
            LLVMPositionBuilderAtEnd(self.builder, block);
            for original in &wanted {
                self.copy(*original, &wanted, &mut again);
            }
            set_location(self.builder, self.function.value);
        }
        again
    }

    /// Copies an instruction after those of its operands that are copied too:
    /// blocks need not stand in the order in which they run.
    ///
    /// # Safety
    /// As said above.
    unsafe fn copy(&self, original: LLVMValueRef, wanted: &[LLVMValueRef], again: &mut Again) {
        if again.contains_key(&original) {
            return;
        }
        // SAFETY: the caller's promise; operands are asked for below their number.
        unsafe {
            let operands = 0..LLVMGetNumOperands(original).cast_unsigned();
            for index in operands.clone() {
                let operand = self.plain(LLVMGetOperand(original, index));
                if operand != original && wanted.contains(&operand) {
                    self.copy(operand, wanted, again);
                }
            }
            let operands: Vec<LLVMValueRef> = operands
                .map(|index| self.now(LLVMGetOperand(original, index), again))
                .collect();
            let fresh = LLVMInstructionClone(original);
            insert_here(self.builder, fresh);
            for (index, operand) in (0..).zip(operands) {
                LLVMSetOperand(fresh, index, operand);
            }
            again.insert(original, fresh);
        }
    }

    /// The value that the model knows, where an inner loop's gate has put a slot
    /// between it and its users. Values of loops before this one stay as they are.
    fn plain(&self, value: LLVMValueRef) -> LLVMValueRef {
        let Some(&kept) = self.function.kept.get(&value) else {
            return value;
        };
        // SAFETY: values that are kept are instructions.
        if unsafe { self.is_inside(kept) } {
            kept
        } else {
            value
        }
    }

    /// What a value is in an iteration that is left out, at the builder's place.
    ///
    /// # Safety
    /// As said above.
    unsafe fn now(&self, value: LLVMValueRef, again: &Again) -> LLVMValueRef {
        let plain = self.plain(value);
        let is_slot = plain == value && self.function.kept.contains_key(&value);
        // SAFETY: the caller's promise; a slot is loaded by an instruction.
        unsafe {
            if is_slot && self.is_inside(value) {
                let loaded = LLVMInstructionClone(value);
                insert_here(self.builder, loaded);
                return loaded;
            }
        }
        *again.get(&plain).unwrap_or(&plain)
    }

    /// Whether an instruction stands in the loop.
    ///
    /// # Safety
    /// `instruction` must be one.
    unsafe fn is_inside(&self, instruction: LLVMValueRef) -> bool {
        // SAFETY: the caller's promise.
        let block = unsafe { LLVMGetInstructionParent(instruction) };
        self.function.is_in(block, self.shape)
    }

    /// The header's phis with their values for an iteration that is left out.
    ///
    /// # Safety
    /// As said above.
    unsafe fn next_values(&self, again: &Again) -> Vec<(LLVMValueRef, LLVMValueRef)> {
        let phis = self.shortcut.phis.iter();
        phis.map(|&(number, value)| {
            let phi = self.function.instruction(number);
            if value == number.into() {
                return (phi, phi);
            }
            // SAFETY: a phi of the loop has a value from within the loop.
            unsafe {
                let next = incoming(phi, |block| self.function.is_in(block, self.shape));
                (phi, self.now(next.unwrap_or(phi), again))
            }
        })
        .collect()
    }
}
