//! Machine code from a module, and the facts about it that the tables need.

use crate::diagnostics::Diagnostics;
use crate::internalise::name_of;
use bohr_event::abi::Vectors;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::Module;
use inkwell::targets::{FileType, TargetMachine};
use inkwell::values::{AsValueRef, InstructionOpcode, InstructionValue};

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
    fill_empty_functions(module);
    let buffer = machine
        .write_to_memory_buffer(module, FileType::Object)
        .map_err(|message| message.to_string())?;
    match diagnostics.take() {
        Some(said) => Err(said),
        None => Ok(buffer.as_slice().to_vec()),
    }
}

/// Gives code to functions that never run: those of which `unreachable` is all
/// that is left. Without any, a function begins where its neighbour does, and
/// an unwinder that looks for the neighbour finds the empty one.
fn fill_empty_functions(module: &Module<'_>) {
    for function in module.get_functions() {
        let Some(block) = function.get_first_basic_block() else {
            continue;
        };
        let ends = block.get_terminator().filter(is_unreachable);
        if let Some(end) = ends
            && !block
                .get_instructions()
                .any(|each| is_code(each.as_value_ref()))
        {
            // SAFETY: a block of a live function; the trap takes no arguments.
            unsafe { trap_before(module, end.as_value_ref()) };
        }
    }
}

fn is_unreachable(instruction: &InstructionValue<'_>) -> bool {
    instruction.get_opcode() == InstructionOpcode::Unreachable
}

/// Calls leave instructions, whatever else is dropped.
fn is_code(instruction: LLVMValueRef) -> bool {
    // SAFETY: a live instruction; only calls are asked for their callee.
    unsafe {
        !LLVMIsACallInst(instruction).is_null()
            && !name_of(LLVMGetCalledValue(instruction)).starts_with("llvm.")
    }
}

/// # Safety
/// `instruction` must be one of the module's.
unsafe fn trap_before(module: &Module<'_>, instruction: LLVMValueRef) {
    const TRAP: &str = "llvm.trap";
    // SAFETY: the caller's promise; the builder is disposed of again.
    unsafe {
        let raw = module.as_mut_ptr();
        let context = LLVMGetModuleContext(raw);
        let id = LLVMLookupIntrinsicID(TRAP.as_ptr().cast(), TRAP.len());
        let trap = LLVMGetIntrinsicDeclaration(raw, id, std::ptr::null_mut(), 0);
        let kind = LLVMGlobalGetValueType(trap);
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderBefore(builder, instruction);
        LLVMSetCurrentDebugLocation2(builder, LLVMInstructionGetDebugLoc(instruction));
        LLVMBuildCall2(builder, kind, trap, std::ptr::null_mut(), 0, c"".as_ptr());
        LLVMDisposeBuilder(builder);
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
