//! One instruction after the other.

use super::bits;
use super::datum::Datum;
use super::encode::{PLAIN, ones};
use super::machine::Machine;
use super::wide::Wide;
use super::{Halt, Step, float, integer, not_modelled};
use crate::address::Step as Stride;
use crate::ids::*;
use crate::instruction::{Instruction, Operand, Operation, Value};
use crate::operator::{BinaryOperator, CastOperator, UpdateOperator};
use crate::types::{FloatKind, Type};
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
                block => self.jump(BlockNumber::new(block as usize - 1)),
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
            CompareIntegers {
                predicate,
                left,
                right,
                ..
            } => {
                let bits = self.lane_bits(self.type_of(left));
                let (left, right) = (self.value(left)?, self.value(right)?);
                if let (Datum::Wide(left), Datum::Wide(right)) = (&left, &right) {
                    return Ok(left.compare(predicate, right).into());
                }
                left.zip(&right, |left, right| {
                    Ok(integer::compare(predicate, bits, left, right).into())
                })
            }
            CompareFloats {
                predicate,
                left,
                right,
                ..
            } => {
                let kind = self.float_kind(self.type_of(left))?;
                let (left, right) = (self.value(left)?, self.value(right)?);
                left.zip(&right, |left, right| {
                    let order = float::order(kind, left, right)?;
                    Ok(float::compare(predicate, order).into())
                })
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
            ExtractValue { aggregate, path } => {
                let aggregate = self.value(aggregate)?;
                let path = self.frame().body.paths.get(path);
                let part = aggregate.at(path).cloned();
                part.ok_or(Halt::Undefined("it takes a part that is not there"))
            }
            InsertValue {
                aggregate,
                value,
                path,
            } => {
                let (aggregate, value) = (self.value(aggregate)?, self.value(value)?);
                let path = self.frame().body.paths.get(path);
                let whole = aggregate.with(path, &value);
                whole.ok_or(Halt::Undefined("it sets a part that is not there"))
            }
            ExtractElement { vector, index } => {
                let (vector, index) = (self.value(vector)?, self.value(index)?);
                let lane = vector.parts().get(index.word() as usize);
                Ok(lane.cloned().unwrap_or(Datum::NOTHING))
            }
            InsertElement {
                vector,
                value,
                index,
            } => {
                let (vector, value) = (self.value(vector)?, self.value(value)?);
                let index = self.value(index)?.word() as u32;
                Ok(vector.with(&[index], &value).unwrap_or(vector))
            }
            Shuffle { left, right, mask } => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let (left, right) = (left.parts(), right.parts());
                let lane = |index: &u32| {
                    let index = *index as usize;
                    let lane = left
                        .get(index)
                        .or_else(|| right.get(index.wrapping_sub(left.len())));
                    lane.cloned().unwrap_or(Datum::NOTHING)
                };
                let mask = self.frame().body.paths.get(mask);
                Ok(Datum::of_parts(mask.iter().map(lane)))
            }
            LandingPad { .. } => Ok(self.exceptions.take_arrival()),
            Opaque { what, .. } => not_modelled(&self.program.texts[what]),
            _ => self.access(instruction),
        }
    }

    fn select(&mut self, condition: Value, then: Value, otherwise: Value) -> Step<Datum> {
        let condition = self.value(condition)?;
        match &condition {
            Datum::Bits(0) => self.value(otherwise),
            Datum::Bits(_) | Datum::Wide(_) => self.value(then),
            Datum::Parts(lanes) => {
                let (then, otherwise) = (self.value(then)?, self.value(otherwise)?);
                let pairs = then.parts().iter().zip(otherwise.parts());
                let chosen =
                    lanes.iter().zip(pairs).map(
                        |(lane, (then, otherwise))| {
                            if lane.bits() != 0 { then } else { otherwise }
                        },
                    );
                Ok(Datum::of_parts(chosen.cloned()))
            }
        }
    }

    fn access(&mut self, instruction: &Instruction) -> Step<Datum> {
        use Operation::*;
        let of = instruction.result;
        match instruction.operation {
            StackSlot {
                allocated,
                count,
                alignment,
            } => {
                let count = self.value(count)?.word();
                let size = self.layouts[allocated].size.saturating_mul(count);
                let address = self.memory.stack.grow(size, alignment.bytes())?;
                Ok(address.into())
            }
            Load { address, .. } => {
                let address = self.value(address)?.word();
                self.load(of, address)
            }
            Store { address, value, .. } => {
                let stored = self.type_of(value);
                let (address, value) = (self.value(address)?.word(), self.value(value)?);
                self.store(stored, address, &value)?;
                Ok(Datum::NOTHING)
            }
            Update {
                operator,
                address,
                value,
                ..
            } => {
                let (address, value) = (self.value(address)?.word(), self.value(value)?);
                let old = self.load(of, address)?;
                let new = self.update(operator, of, &old, &value)?;
                self.store(of, address, &new)?;
                Ok(old)
            }
            CompareExchange {
                address,
                expected,
                desired,
                ..
            } => {
                let stored = self.type_of(desired);
                let address = self.value(address)?.word();
                let (expected, desired) = (self.value(expected)?, self.value(desired)?);
                let old = self.load(stored, address)?;
                let equal = old == expected;
                if equal {
                    self.store(stored, address, &desired)?;
                }
                Ok(Datum::of_parts([old, equal.into()]))
            }
            Fence { .. } => Ok(Datum::NOTHING),
            ElementPointer {
                source,
                base,
                indices,
                ..
            } => self.element_pointer(
                source,
                base,
                self.frames[self.frames.len() - 1].body.values.get(indices),
            ),
            VariableArgument { .. } => not_modelled("va_arg as an instruction"),
            _ => not_modelled("an instruction of another kind"),
        }
    }

    fn element_pointer(
        &mut self,
        source: TypeNumber,
        base: Value,
        indices: &[Value],
    ) -> Step<Datum> {
        let steps = self.program.steps(&self.layouts, source, indices);
        let steps = steps.ok_or(Halt::Undefined("it indexes what has no such part"))?;
        let mut address = self.value(base)?;
        for step in steps {
            let (index, stride) = match step {
                Stride::Constant(bytes) => (Datum::from(bytes.cast_unsigned()), 1),
                Stride::Scaled(index, stride) => {
                    let bits = self.lane_bits(self.type_of(index));
                    let widened = self.value(index)?.map(|value| {
                        Ok::<_, Halt>(u128::from(integer::signed(value, bits) as u64))
                    })?;
                    (widened, stride)
                }
            };
            let add = |address: u128, index: u128| {
                let bytes = (index as u64).wrapping_mul(stride.cast_unsigned());
                u128::from((address as u64).wrapping_add(bytes))
            };
            // Either may be a vector, and the other a scalar for all its lanes.
            address = match (&address, &index) {
                (Datum::Bits(address), Datum::Parts(_)) => {
                    index.map(|index| Ok::<_, Halt>(add(*address, index)))?
                }
                (Datum::Parts(_), Datum::Bits(index)) => {
                    address.map(|address| Ok::<_, Halt>(add(address, *index)))?
                }
                _ => address.zip(&index, |address, index| Ok::<_, Halt>(add(address, index)))?,
            };
        }
        Ok(address)
    }

    /// A binary operation on integers, numbers or vectors of them.
    pub(super) fn binary(
        &self,
        operator: BinaryOperator,
        of: TypeNumber,
        left: &Datum,
        right: &Datum,
    ) -> Step<Datum> {
        let lane = self.lane(of);
        match &self.program.types[lane] {
            Type::Float(kind) => left.zip(right, |left, right| {
                float::binary(operator, *kind, left, right)
            }),
            _ => {
                let bits = self.lane_bits(lane);
                if let (Datum::Wide(left), Datum::Wide(right)) = (left, right) {
                    return Ok(Datum::Wide(left.binary(operator, right)?.into()));
                }
                left.zip(right, |left, right| {
                    integer::binary(operator, bits, left, right)
                })
            }
        }
    }

    fn update(
        &self,
        operator: UpdateOperator,
        of: TypeNumber,
        old: &Datum,
        with: &Datum,
    ) -> Step<Datum> {
        let float = match operator {
            UpdateOperator::FloatAdd => Some(BinaryOperator::FloatAdd),
            UpdateOperator::FloatSubtract => Some(BinaryOperator::FloatSubtract),
            _ => None,
        };
        if let Some(operator) = float {
            return self.binary(operator, of, old, with);
        }
        let bits = self.lane_bits(of);
        match integer::update(operator, bits, old.bits(), with.bits()) {
            Some(new) => Ok(Datum::Bits(new)),
            None => not_modelled(format!("an atomic {operator}")),
        }
    }

    /// The type of a vector's elements; of anything else, itself.
    pub(super) fn lane(&self, of: TypeNumber) -> TypeNumber {
        match self.program.types[of] {
            Type::Vector { element, .. } => element,
            _ => of,
        }
    }

    /// The width of a value, of a vector that of its elements.
    pub(super) fn lane_bits(&self, of: TypeNumber) -> u32 {
        self.layouts[self.lane(of)].bits as u32
    }

    /// The format of a number or of a vector's elements.
    pub(super) fn float_kind(&self, of: TypeNumber) -> Step<FloatKind> {
        match self.program.types[self.lane(of)] {
            Type::Float(kind) => Ok(kind),
            _ => not_modelled(format!("{} as a number", self.program.show_type(of))),
        }
    }
}

