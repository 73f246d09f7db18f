//! How far the user's compiler optimised each function, so that a profile is
//! optimised as far and no farther.
//!
//! `bohr cc` has clang write its level into every function. rustc cannot be
//! asked to; for its modules the bundle tells what `bohr cargo` saw on the
//! command line. Where it does not (the standard library, static libraries):
//! rustc tells LLVM that values are defined (`noundef`) only where it optimises,
//! so a module without a single such word was not optimised; others count as the
//! level that release builds have.

use crate::hooks::has_attribute;
use crate::ids::is_rust;
use bohr_bundle::Language;
pub use bohr_bundle::Level;
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMAttributeIndex;
use inkwell::llvm_sys::core::{LLVMGetEnumAttributeAtIndex, LLVMGetEnumAttributeKindForName};
use inkwell::module::Module;
use inkwell::values::{AsValueRef, FunctionValue};

/// The attribute of a function that carries its level. `bohr cc` writes it, too.
pub const ATTRIBUTE: &str = "bohr-level";

/// The level of a function.
#[must_use]
pub fn of(function: FunctionValue<'_>) -> Level {
    written(function).unwrap_or(Level::Default)
}

/// The level that a function says itself.
fn written(function: FunctionValue<'_>) -> Option<Level> {
    let written = function.get_string_attribute(AttributeLoc::Function, ATTRIBUTE);
    match written {
        Some(attribute) => {
            let digit = attribute.get_string_value().to_string_lossy();
            Some(Level::of_option(&digit).unwrap_or(Level::Default))
        }
        None => has_attribute(function.as_value_ref(), "optnone").then_some(Level::None),
    }
}

/// Writes down the level of functions that do not say it themselves: all in
/// Rust; in C and C++ those that the compiler adds, which share their file's.
pub(crate) fn note(context: &Context, part: &Module<'_>, language: Option<Language>) {
    let level = match language {
        Some(Language::Rust { level: Some(level) }) => Some(level),
        _ if is_rust(part) => Some(match part.get_functions().any(says_noundef) {
            true => Level::Aggressive,
            false => Level::None,
        }),
        _ => part.get_functions().filter_map(written).max(),
    };
    let Some(level) = level else { return };
    let attribute = context.create_string_attribute(ATTRIBUTE, level.digit());
    for function in part.get_functions() {
        if function.get_first_basic_block().is_some() && written(function).is_none() {
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
