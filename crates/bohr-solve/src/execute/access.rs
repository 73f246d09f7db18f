//! Values in and out of memory.

use super::thread::Thread;
use super::{Moment, Step, World, not_modelled};
use crate::datum::Datum;
use crate::event::{Action, Buffered};
use crate::term::{Operator, Scalar};
use bohr_event::MemoryOrder;
use bohr_program::{Instruction, IntegerPredicate, Operation, Type, TypeNumber};

/// Bytes that are moved in one piece.
const WIDEST: u64 = 16;

impl Thread<'_> {
    pub(super) fn moment(&self, order: MemoryOrder) -> Moment {
        Moment {
            thread: self.number,
            spot: self.spot(),
            order,
            counts: 0,
            buffer: Buffered::Past,
        }
    }

    /// The same of a function of the library that the runtime sees so many operations
    /// of, if it touches anything.
    pub(super) fn seen(&self, operations: u32, length: Option<u64>) -> Moment {
        Moment {
            counts: if length == Some(0) { 0 } else { operations },
            ..self.moment(MemoryOrder::Plain)
        }
    }

    /// The same of an instruction that accesses memory.
    fn operation(&self, order: MemoryOrder, buffer: Buffered) -> Moment {
        Moment {
            counts: 1,
            buffer,
            ..self.moment(order)
        }
    }

    pub(super) fn access(
        &mut self,
        world: &mut dyn World,
        instruction: &Instruction,
    ) -> Step<Datum> {
        use Operation::*;
        match instruction.operation {
            StackSlot {
                allocated,
                count,
                alignment,
            } => {
                let Scalar::Known(count) = self.value(count)?.scalar() else {
                    return not_modelled("a stack slot of unknown size");
                };
                let size = self.code.layouts[allocated]
                    .size
                    .saturating_mul(count as u64);
                let address = self.stack.take(size, alignment.bytes());
                world.add(address, size)?;
                Ok(address.into())
            }
            Fence { access } => {
                let moment = self.moment(access.order);
                world.act(moment, Action::Fence(access.order))?;
                Ok(Datum::NOTHING)
            }
            Load { access, .. }
            | Store { access, .. }
            | Update { access, .. }
            | CompareExchange { access, .. } => {
                let buffer = match instruction.operation {
                    Load { .. } => Buffered::Past,
                    Store { .. } if access.order != MemoryOrder::SequentiallyConsistent => {
                        Buffered::Waits
                    }
                    _ => Buffered::Empty,
                };
                world.begin(self.operation(access.order, buffer));
                let result = self.touch(world, instruction);
                world.finish();
                result
            }
            VariableArgument { .. } => not_modelled("va_arg as an instruction"),
            _ => not_modelled("an instruction of another kind"),
        }
    }

    fn touch(&mut self, world: &mut dyn World, instruction: &Instruction) -> Step<Datum> {
        use Operation::*;
        let of = instruction.result;
        match instruction.operation {
            Load { address, .. } => {
                let address = self.value(address)?.scalar();
                self.load(world, of, address)
            }
            Store { address, value, .. } => {
                let stored = self.type_of(value);
                let (address, value) = (self.value(address)?.scalar(), self.value(value)?);
                self.store(world, stored, address, &value)?;
                Ok(Datum::NOTHING)
            }
            Update {
                operator,
                address,
                value,
                ..
            } => {
                let (address, value) = (self.value(address)?.scalar(), self.value(value)?);
                let old = self.load(world, of, address)?;
                let update = Operator::Update(operator, self.code.number(of));
                let new = world
                    .terms()
                    .compute(update, &[old.scalar(), value.scalar()])?;
                self.store(world, of, address, &new.into())?;
                Ok(old)
            }
            CompareExchange {
                address,
                expected,
                desired,
                ..
            } => {
                let stored = self.type_of(desired);
                let address = self.value(address)?.scalar();
                let (expected, desired) = (self.value(expected)?, self.value(desired)?);
                let old = self.load(world, stored, address)?.scalar();
                let bits = self.code.number(stored).bits();
                let equal = Operator::CompareIntegers(IntegerPredicate::Equal, bits);
                let equal = world.terms().compute(equal, &[old, expected.scalar()])?;
                // One that fails writes what it found, which nobody can tell from nothing.
                let new = world
                    .terms()
                    .compute(Operator::Select, &[equal, desired.scalar(), old])?;
                if equal != Scalar::Known(0) {
                    self.store(world, stored, address, &new.into())?;
                }
                Ok(Datum::of_parts([old.into(), equal.into()]))
            }
            _ => not_modelled("an access of another kind"),
        }
    }

    /// Reads a value of a type.
    pub(super) fn load(
        &mut self,
        world: &mut dyn World,
        of: TypeNumber,
        address: Scalar,
    ) -> Step<Datum> {
        let layout = &self.code.layouts[of];
        match &self.code.program.types[of] {
            Type::Integer(_) | Type::Float(_) | Type::Pointer(_) => {
                if layout.stored() > WIDEST {
                    return not_modelled("integers of more than 128 bits");
                }
                let bits = layout.bits as u32;
                let value = world.load(address, layout.stored() as u32)?;
                match bits % 8 {
                    0 => Ok(value.into()),
                    _ => Ok(world
                        .terms()
                        .compute(Operator::Slice { shift: 0, bits }, &[value])?
                        .into()),
                }
            }
            _ => {
                let mut parts = Vec::new();
                for (element, offset) in self.elements(of)? {
                    let at = plus(world, address, offset)?;
                    parts.push(self.load(world, element, at)?);
                }
                Ok(Datum::of_parts(parts))
            }
        }
    }

    /// Writes a value of a type.
    pub(super) fn store(
        &mut self,
        world: &mut dyn World,
        of: TypeNumber,
        address: Scalar,
        datum: &Datum,
    ) -> Step<()> {
        let layout = &self.code.layouts[of];
        match &self.code.program.types[of] {
            Type::Integer(_) | Type::Float(_) | Type::Pointer(_) => {
                if layout.stored() > WIDEST {
                    return not_modelled("integers of more than 128 bits");
                }
                world.store(address, layout.stored() as u32, datum.scalar())
            }
            _ => {
                for (index, (element, offset)) in self.elements(of)?.into_iter().enumerate() {
                    let part = datum.parts().get(index).unwrap_or(&Datum::NOTHING);
                    let at = plus(world, address, offset)?;
                    self.store(world, element, at, part)?;
                }
                Ok(())
            }
        }
    }

    /// The parts of a vector or aggregate, with their offsets.
    fn elements(&self, of: TypeNumber) -> Step<Vec<(TypeNumber, u64)>> {
        let layouts = &self.code.layouts;
        Ok(match &self.code.program.types[of] {
            Type::Array { element, count } => {
                let stride = layouts[*element].size;
                (0..*count)
                    .map(|index| (*element, index * stride))
                    .collect()
            }
            Type::Vector { element, count, .. } if layouts[*element].bits.is_multiple_of(8) => {
                let stride = layouts[*element].stored();
                (0..u64::from(*count))
                    .map(|index| (*element, index * stride))
                    .collect()
            }
            Type::Struct { fields, .. } => {
                let offsets = layouts[of].offsets.iter().copied();
                fields.iter().copied().zip(offsets).collect()
            }
            _ => {
                let shown = self.code.program.show_type(of);
                return not_modelled(format!("{shown} in memory"));
            }
        })
    }

    /// Copies bytes that may overlap.
    pub(super) fn copy(
        &mut self,
        world: &mut dyn World,
        to: Scalar,
        from: Scalar,
        length: u64,
    ) -> Step<()> {
        let pieces: Vec<(u64, u32)> = pieces(length).collect();
        let mut values = Vec::with_capacity(pieces.len());
        for (offset, size) in &pieces {
            let at = plus(world, from, *offset)?;
            values.push(world.load(at, *size)?);
        }
        for ((offset, size), value) in pieces.into_iter().zip(values) {
            let at = plus(world, to, offset)?;
            world.store(at, size, value)?;
        }
        Ok(())
    }

    /// Sets bytes.
    pub(super) fn fill(
        &mut self,
        world: &mut dyn World,
        to: Scalar,
        byte: Scalar,
        length: u64,
    ) -> Step<()> {
        let Scalar::Known(byte) = byte else {
            return not_modelled("memory that is filled with an unknown byte");
        };
        for (offset, size) in pieces(length) {
            let value = (0..size).fold(0, |value, _| value << 8 | byte & 0xff);
            let at = plus(world, to, offset)?;
            world.store(at, size, Scalar::Known(value))?;
        }
        Ok(())
    }
}

/// So many bytes in pieces of at most eight.
fn pieces(length: u64) -> impl Iterator<Item = (u64, u32)> {
    (0..length)
        .step_by(8)
        .map(move |offset| (offset, (length - offset).min(8) as u32))
}

/// An address so many bytes on.
pub(super) fn plus(world: &mut dyn World, address: Scalar, offset: u64) -> Step<Scalar> {
    if offset == 0 {
        return Ok(address);
    }
    let add = Operator::Binary(
        bohr_program::BinaryOperator::Add,
        bohr_program::interpret::arithmetic::Number::Integer(64),
    );
    Ok(world.terms().compute(add, &[address, offset.into()])?)
}
