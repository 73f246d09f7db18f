//! Puts loads that an optimiser made ahead of their condition back behind it.
//!
//! Where an author wrote "if it is ready, look at it", LLVM may look first and then
//! select: a load that meets somebody's store gives an undefined value there, no undefined
//! program. For whoever watches accesses it is a data race that the author did not write.
//! Optimisers undo this only where it is cheaper; here it is undone wherever it can be seen,
//! before anything is numbered, so that model, hooks and all profiles agree:
//!
//! ```text
//!   block: … ; x = load a              top: … ── otherwise ──▶ block
//!          y = select condition, x, z  │ condition
//!                                      ▼
//!                                      taken: x = load a ────▶ block
//!                                      block: x' = phi x, 0
//!                                             y = select condition, x', z
//! ```
//!
//! A load goes back if it is plain, if nothing between it and the selection writes memory
//! or orders threads, and if its value cannot be noticed where the condition fails
//! ([`masks`]). What the author's own code looked at for nothing, side by side with a
//! condition that would have spared it, looks the same and is treated the same.

mod masks;

use crate::gates::call::{lead_to, move_before};
use crate::gates::phi::{add_incoming, users_of};
use crate::gates::question::insert_here;
use crate::stack::base;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic;
use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMContextRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use masks::{Guard, Masks, conditions_of};
use std::collections::HashSet;

/// Instructions before a selection that are looked at; what optimisers select from is near.
const WINDOW: usize = 400;

/// Undoes what can be undone in all functions of a module; how many loads went back.
pub fn undo(context: &Context, module: &Module<'_>) -> u32 {
    let mut count = 0;
    for function in module.get_functions() {
        let blocks = function.get_basic_block_iter();
        let mut pending: Vec<LLVMBasicBlockRef> = blocks.map(|block| block.as_mut_ptr()).collect();
        while let Some(block) = pending.pop() {
            // SAFETY: blocks of a live function; those that are added are, too.
            unsafe {
                if let Some(plan) = Plan::of(function.as_value_ref(), block) {
                    count += plan.loads;
                    pending.extend(plan.carry_out(context.as_ctx_ref()));
                }
            }
        }
    }
    count
}

/// What goes where in one block.
struct Plan {
    condition: LLVMValueRef,
    /// The last instruction that selects by the condition: the block begins about here.
    anchor: LLVMValueRef,
    /// What is needed only if the condition holds, and only if it fails, in its order.
    sides: [Side; 2],
    /// What stands before the anchor and uses the above, in its order.
    late: Vec<LLVMValueRef>,
    /// How many loads go back.
    loads: u32,
}

/// What is needed on one side of a condition only.
#[derive(Default)]
struct Side {
    taken: Vec<LLVMValueRef>,
    loads: u32,
}

impl Plan {
    /// # Safety
    /// A block of that function, with a terminator.
    unsafe fn of(function: LLVMValueRef, block: LLVMBasicBlockRef) -> Option<Plan> {
        // SAFETY: the caller's promise; the walk ends at the first instruction.
        unsafe {
            let mut last = LLVMGetLastInstruction(block);
            while !last.is_null() {
                for condition in conditions_of(last) {
                    let plan = Plan::before(function, block, last, condition);
                    if plan.is_some() && can_be_taken_apart(block) {
                        return plan;
                    }
                }
                last = LLVMGetPreviousInstruction(last);
            }
            None
        }
    }

    /// # Safety
    /// As for [`Plan::of`]; the anchor selects by the condition.
    unsafe fn before(
        function: LLVMValueRef,
        block: LLVMBasicBlockRef,
        anchor: LLVMValueRef,
        condition: LLVMValueRef,
    ) -> Option<Plan> {
        // SAFETY: the caller's promise.
        unsafe {
            let guards = [true, false].map(|holds| Guard { condition, holds });
            let sides = guards.map(|guard| {
                let masks = Masks::of(function, block, guard);
                let side = Side::before(anchor, masks);
                if side.loads > 0 {
                    side
                } else {
                    Side::default()
                }
            });
            let loads = sides.iter().map(|side| side.loads).sum();
            if loads == 0 {
                return None;
            }
            let late = late(block, &sides, anchor)?;
            Some(Plan {
                condition,
                anchor,
                sides,
                late,
                loads,
            })
        }
    }

