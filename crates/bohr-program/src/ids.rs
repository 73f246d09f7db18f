//! Typed numbers for everything the model holds. A number means something only
//! within its program (or, for blocks, instructions, arguments and calls,
//! within its function); what stays the same across builds is
//! [`FunctionId`](bohr_event::FunctionId) and [`SiteId`](bohr_event::SiteId).

use cranelift_entity::entity_impl;
use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(u32);
        entity_impl!($name, $prefix);
    };
}

number!(
    /// A function: first those with a body, in the order of their
    /// [`FunctionId`](bohr_event::FunctionId), then the declared ones, by symbol.
    FunctionNumber, "fn");
number!(
    /// A basic block of a function, in layout order; the entry block is 0.
    BlockNumber, "b");
number!(
    /// An instruction of a function, in layout order.
    InstructionNumber, "i");
number!(
    /// A formal argument of a function, from 0.
    ArgumentNumber, "arg");
number!(
    /// The details of a call, within its function.
    CallNumber, "call");
number!(
    /// A site of the program: dense, functions by id, then layout order. What
    /// hooks pass to the runtime, before the module's base is added.
    SiteNumber, "site");
number!(
    /// A type. Parts of a type have smaller numbers than the type.
    TypeNumber, "type");
number!(
    /// A type of the source.
    SourceTypeNumber, "source");
number!(
    /// A constant. Parts of a constant have smaller numbers than the constant.
    ConstantNumber, "const");
number!(
    /// A global variable, defined or declared.
    GlobalNumber, "global");
number!(
    /// An alias or an indirect function.
    AliasNumber, "alias");
number!(
    /// A piece of text.
    TextNumber, "text");
number!(
    /// A source file.
    FileNumber, "file");
number!(
    /// A place in the source. The place it was inlined at has a smaller number.
    LocationNumber, "loc");
number!(
    /// A function of the source as the debug information names it.
    ScopeNumber, "scope");
number!(
    /// A translation unit.
    UnitNumber, "unit");
number!(
    /// Attributes of a function or a call.
    AttributesNumber, "attr");
number!(
    /// A piece of inline assembly.
    AssemblyNumber, "asm");
number!(
    /// A gate of the program: dense, in the order of [`Gates`](crate::Gates).
    /// What gates pass to the runtime.
    GateNumber, "gate");
