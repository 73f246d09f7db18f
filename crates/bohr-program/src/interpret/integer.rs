//! Integer arithmetic of any width up to 128 bits.

use super::encode::ones;
use super::{Halt, Step};
use crate::operator::{BinaryOperator, IntegerPredicate, UpdateOperator};

/// The number as a signed one.
pub(super) fn signed(value: u128, bits: u32) -> i128 {
    let unused = 128 - bits.min(128);
    match bits {
        0 => 0,
        _ => (value << unused).cast_signed() >> unused,
    }
}

/// What a binary operation gives.
pub(super) fn binary(operator: BinaryOperator, bits: u32, left: u128, right: u128) -> Step<u128> {
    use BinaryOperator::*;
    let mask = ones(bits.into());
    let (left_signed, right_signed) = (signed(left, bits), signed(right, bits));
    let divides = matches!(
        operator,
        UnsignedDivide | SignedDivide | UnsignedRemainder | SignedRemainder
    );
    if divides && right == 0 {
        return Err(Halt::Undefined("it divides by zero"));
    }
    // A shift by the width or more is poison; any value will do.
    let amount = if right < u128::from(bits) {
        right as u32
    } else {
        0
    };
    let result = match operator {
        Add => left.wrapping_add(right),
        Subtract => left.wrapping_sub(right),
        Multiply => left.wrapping_mul(right),
        UnsignedDivide => left / right,
        UnsignedRemainder => left % right,
        SignedDivide => left_signed.wrapping_div(right_signed).cast_unsigned(),
        SignedRemainder => left_signed.wrapping_rem(right_signed).cast_unsigned(),
        ShiftLeft => left << amount,
        LogicalShiftRight => left >> amount,
        ArithmeticShiftRight => (left_signed >> amount).cast_unsigned(),
        And => left & right,
        Or => left | right,
        ExclusiveOr => left ^ right,
        FloatAdd | FloatSubtract | FloatMultiply | FloatDivide | FloatRemainder => {
            return super::not_modelled(format!("{operator} of integers"));
        }
    };
    Ok(result & mask)
}

/// Whether the predicate holds.
pub(super) fn compare(predicate: IntegerPredicate, bits: u32, left: u128, right: u128) -> bool {
    use IntegerPredicate::*;
    let (left_signed, right_signed) = (signed(left, bits), signed(right, bits));
    match predicate {
        Equal => left == right,
        NotEqual => left != right,
        UnsignedGreater => left > right,
        UnsignedGreaterOrEqual => left >= right,
        UnsignedLess => left < right,
        UnsignedLessOrEqual => left <= right,
        SignedGreater => left_signed > right_signed,
        SignedGreaterOrEqual => left_signed >= right_signed,
        SignedLess => left_signed < right_signed,
        SignedLessOrEqual => left_signed <= right_signed,
    }
}

/// What an atomic update of integers writes; `None` of floating-point updates.
pub(super) fn update(operator: UpdateOperator, bits: u32, old: u128, with: u128) -> Option<u128> {
    use UpdateOperator::*;
    let (old_signed, with_signed) = (signed(old, bits), signed(with, bits));
    let pick = |first: bool| if first { old } else { with };
    let result = match operator {
        Exchange => with,
        Add => old.wrapping_add(with),
        Subtract => old.wrapping_sub(with),
        And => old & with,
        Nand => !(old & with),
        Or => old | with,
        ExclusiveOr => old ^ with,
        SignedMaximum => pick(old_signed > with_signed),
        SignedMinimum => pick(old_signed < with_signed),
        UnsignedMaximum => old.max(with),
        UnsignedMinimum => old.min(with),
        IncrementWrapping => {
            if old >= with {
                0
            } else {
                old + 1
            }
        }
        DecrementWrapping => {
            if old == 0 || old > with {
                with
            } else {
                old - 1
            }
        }
        SubtractConditionally => {
            if old >= with {
                old - with
            } else {
                old
            }
        }
        SubtractSaturating => old.saturating_sub(with),
        FloatAdd | FloatSubtract | FloatMaximumNumber | FloatMinimumNumber | FloatMaximum
        | FloatMinimum => return None,
    };
    Some(result & ones(bits.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn total(operator: BinaryOperator, left: u128, right: u128) -> u128 {
        binary(operator, 32, left, right).unwrap()
    }

    proptest! {
        #[test]
        fn thirty_two_bits_are_as_the_host_has_them(left: u32, right: u32) {
            use BinaryOperator::*;
            let (a, b) = (left.cast_signed(), right.cast_signed());
            let (wide, other) = (u128::from(left), u128::from(right));
            prop_assert_eq!(total(Add, wide, other), u128::from(left.wrapping_add(right)));
            prop_assert_eq!(total(Multiply, wide, other), u128::from(left.wrapping_mul(right)));
            let shift = u128::from(right % 32);
            let shifted = (a >> (right % 32)).cast_unsigned();
            prop_assert_eq!(total(ArithmeticShiftRight, wide, shift), u128::from(shifted));
            if right != 0 {
                let quotient = a.wrapping_div(b).cast_unsigned();
                prop_assert_eq!(total(SignedDivide, wide, other), u128::from(quotient));
                let rest = a.wrapping_rem(b).cast_unsigned();
                prop_assert_eq!(total(SignedRemainder, wide, other), u128::from(rest));
            }
            prop_assert_eq!(compare(IntegerPredicate::SignedLess, 32, wide, other), a < b);
            prop_assert_eq!(compare(IntegerPredicate::UnsignedLess, 32, wide, other), left < right);
        }
    }
}
