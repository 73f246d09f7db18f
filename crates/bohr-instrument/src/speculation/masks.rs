//! Where the value of an instruction cannot be noticed unless a condition holds.
//!
//! A use is hidden by a condition if it is
//! - the side of a selection by that condition that is not taken when it fails, `and` and
//!   `or` of truth values among them;
//! - by an instruction that is itself of use only if the condition holds;
//! - in a block that is reached only over an edge that is not taken when it fails.

use crate::gates::phi::{successors, users_of};
use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use std::collections::{HashMap, HashSet};

/// A condition and what it has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    pub condition: LLVMValueRef,
    pub holds: bool,
}

/// How deep a condition is looked into.
const DEPTH: u32 = 6;

/// What an instruction selects by; nothing if it is no selection.
///
/// # Safety
/// `instruction` must be one.
pub(super) unsafe fn conditions_of(instruction: LLVMValueRef) -> Vec<LLVMValueRef> {
    // SAFETY: operands are asked for as the opcode defines them.
    unsafe {
        let operand = |index| LLVMGetOperand(instruction, index);
        let mut found = match LLVMGetInstructionOpcode(instruction) {
            LLVMOpcode::LLVMSelect if is_truth(operand(0)) => vec![operand(0)],
            LLVMOpcode::LLVMAnd | LLVMOpcode::LLVMOr if is_truth(instruction) => {
                vec![operand(0), operand(1)]
            }
            _ => vec![],
        };
        found.retain(|condition| LLVMIsConstant(*condition) == 0);
        found
    }
}

/// # Safety
/// `value` must be live.
unsafe fn is_truth(value: LLVMValueRef) -> bool {
    // SAFETY: the caller's promise; only integers have a width.
    unsafe {
        let kind = LLVMTypeOf(value);
        LLVMGetTypeKind(kind) == inkwell::llvm_sys::LLVMTypeKind::LLVMIntegerTypeKind
            && LLVMGetIntTypeWidth(kind) == 1
    }
}

/// What is hidden in a block unless a guard holds.
pub(super) struct Masks {
    guard: Guard,
    block: LLVMBasicBlockRef,
    entry: LLVMBasicBlockRef,
    /// Instructions of the block that are of use only if the guard holds.
    pub taken: HashSet<LLVMValueRef>,
    /// Where the block goes only if the guard holds.
    behind: Vec<LLVMBasicBlockRef>,
    /// Whether a block is reached only over such an edge.
    known: HashMap<LLVMBasicBlockRef, bool>,
}

impl Masks {
    /// # Safety
    /// A block of that function, with a terminator.
    pub unsafe fn of(function: LLVMValueRef, block: LLVMBasicBlockRef, guard: Guard) -> Masks {
        // SAFETY: the caller's promise.
        unsafe {
            Masks {
                guard,
                block,
                entry: LLVMGetEntryBasicBlock(function),
                taken: HashSet::new(),
                behind: behind(block, guard),
                known: HashMap::new(),
            }
        }
    }

    /// Whether nobody can notice the value of an instruction unless the guard holds.
    ///
    /// # Safety
    /// `instruction` must be one of the block.
    pub unsafe fn hides(&mut self, instruction: LLVMValueRef) -> bool {
        // SAFETY: users of an instruction are instructions.
        unsafe {
            let users = users_of(instruction);
            !users.is_empty() && users.iter().all(|user| self.hides_from(*user, instruction))
        }
    }

    /// # Safety
    /// `user` must use the value.
    unsafe fn hides_from(&mut self, user: LLVMValueRef, value: LLVMValueRef) -> bool {
        if self.taken.contains(&user) {
            return true;
        }
        // SAFETY: the caller's promise; operands of a phi are in the order of its
        // predecessors.
        unsafe {
            if !LLVMIsAPHINode(user).is_null() {
                let target = LLVMGetInstructionParent(user);
                return (0..LLVMCountIncoming(user))
                    .filter(|index| LLVMGetIncomingValue(user, *index) == value)
                    .all(|index| {
                        let from = LLVMGetIncomingBlock(user, index);
                        let edge = from == self.block && self.behind.contains(&target);
                        edge || from != self.block && self.is_behind(from)
                    });
            }
            let block = LLVMGetInstructionParent(user);
            if block == self.block {
                self.selects(user, value)
            } else {
                self.is_behind(block)
            }
        }
    }