/// Converts a value to another type.
pub(super) fn cast(
    machine: &Machine<'_>,
    operator: CastOperator,
    from: TypeNumber,
    to: TypeNumber,
    operand: &Datum,
) -> Step<Datum> {
    use CastOperator::*;
    let (from_bits, to_bits) = (machine.lane_bits(from), machine.lane_bits(to));
    if operator == Bitcast {
        let packed = bits::pack(machine.program, &machine.layouts, from, operand);
        return Ok(bits::unpack(machine.program, &machine.layouts, to, &packed));
    }
    if from_bits > PLAIN as u32 || to_bits > PLAIN as u32 {
        return cast_wide(operator, from_bits, to_bits, operand);
    }
    let mask = ones(to_bits.into());
    match operator {
        Truncate | ZeroExtend | PointerToInteger | PointerToAddress | IntegerToPointer
        | AddressSpace | Bitcast => operand.map(|value| Ok(value & mask)),
        SignExtend => operand.map(|value| {
            let widened = integer::signed(value, from_bits).cast_unsigned();
            Ok(widened & mask)
        }),
        FloatTruncate | FloatExtend => {
            let (from, to) = (machine.float_kind(from)?, machine.float_kind(to)?);
            operand.map(|value| float::convert(from, to, value))
        }
        FloatToUnsigned | FloatToSigned => {
            let kind = machine.float_kind(from)?;
            let is_signed = operator == FloatToSigned;
            operand.map(|value| float::to_integer(kind, value, to_bits, is_signed))
        }
        UnsignedToFloat | SignedToFloat => {
            let kind = machine.float_kind(to)?;
            let is_signed = operator == SignedToFloat;
            operand.map(|value| float::from_integer(kind, value, from_bits, is_signed))
        }
    }
}

/// Converts from or to an integer of more than 128 bits.
fn cast_wide(operator: CastOperator, from: u32, to: u32, operand: &Datum) -> Step<Datum> {
    use CastOperator::*;
    let with_sign = operator == SignExtend;
    let wide = match (operator, operand) {
        (Truncate | ZeroExtend | SignExtend, Datum::Wide(wide)) if to > PLAIN as u32 => {
            wide.resize(to, with_sign)
        }
        (Truncate, Datum::Wide(wide)) => return Ok(Datum::Bits(wide.low() & ones(to.into()))),
        (SignExtend, Datum::Bits(bits)) => Wide::widen(integer::signed(*bits, from), to),
        (ZeroExtend, Datum::Bits(bits)) => {
            Wide::from_words(&[*bits as u64, (bits >> 64) as u64], to)
        }
        _ => return not_modelled(format!("{operator} of {} bits", from.max(to))),
    };
    Ok(Datum::Wide(wide.into()))
}
