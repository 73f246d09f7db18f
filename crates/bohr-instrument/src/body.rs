//! A hash of what a function does, written so that it does not change with the
//! directory of the build or the order of the link.
//!
//! Only functions whose names clash are hashed, before merging renames anything.

use crate::internalise::name_of;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::values::{AsValueRef, FunctionValue};
use std::collections::HashMap;
use std::ffi::CStr;

/// Hashes opcodes, types and operands in layout order. Local values go by their
/// position, globals by their name, other constants by their text; metadata
/// (debug information above all) does not count.
pub(crate) fn hash(function: FunctionValue<'_>) -> blake3::Hash {
    let positions = positions(function);
    let mut hasher = blake3::Hasher::new();
    hasher.update(type_text(function.as_value_ref()).as_bytes());
    for block in function.get_basic_block_iter() {
        hasher.update(b"block");
        for instruction in block.get_instructions() {
            let value = instruction.as_value_ref();
            // SAFETY: an instruction of a live function.
            let (opcode, predicate, operands) = unsafe {
                (
                    LLVMGetInstructionOpcode(value) as u32,
                    instruction.get_icmp_predicate().map_or(0, |p| p as u32),
                    LLVMGetNumOperands(value).cast_unsigned(),
                )
            };
            hasher.update(&opcode.to_le_bytes());
            hasher.update(&predicate.to_le_bytes());
            hasher.update(type_text(value).as_bytes());
            for index in 0..operands {
                // SAFETY: `index` is below the number of operands.
                let operand = unsafe { LLVMGetOperand(value, index) };
                hasher.update(operand_text(operand, &positions).as_bytes());
            }
        }
    }
    hasher.finalize()
}

fn positions(function: FunctionValue<'_>) -> HashMap<LLVMValueRef, usize> {
    let arguments = function
        .get_param_iter()
        .map(|argument| argument.as_value_ref());
    let blocks = function.get_basic_block_iter().flat_map(|block| {
        // SAFETY: a block of a live function is also a value.
        let label = unsafe { LLVMBasicBlockAsValue(block.as_mut_ptr()) };
        std::iter::once(label).chain(
            block
                .get_instructions()
                .map(|instruction| instruction.as_value_ref()),
        )
    });
    arguments
        .chain(blocks)
        .enumerate()
        .map(|(at, value)| (value, at))
        .collect()
}

fn operand_text(operand: LLVMValueRef, positions: &HashMap<LLVMValueRef, usize>) -> String {
    if let Some(position) = positions.get(&operand) {
        return format!("%{position}");
    }
    // SAFETY: an operand is a live value; printing allocates a C string that is
    // ours to dispose of.
    unsafe {
        if !LLVMIsAGlobalValue(operand).is_null() {
            return format!("@{}", name_of(operand));
        }
        if !LLVMIsAMDNode(operand).is_null() || !LLVMIsAMDString(operand).is_null() {
            return String::from("!");
        }
        taken(LLVMPrintValueToString(operand))
    }
}

fn type_text(value: LLVMValueRef) -> String {
    // SAFETY: as above.
    unsafe { taken(LLVMPrintTypeToString(LLVMTypeOf(value))) }
}

/// # Safety
/// `message` must be a string that LLVM allocated for us.
unsafe fn taken(message: *mut std::ffi::c_char) -> String {
    // SAFETY: the caller's promise.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        text
    }
}
