//! LLVM's intrinsics.

use super::thread::Thread;
use super::{Step, World, not_modelled};
use crate::datum::Datum;
use crate::event::Action;
use crate::term::{Operator, Scalar};
use bohr_event::MemoryOrder;
use bohr_program::external::{self, ArgumentIndex, Outcome};
use bohr_program::interpret::arithmetic::Number;
use bohr_program::{BinaryOperator, Call, Type, TypeNumber};

impl Thread<'_> {
    /// Calls an intrinsic, named without `llvm.`.
    pub(super) fn intrinsic(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
        call: &Call,
    ) -> Step<Datum> {
        let words: Vec<&str> = name.split('.').collect();
        let result = self.result_type(call);
        match (words.as_slice(), arguments) {
            (["memcpy" | "memmove", ..], [to, from, length, ..]) => {
                let length = self.known(length, "a length")?;
                world.begin(self.seen(2, Some(length)));
                let done = self.copy(world, to.scalar(), from.scalar(), length);
                world.finish();
                done.map(|()| Datum::NOTHING)
            }
            (["memset", ..], [to, byte, length, ..]) => {
                let length = self.known(length, "a length")?;
                world.begin(self.seen(1, Some(length)));
                let done = self.fill(world, to.scalar(), byte.scalar(), length);
                world.finish();
                done.map(|()| Datum::NOTHING)
            }
            (["va_start", ..], [list]) => self.start_variable_arguments(world, list.scalar()),
            (["va_end", ..], _) => Ok(Datum::NOTHING),
            (["va_copy", ..], [to, from]) => {
                self.copy(world, to.scalar(), from.scalar(), 24)?;
                Ok(Datum::NOTHING)
            }
            // Slots are never reused, so there is nothing to give back.
            (["stacksave", ..], _) => Ok(Datum::NOTHING),
            (["stackrestore", ..], _) => Ok(Datum::NOTHING),
            (["trap" | "ubsantrap"], _) => Err(super::Halt::Ended(super::End::Aborted)),
            (["x86", "sse2", "mfence"], _) => {
                let order = MemoryOrder::SequentiallyConsistent;
                world.act(self.moment(order), Action::Fence(order))?;
                Ok(Datum::NOTHING)
            }
            (["threadlocal", ..], [address]) => Ok(address.clone()),
            (["objectsize", ..], [_, minimum, ..]) => {
                let least = minimum.scalar() != Scalar::Known(0);
                Ok(if least { 0u64 } else { u64::MAX }.into())
            }
            (["is", "constant", ..], _) => Ok(0u64.into()),
            ([operation, "with", "overflow", ..], [left, right]) => {
                self.overflowing(world, operation, [left, right], result)
            }
            (["vector", "reduce", operation, ..], [.., vector]) => {
                self.reduce(world, operation, vector, arguments, result)
            }
            _ => self.function(world, name, arguments, call, result),
        }
    }

    fn result_type(&self, call: &Call) -> TypeNumber {
        match self.code.program.types[call.signature] {
            Type::Function { result, .. } => result,
            _ => call.signature,
        }
    }

    /// The number that a value has to be.
    pub(super) fn known(&self, value: &Datum, what: &str) -> Step<u64> {
        match value.scalar() {
            Scalar::Known(value) => Ok(value as u64),
            Scalar::Term(_) => not_modelled(format!("{what} that depends on what others wrote")),
        }
    }

    fn overflowing(
        &mut self,
        world: &mut dyn World,
        operation: &str,
        [left, right]: [&Datum; 2],
        result: TypeNumber,
    ) -> Step<Datum> {
        let Type::Struct { fields, .. } = &self.code.program.types[result] else {
            return not_modelled("an overflow without its result");
        };
        let bits = self.code.number(fields[0]).bits();
        let operands = [left.clone(), right.clone()];
        let mut both = |operator: Operator| {
            Datum::lanes(&operands, |lanes| {
                Ok::<_, super::Halt>(world.terms().compute(operator.clone(), lanes)?)
            })
        };
        let value = both(Operator::Wrapped(operation.into(), bits))?;
        let overflows = both(Operator::Overflows(operation.into(), bits))?;
        Ok(Datum::of_parts([value, overflows]))
    }

    fn reduce(
        &mut self,
        world: &mut dyn World,
        operation: &str,
        vector: &Datum,
        arguments: &[Datum],
        result: TypeNumber,
    ) -> Step<Datum> {
        use BinaryOperator::*;
        let of = self.code.number(result);
        let operator = match operation {
            "add" => Operator::Binary(Add, of),
            "mul" => Operator::Binary(Multiply, of),
            "and" => Operator::Binary(And, of),
            "or" => Operator::Binary(Or, of),
            "xor" => Operator::Binary(ExclusiveOr, of),
            "fadd" => Operator::Binary(FloatAdd, of),
            "fmul" => Operator::Binary(FloatMultiply, of),
            "smax" | "smin" | "umax" | "umin" => {
                Operator::Function(operation.into(), of, of.bits())
            }
            other => return not_modelled(format!("llvm.vector.reduce.{other}")),
        };
        let start = (arguments.len() > 1).then(|| arguments[0].scalar());
        let mut lanes = start
            .into_iter()
            .chain(vector.parts().iter().map(Datum::scalar));
        let first = lanes.next().unwrap_or(Scalar::Known(0));
        let folded = lanes.try_fold(first, |sum, lane| {
            Ok::<_, super::Halt>(world.terms().compute(operator.clone(), &[sum, lane])?)
        })?;
        Ok(folded.into())
    }

    /// One that computes scalars from scalars, or only annotates.
    fn function(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
        call: &Call,
        result: TypeNumber,
    ) -> Step<Datum> {
        let known = external::find(&format!("llvm.{name}")).filter(|known| known.is_pure());
        match known.map(|known| known.result) {
            Some(Outcome::Argument(ArgumentIndex(index))) if !name.starts_with("ptrmask") => {
                return Ok(arguments[usize::from(index)].clone());
            }
            Some(_) if self.code.program.types[result] == Type::Void => return Ok(Datum::NOTHING),
            _ => {}
        }
        let body = self.frame().body;
        let source = match body.arguments(call).first() {
            Some(first) => self.code.number(self.type_of(*first)),
            None => Number::Integer(64),
        };
        let of = self.code.number(result);
        // What a term is made of must be something that can be computed.
        let probe = vec![0; arguments.len()];
        let operator = Operator::Function(name.into(), of, source.bits());
        if operator.apply(&probe).is_err() {
            return not_modelled(format!("llvm.{name}"));
        }
        Datum::lanes(arguments, |lanes| {
            Ok(world.terms().compute(operator.clone(), lanes)?)
        })
    }

    /// Fills in a `va_list`: no registers left, the rest on the stack.
    fn start_variable_arguments(&mut self, world: &mut dyn World, list: Scalar) -> Step<Datum> {
        let area = self.frame().variable_arguments;
        for (offset, size, value) in [(0, 4, 48), (4, 4, 176), (8, 8, area), (16, 8, 0)] {
            let at = super::access::plus(world, list, offset)?;
            world.store(at, size, value.into())?;
        }
        Ok(Datum::NOTHING)
    }
}
