//! Terms as bit vectors. All have 128 bits; those above a value's own width are zero,
//! as they are in a [`Scalar`].

use super::SmtError;
use crate::term::{Node, Operator, ReadNumber, Scalar, TermNumber, Terms, ones};
use bohr_program::interpret::arithmetic::Number;
use bohr_program::{BinaryOperator, CastOperator, IntegerPredicate, UpdateOperator};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

fn number(value: u128) -> String {
    format!("#x{value:032x}")
}

/// A value by its name, or as a number.
pub(super) fn known(value: Scalar) -> String {
    match value {
        Scalar::Known(value) => number(value),
        Scalar::Term(term) => name(term),
    }
}

fn name(term: TermNumber) -> String {
    format!("t{}", term.as_u32())
}

/// What a read gives, by its name.
pub(super) fn read(read: ReadNumber) -> String {
    format!("r{}", read.as_u32())
}

/// So many bits from `shift` on.
pub(super) fn slice(value: &str, shift: u32, bits: u32) -> String {
    let shifted = match shift {
        0 => value.to_string(),
        _ => format!("(bvlshr {value} {})", number(shift.into())),
    };
    masked(&shifted, bits)
}

/// A value and so much more.
pub(super) fn plus(value: &str, more: u32) -> String {
    format!("(bvadd {value} {})", number(more.into()))
}

fn masked(value: &str, bits: u32) -> String {
    match bits {
        128.. => value.to_string(),
        _ => format!("(bvand {value} {})", number(ones(bits))),
    }
}

/// A number of so many bits as one of 128 with the same sign.
fn signed(value: &str, bits: u32) -> String {
    match bits {
        0 | 128.. => value.to_string(),
        _ => {
            let sign = number(1 << (bits - 1));
            format!("(bvsub (bvxor {value} {sign}) {sign})")
        }
    }
}

fn truth(condition: &str) -> String {
    format!("(ite {condition} {} {})", number(1), number(0))
}

/// The declaration of a read of so many bytes.
pub(super) fn declare(number_of_read: ReadNumber, size: u32) -> String {
    let name = read(number_of_read);
    let small = masked(&name, size * 8);
    format!("(declare-const {name} (_ BitVec 128))\n(assert (= {name} {small}))\n")
}

/// Definitions of terms, operands first.
pub(super) struct Words<'t> {
    terms: &'t Terms,
    done: BTreeSet<TermNumber>,
    reads: BTreeSet<ReadNumber>,
    pub(super) text: String,
}

impl<'t> Words<'t> {
    pub(super) fn new(terms: &'t Terms) -> Words<'t> {
        Words {
            terms,
            done: BTreeSet::new(),
            reads: BTreeSet::new(),
            text: String::new(),
        }
    }

    pub(super) fn has_read(&self, read: ReadNumber) -> bool {
        self.reads.contains(&read)
    }

    /// Defines a value and all that it is computed from.
    pub(super) fn define(
        &mut self,
        value: Scalar,
        sizes: &BTreeMap<ReadNumber, u32>,
    ) -> Result<(), SmtError> {
        let mut needed = BTreeSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if let Scalar::Term(term) = value
                && !self.done.contains(&term)
                && needed.insert(term)
                && let Node::Computed(_, operands) = self.terms.node(term)
            {
                open.extend(operands.iter());
            }
        }
        // Operands have smaller numbers.
        for term in needed {
            let meaning = match self.terms.node(term) {
                Node::Read(number) => {
                    self.reads.insert(*number);
                    // One that belongs to no event is free.
                    let size = sizes.get(number).copied().unwrap_or(16);
                    self.text.push_str(&declare(*number, size));
                    read(*number)
                }
                Node::Computed(operator, operands) => expression(operator, operands)?,
            };
            let _ = writeln!(
                self.text,
                "(define-fun {} () (_ BitVec 128) {meaning})",
                name(term)
            );
            self.done.insert(term);
        }
        Ok(())
    }
}

fn expression(operator: &Operator, operands: &[Scalar]) -> Result<String, SmtError> {
    let words: Vec<String> = operands.iter().map(|operand| known(*operand)).collect();
    let unknown = || SmtError::Inexpressible(format!("{operator:?}"));
    let found = match (operator, &words[..]) {
        (Operator::Binary(operator, Number::Integer(bits)), [left, right]) => {
            binary(*operator, *bits, (left, right), operands[1])
        }
        (Operator::CompareIntegers(predicate, bits), [left, right]) => {
            Some(compare(*predicate, *bits, left, right))
        }
        (Operator::Cast(operator, from, to), [value]) => cast(*operator, *from, *to, value),
        (Operator::Select, [condition, then, otherwise]) => Some(format!(
            "(ite (distinct {condition} {}) {then} {otherwise})",
            number(0)
        )),
        (Operator::Slice { shift, bits }, [value]) => Some(slice(value, *shift, *bits)),
        (Operator::Join(bits), [low, high]) => Some(format!(
            "(bvor {} (bvshl {high} {}))",
            masked(low, *bits),
            number((*bits).into())
        )),
        (Operator::Update(operator, Number::Integer(bits)), [old, with]) => {
            update(*operator, *bits, old, with)
        }
        (Operator::Wrapped(name, bits), [left, right]) => {
            let operator = match &name[1..] {
                "add" => BinaryOperator::Add,
                "sub" => BinaryOperator::Subtract,
                "mul" => BinaryOperator::Multiply,
                _ => return Err(unknown()),
            };
            binary(operator, *bits, (left, right), operands[1])
        }
        (Operator::Overflows(name, bits), [left, right]) => overflows(name, *bits, left, right),
        (Operator::Function(name, Number::Integer(bits), _), [left, right]) => {
            let predicate = match &**name {
                "umin" => IntegerPredicate::UnsignedLess,
                "umax" => IntegerPredicate::UnsignedGreater,
                "smin" => IntegerPredicate::SignedLess,
                "smax" => IntegerPredicate::SignedGreater,
                _ => return Err(unknown()),
            };
            Some(chosen(predicate, *bits, left, right))
        }
        _ => None,
    };
    found.ok_or_else(unknown)
}

