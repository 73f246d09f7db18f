//! Instructions that touch memory, and those that compute where.

use super::datum::Datum;
use super::machine::Machine;
use super::{Halt, Step, integer, not_modelled};
use crate::address::Step as Stride;
use crate::ids::TypeNumber;
use crate::instruction::{Instruction, Operation, Value};
use crate::operator::{BinaryOperator, UpdateOperator};

impl Machine<'_> {
    pub(super) fn access(&mut self, instruction: &Instruction) -> Step<Datum> {
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
}
