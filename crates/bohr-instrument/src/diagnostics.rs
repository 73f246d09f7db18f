//! What LLVM has to say while it works on a context.
//!
//! Without a handler of ours LLVM prints to standard error and ends the process
//! at the first error; with one, an error becomes a value that names the part
//! it came from.

use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription,
    LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use std::cell::RefCell;
use std::ffi::{CStr, c_void};

/// Collects the errors that LLVM reports about one context, for as long as it lives.
pub struct Diagnostics<'ctx> {
    context: &'ctx Context,
    /// Boxed, since LLVM holds its address.
    errors: Box<RefCell<Vec<String>>>,
}

impl<'ctx> Diagnostics<'ctx> {
    /// Begins to collect.
    #[must_use]
    pub fn collect(context: &'ctx Context) -> Diagnostics<'ctx> {
        let errors = Box::new(RefCell::new(Vec::new()));
        let address = std::ptr::from_ref(&*errors).cast_mut().cast::<c_void>();
        // SAFETY: the handler gets back the address of the box, which lives
        // until `drop` takes the handler away again.
        unsafe { LLVMContextSetDiagnosticHandler(context.as_ctx_ref(), Some(record), address) };
        Diagnostics { context, errors }
    }

    /// The errors since the last call, joined; `None` if there were none.
    #[must_use]
    pub fn take(&self) -> Option<String> {
        let errors = self.errors.take();
        (!errors.is_empty()).then(|| errors.join("; "))
    }
}

impl Drop for Diagnostics<'_> {
    fn drop(&mut self) {
        // SAFETY: the context outlives `self`; no handler means LLVM's own.
        unsafe {
            LLVMContextSetDiagnosticHandler(self.context.as_ctx_ref(), None, std::ptr::null_mut());
        }
    }
}

extern "C" fn record(info: LLVMDiagnosticInfoRef, errors: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic and the address given to `collect`;
    // the description is a C string that is ours to dispose of.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let description = LLVMGetDiagInfoDescription(info);
        let text = CStr::from_ptr(description).to_string_lossy().into_owned();
        LLVMDisposeMessage(description);
        (*errors.cast::<RefCell<Vec<String>>>())
            .borrow_mut()
            .push(text);
    }
}
