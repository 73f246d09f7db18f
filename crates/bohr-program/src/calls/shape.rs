//! What the arguments of a call look like to a callee.

use crate::ids::TypeNumber;
use crate::program::Program;
use crate::types::Type;

/// The kind of one argument: a call through a pointer reaches functions whose
/// parameters are of the same kinds. Anything else is undefined in C, C++ and
/// Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Pointer,
    Integer,
    Float,
    Other,
}

/// The kinds of the parameters of a function type.
pub(crate) fn kinds(program: &Program, signature: TypeNumber) -> Vec<Kind> {
    let Type::Function { parameters, .. } = &program.types[signature] else {
        return Vec::new();
    };
    let kind = |of: &TypeNumber| match program.types[*of] {
        Type::Pointer(_) => Kind::Pointer,
        Type::Integer(_) => Kind::Integer,
        Type::Float(_) => Kind::Float,
        _ => Kind::Other,
    };
    parameters.iter().map(kind).collect()
}

/// Whether more arguments may follow the parameters of a function type.
pub(crate) fn is_variadic(program: &Program, signature: TypeNumber) -> bool {
    matches!(
        program.types[signature],
        Type::Function { variadic: true, .. }
    )
}
