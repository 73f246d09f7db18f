//! Texts out of LLVM.

use inkwell::llvm_sys::core::{LLVMDisposeMessage, LLVMPrintValueToString};
use inkwell::llvm_sys::prelude::LLVMValueRef;
use std::ffi::{CStr, c_char};

/// A text that LLVM owns, by start and length.
///
/// # Safety
/// `start` must be null or point to `length` bytes.
pub(super) unsafe fn text(start: *const c_char, length: usize) -> String {
    if start.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// A value as LLVM's assembly language writes it.
///
/// # Safety
/// `value` must be alive.
pub(super) unsafe fn printed(value: LLVMValueRef) -> String {
    // SAFETY: LLVM gives a string that is ours to read and then to give back.
    unsafe {
        let message = LLVMPrintValueToString(value);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        text
    }
}
