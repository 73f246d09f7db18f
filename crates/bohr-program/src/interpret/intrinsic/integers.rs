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
        let (bits, of) = (self.lane_bits(result), self.type_of_argument());
        Datum::lanes(arguments, |lanes| integer_function(words, bits, of, lanes))
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
pub(in crate::interpret) fn overflow(
    operation: &str,
    bits: u32,
    left: u128,
    right: u128,
) -> Step<(u128, bool)> {
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
fn funnel(left_shift: bool, bits: u32, [high, low, amount]: [u128; 3]) -> u128 {
    let amount = (amount % u128::from(bits)) as u32;
    match (left_shift, amount) {
        (true, 0) => high,
        (false, 0) => low,
        (true, amount) => high << amount | low >> (bits - amount),
        (false, amount) => high << (bits - amount) | low >> amount,
    }
}

/// What an intrinsic on integers gives, one lane of it: `bits` is the width of the
/// result, `of` that of the first argument. `None` if it is none of these.
pub(in crate::interpret) fn integer_function(
    words: &[&str],
    bits: u32,
    of: u32,
    arguments: &[u128],
) -> Step<Option<u128>> {
    use IntegerPredicate::*;
    let pick = |predicate, left, right| {
        if integer::compare(predicate, bits, left, right) {
            left
        } else {
            right
        }
    };
    let result = match (words, arguments) {
        (["smax", ..], &[left, right]) => pick(SignedGreater, left, right),
        (["smin", ..], &[left, right]) => pick(SignedLess, left, right),
        (["umax", ..], &[left, right]) => pick(UnsignedGreater, left, right),
        (["umin", ..], &[left, right]) => pick(UnsignedLess, left, right),
        (["abs", ..], &[value, ..]) => signed(value, bits).unsigned_abs(),
        (["ctpop", ..], &[value]) => value.count_ones().into(),
        (["ctlz", ..], &[value, ..]) => value.leading_zeros().saturating_sub(128 - bits).into(),
        (["cttz", ..], &[value, ..]) => value.trailing_zeros().min(bits).into(),
        (["bswap", ..], &[value]) => value.swap_bytes() >> (128 - bits),
        (["bitreverse", ..], &[value]) => value.reverse_bits() >> (128 - bits),
        (["ptrmask", ..], &[value, mask]) => value & mask,
        ([side @ ("fshl" | "fshr"), ..], &[high, low, amount]) => {
            funnel(*side == "fshl", bits, [high, low, amount])
        }
        (
            [
                operation @ ("sadd" | "uadd" | "ssub" | "usub" | "sshl" | "ushl"),
                "sat",
                ..,
            ],
            &[left, right],
        ) => saturate(operation, bits, left, right)?,
        (["scmp", ..], &[left, right]) => {
            (signed(left, of).cmp(&signed(right, of)) as i128).cast_unsigned()
        }
        (["ucmp", ..], &[left, right]) => (left.cmp(&right) as i128).cast_unsigned(),
        _ => return Ok(None),
    };
    Ok(Some(result & ones(bits.into())))
}
