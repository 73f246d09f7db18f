//! Whether every number in a function's body leads somewhere.

use super::{Checked, hold, optional, within};
use crate::function::Body;
use crate::ids::FunctionNumber;
use crate::instruction::{Clause, Instruction, Operand, Operation, Value};
use crate::program::Program;
use cranelift_entity::EntityRef;

/// The check of one body.
pub(super) struct BodyCheck<'a> {
    pub(super) program: &'a Program,
    pub(super) body: &'a Body,
    pub(super) parameters: usize,
    pub(super) function: FunctionNumber,
}

impl BodyCheck<'_> {
    pub(super) fn check(&self) -> Checked {
        let function = self.function;
        self.check_blocks()?;
        for call in self.body.calls.values() {
            within(&self.program.types, call.signature)?;
            within(&self.program.attributes, call.attributes)?;
            let lists =
                self.body.values.holds(call.arguments) && self.body.values.holds(call.bundled);
            hold(lists, || {
                format!("a call in {function} has no such arguments")
            })?;
            self.value(call.callee)?;
        }
        let (body, program) = (self.body, self.program);
        body.values
            .all()
            .iter()
            .try_for_each(|value| self.value(*value))?;
        for incoming in body.incoming.all() {
            within(&body.blocks, incoming.from)?;
            self.value(incoming.value)?;
        }
        for case in body.cases.all() {
            within(&program.constants, case.value)?;
            within(&body.blocks, case.target)?;
        }
        body.targets
            .all()
            .iter()
            .try_for_each(|block| within(&body.blocks, *block))?;
        for Clause::Catch(constant) | Clause::Filter(constant) in body.clauses.all() {
            within(&program.constants, *constant)?;
        }
        for instruction in body.instructions.values() {
            self.instruction(instruction)?;
        }
        for variable in &body.variables {
            self.value(variable.value)?;
            within(&program.source_types, variable.of)?;
            program.text(variable.name)?;
        }
        self.check_successors()
    }

    /// Blocks begin in order, none is empty, and each ends with its only terminator.
    fn check_blocks(&self) -> Checked {
        let (body, function) = (self.body, self.function);
        let firsts: Vec<usize> = body
            .blocks
            .values()
            .map(|block| block.first.index())
            .collect();
        let rising = firsts.first() == Some(&0) && firsts.windows(2).all(|pair| pair[0] < pair[1]);
        let count = body.instructions.len();
        hold(
            rising && firsts.last().is_some_and(|last| *last < count),
            || format!("the blocks of {function} are not in order"),
        )?;
        let ends = firsts[1..].iter().copied().chain([count]);
        let terminators = body
            .instructions
            .iter()
            .filter(|(_, instruction)| instruction.operation.is_terminator())
            .map(|(number, _)| number.index() + 1);
        hold(ends.eq(terminators), || {
            format!("a block of {function} does not end with its only terminator")
        })
    }

    fn value(&self, value: Value) -> Checked {
        match value.operand() {
            Operand::Instruction(number) => within(&self.body.instructions, number),
            Operand::Constant(number) => within(&self.program.constants, number),
            Operand::Argument(number) => hold(number.index() < self.parameters, || {
                format!("{} has no {number}", self.function)
            }),
        }
    }

    fn instruction(&self, instruction: &Instruction) -> Checked {
        within(&self.program.types, instruction.result)?;
        optional(&self.program.locations, instruction.location)?;
        hold(self.has_lists_of(&instruction.operation), || {
            format!("a list in {} is not there", self.function)
        })?;
        if let Some(call) = instruction.operation.call() {
            within(&self.body.calls, call)?;
        }
        match instruction.operation {
            Operation::StackSlot { allocated, .. } => within(&self.program.types, allocated)?,
            Operation::ElementPointer { source, .. } => within(&self.program.types, source)?,
            Operation::Opaque { what, .. } | Operation::OpaqueTerminator { what, .. } => {
                self.program.text(what)?;
            }
            _ => {}
        }
        let mut result = Ok(());
        self.body.for_each_operand(instruction, |value| {
            if result.is_ok() {
                result = self.value(value);
            }
        });
        result
    }

    fn has_lists_of(&self, operation: &Operation) -> bool {
        use Operation::*;
        let body = self.body;
        match *operation {
            Switch { cases, .. } => body.cases.holds(cases),
            IndirectBranch { targets, .. }
            | CallBranch { targets, .. }
            | OpaqueTerminator { targets, .. } => body.targets.holds(targets),
            Phi { incoming } => body.incoming.holds(incoming),
            ElementPointer { indices, .. } => body.values.holds(indices),
            ExtractValue { path, .. } | InsertValue { path, .. } => body.paths.holds(path),
            Shuffle { mask, .. } => body.paths.holds(mask),
            LandingPad { clauses, .. } => body.clauses.holds(clauses),
            Opaque { operands, .. } => body.values.holds(operands),
            _ => true,
        }
    }

    /// Control goes to blocks of this function only.
    fn check_successors(&self) -> Checked {
        let mut successors = self
            .body
            .blocks
            .keys()
            .flat_map(|block| self.body.successors(block));
        successors.try_for_each(|block| within(&self.body.blocks, block))
    }
}