    /// Whether an instruction takes a value only if the guard holds.
    ///
    /// # Safety
    /// `user` must use the value.
    unsafe fn selects(&self, user: LLVMValueRef, value: LLVMValueRef) -> bool {
        // SAFETY: operands are asked for as the opcode defines them.
        unsafe {
            let Guard { condition, holds } = self.guard;
            let uses = |index| LLVMGetOperand(user, index) == value;
            conditions_of(user).contains(&condition)
                && match LLVMGetInstructionOpcode(user) {
                    LLVMOpcode::LLVMSelect => !uses(0) && !uses(if holds { 2 } else { 1 }),
                    LLVMOpcode::LLVMAnd => holds && condition != value,
                    _ => !holds && condition != value,
                }
        }
    }

    /// Whether a block is reached only over an edge that is not taken when the guard fails.
    ///
    /// # Safety
    /// A block of the function.
    unsafe fn is_behind(&mut self, block: LLVMBasicBlockRef) -> bool {
        if self.behind.is_empty() {
            return false;
        }
        if let Some(known) = self.known.get(&block) {
            return *known;
        }
        let mut seen = HashSet::new();
        let mut pending = vec![self.entry];
        // SAFETY: every block has a terminator.
        unsafe {
            while let Some(each) = pending.pop() {
                if !seen.insert(each) {
                    continue;
                }
                let next = successors(LLVMGetBasicBlockTerminator(each)).into_iter();
                let hidden =
                    |to: &LLVMBasicBlockRef| each == self.block && self.behind.contains(to);
                pending.extend(next.filter(|to| !hidden(to)));
            }
        }
        let is_behind = !seen.contains(&block);
        self.known.insert(block, is_behind);
        is_behind
    }
}

/// Where a block goes only if a guard holds.
///
/// # Safety
/// A block with a terminator.
unsafe fn behind(block: LLVMBasicBlockRef, guard: Guard) -> Vec<LLVMBasicBlockRef> {
    // SAFETY: the first operand of a branch with a condition is that.
    unsafe {
        let branch = LLVMGetBasicBlockTerminator(block);
        if LLVMIsABranchInst(branch).is_null() || LLVMIsConditional(branch) == 0 {
            return Vec::new();
        }
        let condition = LLVMGetCondition(branch);
        let (yes, no) = (LLVMGetSuccessor(branch, 0), LLVMGetSuccessor(branch, 1));
        if yes == no {
            return Vec::new();
        }
        let ways = [(yes, true), (no, false)].into_iter();
        ways.filter(|(_, value)| implies((condition, *value), guard, DEPTH))
            .map(|(to, _)| to)
            .collect()
    }
}

/// Whether a guard holds where a condition has this value.
///
/// # Safety
/// The condition must be live.
unsafe fn implies((condition, value): (LLVMValueRef, bool), guard: Guard, depth: u32) -> bool {
    if condition == guard.condition {
        return value == guard.holds;
    }
    // SAFETY: operands are asked for as the opcode defines them.
    unsafe {
        if depth == 0 || LLVMIsAInstruction(condition).is_null() {
            return false;
        }
        let operand = |index| LLVMGetOperand(condition, index);
        let constant = |index: u32| {
            let value = operand(index);
            let known = !LLVMIsAConstantInt(value).is_null();
            known.then(|| LLVMConstIntGetZExtValue(value) != 0)
        };
        let either = |one, other, value| {
            implies((operand(one), value), guard, depth - 1)
                || implies((operand(other), value), guard, depth - 1)
        };
        match LLVMGetInstructionOpcode(condition) {
            LLVMOpcode::LLVMAnd if value => either(0, 1, true),
            LLVMOpcode::LLVMOr if !value => either(0, 1, false),
            LLVMOpcode::LLVMSelect if value && constant(2) == Some(false) => either(0, 1, true),
            LLVMOpcode::LLVMSelect if !value && constant(1) == Some(true) => either(0, 2, false),
            LLVMOpcode::LLVMFreeze => implies((operand(0), value), guard, depth - 1),
            LLVMOpcode::LLVMXor if constant(1) == Some(true) => {
                implies((operand(0), !value), guard, depth - 1)
            }
            _ => false,
        }
    }
}
