//! Intrinsics on floating-point numbers.

use crate::ids::TypeNumber;
use crate::interpret::datum::Datum;
use crate::interpret::machine::Machine;
use crate::interpret::{Step, float, not_modelled};
use crate::types::{FloatKind, Type};

impl Machine<'_> {
    pub(super) fn on_floats(
        &self,
        words: &[&str],
        arguments: &[Datum],
        result: TypeNumber,
    ) -> Step<Option<Datum>> {
        if let ["fptosi" | "fptoui", "sat", ..] = words {
            let frame = self.frames.last().expect("a function is executing");
            let call = frame
                .body
                .call_at(self.current())
                .expect("a call is executing");
            let kind = self.float_kind(self.type_of(frame.body.arguments(call)[0]))?;
            let bits = self.lane_bits(result);
            let is_signed = words[0] == "fptosi";
            return arguments[0]
                .map(|value| float::to_integer(kind, value, bits, is_signed))
                .map(Some);
        }
        let Type::Float(kind) = self.program.types[self.lane(result)] else {
            return Ok(None);
        };
        let sign = 1 << (kind.bits() - 1);
        match (words, arguments) {
            (["fabs", ..], [number]) => number.map(|bits| Ok(bits & !sign)).map(Some),
            (["copysign", ..], [number, other]) => number
                .zip(other, |bits, other| Ok(bits & !sign | other & sign))
                .map(Some),
            (["fma" | "fmuladd", ..], [left, right, addend]) => {
                self.multiply_add(kind, left, right, addend).map(Some)
            }
            ([function, ..], [number]) => match host_function(function) {
                Some(host) => number.map(|bits| apply(kind, bits, host)).map(Some),
                None => Ok(None),
            },
            (["powi" | "ldexp", ..], [number, power]) => {
                let power = power.int();
                let host = |number: f64| match words[0] {
                    "powi" => number.powi(power),
                    _ => number * 2f64.powi(power),
                };
                number.map(|bits| apply(kind, bits, host)).map(Some)
            }
            ([function, ..], [left, right]) => match host_function_of_two(function) {
                Some(host) => left
                    .zip(right, |left, right| {
                        let (right, _) = float::as_double(kind, right)?;
                        apply(kind, left, |left| host(left, right))
                    })
                    .map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn multiply_add(
        &self,
        kind: FloatKind,
        left: &Datum,
        right: &Datum,
        addend: &Datum,
    ) -> Step<Datum> {
        let lane = |left: u128, right: u128, addend: u128| match kind {
            FloatKind::Single => {
                let [left, right, addend] =
                    [left, right, addend].map(|bits| f32::from_bits(bits as u32));
                Ok(left.mul_add(right, addend).to_bits().into())
            }
            FloatKind::Double => {
                let [left, right, addend] =
                    [left, right, addend].map(|bits| f64::from_bits(bits as u64));
                Ok(left.mul_add(right, addend).to_bits().into())
            }
            _ => not_modelled(format!("a fused multiplication of {kind:?}")),
        };
        match addend {
            Datum::Bits(_) | Datum::Wide(_) => {
                let result = lane(left.bits(), right.bits(), addend.bits())?;
                Ok(Datum::Bits(result))
            }
            Datum::Parts(addends) => {
                let lanes = left.parts().iter().zip(right.parts()).zip(addends.iter());
                let lanes = lanes.map(|((left, right), addend)| {
                    Ok(Datum::Bits(lane(left.bits(), right.bits(), addend.bits())?))
                });
                Ok(Datum::Parts(lanes.collect::<Step<_>>()?))
            }
        }
    }
}

/// A function of doubles, applied in any format that a double holds.
fn apply(kind: FloatKind, bits: u128, host: impl Fn(f64) -> f64) -> Step<u128> {
    let (number, exact) = float::as_double(kind, bits)?;
    if !exact && !number.is_nan() {
        return not_modelled(format!("a function of {kind:?} numbers"));
    }
    float::of_double(kind, host(number))
}

/// Functions whose results a double rounds as each format would.
fn host_function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "sqrt" => f64::sqrt,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "trunc" => f64::trunc,
        "round" => f64::round,
        "roundeven" | "rint" | "nearbyint" => f64::round_ties_even,
        _ => return None,
    })
}

fn host_function_of_two(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        "minnum" | "minimumnum" => f64::min,
        "maxnum" | "maximumnum" => f64::max,
        _ => return None,
    })
}
