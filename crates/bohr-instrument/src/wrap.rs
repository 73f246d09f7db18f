//! The linker's option `--wrap=symbol`, carried out on the parts before they
//! are merged: who calls a function is decided between files, and after merging
//! there is only one.
//!
//! A reference to `symbol` becomes one to `__wrap_symbol`, and `__real_symbol`
//! stands for the definition. Linkers do not agree about references in the file
//! that defines the symbol: those of the GNU family, and mold, leave them alone,
//! lld wraps them, too. The definition is called `symbol.unwrapped` here, so that
//! the second link, which wraps for the sake of native objects, does not wrap
//! twice; under its own name it is an alias that the optimiser does not see
//! through.

use bohr_bundle::Bundle;
use inkwell::llvm_sys::LLVMLinkage;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::module::Module;
use std::ffi::CString;

/// What to wrap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrapping {
    /// The symbols.
    pub symbols: Vec<String>,
    /// Whether references in the file of the definition are wrapped.
    pub in_own_file: bool,
}

impl Wrapping {
    /// What the first link of a program wrapped.
    #[must_use]
    pub fn of(bundle: &Bundle<'_>) -> Wrapping {
        let mut symbols = bundle.link().options.wrap.clone();
        symbols.sort();
        symbols.dedup();
        Wrapping {
            symbols,
            // lld leaves its name in what it links.
            in_own_file: bundle.tools().iter().any(|tool| tool.contains("LLD")),
        }
    }
}

/// Redirects references in all parts.
pub(crate) fn apply(parts: &[&Module<'_>], wrapping: &Wrapping) {
    for symbol in &wrapping.symbols {
        // SAFETY: live modules that nobody else looks at meanwhile.
        unsafe {
            let defined = parts.iter().any(|part| {
                let found = find(part.as_mut_ptr(), symbol);
                found.is_some_and(|value| LLVMIsDeclaration(value) == 0)
            });
            for part in parts {
                wrap(part.as_mut_ptr(), symbol, defined, wrapping.in_own_file);
            }
        }
    }
}

/// # Safety
/// `module` must be live.
unsafe fn wrap(module: LLVMModuleRef, symbol: &str, defined: bool, in_own_file: bool) {
    let wrapper = format!("__wrap_{symbol}");
    let real = format!("__real_{symbol}");
    let unwrapped = format!("{symbol}.unwrapped");
    // SAFETY: the caller's promise; what is found in the module is live.
    unsafe {
        match find(module, symbol) {
            Some(value) if LLVMIsDeclaration(value) != 0 => redirect(module, value, &wrapper),
            Some(value) => {
                if in_own_file && has_uses(value) {
                    let stand_in = declare_like(module, value, &wrapper);
                    LLVMReplaceAllUsesWith(value, stand_in);
                }
                rename(value, &unwrapped);
                add_alias(module, value, symbol);
            }
            None => {}
        }
        // Defined by a native object or a library, the second link finds it.
        if let Some(value) = find(module, &real).filter(|_| defined) {
            redirect(module, value, &unwrapped);
        }
    }
}

/// # Safety
/// `module` must be live.
unsafe fn find(module: LLVMModuleRef, name: &str) -> Option<LLVMValueRef> {
    let text = CString::new(name).ok()?;
    // SAFETY: the caller's promise, and a text that ends with a zero.
    let found = unsafe {
        [
            LLVMGetNamedFunction(module, text.as_ptr()),
            LLVMGetNamedGlobal(module, text.as_ptr()),
            LLVMGetNamedGlobalAlias(module, text.as_ptr(), name.len()),
        ]
    };
    found.into_iter().find(|value| !value.is_null())
}

/// Lets a declaration stand for something of another name.
///
/// # Safety
/// `declaration` must be a declaration in a live `module`.
unsafe fn redirect(module: LLVMModuleRef, declaration: LLVMValueRef, name: &str) {
    // SAFETY: the caller's promise.
    unsafe {
        match find(module, name) {
            Some(known) => LLVMReplaceAllUsesWith(declaration, known),
            None => rename(declaration, name),
        }
    }
}

/// What is known under a name, or a declaration of the same type.
///
/// # Safety
/// `value` must be a definition in a live `module`.
unsafe fn declare_like(module: LLVMModuleRef, value: LLVMValueRef, name: &str) -> LLVMValueRef {
    // SAFETY: the caller's promise; a global has a type of its value.
    unsafe {
        if let Some(known) = find(module, name) {
            return known;
        }
        let text = CString::new(name).unwrap_or_default();
        let of = LLVMGlobalGetValueType(value);
        if LLVMIsAFunction(value).is_null() {
            LLVMAddGlobal(module, of, text.as_ptr())
        } else {
            LLVMAddFunction(module, text.as_ptr(), of)
        }
    }
}

/// # Safety
/// `value` must be a definition in a live `module`.
unsafe fn add_alias(module: LLVMModuleRef, value: LLVMValueRef, name: &str) {
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: the caller's promise; the alias is of the type of what it stands for.
    unsafe {
        let of = LLVMGlobalGetValueType(value);
        let alias = LLVMAddAlias2(module, of, 0, value, text.as_ptr());
        LLVMSetVisibility(alias, LLVMGetVisibility(value));
        LLVMSetLinkage(alias, LLVMLinkage::LLVMWeakAnyLinkage);
    }
}

/// # Safety
/// `value` must be live.
unsafe fn has_uses(value: LLVMValueRef) -> bool {
    // SAFETY: the caller's promise.
    unsafe { !LLVMGetFirstUse(value).is_null() }
}

/// # Safety
/// `value` must be live.
pub(crate) unsafe fn rename(value: LLVMValueRef, name: &str) {
    // SAFETY: the caller's promise; the length goes with the text.
    unsafe { LLVMSetValueName2(value, name.as_ptr().cast(), name.len()) }
}
