//! Types, as LLVM knows them: what is needed to tell how wide a value is and
//! where the parts of an aggregate lie.

use crate::ids::{TextNumber, TypeNumber};
use serde::{Deserialize, Serialize};

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FloatKind {
    /// IEEE binary16.
    Half,
    /// The upper half of a binary32.
    Brain,
    /// IEEE binary32.
    Single,
    /// IEEE binary64.
    Double,
    /// The x87's 80-bit format, C's `long double` on x86-64.
    X87,
    /// IEEE binary128.
    Quad,
    /// A pair of doubles.
    PairOfDoubles,
}

impl FloatKind {
    /// How many bits a value has.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            FloatKind::Half | FloatKind::Brain => 16,
            FloatKind::Single => 32,
            FloatKind::Double => 64,
            FloatKind::X87 => 80,
            FloatKind::Quad | FloatKind::PairOfDoubles => 128,
        }
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Type {
    /// No value.
    Void,
    /// An integer of any width in bits.
    Integer(u32),
    /// A floating-point number.
    Float(FloatKind),
    /// An address, in an address space (0 is the ordinary one).
    Pointer(u32),
    /// A vector.
    Vector {
        /// Type of an element.
        element: TypeNumber,
        /// How many; the least, if scalable.
        count: u32,
        /// Whether the count is multiplied by a number known at run time.
        scalable: bool,
    },
    /// An array.
    Array {
        /// Type of an element.
        element: TypeNumber,
        /// How many.
        count: u64,
    },
    /// A structure.
    Struct {
        /// Types of the fields.
        fields: Box<[TypeNumber]>,
        /// Without padding.
        packed: bool,
        /// Its name, if it has one: equal names are equal types.
        name: Option<TextNumber>,
    },
    /// A structure whose fields this program does not know.
    OpaqueStruct(TextNumber),
    /// A function.
    Function {
        /// What it returns.
        result: TypeNumber,
        /// What it takes.
        parameters: Box<[TypeNumber]>,
        /// Whether more may follow.
        variadic: bool,
    },
    /// The type of a block as a value.
    Label,
    /// The type of debug information and other annotations passed as arguments.
    Metadata,
    /// A value that ties instructions together and has no bits.
    Token,
    /// A type of one target, by its name.
    Target(TextNumber),
}

impl Type {
    /// The types that this one is made of.
    #[must_use]
    pub fn parts(&self) -> Vec<TypeNumber> {
        match self {
            Type::Vector { element, .. } | Type::Array { element, .. } => vec![*element],
            Type::Struct { fields, .. } => fields.to_vec(),
            Type::Function {
                result, parameters, ..
            } => std::iter::once(*result)
                .chain(parameters.iter().copied())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The width of an integer, if it is one.
    #[must_use]
    pub fn integer_bits(&self) -> Option<u32> {
        match self {
            Type::Integer(bits) => Some(*bits),
            _ => None,
        }
    }
}
