//! Intrinsics on integers.

use crate::ids::TypeNumber;
use crate::interpret::datum::Datum;
use crate::interpret::encode::ones;
use crate::interpret::integer::{self, signed};
use crate::interpret::machine::Machine;
use crate::interpret::{Step, not_modelled};
use crate::operator::IntegerPredicate;
use crate::types::Type;

impl Machine<'_> {
    /// `sadd.with.overflow` and its like: the result, and whether it is wrong.
    pub(super) fn overflowing(
        &self,
        words: &[&str],
        arguments: &[Datum],
        result: TypeNumber,
    ) -> Step<Option<Datum>> {
        let ([operation, "with", "overflow", ..], [left, right]) = (words, arguments) else {
            return Ok(None);
        };
        let Type::Struct { fields, .. } = &self.program.types[result] else {
            return Ok(None);
        };
        let bits = self.lane_bits(fields[0]);
        let mut overflows = Vec::new();
        let value = left.zip(right, |left, right| {
            let (value, overflow) = overflow(operation, bits, left, right)?;
            overflows.push(Datum::from(overflow));
            Ok(value)
        })?;
        let overflow = match left {
            Datum::Parts(_) => Datum::of_parts(overflows),
            _ => overflows.remove(0),
        };
        Ok(Some(Datum::of_parts([value, overflow])))
    }

    pub(super) fn on_integers(
        &self,
        words: &[&str],
        arguments: &[Datum],
        result: TypeNumber,
    ) -> Step<Option<Datum>> {
        let bits = self.lane_bits(result);
        let mask = ones(bits.into());
        let pick = |predicate, left, right| {
            if integer::compare(predicate, bits, left, right) {
                left
            } else {
                right
            }
        };
        use IntegerPredicate::*;
        let choose = |predicate| {
            arguments[0].zip(&arguments[1], |left, right| {
                Ok(pick(predicate, left, right))
            })
        };
        let each =
            |change: &dyn Fn(u128) -> u128| arguments[0].map(|value| Ok(change(value) & mask));
        Ok(Some(match words {
            ["smax", ..] => choose(SignedGreater)?,
            ["smin", ..] => choose(SignedLess)?,
            ["umax", ..] => choose(UnsignedGreater)?,
            ["umin", ..] => choose(UnsignedLess)?,
            ["abs", ..] => each(&|value| signed(value, bits).unsigned_abs())?,
            ["ctpop", ..] => each(&|value| value.count_ones().into())?,
            ["ctlz", ..] => {
                each(&|value| u128::from(value.leading_zeros().saturating_sub(128 - bits)))?
            }
            ["cttz", ..] => each(&|value| value.trailing_zeros().min(bits).into())?,
            ["bswap", ..] => each(&|value| value.swap_bytes() >> (128 - bits))?,
            ["bitreverse", ..] => each(&|value| value.reverse_bits() >> (128 - bits))?,
            ["ptrmask", ..] => arguments[0].zip(&arguments[1], |left, right| Ok(left & right))?,
            [side @ ("fshl" | "fshr"), ..] => funnel(*side == "fshl", bits, arguments)?,
            [
                operation @ ("sadd" | "uadd" | "ssub" | "usub" | "sshl" | "ushl"),
                "sat",
                ..,
            ] => arguments[0].zip(&arguments[1], |left, right| {
                saturate(operation, bits, left, right)
            })?,
            [order @ ("scmp" | "ucmp"), ..] => {
                let of = self.type_of_argument();
                arguments[0].zip(&arguments[1], |left, right| {
                    let order = match *order {
                        "scmp" => signed(left, of).cmp(&signed(right, of)),
                        _ => left.cmp(&right),
                    };
                    Ok((order as i128).cast_unsigned() & mask)
                })?
            }
            _ => return Ok(None),
        }))
    }

    /// The width of the first argument of the call that is executing.
    pub(super) fn type_of_argument(&self) -> u32 {
        let frame = self.frames.last().expect("a function is executing");
        let arguments = frame
            .body
            .call_at(self.current())
            .map(|call| frame.body.arguments(call));
        let first = arguments.and_then(|arguments| arguments.first());
        first.map_or(64, |value| self.lane_bits(self.type_of(*value)))
    }
}

/// The wrapped result, and whether it differs from the true one.
fn overflow(operation: &str, bits: u32, left: u128, right: u128) -> Step<(u128, bool)> {
    let mask = ones(bits.into());
    let (a, b) = (signed(left, bits), signed(right, bits));
    let fits = |value: i128| signed(value.cast_unsigned() & mask, bits) == value;
    let of_signed =
        |(value, beyond): (i128, bool)| (value.cast_unsigned() & mask, beyond || !fits(value));
    Ok(match operation {
        "sadd" => of_signed(a.overflowing_add(b)),
        "ssub" => of_signed(a.overflowing_sub(b)),
        "smul" => of_signed(a.overflowing_mul(b)),
        "uadd" => {
            let (value, beyond) = left.overflowing_add(right);
            (value & mask, beyond || value > mask)
        }
        "usub" => (left.wrapping_sub(right) & mask, left < right),
        "umul" => {
            let (value, beyond) = left.overflowing_mul(right);
            (value & mask, beyond || value > mask)
        }
        other => return not_modelled(format!("llvm.{other}.with.overflow")),
    })
}

/// The nearest value that fits.
fn saturate(operation: &str, bits: u32, left: u128, right: u128) -> Step<u128> {
    let mask = ones(bits.into());
    let (base, negative) = match operation {
        "sshl" | "ushl" => return not_modelled(format!("llvm.{operation}.sat")),
        "sadd" => (operation, signed(left, bits) < 0),
        "ssub" => (operation, signed(left, bits) < 0),
        "usub" => (operation, true),
        _ => (operation, false),
    };
    let (value, overflows) = overflow(base, bits, left, right)?;
    let most = if base.starts_with('s') {
        mask >> 1
    } else {
        mask
    };
    Ok(match (overflows, negative) {
        (false, _) => value,
        (true, true) => !most & mask,
        (true, false) => most,
    })
}

/// The upper (or lower) half of two concatenated values, shifted.
fn funnel(left_shift: bool, bits: u32, arguments: &[Datum]) -> Step<Datum> {
    let [high, low, amount] = arguments else {
        return not_modelled("a funnel shift of other arguments");
    };
    let mask = ones(bits.into());
    let lane = |high: u128, low: u128, amount: u128| {
        let amount = (amount % u128::from(bits)) as u32;
        let result = match (left_shift, amount) {
            (true, 0) => high,
            (false, 0) => low,
            (true, amount) => high << amount | low >> (bits - amount),
            (false, amount) => high << (bits - amount) | low >> amount,
        };
        result & mask
    };
    match amount {
        Datum::Bits(_) | Datum::Wide(_) => {
            Ok(Datum::Bits(lane(high.bits(), low.bits(), amount.bits())))
        }
        Datum::Parts(amounts) => {
            let lanes = high.parts().iter().zip(low.parts()).zip(amounts.iter());
            Ok(Datum::of_parts(lanes.map(|((high, low), amount)| {
                Datum::Bits(lane(high.bits(), low.bits(), amount.bits()))
            })))
        }
    }
}
