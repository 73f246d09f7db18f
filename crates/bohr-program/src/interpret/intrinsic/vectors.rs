//! Intrinsics on vectors: reductions and masked accesses.

use crate::function::Call;
use crate::ids::TypeNumber;
use crate::interpret::datum::Datum;
use crate::interpret::machine::Machine;
use crate::interpret::{Step, not_modelled};
use crate::operator::BinaryOperator;
use crate::types::Type;

impl Machine<'_> {
    /// Folds the lanes of a vector.
    pub(super) fn reduce(&self, operation: &str, call: &Call, arguments: &[Datum]) -> Step<Datum> {
        use BinaryOperator::*;
        let lane = self.result_type(call);
        let operator = match operation {
            "add" => Add,
            "mul" => Multiply,
            "and" => And,
            "or" => Or,
            "xor" => ExclusiveOr,
            "fadd" => FloatAdd,
            "fmul" => FloatMultiply,
            "smax" | "smin" | "umax" | "umin" => {
                let words = [operation, "lane"];
                let lanes = arguments[0].parts().iter().cloned().map(Ok);
                return lanes
                    .reduce(|left, right| {
                        let found = self.on_integers(&words, &[left?, right?], lane)?;
                        Ok(found.unwrap_or(Datum::NOTHING))
                    })
                    .unwrap_or(Ok(Datum::NOTHING));
            }
            other => return not_modelled(format!("llvm.vector.reduce.{other}")),
        };
        let (start, vector) = match arguments {
            [start, vector] => (Some(start.clone()), vector),
            [vector] => (None, vector),
            _ => return not_modelled("a reduction of nothing"),
        };
        let mut lanes = start.into_iter().chain(vector.parts().iter().cloned());
        let first = lanes.next().unwrap_or(Datum::NOTHING);
        lanes.try_fold(first, |sum, lane_value| {
            self.binary(operator, lane, &sum, &lane_value)
        })
    }

    pub(super) fn masked_load(
        &self,
        of: TypeNumber,
        address: u64,
        mask: &Datum,
        otherwise: &Datum,
    ) -> Step<Datum> {
        let element = self.lane(of);
        let stride = self.layouts[element].size;
        let lanes = (0..).zip(mask.parts()).zip(otherwise.parts());
        let lanes = lanes.map(|((index, mask), otherwise)| match mask.bits() {
            0 => Ok(otherwise.clone()),
            _ => self.load(element, address + index * stride),
        });
        Ok(Datum::Parts(lanes.collect::<Step<_>>()?))
    }

    pub(super) fn masked_store(
        &mut self,
        call: &Call,
        value: &Datum,
        address: u64,
        mask: &Datum,
    ) -> Step<Datum> {
        let Type::Function { parameters, .. } = &self.program.types[call.signature] else {
            return not_modelled("a masked store without a type");
        };
        let element = self.lane(parameters[0]);
        let stride = self.layouts[element].size;
        for ((index, mask), lane) in (0..).zip(mask.parts()).zip(value.parts()) {
            if mask.bits() != 0 {
                self.store(element, address + index * stride, lane)?;
            }
        }
        Ok(Datum::NOTHING)
    }
}
