//! Calls that can be left out: of functions of the program, where nobody uses what
//! they return. What else they do, others may need; whoever leaves one out has to
//! see what becomes of that.

use crate::attribute::FunctionFlags;
use crate::function::{Body, TailCall};
use crate::ids::{FunctionNumber, InstructionNumber};
use crate::instruction::Operation;
use crate::program::Program;
use std::collections::HashSet;

/// A call that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippableCall {
    /// Who calls.
    pub function: FunctionNumber,
    /// Where.
    pub call: InstructionNumber,
    /// Whom.
    pub callee: FunctionNumber,
}

/// All of a program, in the order of functions and instructions. The number of its
/// gate is a call's position, with [`CALL_GATE`](bohr_event::abi::CALL_GATE).
#[must_use]
pub fn skippable_calls(program: &Program) -> Vec<SkippableCall> {
    let mut calls = Vec::new();
    for (function, _, body) in program.bodies() {
        if has_computed_branches(body) {
            continue;
        }
        let used = used(body);
        for (call, instruction) in body.instructions.iter() {
            let is_plain = match instruction.operation {
                Operation::Call { .. } => true,
                // The way around it needs a place of its own.
                Operation::Invoke { normal, .. } => normal != body.block_of(call),
                _ => false,
            };
            let callee = body.named_callee(program, call);
            let callee = callee.filter(|callee| is_plain && may_be_missed(program, *callee));
            let may_go = |_: &FunctionNumber| !used.contains(&call) && !has_to_be_last(body, call);
            calls.extend(callee.filter(may_go).map(|callee| SkippableCall {
                function,
                call,
                callee,
            }));
        }
    }
    calls
}

/// The instructions whose results somebody uses.
fn used(body: &Body) -> HashSet<InstructionNumber> {
    let mut used = HashSet::new();
    for instruction in body.instructions.values() {
        body.for_each_operand(instruction, |value| used.extend(value.instruction()));
    }
    used
}

/// Blocks that are reached by their addresses cannot be taken apart.
fn has_computed_branches(body: &Body) -> bool {
    body.instructions.values().any(|instruction| {
        matches!(
            instruction.operation,
            Operation::IndirectBranch { .. }
                | Operation::CallBranch { .. }
                | Operation::OpaqueTerminator { .. }
        )
    })
}

fn has_to_be_last(body: &Body, call: InstructionNumber) -> bool {
    { body.call_at(call) }.is_some_and(|call| call.tail == TailCall::Must)
}

/// Whether a function has a body, returns, and is no part of what the compiler
/// takes care of itself.
fn may_be_missed(program: &Program, callee: FunctionNumber) -> bool {
    let facts = &program.functions[callee];
    let flags = program.attributes[facts.attributes].flags;
    facts.body.is_some() && !flags.intersects(FunctionFlags::NO_RETURN | FunctionFlags::NAKED)
}
