//! Floating-point arithmetic: the host's for single and double precision, a
//! port of LLVM's own for the other formats.

use super::encode::ones;
use super::integer::signed;
use super::{Step, not_modelled};
use crate::operator::{BinaryOperator, FloatPredicate};
use crate::types::FloatKind;
use rustc_apfloat::ieee::{BFloat, Double, Half, Quad, Single, X87DoubleExtended};
use rustc_apfloat::{Float, FloatConvert, Round, StatusAnd};
use std::cmp::Ordering;

/// Runs an expression with `$format` as the soft type of a kind.
macro_rules! with_format {
    ($kind:expr, $format:ident => $body:expr) => {
        match $kind {
            FloatKind::Half => {
                type $format = Half;
                $body
            }
            FloatKind::Brain => {
                type $format = BFloat;
                $body
            }
            FloatKind::Single => {
                type $format = Single;
                $body
            }
            FloatKind::Double => {
                type $format = Double;
                $body
            }
            FloatKind::X87 => {
                type $format = X87DoubleExtended;
                $body
            }
            FloatKind::Quad => {
                type $format = Quad;
                $body
            }
            FloatKind::PairOfDoubles => return not_modelled("pairs of doubles"),
        }
    };
}

fn single(bits: u128) -> f32 {
    f32::from_bits(bits as u32)
}

fn double(bits: u128) -> f64 {
    f64::from_bits(bits as u64)
}

/// What a binary operation gives.
pub(super) fn binary(
    operator: BinaryOperator,
    kind: FloatKind,
    left: u128,
    right: u128,
) -> Step<u128> {
    use BinaryOperator::*;
    macro_rules! host {
        ($left:expr, $right:expr) => {
            match operator {
                FloatAdd => $left + $right,
                FloatSubtract => $left - $right,
                FloatMultiply => $left * $right,
                FloatDivide => $left / $right,
                FloatRemainder => $left % $right,
                _ => return not_modelled(format!("{operator} of floating-point numbers")),
            }
            .to_bits()
            .into()
        };
    }
    match kind {
        FloatKind::Single => Ok(host!(single(left), single(right))),
        FloatKind::Double => Ok(host!(double(left), double(right))),
        _ => with_format!(kind, Format => {
            let (left, right) = (Format::from_bits(left), Format::from_bits(right));
            let result = match operator {
                FloatAdd => left + right,
                FloatSubtract => left - right,
                FloatMultiply => left * right,
                FloatDivide => left / right,
                FloatRemainder => left.c_fmod(right),
                _ => return not_modelled(format!("{operator} of floating-point numbers")),
            };
            Ok(result.value.to_bits())
        }),
    }
}

/// The number with the other sign.
pub(super) fn negate(kind: FloatKind, value: u128) -> u128 {
    value ^ 1 << (kind.bits() - 1)
}

/// How two numbers compare; `None` if either is not a number.
pub(super) fn order(kind: FloatKind, left: u128, right: u128) -> Step<Option<Ordering>> {
    with_format!(kind, Format => {
        Ok(Format::from_bits(left).partial_cmp(&Format::from_bits(right)))
    })
}

/// Whether the predicate holds.
pub(super) fn compare(predicate: FloatPredicate, order: Option<Ordering>) -> bool {
    use FloatPredicate::*;
    let unordered = order.is_none();
    let less = order.is_some_and(Ordering::is_lt);
    let equal = order.is_some_and(Ordering::is_eq);
    let greater = order.is_some_and(Ordering::is_gt);
    match predicate {
        False => false,
        OrderedEqual => equal,
        OrderedGreater => greater,
        OrderedGreaterOrEqual => greater || equal,
        OrderedLess => less,
        OrderedLessOrEqual => less || equal,
        OrderedNotEqual => less || greater,
        Ordered => !unordered,
        Unordered => unordered,
        UnorderedEqual => unordered || equal,
        UnorderedGreater => unordered || greater,
        UnorderedGreaterOrEqual => unordered || greater || equal,
        UnorderedLess => unordered || less,
        UnorderedLessOrEqual => unordered || less || equal,
        UnorderedNotEqual => unordered || less || greater,
        True => true,
    }
}

/// A number in another format.
pub(super) fn convert(from: FloatKind, to: FloatKind, value: u128) -> Step<u128> {
    if from == to {
        return Ok(value);
    }
    with_format!(from, From => {
        let number = From::from_bits(value);
        with_format!(to, To => {
            let converted: StatusAnd<To> =
                number.convert_r(Round::NearestTiesToEven, &mut false);
            Ok(converted.value.to_bits())
        })
    })
}

/// The integer that a number is cut to; out of range, the nearest.
pub(super) fn to_integer(kind: FloatKind, value: u128, bits: u32, is_signed: bool) -> Step<u128> {
    let mut exact = false;
    with_format!(kind, Format => {
        let number = Format::from_bits(value);
        if number.is_nan() {
            return Ok(0);
        }
        let whole = match is_signed {
            true => number.to_i128_r(bits as usize, Round::TowardZero, &mut exact).value.cast_unsigned(),
            false => number.to_u128_r(bits as usize, Round::TowardZero, &mut exact).value,
        };
        Ok(whole & ones(bits.into()))
    })
}

/// The number nearest to an integer.
pub(super) fn from_integer(kind: FloatKind, value: u128, bits: u32, is_signed: bool) -> Step<u128> {
    with_format!(kind, Format => {
        let number = match is_signed {
            true => Format::from_i128(signed(value, bits)),
            false => Format::from_u128(value),
        };
        Ok(number.value.to_bits())
    })
}

/// A number as a double, and whether nothing was lost.
pub(super) fn as_double(kind: FloatKind, value: u128) -> Step<(f64, bool)> {
    let bits = convert(kind, FloatKind::Double, value)?;
    let exact = convert(FloatKind::Double, kind, bits)? == value;
    Ok((double(bits), exact))
}

/// A double in another format.
pub(super) fn of_double(kind: FloatKind, value: f64) -> Step<u128> {
    convert(FloatKind::Double, kind, value.to_bits().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn conversions_are_as_the_host_has_them(value: f64, integer: i64) {
            let bits = u128::from(value.to_bits());
            let narrow = convert(FloatKind::Double, FloatKind::Single, bits).unwrap();
            if !value.is_nan() {
                prop_assert_eq!(narrow, u128::from((value as f32).to_bits()));
                let cut = to_integer(FloatKind::Double, bits, 64, true).unwrap() as i64;
                prop_assert_eq!(cut, value as i64);
            }
            let of_integer = from_integer(FloatKind::Double, u128::from(integer as u64), 64, true);
            prop_assert_eq!(of_integer.unwrap(), u128::from((integer as f64).to_bits()));
        }

        #[test]
        fn extended_precision_holds_every_double(value: f64) {
            prop_assume!(!value.is_nan());
            let wide = of_double(FloatKind::X87, value).unwrap();
            prop_assert_eq!(as_double(FloatKind::X87, wide), Ok((value, true)));
        }
    }
}
