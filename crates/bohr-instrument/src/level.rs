//! How far the user's compiler optimised each function, so that a profile is
//! optimised as far and no farther.
//!
//! `bohr cc` has clang write its level into every function. rustc cannot be
//! asked to; but it tells LLVM that values are defined (`noundef`) only where
//! it optimises, so a module of Rust without a single such word was not
//! optimised. Its other levels look alike and count as the one that release
//! builds have.

use crate::hooks::has_attribute;
use crate::ids::is_rust;
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMAttributeIndex;
use inkwell::llvm_sys::core::{LLVMGetEnumAttributeAtIndex, LLVMGetEnumAttributeKindForName};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};

/// The attribute of a function that carries its level. `bohr cc` writes it, too.
pub const ATTRIBUTE: &str = "bohr-level";

/// A level of optimisation; sizes (`-Os`, `-Oz`) are attributes of their own
/// and belong to [`Level::Default`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `-O0`: as written.
    None,
    /// `-O1`, `-Og`: without vectors.
    Less,
    /// `-O2`.
    Default,
    /// `-O3`.
    Aggressive,
}

impl Level {
    /// The level of a function.
    #[must_use]
    pub fn of(function: FunctionValue<'_>) -> Level {
        Level::written(function).unwrap_or(Level::Default)
    }

    /// The level that a function says itself.
    fn written(function: FunctionValue<'_>) -> Option<Level> {
        let written = function.get_string_attribute(AttributeLoc::Function, ATTRIBUTE);
        match written {
            Some(attribute) => Some(Level::by_digit(attribute.get_string_value().to_bytes())),
            None => has_attribute(function.as_value_ref(), "optnone").then_some(Level::None),
        }
    }

    fn by_digit(digit: &[u8]) -> Level {
        match digit {
            b"0" => Level::None,
            b"1" => Level::Less,
            b"3" => Level::Aggressive,
            _ => Level::Default,
        }
    }

    fn digit(self) -> &'static str {
        match self {
            Level::None => "0",
            Level::Less => "1",
            Level::Default => "2",
            Level::Aggressive => "3",
        }
    }
}

/// Writes down the level of functions that do not say it themselves: all in
/// Rust; in C and C++ those that the compiler adds, which share their file's.
pub(crate) fn note(context: &Context, part: &Module<'_>) {
    let level = if is_rust(part) {
        let optimised = part.get_functions().any(says_noundef);
        Some(if optimised { "3" } else { "0" })
    } else {
        let written = part.get_functions().filter_map(Level::written);
        written.max().map(Level::digit)
    };
    let Some(level) = level else { return };
    let attribute = context.create_string_attribute(ATTRIBUTE, level);
    for function in part.get_functions() {
        if function.get_first_basic_block().is_some() && Level::written(function).is_none() {
            function.add_attribute(AttributeLoc::Function, attribute);
        }
    }
}

/// Whether some parameter or the result of a function is said to be defined.
fn says_noundef(function: FunctionValue<'_>) -> bool {
    const NAME: &str = "noundef";
    let last: LLVMAttributeIndex = function.count_params();
    // SAFETY: a live function; 0 stands for the result, then come the parameters.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(NAME.as_ptr().cast(), NAME.len());
        (0..=last).any(|index| {
            !LLVMGetEnumAttributeAtIndex(function.as_value_ref(), index, kind).is_null()
        })
    }
}
