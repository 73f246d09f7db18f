//! Global variables, aliases, and what is known of functions beside their bodies.

use super::{Lowering, Named};
use crate::internalise::name_of;
use bohr_program::{Alias, Function, FunctionNumber, Global};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMGetSubprogram;
use inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use inkwell::llvm_sys::{LLVMLinkage, LLVMVisibility};
use inkwell::values::AsValueRef;

/// The values of a list that LLVM links from each to the next.
fn list(
    first: LLVMValueRef,
    next: unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef,
) -> impl Iterator<Item = LLVMValueRef> {
    let some = |value: LLVMValueRef| (!value.is_null()).then_some(value);
    // SAFETY: `next` belongs to the list that `first` comes from.
    std::iter::successors(some(first), move |value| some(unsafe { next(*value) }))
}

/// The global variables of a module.
pub(super) fn variables(module: LLVMModuleRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: a live module.
    list(unsafe { LLVMGetFirstGlobal(module) }, LLVMGetNextGlobal)
}

/// The aliases of a module, and then its indirect functions (`true`).
pub(super) fn aliases(module: LLVMModuleRef) -> impl Iterator<Item = (LLVMValueRef, bool)> {
    // SAFETY: a live module.
    let (aliases, indirect) = unsafe {
        (
            LLVMGetFirstGlobalAlias(module),
            LLVMGetFirstGlobalIFunc(module),
        )
    };
    let aliases = list(aliases, LLVMGetNextGlobalAlias).map(|alias| (alias, false));
    aliases.chain(list(indirect, LLVMGetNextGlobalIFunc).map(|alias| (alias, true)))
}

/// Whether other objects can name a function or global.
fn is_exported(value: LLVMValueRef) -> bool {
    // SAFETY: a function or global.
    unsafe {
        let local = matches!(
            LLVMGetLinkage(value),
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
        );
        !local && LLVMGetVisibility(value) != LLVMVisibility::LLVMHiddenVisibility
    }
}

impl Lowering {
    /// Lowers global variables, aliases and assembly outside functions.
    pub(super) fn lower_globals(&mut self) {
        let module = self.module;
        for value in variables(module) {
            let global = self.lower_global(value);
            let number = self.builder.program().globals.push(global);
            if let Some(of) = self.global_type(value) {
                self.builder.program().global_types.push((number, of));
            }
        }
        for (value, indirect) in aliases(module) {
            // SAFETY: an alias or an indirect function, as `indirect` says.
            let target = unsafe {
                match indirect {
                    true => LLVMGetGlobalIFuncResolver(value),
                    false => LLVMAliasGetAliasee(value),
                }
            };
            let alias = Alias {
                name: self.builder.text(&name_of(value)),
                target: self.constant(target),
                indirect,
            };
            self.builder.program().aliases.push(alias);
        }
        let mut length = 0;
        // SAFETY: a live module; LLVM tells the length.
        let assembly = unsafe {
            let start = LLVMGetModuleInlineAsm(module, &mut length);
            super::texts::text(start, length)
        };
        if !assembly.is_empty() {
            let text = self.builder.text(&assembly);
            self.builder.program().module_assembly.push(text);
        }
    }

    fn lower_global(&mut self, value: LLVMValueRef) -> Global {
        // SAFETY: a global variable.
        unsafe {
            let of = self.type_number(LLVMGlobalGetValueType(value));
            let initialiser = match LLVMIsDeclaration(value) {
                0 => Some(self.constant(LLVMGetInitializer(value))),
                _ => None,
            };
            Global {
                name: self.builder.text(&name_of(value)),
                of,
                initialiser: initialiser.into(),
                alignment: u64::from(LLVMGetAlignment(value)).max(1),
                address_space: LLVMGetPointerAddressSpace(LLVMTypeOf(value)),
                thread_local: LLVMIsThreadLocal(value) != 0,
                constant: LLVMIsGlobalConstant(value) != 0,
                address_taken: false,
                exported: is_exported(value),
            }
        }
    }

    /// Lowers a function, without its body.
    pub(super) fn lower_function(&mut self, named: &Named<'_>) -> FunctionNumber {
        let value = named.function.as_value_ref();
        // SAFETY: a function.
        let (signature, parameters, subprogram) = unsafe {
            (
                LLVMGlobalGetValueType(value),
                LLVMCountParams(value),
                LLVMGetSubprogram(value),
            )
        };
        let subprogram = (!subprogram.is_null()).then(|| self.subprogram(subprogram));
        let symbol = name_of(value);
        let name = match &subprogram {
            Some(known) if !known.linkage_name.is_empty() => &known.linkage_name,
            Some(known) if renamed(&symbol, &known.name) => &known.name,
            _ => &symbol,
        };
        let function = Function {
            id: named.id,
            name: self.builder.text(name),
            symbol: self.builder.text(&symbol),
            signature: self.type_number(signature),
            attributes: self.lower_attributes(value, false, parameters),
            personality: self.personality(value).into(),
            unit: subprogram.as_ref().and_then(|known| known.unit).into(),
            file: subprogram.as_ref().and_then(|known| known.file).into(),
            line: subprogram.as_ref().map_or(0, |known| known.line),
            address_taken: false,
            exported: named.defined && is_exported(value),
            body: None,
        };
        self.builder.program().functions.push(function)
    }

    fn personality(&self, function: LLVMValueRef) -> Option<FunctionNumber> {
        // SAFETY: a function, asked for its routine only if it has one.
        unsafe {
            match LLVMHasPersonalityFn(function) {
                0 => None,
                _ => self.function_behind(LLVMGetPersonalityFn(function)),
            }
        }
    }
}

/// Whether merging made the symbol from the name: it appends a dot and a number.
fn renamed(symbol: &str, name: &str) -> bool {
    let rest = symbol.strip_prefix(name);
    let number = rest.and_then(|rest| rest.strip_prefix('.'));
    number.is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
}
