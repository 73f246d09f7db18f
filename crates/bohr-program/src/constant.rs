//! Values that are known before the program runs.

use crate::ids::{
    AliasNumber, AssemblyNumber, BlockNumber, ConstantNumber, FunctionNumber, GlobalNumber,
    TextNumber, TypeNumber,
};
use crate::operator::{BinaryOperator, CastOperator};
use serde::{Deserialize, Serialize};

/// A constant and its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Constant {
    /// Its type.
    pub of: TypeNumber,
    /// Its value.
    pub value: ConstantValue,
}

/// The value of a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConstantValue {
    /// An integer of up to 64 bits; the bits above its width are 0.
    Integer(u64),
    /// A wider integer, least significant word first.
    WideInteger(Box<[u64]>),
    /// The bits of a floating-point number of up to 64 bits.
    Float(u64),
    /// The bits of a wider one, least significant word first.
    WideFloat(Box<[u64; 2]>),
    /// The null pointer.
    Null,
    /// All bits zero, of an aggregate or vector.
    Zero,
    /// Any value, perhaps another at each use.
    Undefined,
    /// The result of an operation that was not allowed.
    Poison,
    /// The elements of an array or vector of integers or floating-point
    /// numbers, as they lie in memory.
    Data(Box<[u8]>),
    /// The elements of an array or vector, or the fields of a structure.
    Aggregate(Box<[ConstantNumber]>),
    /// A vector whose elements are all equal.
    Splat(ConstantNumber),
    /// The address of a global variable.
    Global(GlobalNumber),
    /// The address of a function.
    Function(FunctionNumber),
    /// The address of an alias or indirect function.
    Alias(AliasNumber),
    /// The address of a block, for an indirect branch.
    Block(FunctionNumber, BlockNumber),
    /// Inline assembly; only ever called.
    Assembly(AssemblyNumber),
    /// A computation on constants.
    Expression(ConstantExpression),
    /// No token, or the empty value of a target's type.
    Nothing,
    /// An annotation passed as an argument, or something this model does not
    /// know; the text says what.
    Opaque(TextNumber),
}

/// A computation on constants, done by the linker or the loader.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConstantExpression {
    /// An address within an object.
    ElementPointer {
        /// The type that the indices step through.
        source: TypeNumber,
        /// Where they start.
        base: ConstantNumber,
        /// The indices.
        indices: Box<[ConstantNumber]>,
        /// Whether the result lies in the same object as the base.
        inbounds: bool,
    },
    /// A conversion; the constant's type is the result's.
    Cast(CastOperator, ConstantNumber),
    /// An operation on two operands.
    Binary(BinaryOperator, ConstantNumber, ConstantNumber),
}

impl ConstantValue {
    /// The constants that this one is made of.
    #[must_use]
    pub fn parts(&self) -> Vec<ConstantNumber> {
        match self {
            ConstantValue::Aggregate(parts) => parts.to_vec(),
            ConstantValue::Splat(part) => vec![*part],
            ConstantValue::Expression(expression) => match expression {
                ConstantExpression::ElementPointer { base, indices, .. } => std::iter::once(*base)
                    .chain(indices.iter().copied())
                    .collect(),
                ConstantExpression::Cast(_, operand) => vec![*operand],
                ConstantExpression::Binary(_, left, right) => vec![*left, *right],
            },
            _ => Vec::new(),
        }
    }
}

/// Inline assembly. The model does not look into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Assembly {
    /// The template.
    pub text: TextNumber,
    /// The constraint string: operands, clobbers.
    pub constraints: TextNumber,
    /// Whether it may do more than compute its outputs.
    pub side_effects: bool,
    /// Whether it may unwind.
    pub unwinds: bool,
}
