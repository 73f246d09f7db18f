//! Instructions that only compute.

use super::thread::Thread;
use super::{Halt, Step, World, not_modelled};
use crate::datum::Datum;
use crate::term::{Operator, Scalar};
use bohr_program::interpret::arithmetic::Number;
use bohr_program::{
    BinaryOperator, CastOperator, Instruction, Operation, Step as Stride, Type, TypeNumber, Value,
};

const WORD: Number = Number::Integer(64);

impl Thread<'_> {
    pub(super) fn compute(
        &mut self,
        world: &mut dyn World,
        instruction: &Instruction,
    ) -> Step<Datum> {
        use Operation::*;
        let of = instruction.result;
        let result = self.code.number(of);
        match instruction.operation {
            Binary {
                operator,
                left,
                right,
                ..
            } => self.apply(world, Operator::Binary(operator, result), &[left, right]),
            Negate { operand, .. } => match result {
                Number::Float(kind) => self.apply(world, Operator::Negate(kind), &[operand]),
                Number::Integer(_) => not_modelled("a negated integer"),
            },
            CompareIntegers {
                predicate,
                left,
                right,
                ..
            } => {
                let bits = self.code.number(self.type_of(left)).bits();
                self.apply(
                    world,
                    Operator::CompareIntegers(predicate, bits),
                    &[left, right],
                )
            }
            CompareFloats {
                predicate,
                left,
                right,
                ..
            } => match self.code.number(self.type_of(left)) {
                Number::Float(kind) => self.apply(
                    world,
                    Operator::CompareFloats(predicate, kind),
                    &[left, right],
                ),
                Number::Integer(_) => not_modelled("integers compared as numbers"),
            },
            Cast {
                operator, operand, ..
            } => self.cast(world, operator, operand, of),
            Select {
                condition,
                then,
                otherwise,
                ..
            } => {
                let condition = self.value(condition)?;
                let (then, otherwise) = (self.value(then)?, self.value(otherwise)?);
                select(world, &condition, &then, &otherwise)
            }
            Freeze { operand } => self.value(operand),
            ElementPointer {
                source,
                base,
                indices,
                ..
            } => {
                let indices = self.frame().body.values.get(indices).to_vec();
                self.element_pointer(world, source, base, &indices)
            }
            ExtractValue { .. }
            | InsertValue { .. }
            | ExtractElement { .. }
            | InsertElement { .. }
            | Shuffle { .. } => self.part(&instruction.operation),
            Phi { .. } => Err(Halt::OffPath(
                "a block is entered behind its beginning".into(),
            )),
            LandingPad { .. } => not_modelled("an exception"),
            Opaque { what, .. } => not_modelled(&self.code.program.texts[what]),
            _ => self.access(world, instruction),
        }
    }

    /// Computes lane by lane.
    fn apply(
        &mut self,
        world: &mut dyn World,
        operator: Operator,
        operands: &[Value],
    ) -> Step<Datum> {
        let widest = operands
            .iter()
            .map(|value| self.code.number(self.type_of(*value)).bits());
        if widest.max().unwrap_or(0) > 128 {
            return not_modelled("integers of more than 128 bits");
        }
        let operands = operands.iter().map(|value| self.value(*value));
        let operands = operands.collect::<Step<Vec<_>>>()?;
        Datum::lanes(&operands, |lanes| {
            Ok(world.terms().compute(operator.clone(), lanes)?)
        })
    }

    fn cast(
        &mut self,
        world: &mut dyn World,
        operator: CastOperator,
        operand: Value,
        to: TypeNumber,
    ) -> Step<Datum> {
        let from = self.type_of(operand);
        let types = &self.code.program.types;
        let is_vector = |of: TypeNumber| matches!(types[of], Type::Vector { .. });
        let numbers = (self.code.number(from), self.code.number(to));
        if operator == CastOperator::Bitcast && (is_vector(from) || is_vector(to)) {
            let bits = self.pack(world, from, operand)?;
            return self.unpack(world, to, bits);
        }
        if numbers.0.bits().max(numbers.1.bits()) > 128 {
            return not_modelled("integers of more than 128 bits");
        }
        if numbers.0.bits() == numbers.1.bits() && is_plain(operator) {
            return self.value(operand);
        }
        self.apply(
            world,
            Operator::Cast(operator, numbers.0, numbers.1),
            &[operand],
        )
    }

    /// A vector or scalar of up to 128 bits as one scalar.
    fn pack(&mut self, world: &mut dyn World, of: TypeNumber, value: Value) -> Step<Scalar> {
        let value = self.value(value)?;
        let Datum::Parts(parts) = &value else {
            return Ok(value.scalar());
        };
        let width = self.code.number(of).bits();
        if width as usize * parts.len() > 128 {
            return not_modelled("a vector of more than 128 bits as another type");
        }
        let mut joined = Scalar::Known(0);
        for part in parts.iter().rev() {
            joined = world
                .terms()
                .compute(Operator::Join(width), &[part.scalar(), joined])?;
        }
        Ok(joined)
    }

    fn unpack(&mut self, world: &mut dyn World, of: TypeNumber, bits: Scalar) -> Step<Datum> {
        let Type::Vector { count, .. } = self.code.program.types[of] else {
            return Ok(bits.into());
        };
        let width = self.code.number(of).bits();
        let lane = |index: u32| {
            let shift = index * width;
            let lane = world
                .terms()
                .compute(Operator::Slice { shift, bits: width }, &[bits])?;
            Ok(Datum::Scalar(lane))
        };
        Ok(Datum::Parts((0..count).map(lane).collect::<Step<_>>()?))
    }

    fn element_pointer(
        &mut self,
        world: &mut dyn World,
        source: TypeNumber,
        base: Value,
        indices: &[Value],
    ) -> Step<Datum> {
        let steps = self.code.program.steps(&self.code.layouts, source, indices);
        let steps =
            steps.ok_or_else(|| Halt::Undefined("it indexes what has no such part".into()))?;
        let mut address = self.value(base)?;
        for step in steps {
            let offset: Datum = match step {
                Stride::Constant(0) => continue,
                Stride::Constant(bytes) => bytes.cast_unsigned().into(),
                Stride::Scaled(index, stride) => {
                    let from = self.code.number(self.type_of(index));
                    let index = self.value(index)?;
                    let times = Scalar::from(stride.cast_unsigned());
                    Datum::lanes(&[index], |lanes| scaled(world, from, lanes[0], times))?
                }
            };
            let add = Operator::Binary(BinaryOperator::Add, WORD);
            address = Datum::lanes(&[address, offset], |lanes| {
                Ok::<_, Halt>(world.terms().compute(add.clone(), lanes)?)
            })?;
        }
        Ok(address)
    }

    /// Takes a part out, or puts one in.
    fn part(&mut self, operation: &Operation) -> Step<Datum> {
        use Operation::*;
        let undefined = |what: &str| Halt::Undefined(what.into());
        match *operation {
            ExtractValue { aggregate, path } => {
                let aggregate = self.value(aggregate)?;
                let part = aggregate.at(self.frame().body.paths.get(path)).cloned();
                part.ok_or(undefined("it takes a part that is not there"))
            }
            InsertValue {
                aggregate,
                value,
                path,
            } => {
                let (aggregate, value) = (self.value(aggregate)?, self.value(value)?);
                let whole = aggregate.with(self.frame().body.paths.get(path), &value);
                whole.ok_or(undefined("it sets a part that is not there"))
            }
            ExtractElement { vector, index } => {
                let (vector, index) = (self.value(vector)?, self.index(index)?);
                Ok(vector
                    .parts()
                    .get(index as usize)
                    .cloned()
                    .unwrap_or(Datum::NOTHING))
            }
            InsertElement {
                vector,
                value,
                index,
            } => {
                let (vector, value) = (self.value(vector)?, self.value(value)?);
                let index = self.index(index)?;
                Ok(vector.with(&[index], &value).unwrap_or(vector))
            }
            Shuffle { left, right, mask } => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let all: Vec<&Datum> = left.parts().iter().chain(right.parts()).collect();
                let lane = |index: &u32| {
                    all.get(*index as usize)
                        .map_or(Datum::NOTHING, |lane| (*lane).clone())
                };
                let mask = self.frame().body.paths.get(mask);
                Ok(Datum::of_parts(mask.iter().map(lane)))
            }
            _ => not_modelled("a part of another kind"),
        }
    }

    fn index(&self, value: Value) -> Step<u32> {
        match self.value(value)?.scalar() {
            Scalar::Known(index) => Ok(index as u32),
            Scalar::Term(_) => not_modelled("a vector element with an unknown index"),
        }
    }
}

