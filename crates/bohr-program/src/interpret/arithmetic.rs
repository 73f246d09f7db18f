//! The interpreter's arithmetic, one scalar at a time: for whoever computes values
//! without running the program, and has to come to the same ones.

use super::{Halt, Step, convert, float, integer, intrinsic, not_modelled};
use crate::operator::{
    BinaryOperator, CastOperator, FloatPredicate, IntegerPredicate, UpdateOperator,
};
use crate::types::FloatKind;

/// What the bits of a scalar mean; an address is an integer here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Number {
    /// An integer of so many bits.
    Integer(u32),
    /// A floating-point number.
    Float(FloatKind),
}

impl Number {
    /// How many bits it has.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Number::Integer(bits) => bits,
            Number::Float(kind) => kind.bits(),
        }
    }

    pub(super) fn kind(self) -> Step<FloatKind> {
        match self {
            Number::Float(kind) => Ok(kind),
            Number::Integer(bits) => not_modelled(format!("an integer of {bits} bits as a number")),
        }
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomputable {
    /// It is not modelled.
    #[error("not modelled: {0}")]
    NotModelled(String),
    /// No program may ask for it.
    #[error("{0}")]
    Undefined(&'static str),
}

fn plain<T>(step: Step<T>) -> Result<T, Incomputable> {
    step.map_err(|halt| match halt {
        Halt::Undefined(what) => Incomputable::Undefined(what),
        Halt::NotModelled(what) => Incomputable::NotModelled(what),
        other => Incomputable::NotModelled(format!("{other:?}")),
    })
}

/// What a binary operation gives.
///
/// # Errors
/// If it divides by zero or is not modelled.
pub fn binary(
    operator: BinaryOperator,
    of: Number,
    left: u128,
    right: u128,
) -> Result<u128, Incomputable> {
    plain(match of {
        Number::Integer(bits) => integer::binary(operator, bits, left, right),
        Number::Float(kind) => float::binary(operator, kind, left, right),
    })
}

/// The number with the other sign.
#[must_use]
pub fn negate(kind: FloatKind, value: u128) -> u128 {
    float::negate(kind, value)
}

/// Whether a predicate on integers holds.
#[must_use]
pub fn compare_integers(predicate: IntegerPredicate, bits: u32, left: u128, right: u128) -> bool {
    integer::compare(predicate, bits, left, right)
}

/// Whether a predicate on floating-point numbers holds.
///
/// # Errors
/// If the format is not modelled.
pub fn compare_floats(
    predicate: FloatPredicate,
    kind: FloatKind,
    left: u128,
    right: u128,
) -> Result<bool, Incomputable> {
    let order = plain(float::order(kind, left, right))?;
    Ok(float::compare(predicate, order))
}

/// A scalar as another.
///
/// # Errors
/// If the conversion is not modelled.
pub fn cast(
    operator: CastOperator,
    from: Number,
    to: Number,
    value: u128,
) -> Result<u128, Incomputable> {
    plain(convert::convert(operator, from, to, value))
}

/// What an atomic update writes.
///
/// # Errors
/// If the update is not modelled.
pub fn update(
    operator: UpdateOperator,
    of: Number,
    old: u128,
    with: u128,
) -> Result<u128, Incomputable> {
    match (operator, of) {
        (UpdateOperator::FloatAdd, _) => binary(BinaryOperator::FloatAdd, of, old, with),
        (UpdateOperator::FloatSubtract, _) => binary(BinaryOperator::FloatSubtract, of, old, with),
        _ => integer::update(operator, of.bits(), old, with)
            .ok_or_else(|| Incomputable::NotModelled(format!("an atomic {operator}"))),
    }
}

/// What an intrinsic gives that computes one scalar from scalars, named without
/// `llvm.`; `of` is the result, `source` the width of the first argument. `None` if
/// there is no such intrinsic.
///
/// # Errors
/// If it is not modelled for these arguments.
pub fn function(
    name: &str,
    of: Number,
    source: u32,
    arguments: &[u128],
) -> Result<Option<u128>, Incomputable> {
    let words: Vec<&str> = name.split('.').collect();
    plain(match of {
        Number::Integer(bits) => intrinsic::integer_function(&words, bits, source, arguments),
        Number::Float(kind) => intrinsic::float_function(&words, kind, arguments),
    })
}

/// The wrapped result of `sadd`, `uadd`, `ssub`, `usub`, `smul` or `umul`, and whether
/// it differs from the true one.
///
/// # Errors
/// If it is none of these.
pub fn overflow(
    operation: &str,
    bits: u32,
    left: u128,
    right: u128,
) -> Result<(u128, bool), Incomputable> {
    plain(intrinsic::overflow(operation, bits, left, right))
}
