//! Functions that write down their way do something that their authors' compiler
//! did not know of when it noted that they do nothing.

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeIndex};

/// Promises that such a function does not keep.
const BROKEN: [&str; 2] = ["memory", "speculatable"];

fn broken() -> impl Iterator<Item = u32> {
    // SAFETY: attributes by their names.
    let number =
        |name: &str| unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) };
    BROKEN.into_iter().map(number)
}

/// Takes back what is promised of a function.
pub fn admit(function: LLVMValueRef) {
    for kind in broken() {
        // SAFETY: a live function; an attribute that is not there is ignored.
        unsafe { LLVMRemoveEnumAttributeAtIndex(function, INDEX, kind) };
    }
}

/// Takes back what is promised of a call.
pub fn admit_at(call: LLVMValueRef) {
    for kind in broken() {
        // SAFETY: a live call; an attribute that is not there is ignored.
        unsafe { LLVMRemoveCallSiteEnumAttribute(call, INDEX, kind) };
    }
}

const INDEX: LLVMAttributeIndex = LLVMAttributeFunctionIndex;