    /// Gives the blocks that came into being and the one that was taken apart.
    ///
    /// # Safety
    /// Nothing has changed since the plan was made.
    unsafe fn carry_out(&self, context: LLVMContextRef) -> Vec<LLVMBasicBlockRef> {
        // SAFETY: the caller's promise. Dominance holds: what `taken` needs stands before
        // it in the block and is not late, and others take its values through phis.
        unsafe {
            let block = LLVMGetInstructionParent(self.anchor);
            let top = LLVMInsertBasicBlockInContext(context, block, c"".as_ptr());
            let location = LLVMInstructionGetDebugLoc(self.anchor);
            lead_to(block, top);
            let builder = LLVMCreateBuilderInContext(context);
            let mut blocks = vec![top, block];
            let ways = self.sides.each_ref().map(|side| {
                if side.taken.is_empty() {
                    return block;
                }
                let taken = LLVMInsertBasicBlockInContext(context, block, c"".as_ptr());
                LLVMPositionBuilderAtEnd(builder, taken);
                for one in &side.taken {
                    LLVMInstructionRemoveFromParent(*one);
                    insert_here(builder, *one);
                }
                LLVMInstructionSetDebugLoc(LLVMBuildBr(builder, block), location);
                blocks.push(taken);
                taken
            });
            LLVMPositionBuilderBefore(builder, self.anchor);
            for one in &self.late {
                LLVMInstructionRemoveFromParent(*one);
                insert_here(builder, *one);
            }
            let first = self.late.first().copied().unwrap_or(self.anchor);
            LLVMPositionBuilderAtEnd(builder, top);
            move_before(builder, block, first);
            let branch = LLVMBuildCondBr(builder, self.condition, ways[0], ways[1]);
            LLVMInstructionSetDebugLoc(branch, location);
            // What is noted of variables stands behind phis.
            LLVMPositionBuilderBeforeInstrAndDbgRecords(builder, first);
            for (side, [own, other]) in self.sides.iter().zip([ways, [ways[1], ways[0]]]) {
                let other = if other == block { top } else { other };
                side.lead_on(builder, own, other);
            }
            LLVMDisposeBuilder(builder);
            blocks
        }
    }
}

impl Side {
    /// What stands before an anchor and is needed only where these masks lift.
    ///
    /// # Safety
    /// The anchor must be in the block of the masks.
    unsafe fn before(anchor: LLVMValueRef, mut masks: Masks) -> Side {
        let mut taken: Vec<LLVMValueRef> = Vec::new();
        // SAFETY: the caller's promise; the walk ends at the first instruction.
        unsafe {
            let mut fixed = false;
            let mut each = LLVMGetPreviousInstruction(anchor);
            for _ in 0..WINDOW {
                if each.is_null() {
                    break;
                }
                let movable = match is_plain_load(each) {
                    true => !fixed,
                    false => is_pure(each),
                };
                if movable && masks.hides(each) {
                    masks.taken.insert(each);
                    taken.push(each);
                } else {
                    fixed |= orders_or_writes(each);
                }
                each = LLVMGetPreviousInstruction(each);
            }
            taken.reverse();
            // Of what only computes, what a load has to do with.
            let mut dependent: HashSet<LLVMValueRef> = HashSet::new();
            let mut loads = 0;
            taken.retain(|one| {
                let load = is_plain_load(*one);
                loads += u32::from(load && can_be_shared(*one));
                let kept = load || operands(*one).iter().any(|each| dependent.contains(each));
                if kept {
                    dependent.insert(*one);
                }
                kept
            });
            Side { taken, loads }
        }
    }

    /// Has whoever uses the values elsewhere take them through phis, where the builder is.
    ///
    /// # Safety
    /// The values are in the first block; what is there for the builder comes from both.
    unsafe fn lead_on(
        &self,
        builder: LLVMBuilderRef,
        own: LLVMBasicBlockRef,
        other: LLVMBasicBlockRef,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            for one in &self.taken {
                let outside = |user: &LLVMValueRef| !self.taken.contains(user);
                let users: Vec<_> = users_of(*one).into_iter().filter(outside).collect();
                if users.is_empty() {
                    continue;
                }
                let kind = LLVMTypeOf(*one);
                let phi = LLVMBuildPhi(builder, kind, c"".as_ptr());
                LLVMInstructionSetDebugLoc(phi, LLVMInstructionGetDebugLoc(*one));
                for user in users {
                    for index in 0..LLVMGetNumOperands(user).cast_unsigned() {
                        if LLVMGetOperand(user, index) == *one {
                            LLVMSetOperand(user, index, phi);
                        }
                    }
                }
                add_incoming(phi, *one, own);
                add_incoming(phi, LLVMConstNull(kind), other);
            }
        }
    }
}

/// What stands before the anchor and uses what is on a side, directly or not, in its order;
/// nothing if that cannot stand behind what it stands before.
///
/// # Safety
/// The anchor must be in the block, and the sides before it.
unsafe fn late(
    block: LLVMBasicBlockRef,
    sides: &[Side; 2],
    anchor: LLVMValueRef,
) -> Option<Vec<LLVMValueRef>> {
    let taken: HashSet<LLVMValueRef> = { sides.iter() }
        .flat_map(|side| side.taken.iter().copied())
        .collect();
    let mut late: Vec<LLVMValueRef> = Vec::new();
    // SAFETY: the caller's promise: the walk comes to the anchor.
    unsafe {
        let mut each = LLVMGetFirstInstruction(block);
        while each != anchor {
            let needs = operands(each);
            if !LLVMIsAPHINode(each).is_null() {
                // What comes around a loop is in time.
            } else if taken.contains(&each) {
                if needs.iter().any(|one| late.contains(one)) {
                    return None;
                }
            } else if needs
                .iter()
                .any(|one| taken.contains(one) || late.contains(one))
            {
                if !is_pure(each) {
                    return None;
                }
                late.push(each);
            }
            each = LLVMGetNextInstruction(each);
        }
    }
    Some(late)
}

