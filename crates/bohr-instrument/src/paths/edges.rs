//! New blocks on edges, where something happens only if control goes that way.

use crate::gates::phi::{add_incoming, phis_of, redirect};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use std::collections::{BTreeSet, HashMap};

/// The edges of a function that were split.
#[derive(Default)]
pub struct Edges {
    /// The block that lies between two.
    between: HashMap<(LLVMBasicBlockRef, LLVMBasicBlockRef), LLVMBasicBlockRef>,
    targets: BTreeSet<LLVMBasicBlockRef>,
}

impl Edges {
    /// The block on all edges from one block to another; it still leads to its
    /// target. Phis there are put right by [`Edges::complete`].
    pub fn split(&mut self, from: LLVMBasicBlockRef, to: LLVMBasicBlockRef) -> LLVMBasicBlockRef {
        *self.between.entry((from, to)).or_insert_with(|| {
            self.targets.insert(to);
            // SAFETY: both are blocks of one live function.
            unsafe {
                let function = LLVMGetBasicBlockParent(from);
                let context = LLVMGetTypeContext(LLVMTypeOf(function));
                let block = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
                LLVMMoveBasicBlockAfter(block, from);
                let builder = LLVMCreateBuilderInContext(context);
                LLVMPositionBuilderAtEnd(builder, block);
                LLVMBuildBr(builder, to);
                LLVMDisposeBuilder(builder);
                redirect(LLVMGetBasicBlockTerminator(from), to, block);
                block
            }
        })
    }

    /// Has the phis of all targets name the new blocks.
    pub fn complete(self) {
        for target in &self.targets {
            // SAFETY: a block of a live function, with a terminator.
            for phi in unsafe { phis_of(*target) } {
                // SAFETY: a phi of that block.
                unsafe { self.renew(phi, *target) };
            }
        }
    }

    /// Replaces a phi by one that takes the same values by the new ways; several
    /// edges between two blocks have become one.
    ///
    /// # Safety
    /// `phi` must be a phi of `target`.
    unsafe fn renew(&self, phi: LLVMValueRef, target: LLVMBasicBlockRef) {
        // SAFETY: the caller's promise; the old phi is gone afterwards.
        unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(phi));
            let builder = LLVMCreateBuilderInContext(context);
            LLVMPositionBuilderBefore(builder, phi);
            let fresh = LLVMBuildPhi(builder, LLVMTypeOf(phi), c"".as_ptr());
            LLVMDisposeBuilder(builder);
            let mut seen = BTreeSet::new();
            for index in 0..LLVMCountIncoming(phi) {
                let from = LLVMGetIncomingBlock(phi, index);
                let between = self.between.get(&(from, target)).copied();
                if between.is_none() || seen.insert(from) {
                    let value = LLVMGetIncomingValue(phi, index);
                    // A phi that takes its own value takes the new one's.
                    let value = if value == phi { fresh } else { value };
                    add_incoming(fresh, value, between.unwrap_or(from));
                }
            }
            LLVMReplaceAllUsesWith(phi, fresh);
            LLVMInstructionEraseFromParent(phi);
        }
    }
}
