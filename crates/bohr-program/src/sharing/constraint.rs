//! What every instruction says about pointers.
//!
//! Integers are followed like pointers, through memory and arithmetic, because
//! programs copy pointers byte by byte, tag them and store them as integers.
//! Floating-point arithmetic, multiplication, division and comparisons end the
//! trail: no program computes an address with them from another address.

use super::analysis::Analysis;
use super::node::NodeNumber;
use super::object::{ObjectNumber, Origin};
use super::solve::CallSite;
use crate::function::Body;
use crate::ids::{ConstantNumber, FunctionNumber, InstructionNumber};
use crate::instruction::{Instruction, Operation, Value};
use crate::operator::{BinaryOperator, CastOperator};
use crate::{ConstantExpression, ConstantValue};

impl Analysis<'_> {
    /// Adds the constraints of a function's body.
    pub(super) fn constrain_body(&mut self, function: FunctionNumber, body: &Body) {
        for (number, instruction) in body.instructions.iter() {
            body.for_each_operand(instruction, |value| self.mention(function, value));
            self.constrain(function, body, number, instruction);
        }
    }

    /// Gives a constant operand its node and its objects.
    fn mention(&mut self, function: FunctionNumber, value: Value) {
        let Some(constant) = value.constant() else {
            return;
        };
        if let Some(node) = self.constant(constant) {
            self.mentions[function].push(node);
        }
    }

    /// The node of a constant, if it holds addresses.
    pub(super) fn constant(&mut self, constant: ConstantNumber) -> Option<NodeNumber> {
        if !self.holds_addresses(constant) {
            return None;
        }
        let (node, new) = self.nodes.constant(constant);
        if new {
            for object in self.addresses(constant) {
                match object {
                    Some(object) => self.solver.address(node, object),
                    None => self.solver.anywhere(node),
                }
            }
        }
        Some(node)
    }

    /// The objects whose addresses are in a constant; `None` for an address
    /// that is only a number.
    pub(super) fn addresses(&mut self, constant: ConstantNumber) -> Vec<Option<ObjectNumber>> {
        let program = self.program;
        let mut found = Vec::new();
        let mut work = vec![constant];
        while let Some(constant) = work.pop() {
            match &program.constants[constant].value {
                ConstantValue::Global(global) => found.push(Some(self.global(*global))),
                ConstantValue::Function(function) => found.push(Some(self.function(*function))),
                ConstantValue::Alias(alias) => {
                    // A resolver picks any function of the same shape.
                    if program.aliases[*alias].indirect {
                        found.push(None);
                    }
                    work.push(program.aliases[*alias].target);
                }
                ConstantValue::Expression(ConstantExpression::Cast(
                    CastOperator::IntegerToPointer,
                    operand,
                )) if !self.holds_addresses(*operand) => found.push(None),
                value => work.extend(value.parts()),
            }
        }
        found
    }

    pub(super) fn holds_addresses(&mut self, constant: ConstantNumber) -> bool {
        use super::analysis::Holds;
        let program = self.program;
        match self.holds[constant] {
            Holds::Unknown => {}
            known => return known == Holds::Yes,
        }
        let value = &program.constants[constant].value;
        let holds = match value {
            ConstantValue::Global(_) | ConstantValue::Function(_) | ConstantValue::Alias(_) => true,
            ConstantValue::Expression(ConstantExpression::Cast(
                CastOperator::IntegerToPointer,
                _,
            )) => true,
            value => value
                .parts()
                .into_iter()
                .any(|part| self.holds_addresses(part)),
        };
        self.holds[constant] = if holds { Holds::Yes } else { Holds::No };
        holds
    }

    fn constrain(
        &mut self,
        function: FunctionNumber,
        body: &Body,
        number: InstructionNumber,
        instruction: &Instruction,
    ) {
        use Operation::*;
        let result = self.nodes.instruction(function, number);
        match instruction.operation {
            Return { value } => {
                if let Some(value) = value.expand() {
                    self.flow(function, value, self.nodes.result(function));
                }
            }
            Binary {
                operator,
                left,
                right,
                ..
            } if carries(operator) => {
                self.flow(function, left, result);
                self.flow(function, right, result);
            }
            Cast {
                operator, operand, ..
            } if keeps(operator) => {
                self.flow(function, operand, result);
                let from_number =
                    operator == CastOperator::IntegerToPointer && operand.constant().is_some();
                if from_number {
                    self.solver.anywhere(result);
                }
            }
            Select {
                then, otherwise, ..
            } => {
                self.flow(function, then, result);
                self.flow(function, otherwise, result);
            }
            Freeze { operand } => self.flow(function, operand, result),
            Phi { incoming } => {
                for incoming in body.incoming.get(incoming) {
                    self.flow(function, incoming.value, result);
                }
            }
            StackSlot { .. } => {
                let slot = self.new_object(Origin::Stack(function, number));
                self.solver.address(result, slot);
            }
            Load { address, .. } => self.load(function, address, result),
            Store { address, value, .. } => self.store(function, address, value),
            Update { address, value, .. } => {
                self.load(function, address, result);
                self.store(function, address, value);
            }
            CompareExchange {
                address, desired, ..
            } => {
                self.load(function, address, result);
                self.store(function, address, desired);
            }
            ElementPointer { base, .. } => self.flow(function, base, result),
            VariableArgument { list } => {
                let area = self.fresh_node();
                self.load(function, list, area);
                self.solver.load(area, result);
            }
            ExtractValue { aggregate, .. } => self.flow(function, aggregate, result),
            InsertValue {
                aggregate, value, ..
            } => {
                self.flow(function, aggregate, result);
                self.flow(function, value, result);
            }
            ExtractElement { vector, .. } => self.flow(function, vector, result),
            InsertElement { vector, value, .. } => {
                self.flow(function, vector, result);
                self.flow(function, value, result);
            }
            Shuffle { left, right, .. } => {
                self.flow(function, left, result);
                self.flow(function, right, result);
            }
            // Exceptions travel through the unwinder's memory.
            LandingPad { .. } => self.solver.anywhere(result),
            Resume { value } => self.flow(function, value, NodeNumber::WORLD),
            Call { call } | Invoke { call, .. } | CallBranch { call, .. } => {
                self.constrain_call(
                    CallSite {
                        function,
                        call,
                        instruction: number,
                    },
                    body,
                );
            }
            Opaque { operands, .. } => {
                for &operand in body.values.get(operands) {
                    self.flow(function, operand, NodeNumber::WORLD);
                }
                self.solver.anywhere(result);
            }
            _ => {}
        }
    }

    /// What `value` may point to, `to` may too.
    pub(super) fn flow(&mut self, function: FunctionNumber, value: Value, to: NodeNumber) {
        if let Some(from) = self.nodes.value(function, value) {
            self.solver.copy(from, to);
        }
    }

    /// `to` gets what lies where `address` points to.
    pub(super) fn load(&mut self, function: FunctionNumber, address: Value, to: NodeNumber) {
        if let Some(address) = self.nodes.value(function, address) {
            self.solver.load(address, to);
        }
    }

    /// `value` is put where `address` points to.
    pub(super) fn store(&mut self, function: FunctionNumber, address: Value, value: Value) {
        let address = self.nodes.value(function, address);
        if let (Some(address), Some(value)) = (address, self.nodes.value(function, value)) {
            self.solver.store(address, value);
        }
    }
}

/// Whether an operation on addresses as integers can give an address.
fn carries(operator: BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(
        operator,
        Add | Subtract
            | And
            | Or
            | ExclusiveOr
            | ShiftLeft
            | LogicalShiftRight
            | ArithmeticShiftRight
    )
}

/// Whether a conversion keeps bits of an address.
fn keeps(operator: CastOperator) -> bool {
    use CastOperator::*;
    matches!(
        operator,
        Truncate
            | ZeroExtend
            | SignExtend
            | PointerToInteger
            | PointerToAddress
            | IntegerToPointer
            | Bitcast
            | AddressSpace
    )
}
