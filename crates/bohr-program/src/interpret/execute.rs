//! One instruction after the other.

use super::convert::cast;
use super::datum::Datum;
use super::machine::Machine;
use super::{Halt, Step, float, not_modelled};
use crate::ids::*;
use crate::instruction::{Instruction, Operand, Operation, Value};
use cranelift_entity::EntityRef;

impl<'p> Machine<'p> {
    /// Executes an instruction. Gives the result of a function that returned.
    pub(super) fn step(&mut self) -> Step<Option<Datum>> {
        self.steps += 1;
        if self.steps > self.limit {
            return Err(Halt::Steps(self.limit));
        }
        let frame = self.frame();
        let body = frame.body;
        let number = InstructionNumber::new(frame.next);
        frame.next += 1;
        let instruction: &'p Instruction = &body.instructions[number];
        use Operation::*;
        let result = match instruction.operation {
            Return { value } => {
                let value = match value.expand() {
                    Some(value) => self.value(value)?,
                    None => Datum::NOTHING,
                };
                return self.leave(value).map(Some);
            }
            Call { call } | Invoke { call, .. } => {
                let depth = self.frames.len();
                let result = self.call(&body.calls[call])?;
                // A throw may have left this function, or gone to its landing pad.
                if self.frames.len() != depth || self.exceptions.arrived() {
                    return Ok(None);
                }
                if let Invoke { normal, .. } = instruction.operation {
                    self.frame().results[number.index()] = result.unwrap_or(Datum::NOTHING);
                    self.jump(normal)?;
                    return Ok(None);
                }
                result
            }
            _ if instruction.operation.is_terminator() => {
                self.branch(&instruction.operation)?;
                return Ok(None);
            }
            _ => Some(self.compute(instruction)?),
        };
        if let Some(result) = result {
            self.frame().results[number.index()] = result;
        }
        Ok(None)
    }

    /// The value of an operand.
    pub(super) fn value(&mut self, value: Value) -> Step<Datum> {
        let frame = self.frames.last().expect("a function is executing");
        match value.operand() {
            Operand::Instruction(number) => Ok(frame.results[number.index()].clone()),
            Operand::Argument(number) => Ok(frame.arguments[number.index()].clone()),
            Operand::Constant(number) => self.constant(number),
        }
    }

    /// The type of an operand.
    pub(super) fn type_of(&self, value: Value) -> TypeNumber {
        let frame = self.frames.last().expect("a function is executing");
        self.program.type_of(frame.function, value)
    }

    fn branch(&mut self, operation: &Operation) -> Step<()> {
        use Operation::*;
        match *operation {
            Branch { target } => self.jump(target),
            ConditionalBranch {
                condition,
                then,
                otherwise,
            } => match self.value(condition)?.bits() {
                0 => self.jump(otherwise),
                _ => self.jump(then),
            },
            Switch {
                value,
                default,
                cases,
            } => {
                let value = self.value(value)?;
                let cases = self.frame().body.cases.get(cases);
                for case in cases {
                    if self.constant(case.value)? == value {
                        return self.jump(case.target);
                    }
                }
                self.jump(default)
            }
            IndirectBranch { address, .. } => match self.value(address)?.word() {
                0 => Err(Halt::Undefined("it branches to null")),
                block => self.jump_to(block),
            },
            Resume { value } => {
                let exception = self.value(value)?;
                self.resume(exception.bits() as u64)
            }
            Unreachable => Err(Halt::Undefined("it reaches the unreachable")),
            CallBranch { .. } => not_modelled("assembly that branches"),
            _ => not_modelled("a terminator of another system"),
        }
    }

    /// Goes on at the block whose address was taken.
    fn jump_to(&mut self, address: u64) -> Step<()> {
        let block = BlockNumber::new(address as usize - 1);
        match self.frame().body.blocks.is_valid(block) {
            true => self.jump(block),
            false => Err(Halt::Undefined("it branches to what is not a block")),
        }
    }

    fn compute(&mut self, instruction: &Instruction) -> Step<Datum> {
        use Operation::*;
        let of = instruction.result;
        match instruction.operation {
            Binary {
                operator,
                left,
                right,
                ..
            } => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(operator, of, &left, &right)
            }
            Negate { operand, .. } => {
                let kind = self.float_kind(of)?;
                let operand = self.value(operand)?;
                operand.map(|value| Ok(float::negate(kind, value)))
            }
            CompareIntegers { left, right, .. } | CompareFloats { left, right, .. } => {
                self.compare(&instruction.operation, left, right)
            }
            Cast {
                operator, operand, ..
            } => {
                let from = self.type_of(operand);
                let operand = self.value(operand)?;
                cast(self, operator, from, of, &operand)
            }
            Select {
                condition,
                then,
                otherwise,
                ..
            } => self.select(condition, then, otherwise),
            Freeze { operand } => self.value(operand),
            Phi { .. } => Err(Halt::Undefined("it falls into a block")),
            LandingPad { .. } => Ok(self.exceptions.take_arrival()),
            Opaque { what, .. } => not_modelled(&self.program.texts[what]),
            ExtractValue { .. }
            | InsertValue { .. }
            | ExtractElement { .. }
            | InsertElement { .. }
            | Shuffle { .. } => self.part(&instruction.operation),
            _ => self.access(instruction),
        }
    }
}