/// A shift or a division has to have a known right side that allows it.
fn binary(
    operator: BinaryOperator,
    bits: u32,
    (left, right): (&str, &str),
    by: Scalar,
) -> Option<String> {
    use BinaryOperator::*;
    let shift = by.known().filter(|by| *by < bits.into());
    let divisor = by.known().filter(|by| *by != 0 && *by != ones(bits));
    let both = |word: &str| Some(masked(&format!("({word} {left} {right})"), bits));
    let both_signed = |word: &str| {
        let (left, right) = (signed(left, bits), signed(right, bits));
        Some(masked(&format!("({word} {left} {right})"), bits))
    };
    match operator {
        Add => both("bvadd"),
        Subtract => both("bvsub"),
        Multiply => both("bvmul"),
        And => both("bvand"),
        Or => both("bvor"),
        ExclusiveOr => both("bvxor"),
        ShiftLeft => shift.and_then(|_| both("bvshl")),
        LogicalShiftRight => shift.and_then(|_| both("bvlshr")),
        ArithmeticShiftRight => {
            let left = signed(left, bits);
            shift.map(|_| masked(&format!("(bvashr {left} {right})"), bits))
        }
        UnsignedDivide => divisor.and_then(|_| both("bvudiv")),
        UnsignedRemainder => divisor.and_then(|_| both("bvurem")),
        SignedDivide => divisor.and_then(|_| both_signed("bvsdiv")),
        SignedRemainder => divisor.and_then(|_| both_signed("bvsrem")),
        _ => None,
    }
}

fn holds(predicate: IntegerPredicate, bits: u32, left: &str, right: &str) -> String {
    use IntegerPredicate::*;
    let word = match predicate {
        Equal => "=",
        NotEqual => "distinct",
        UnsignedGreater => "bvugt",
        UnsignedGreaterOrEqual => "bvuge",
        UnsignedLess => "bvult",
        UnsignedLessOrEqual => "bvule",
        SignedGreater => "bvsgt",
        SignedGreaterOrEqual => "bvsge",
        SignedLess => "bvslt",
        SignedLessOrEqual => "bvsle",
    };
    match word.starts_with("bvs") {
        true => format!("({word} {} {})", signed(left, bits), signed(right, bits)),
        false => format!("({word} {left} {right})"),
    }
}

fn compare(predicate: IntegerPredicate, bits: u32, left: &str, right: &str) -> String {
    truth(&holds(predicate, bits, left, right))
}

/// The one for which the predicate holds.
fn chosen(predicate: IntegerPredicate, bits: u32, left: &str, right: &str) -> String {
    format!(
        "(ite {} {left} {right})",
        holds(predicate, bits, left, right)
    )
}

fn cast(operator: CastOperator, from: Number, to: Number, value: &str) -> Option<String> {
    use CastOperator::*;
    match operator {
        SignExtend => Some(masked(&signed(value, from.bits()), to.bits())),
        Truncate | ZeroExtend | PointerToInteger | PointerToAddress | IntegerToPointer
        | Bitcast | AddressSpace => Some(masked(value, to.bits())),
        _ => None,
    }
}

fn update(operator: UpdateOperator, bits: u32, old: &str, with: &str) -> Option<String> {
    use UpdateOperator::*;
    let of = |operator| binary(operator, bits, (old, with), Scalar::Known(0));
    match operator {
        Exchange => Some(with.to_string()),
        Add => of(BinaryOperator::Add),
        Subtract => of(BinaryOperator::Subtract),
        And => of(BinaryOperator::And),
        Or => of(BinaryOperator::Or),
        ExclusiveOr => of(BinaryOperator::ExclusiveOr),
        Nand => Some(masked(&format!("(bvnot (bvand {old} {with}))"), bits)),
        SignedMaximum => Some(chosen(IntegerPredicate::SignedGreater, bits, old, with)),
        SignedMinimum => Some(chosen(IntegerPredicate::SignedLess, bits, old, with)),
        UnsignedMaximum => Some(chosen(IntegerPredicate::UnsignedGreater, bits, old, with)),
        UnsignedMinimum => Some(chosen(IntegerPredicate::UnsignedLess, bits, old, with)),
        _ => None,
    }
}

/// Whether a sum or a difference is none of so many bits.
fn overflows(name: &str, bits: u32, left: &str, right: &str) -> Option<String> {
    let word = match name.get(1..)? {
        "add" => "bvadd",
        "sub" => "bvsub",
        _ => return None,
    };
    if bits >= 127 {
        return None;
    }
    let (left, right) = match name.starts_with('s') {
        true => (signed(left, bits), signed(right, bits)),
        false => (left.to_string(), right.to_string()),
    };
    let exact = format!("({word} {left} {right})");
    let kept = masked(&exact, bits);
    let kept = match name.starts_with('s') {
        true => signed(&kept, bits),
        false => kept,
    };
    Some(truth(&format!("(distinct {exact} {kept})")))
}