/// Whether other blocks come here by branches and calls alone, so that another one can
/// take its place.
///
/// # Safety
/// A block of a live function.
unsafe fn can_be_taken_apart(block: LLVMBasicBlockRef) -> bool {
    // SAFETY: the caller's promise; users of a block's value are live.
    unsafe {
        users_of(LLVMBasicBlockAsValue(block)).iter().all(|user| {
            !LLVMIsAInstruction(*user).is_null()
                && matches!(
                    LLVMGetInstructionOpcode(*user),
                    LLVMOpcode::LLVMBr | LLVMOpcode::LLVMSwitch | LLVMOpcode::LLVMInvoke
                )
        })
    }
}

/// # Safety
/// `instruction` must be one.
unsafe fn operands(instruction: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: indices below the number of operands.
    unsafe {
        (0..LLVMGetNumOperands(instruction).cast_unsigned())
            .map(|index| LLVMGetOperand(instruction, index))
            .collect()
    }
}

/// # Safety
/// `instruction` must be one.
unsafe fn is_plain_load(instruction: LLVMValueRef) -> bool {
    // SAFETY: loads have an order and a volatility.
    unsafe {
        LLVMGetInstructionOpcode(instruction) == LLVMOpcode::LLVMLoad
            && LLVMGetVolatile(instruction) == 0
            && LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic
    }
}

/// Whether others might write where this load looks, as far as its address tells.
///
/// # Safety
/// `load` must be one.
unsafe fn can_be_shared(load: LLVMValueRef) -> bool {
    // SAFETY: the address is the first operand.
    unsafe {
        let object = base(LLVMGetOperand(load, 0));
        let constant =
            !LLVMIsAGlobalVariable(object).is_null() && LLVMIsGlobalConstant(object) != 0;
        LLVMIsAAllocaInst(object).is_null() && !constant
    }
}

/// Whether an instruction only computes; what may fail has been computed ahead of its
/// condition, so it does not, and behind it still less.
///
/// # Safety
/// `instruction` must be one.
unsafe fn is_pure(instruction: LLVMValueRef) -> bool {
    use LLVMOpcode::*;
    // SAFETY: the caller's promise; calls have callees.
    unsafe {
        match LLVMGetInstructionOpcode(instruction) {
            LLVMAdd | LLVMFAdd | LLVMSub | LLVMFSub | LLVMMul | LLVMFMul | LLVMUDiv | LLVMSDiv
            | LLVMFDiv | LLVMURem | LLVMSRem | LLVMFRem | LLVMShl | LLVMLShr | LLVMAShr
            | LLVMAnd | LLVMOr | LLVMXor | LLVMFNeg | LLVMTrunc | LLVMZExt | LLVMSExt
            | LLVMFPToUI | LLVMFPToSI | LLVMUIToFP | LLVMSIToFP | LLVMFPTrunc | LLVMFPExt
            | LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast | LLVMICmp | LLVMFCmp | LLVMSelect
            | LLVMFreeze | LLVMGetElementPtr | LLVMExtractValue | LLVMInsertValue
            | LLVMExtractElement | LLVMInsertElement | LLVMShuffleVector => true,
            LLVMCall => is_intrinsic(instruction, &COMPUTING),
            _ => false,
        }
    }
}

/// Whether an instruction may write memory, order threads or not return.
///
/// # Safety
/// `instruction` must be one.
unsafe fn orders_or_writes(instruction: LLVMValueRef) -> bool {
    // SAFETY: the caller's promise; the alternatives are asked in turn.
    unsafe {
        match LLVMGetInstructionOpcode(instruction) {
            LLVMOpcode::LLVMLoad => !is_plain_load(instruction),
            LLVMOpcode::LLVMPHI | LLVMOpcode::LLVMAlloca => false,
            LLVMOpcode::LLVMCall if is_intrinsic(instruction, &SILENT) => false,
            _ => !is_pure(instruction),
        }
    }
}

/// Intrinsics that do nothing but compute.
const COMPUTING: [&str; 12] = [
    "llvm.abs.",
    "llvm.bitreverse.",
    "llvm.bswap.",
    "llvm.ctlz.",
    "llvm.ctpop.",
    "llvm.cttz.",
    "llvm.fsh",
    "llvm.smax.",
    "llvm.smin.",
    "llvm.umax.",
    "llvm.umin.",
    "llvm.uadd.sat.",
];

/// Intrinsics that nothing comes of.
const SILENT: [&str; 4] = [
    "llvm.assume",
    "llvm.dbg.",
    "llvm.experimental.noalias.scope.decl",
    "llvm.pseudoprobe",
];

/// # Safety
/// `call` must be a call.
unsafe fn is_intrinsic(call: LLVMValueRef, known: &[&str]) -> bool {
    // SAFETY: a call has a callee.
    let callee = unsafe { LLVMGetCalledValue(call) };
    let name = crate::internalise::name_of(callee);
    known.iter().any(|known| name.starts_with(known))
}