/// A signed index times a stride, as 64 bits.
fn scaled(world: &mut dyn World, from: Number, index: Scalar, times: Scalar) -> Step<Scalar> {
    let wide = match from.bits() {
        64 => index,
        bits if bits < 64 => {
            let widen = Operator::Cast(CastOperator::SignExtend, from, WORD);
            world.terms().compute(widen, &[index])?
        }
        _ => world
            .terms()
            .compute(Operator::Slice { shift: 0, bits: 64 }, &[index])?,
    };
    match times {
        Scalar::Known(1) => Ok(wide),
        _ => {
            let multiply = Operator::Binary(BinaryOperator::Multiply, WORD);
            Ok(world.terms().compute(multiply, &[wide, times])?)
        }
    }
}

/// Whether a conversion between equal widths changes nothing.
fn is_plain(operator: CastOperator) -> bool {
    use CastOperator::*;
    matches!(
        operator,
        Truncate
            | ZeroExtend
            | SignExtend
            | PointerToInteger
            | PointerToAddress
            | IntegerToPointer
            | AddressSpace
            | Bitcast
    )
}

/// One of two values, part by part.
pub(super) fn select(
    world: &mut dyn World,
    condition: &Datum,
    then: &Datum,
    otherwise: &Datum,
) -> Step<Datum> {
    if let Datum::Scalar(Scalar::Known(condition)) = condition {
        return Ok(if *condition != 0 { then } else { otherwise }.clone());
    }
    match (then, otherwise) {
        (Datum::Scalar(then), Datum::Scalar(otherwise)) => {
            let operands = [condition.scalar(), *then, *otherwise];
            Ok(world.terms().compute(Operator::Select, &operands)?.into())
        }
        _ => {
            let pairs = then.parts().iter().zip(otherwise.parts()).enumerate();
            let parts = pairs.map(|(index, (then, otherwise))| {
                let condition = condition.parts().get(index).unwrap_or(condition);
                select(world, condition, then, otherwise)
            });
            Ok(Datum::Parts(parts.collect::<Step<_>>()?))
        }
    }
}
