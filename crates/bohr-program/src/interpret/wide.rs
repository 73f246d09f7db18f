//! Integers of more than 128 bits: structures of bit-fields are loaded and
//! stored as one such integer, and 128-bit products are computed in them.

use super::{Step, not_modelled};
use crate::operator::{BinaryOperator, IntegerPredicate};
use std::cmp::Ordering;

/// Words, least significant first; the bits above the width are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wide {
    words: Vec<u64>,
    bits: u32,
}

impl Wide {
    /// The integer of these bytes, least significant first.
    pub(super) fn from_bytes(bytes: &[u8], bits: u32) -> Wide {
        let mut words = vec![0; bits.div_ceil(64) as usize];
        for (index, byte) in bytes.iter().enumerate().take(words.len() * 8) {
            words[index / 8] |= u64::from(*byte) << (index % 8 * 8);
        }
        Wide { words, bits }.cut()
    }

    /// The integer of these words, least significant first.
    pub(super) fn from_words(words: &[u64], bits: u32) -> Wide {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Wide::from_bytes(&bytes, bits)
    }

    /// A narrower integer, widened with zeros or with its sign.
    pub(super) fn widen(value: i128, bits: u32) -> Wide {
        let low = value.cast_unsigned();
        let mut words = vec![(value >> 127) as u64; bits.div_ceil(64) as usize];
        words[0] = low as u64;
        words[1] = (low >> 64) as u64;
        Wide { words, bits }.cut()
    }

    /// To another width, more than 128 bits too.
    pub(super) fn resize(&self, bits: u32, with_sign: bool) -> Wide {
        let negative = with_sign && self.bit(self.bits - 1);
        let mut wide = Wide {
            words: self.words.clone(),
            bits,
        };
        wide.words.resize(bits.div_ceil(64) as usize, 0);
        for place in self.bits..bits {
            wide.set(place, negative);
        }
        wide.cut()
    }

