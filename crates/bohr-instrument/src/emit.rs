//! Machine code from a module, and the facts about it that the tables need.

use crate::diagnostics::Diagnostics;
use bohr_event::abi::Vectors;
use inkwell::module::Module;
use inkwell::targets::{FileType, TargetMachine};

/// Compiles a module to an object file.
///
/// # Errors
/// With LLVM's words. Inline assembly of the user that the assembler refuses is
/// the likeliest cause; it compiled once, so the message names it.
pub fn object(
    module: &Module<'_>,
    machine: &TargetMachine,
    diagnostics: &Diagnostics<'_>,
) -> Result<Vec<u8>, String> {
    let buffer = machine
        .write_to_memory_buffer(module, FileType::Object)
        .map_err(|message| message.to_string())?;
    match diagnostics.take() {
        Some(said) => Err(said),
        None => Ok(buffer.as_slice().to_vec()),
    }
}

/// Processors by name whose code uses no more than the vectors of every x86-64.
const PLAIN: [&str; 4] = ["", "generic", "x86-64", "x86-64-v2"];

/// The widest vector registers that some function of a module may use: by its
/// features, or by the name of its processor where that is not a plain one.
#[must_use]
pub fn vectors(module: &Module<'_>) -> Vectors {
    module
        .get_functions()
        .filter(|function| function.get_first_basic_block().is_some())
        .map(|function| {
            let attribute = |key| {
                function
                    .get_string_attribute(inkwell::attributes::AttributeLoc::Function, key)
                    .map(|value| value.get_string_value().to_string_lossy().into_owned())
                    .unwrap_or_default()
            };
            widest(&attribute("target-cpu"), &attribute("target-features"))
        })
        .max()
        .unwrap_or(Vectors::Sse)
}

fn widest(processor: &str, features: &str) -> Vectors {
    if !PLAIN.contains(&processor) || features.contains("+avx512") {
        Vectors::Avx512
    } else if features.contains("+avx") {
        Vectors::Avx
    } else {
        Vectors::Sse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_and_processors_tell_the_width() {
        assert_eq!(widest("x86-64", "+cx8,+sse2"), Vectors::Sse);
        assert_eq!(widest("x86-64", "+avx,+sse2"), Vectors::Avx);
        assert_eq!(widest("x86-64", "+avx2,+avx512f"), Vectors::Avx512);
        // A name that says nothing is taken for the widest.
        assert_eq!(widest("znver4", ""), Vectors::Avx512);
    }
}
