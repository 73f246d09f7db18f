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
        Datum::lanes(arguments, |lanes| float_function(words, kind, lanes))
    }
}

/// What an intrinsic on numbers of a kind gives, one lane of it; `None` if it is
/// none of these.
pub(in crate::interpret) fn float_function(
    words: &[&str],
    kind: FloatKind,
    arguments: &[u128],
) -> Step<Option<u128>> {
    let sign = 1 << (kind.bits() - 1);
    let result = match (words, arguments) {
        (["fabs", ..], &[number]) => number & !sign,
        (["copysign", ..], &[number, other]) => number & !sign | other & sign,
        (["fma" | "fmuladd", ..], &[left, right, addend]) => {
            multiply_add(kind, left, right, addend)?
        }
        ([function, ..], &[number]) => match host_function(function) {
            Some(host) => apply(kind, number, host)?,
            None => return Ok(None),
        },
        (["powi", ..], &[number, power]) => {
            apply(kind, number, |number| number.powi(power as i32))?
        }
        (["ldexp", ..], &[number, power]) => {
            apply(kind, number, |number| number * 2f64.powi(power as i32))?
        }
        ([function, ..], &[left, right]) => match host_function_of_two(function) {
            Some(host) => {
                let (right, _) = float::as_double(kind, right)?;
                apply(kind, left, |left| host(left, right))?
            }
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(result))
}

fn multiply_add(kind: FloatKind, left: u128, right: u128, addend: u128) -> Step<u128> {
    match kind {
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
