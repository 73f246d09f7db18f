//! Instructions that work lane by lane, and those that take vectors and
//! aggregates apart.

use super::arithmetic::Number;
use super::datum::Datum;
use super::machine::Machine;
use super::{Halt, Step, float, integer, not_modelled};
use crate::ids::TypeNumber;
use crate::instruction::{Operation, Value};
use crate::operator::BinaryOperator;
use crate::types::{FloatKind, Type};

impl Machine<'_> {
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

    /// A comparison of integers, numbers or vectors of them.
    pub(super) fn compare(
        &mut self,
        operation: &Operation,
        left: Value,
        right: Value,
    ) -> Step<Datum> {
        let of = self.type_of(left);
        let (left, right) = (self.value(left)?, self.value(right)?);
        match *operation {
            Operation::CompareIntegers { predicate, .. } => {
                let bits = self.lane_bits(of);
                if let (Datum::Wide(left), Datum::Wide(right)) = (&left, &right) {
                    return Ok(left.compare(predicate, right).into());
                }
                left.zip(&right, |left, right| {
                    Ok(integer::compare(predicate, bits, left, right).into())
                })
            }
            Operation::CompareFloats { predicate, .. } => {
                let kind = self.float_kind(of)?;
                left.zip(&right, |left, right| {
                    let order = float::order(kind, left, right)?;
                    Ok(float::compare(predicate, order).into())
                })
            }
            _ => not_modelled("a comparison of another kind"),
        }
    }

    pub(super) fn select(
        &mut self,
        condition: Value,
        then: Value,
        otherwise: Value,
    ) -> Step<Datum> {
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

    /// Takes a part out, or puts one in.
    pub(super) fn part(&mut self, operation: &Operation) -> Step<Datum> {
        use Operation::*;
        match *operation {
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
            _ => not_modelled("a part of another kind"),
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

    /// What a value, or an element of a vector, is to arithmetic.
    pub(super) fn number(&self, of: TypeNumber) -> Number {
        match self.program.types[self.lane(of)] {
            Type::Float(kind) => Number::Float(kind),
            _ => Number::Integer(self.lane_bits(of)),
        }
    }

    /// The format of a number or of a vector's elements.
    pub(super) fn float_kind(&self, of: TypeNumber) -> Step<FloatKind> {
        match self.program.types[self.lane(of)] {
            Type::Float(kind) => Ok(kind),
            _ => not_modelled(format!("{} as a number", self.program.show_type(of))),
        }
    }
}