    /// Its bytes, least significant first.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.words
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect()
    }

    /// Its lower 128 bits.
    pub(super) fn low(&self) -> u128 {
        u128::from(self.words[1]) << 64 | u128::from(self.words[0])
    }

    fn cut(mut self) -> Wide {
        let unused = self.words.len() as u32 * 64 - self.bits;
        if let Some(last) = self.words.last_mut() {
            *last = *last << unused >> unused;
        }
        self
    }

    fn bit(&self, place: u32) -> bool {
        let word = self.words.get((place / 64) as usize);
        word.is_some_and(|word| word >> (place % 64) & 1 != 0)
    }

    fn set(&mut self, place: u32, bit: bool) {
        let word = &mut self.words[(place / 64) as usize];
        *word = *word & !(1 << (place % 64)) | u64::from(bit) << (place % 64);
    }

    fn zip(&self, other: &Wide, each: impl Fn(u64, u64) -> u64) -> Wide {
        let pairs = self.words.iter().zip(&other.words);
        Wide {
            words: pairs.map(|(left, right)| each(*left, *right)).collect(),
            bits: self.bits,
        }
    }

    fn add(&self, other: &Wide, mut carry: bool) -> Wide {
        let mut sum = self.clone();
        for (word, other) in sum.words.iter_mut().zip(&other.words) {
            let whole = u128::from(*word) + u128::from(*other) + u128::from(carry);
            (*word, carry) = (whole as u64, whole >> 64 != 0);
        }
        sum.cut()
    }

    fn multiply(&self, other: &Wide) -> Wide {
        let mut words = vec![0u64; self.words.len()];
        for (place, left) in self.words.iter().enumerate() {
            let mut carry = 0u128;
            for (word, right) in words[place..].iter_mut().zip(&other.words) {
                let whole = u128::from(*left) * u128::from(*right) + u128::from(*word) + carry;
                (*word, carry) = (whole as u64, whole >> 64);
            }
        }
        Wide { words, ..*self }.cut()
    }

    /// Bit `place` of the result is bit `from(place)` of this, if there is one.
    fn moved(&self, from: impl Fn(u32) -> Option<u32>, fill: bool) -> Wide {
        let mut result = self.clone();
        for place in 0..self.bits {
            let bit = from(place).filter(|from| *from < self.bits);
            result.set(place, bit.map_or(fill, |from| self.bit(from)));
        }
        result
    }

    /// What a binary operation gives.
    pub(super) fn binary(&self, operator: BinaryOperator, other: &Wide) -> Step<Wide> {
        use BinaryOperator::*;
        let amount = other.low().min(u128::from(self.bits)) as u32;
        Ok(match operator {
            And => self.zip(other, |left, right| left & right),
            Or => self.zip(other, |left, right| left | right),
            ExclusiveOr => self.zip(other, |left, right| left ^ right),
            Add => self.add(other, false),
            Subtract => self.add(&other.zip(other, |word, _| !word), true),
            Multiply => self.multiply(other),
            ShiftLeft => self.moved(|place| place.checked_sub(amount), false),
            LogicalShiftRight => self.moved(|place| Some(place + amount), false),
            ArithmeticShiftRight => {
                self.moved(|place| Some(place + amount), self.bit(self.bits - 1))
            }
            _ => return not_modelled(format!("{operator} of {} bits", self.bits)),
        })
    }

    /// Whether the predicate holds.
    pub(super) fn compare(&self, predicate: IntegerPredicate, other: &Wide) -> bool {
        use IntegerPredicate::*;
        let negative = |wide: &Wide| wide.bit(wide.bits - 1);
        let unsigned = self.words.iter().rev().cmp(other.words.iter().rev());
        let signed = negative(other).cmp(&negative(self)).then(unsigned);
        match predicate {
            Equal => unsigned == Ordering::Equal,
            NotEqual => unsigned != Ordering::Equal,
            UnsignedGreater => unsigned.is_gt(),
            UnsignedGreaterOrEqual => unsigned.is_ge(),
            UnsignedLess => unsigned.is_lt(),
            UnsignedLessOrEqual => unsigned.is_le(),
            SignedGreater => signed.is_gt(),
            SignedGreaterOrEqual => signed.is_ge(),
            SignedLess => signed.is_lt(),
            SignedLessOrEqual => signed.is_le(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::integer;
    use proptest::prelude::*;

    /// The lower bits of what 200 bits give are what the host gives.
    fn low(operator: BinaryOperator, left: i128, right: i128) -> u128 {
        let (left, right) = (Wide::widen(left, 200), Wide::widen(right, 200));
        left.binary(operator, &right).unwrap().low()
    }

    proptest! {
        #[test]
        fn lower_bits_are_as_the_host_has_them(left: i128, right: i128, amount in 0i128..127) {
            use BinaryOperator::*;
            let host = |operator, right: i128| {
                integer::binary(operator, 128, left.cast_unsigned(), right.cast_unsigned()).unwrap()
            };
            for operator in [And, Or, ExclusiveOr, Add, Subtract, Multiply] {
                prop_assert_eq!(low(operator, left, right), host(operator, right));
            }
            for operator in [ShiftLeft, ArithmeticShiftRight] {
                prop_assert_eq!(low(operator, left, amount), host(operator, amount));
            }
            let (wide, other) = (Wide::widen(left, 200), Wide::widen(right, 200));
            prop_assert_eq!(wide.compare(IntegerPredicate::SignedLess, &other), left < right);
            prop_assert_eq!(wide.compare(IntegerPredicate::Equal, &other), left == right);
        }

        #[test]
        fn what_is_shifted_up_comes_down_again(value: u64, amount in 0i128..136) {
            let wide = Wide::widen(value.into(), 200);
            let amount = Wide::widen(amount, 200);
            let up = wide.binary(BinaryOperator::ShiftLeft, &amount).unwrap();
            let down = up.binary(BinaryOperator::LogicalShiftRight, &amount).unwrap();
            prop_assert_eq!(&down, &wide);
            prop_assert_eq!(Wide::from_bytes(&up.to_bytes(), 200), up.clone());
            prop_assert_eq!(up.resize(264, true).resize(200, false), up);
        }
    }
}
