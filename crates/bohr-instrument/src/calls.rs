//! Calls that are events of their own, or that touch memory as loads and stores
//! do, by the name of what is called.

use bohr_event::EventKind;
use bohr_program::external::{self, Use};

/// What a call does to memory that its arguments point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryCall {
    /// `(destination, source, length)`.
    Copy,
    /// `(destination, value, length)`.
    Fill,
    /// `(destination, length)`.
    Clear,
    /// `(one, other, length)`, both read.
    Compare,
    /// `(vector loaded from, …)`: as many bytes as the result has.
    MaskedLoad,
    /// `(value, vector stored to, …)`: as many bytes as the value has.
    MaskedStore,
    /// `(vector of addresses, mask, …)`.
    Gather,
    /// `(value, vector of addresses, mask)`.
    Scatter,
    /// Touches bytes from where an argument points to on, as many as only the
    /// function finds out; at least one, unless the argument with the limit is 0.
    Text(Touch, Option<u32>),
}

/// Where a function that works on text begins, by positions of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Reads there.
    Read(u32),
    /// Reads at both.
    Compare(u32, u32),
    /// Reads at the second, writes at the first.
    Copy(u32, u32),
}

impl Touch {
    /// The last argument that it needs.
    #[must_use]
    pub const fn last(self) -> u32 {
        match self {
            Touch::Read(only) => only,
            Touch::Compare(one, other) | Touch::Copy(one, other) => {
                if one > other {
                    one
                } else {
                    other
                }
            }
        }
    }
}

/// Memory intrinsics by the beginning of their names (types follow), and
/// library functions that compilers treat alike by their whole names.
const MEMORY: &[(&str, MemoryCall)] = &[
    ("llvm.memcpy.", MemoryCall::Copy),
    ("llvm.memmove.", MemoryCall::Copy),
    ("llvm.memset.", MemoryCall::Fill),
    ("llvm.masked.load.", MemoryCall::MaskedLoad),
    ("llvm.masked.expandload.", MemoryCall::MaskedLoad),
    ("llvm.masked.store.", MemoryCall::MaskedStore),
    ("llvm.masked.compressstore.", MemoryCall::MaskedStore),
    ("llvm.masked.gather.", MemoryCall::Gather),
    ("llvm.masked.scatter.", MemoryCall::Scatter),
    ("memcpy", MemoryCall::Copy),
    ("memmove", MemoryCall::Copy),
    ("mempcpy", MemoryCall::Copy),
    ("__memcpy_chk", MemoryCall::Copy),
    ("__memmove_chk", MemoryCall::Copy),
    ("__mempcpy_chk", MemoryCall::Copy),
    ("memset", MemoryCall::Fill),
    ("__memset_chk", MemoryCall::Fill),
    ("bzero", MemoryCall::Clear),
    ("explicit_bzero", MemoryCall::Clear),
    ("memcmp", MemoryCall::Compare),
    ("bcmp", MemoryCall::Compare),
];

/// How a call of `name` touches memory, if it does so like a load or store.
#[must_use]
pub fn memory_call(name: &str) -> Option<MemoryCall> {
    MEMORY
        .iter()
        .find(|(known, _)| *known == name || known.ends_with('.') && name.starts_with(known))
        .map(|(_, call)| *call)
        .or_else(|| text_call(name))
}

/// Functions that work on text, as the table of externals tells them.
fn text_call(name: &str) -> Option<MemoryCall> {
    let external = external::find(name)?;
    let is_written = |at| external.argument(at).contains(Use::WRITES);
    let touch = match external.touched.arguments[..] {
        [only] if !is_written(only) => Touch::Read(only.0.into()),
        [one, other] if !is_written(other) => match is_written(one) {
            true => Touch::Copy(one.0.into(), other.0.into()),
            false => Touch::Compare(one.0.into(), other.0.into()),
        },
        _ => return None,
    };
    let limit = external.touched.unless_zero;
    Some(MemoryCall::Text(touch, limit.map(|at| at.0.into())))
}

/// The event that a call of `name` can become, if it synchronises.
#[must_use]
pub fn synchronising_call(name: &str) -> Option<EventKind> {
    external::find(name)?.event
}
