//! The program model: every instruction of a program with operands, types and
//! debug location; constants, globals and data layout; and what is known about
//! functions outside. Made once per program from LLVM IR, by a crate that knows
//! LLVM; everything that asks about programs asks this model.
//!
//! Start at [`Program`]. A [`Function`] has a [`Body`] of [`Instruction`]s, each
//! with an [`Operation`]. [`ProgramBuilder`] puts programs together.

#![forbid(unsafe_code)]

mod address;
mod attribute;
mod awaits;
mod build;
mod calls;
mod check;
mod constant;
mod evidence;
pub mod external;
mod file;
mod flow;
mod function;
mod gates;
pub mod graph;
mod ids;
pub mod index;
mod instruction;
pub mod interpret;
mod layout;
mod libraries;
mod location;
mod operands;
mod operator;
pub mod paths;
mod pool;
mod program;
mod repetition;
mod sharing;
mod show;
mod size;
mod source_type;
mod taken;
#[cfg(test)]
mod tests;
mod text;
mod types;

pub use address::Step;
pub use attribute::{Attributes, Effect, FunctionFlags, MemoryEffects, Parameter, ParameterFlags};
pub use awaits::{Asking, Await, AwaitTest, Predicates};
pub use build::{BodyBuilder, ProgramBuilder};
pub use calls::{CallEdge, CallGraph, Certainty};
pub use check::Malformed;
pub use constant::{Assembly, Constant, ConstantExpression, ConstantValue};
pub use evidence::{Evidence, Origin};
pub use file::{FileVersion, ReadError};
pub use flow::FunctionFlow;
pub use function::{Block, Body, Call, Function, Language, TailCall, Unit};
pub use gates::{
    Gate, Gates, Kept, LeavesOut, MARK, Neutral, Search as GateSearch, Shut, ShutBody,
    SkippableCall, is_skippable_store, skippable_calls, stores_fed_by,
};
pub use ids::*;
pub use instruction::{Alignment, Case, Clause, Incoming, Instruction, Operand, Operation, Value};
pub use layout::{DataLayout, LayoutError, Layouts, TypeLayout};
pub use libraries::{Libraries, Owner, is_folder_elsewhere, is_library_file};
pub use location::{Location, Scope, SourceFile};
pub use operator::{
    Access, BinaryOperator, CastOperator, FloatPredicate, IntegerPredicate, OperationFlags,
    UpdateOperator,
};
pub use pool::{List, Pool};
pub use program::{Alias, Global, Program, Site};
pub use repetition::{
    Counter, Induction, InductionStep, Irregularity, Place, Refusal, Repetition, Shortcut, Tallied,
    Tally, Test, left_name, mark_name, repetitions, tallies, tally_mark, tally_name,
};
pub use sharing::{Callees, Reason, Sharing, Verdict};
pub use source_type::{SourceField, SourceType, SourceVariable};
pub use text::Texts;
pub use types::{FloatKind, Type};
