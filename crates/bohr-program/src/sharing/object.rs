//! What a pointer can point to: one object stands for every piece of memory
//! that one place in the program creates.

use crate::ids::{ArgumentNumber, FunctionNumber, GlobalNumber, InstructionNumber};
use cranelift_entity::entity_impl;

/// An object of the analysis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectNumber(u32);
entity_impl!(ObjectNumber, "object");

/// Where an object comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// A stack slot.
    Stack(FunctionNumber, InstructionNumber),
    /// The copy that a callee gets of an argument passed by value.
    Copied(FunctionNumber, ArgumentNumber),
    /// The variable arguments of a function.
    Variadic(FunctionNumber),
    /// What a call allocates.
    Heap(FunctionNumber, InstructionNumber),
    /// A global variable that every thread sees.
    Global(GlobalNumber),
    /// A global variable that is never written.
    Constant(GlobalNumber),
    /// All constants that hold no address; nothing needs to tell them apart.
    PlainConstants,
    /// A global variable of which every thread has its own.
    ThreadLocal(GlobalNumber),
    /// The code of a function.
    Function(FunctionNumber),
    /// The arguments and the environment that `main` gets.
    Arguments,
    /// Memory of the library that belongs to the calling thread, such as `errno`.
    Own,
}

impl Origin {
    /// Whether code can name it without having been given its address.
    pub(crate) fn is_named(self) -> bool {
        matches!(self, Origin::Global(_))
    }

    /// Whether it is never written.
    pub(crate) fn is_constant(self) -> bool {
        matches!(
            self,
            Origin::Constant(_) | Origin::PlainConstants | Origin::Function(_)
        )
    }
}
