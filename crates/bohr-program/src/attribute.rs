//! What is promised of functions, their arguments and their results.

use crate::ids::TypeNumber;
use bitflags::bitflags;
use serde::{Deserialize, Serialize};

bitflags! {
    /// Promises about a function or a call.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub struct FunctionFlags: u32 {
        /// Does not return.
        const NO_RETURN = 1;
        /// Does not unwind.
        const NO_UNWIND = 1 << 1;
        /// May return a second time, as `setjmp`.
        const RETURNS_TWICE = 1 << 2;
        /// Has no prologue; its body is assembly.
        const NAKED = 1 << 3;
        /// Returns, or unwinds, in the end.
        const WILL_RETURN = 1 << 4;
        /// Does not synchronise with other threads.
        const NO_SYNC = 1 << 5;
        /// Frees nothing.
        const NO_FREE = 1 << 6;
        /// Does not call back into this program.
        const NO_CALLBACK = 1 << 7;
        /// Is left as it is by the optimiser.
        const OPTIMISE_NONE = 1 << 8;
        /// Is never inlined.
        const NO_INLINE = 1 << 9;
        /// Is always inlined.
        const ALWAYS_INLINE = 1 << 10;
        /// Is rarely called.
        const COLD = 1 << 11;
        /// May not be duplicated.
        const NO_DUPLICATE = 1 << 12;
        /// Has no effects, so that it may be executed early.
        const SPECULATABLE = 1 << 13;
        /// Assumes the default floating-point environment no more.
        const STRICT_FLOAT = 1 << 14;
        /// Allocates.
        const ALLOCATES = 1 << 15;
        /// Changes the size of an allocation.
        const REALLOCATES = 1 << 16;
        /// Frees.
        const FREES = 1 << 17;
        /// What it allocates is zero.
        const ALLOCATES_ZEROED = 1 << 18;
    }
}

bitflags! {
    /// Promises about an argument or a result.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub struct ParameterFlags: u32 {
        /// No other pointer reaches what this one does.
        const NO_ALIAS = 1;
        /// The pointer is not kept.
        const NO_CAPTURE = 1 << 1;
        /// Nothing is written through it.
        const READ_ONLY = 1 << 2;
        /// Nothing is read through it.
        const WRITE_ONLY = 1 << 3;
        /// It is not dereferenced.
        const READ_NONE = 1 << 4;
        /// It is not null.
        const NON_NULL = 1 << 5;
        /// It is what the function returns.
        const RETURNED = 1 << 6;
        /// Upper bits are zero.
        const ZERO_EXTENDED = 1 << 7;
        /// Upper bits are like the sign.
        const SIGN_EXTENDED = 1 << 8;
        /// Nothing is freed through it.
        const NO_FREE = 1 << 9;
        /// It is the allocation that is freed or resized.
        const ALLOCATION = 1 << 10;
        /// It is the static chain of a nested function.
        const NEST = 1 << 11;
        /// It is passed in a register of its own.
        const IN_REGISTER = 1 << 12;
        /// It has no undefined bits.
        const NO_UNDEFINED = 1 << 13;
        /// It has a constant for its value.
        const IMMEDIATE = 1 << 14;
        /// What it points to is not read if the function unwinds.
        const DEAD_ON_UNWIND = 1 << 15;
    }
}

/// How an argument or result is passed and what is promised of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parameter {
    /// Promises.
    pub flags: ParameterFlags,
    /// The callee gets a copy of the pointed-to value of this type.
    pub by_value: Option<TypeNumber>,
    /// Points to room for the result, of this type.
    pub struct_return: Option<TypeNumber>,
    /// At least so many bytes can be read through it.
    pub dereferenceable: u64,
    /// Bytes it is a multiple of; 0 if not said.
    pub alignment: u32,
}

/// Attributes of a function or a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attributes {
    /// Promises.
    pub flags: FunctionFlags,
    /// What memory it may touch.
    pub memory: MemoryEffects,
    /// The arguments whose product is the size that it allocates.
    pub allocation_size: Option<(u32, Option<u32>)>,
    /// Of the result.
    pub result: Parameter,
    /// Of the arguments; those beyond the end have none.
    pub parameters: Box<[Parameter]>,
}

impl Default for Attributes {
    fn default() -> Attributes {
        Attributes {
            flags: FunctionFlags::empty(),
            memory: MemoryEffects::ANY,
            allocation_size: None,
            result: Parameter::default(),
            parameters: Box::default(),
        }
    }
}

/// What memory a function may read and write: bits 0 (reads) and 1 (writes) of
/// each kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryEffects {
    /// What its arguments point to.
    pub arguments: Effect,
    /// Memory that this program cannot reach otherwise.
    pub inaccessible: Effect,
    /// All other memory, `errno` included.
    pub other: Effect,
}

/// Whether memory is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Effect {
    /// May be read.
    pub reads: bool,
    /// May be written.
    pub writes: bool,
}

impl Effect {
    /// Neither.
    pub const NONE: Effect = Effect {
        reads: false,
        writes: false,
    };
    /// Both.
    pub const ANY: Effect = Effect {
        reads: true,
        writes: true,
    };
}

impl MemoryEffects {
    /// Nothing is known.
    pub const ANY: MemoryEffects = MemoryEffects {
        arguments: Effect::ANY,
        inaccessible: Effect::ANY,
        other: Effect::ANY,
    };
    /// No memory is touched.
    pub const NONE: MemoryEffects = MemoryEffects {
        arguments: Effect::NONE,
        inaccessible: Effect::NONE,
        other: Effect::NONE,
    };
}
