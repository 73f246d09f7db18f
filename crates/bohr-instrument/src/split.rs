//! Takes a module apart into the pieces of a [`Partition`], each a module of its
//! own that can be compiled in a thread of its own.
//!
//! The module is written as bitcode once. Whoever needs a piece reads it lazily,
//! turns what belongs to other pieces into declarations, and only then reads the
//! bodies that are left.

use crate::diagnostics::Diagnostics;
use crate::internalise::{USED_LISTS, definitions, name_of};
use crate::merge::link_one;
use crate::partition::{FIRST, Partition, PieceId};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::{LLVMAttributeFunctionIndex, LLVMLinkage, LLVMTypeKind, LLVMVisibility};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use std::collections::HashMap;

/// Ends the names of local symbols that another piece refers to; debuggers and
/// demanglers know it from LLVM's own way of splitting.
const SUFFIX: &str = ".llvm.0";

/// A module that can be had in pieces.
pub struct Split {
    bitcode: Vec<u8>,
    owner: HashMap<String, PieceId>,
}

impl Split {
    /// Prepares a module: what pieces share gets a name that the linker sees.
    #[must_use]
    pub fn of(module: &Module<'_>, partition: &Partition) -> Split {
        let mut owner = HashMap::new();
        for (number, value) in definitions(module).into_iter().enumerate() {
            if name_of(value).is_empty() {
                rename(value, &format!("bohr.{number}"));
            }
            if partition.is_shared(value) {
                share(value);
            }
            owner.insert(name_of(value), partition.piece(value));
        }
        let written = module.write_bitcode_to_memory();
        // Bitcode is whole words; the buffer may count a terminating zero.
        let bytes = written.as_slice();
        let bitcode = bytes[..bytes.len() & !3].to_vec();
        Split { bitcode, owner }
    }

    /// Reads one piece.
    ///
    /// # Errors
    /// With LLVM's words; it would be our bug.
    pub fn piece<'ctx>(
        &self,
        context: &'ctx Context,
        piece: PieceId,
        diagnostics: &Diagnostics<'_>,
    ) -> Result<Module<'ctx>, String> {
        let whole = self.read_lazily(context)?;
        if piece != FIRST {
            leave_whole_lists(&whole);
        }
        for value in definitions(&whole) {
            if self.owner.get(&name_of(value)) != Some(&piece) {
                give_away(&whole, value);
            }
        }
        let module = context.create_module(&format!("bohr.{}", piece.0));
        module.set_triple(&whole.get_triple());
        module.set_data_layout(&whole.get_data_layout());
        link_one(&module, whole, diagnostics)?;
        Ok(module)
    }

    fn read_lazily<'ctx>(&self, context: &'ctx Context) -> Result<Module<'ctx>, String> {
        let buffer = MemoryBuffer::create_from_memory_range(&self.bitcode, "bohr");
        let mut raw = std::ptr::null_mut();
        // SAFETY: LLVM takes the buffer over whatever happens, hence the `forget`,
        // and returns a module of the context if it returns 0. The module is gone
        // before the bytes are.
        unsafe {
            let taken = buffer.as_mut_ptr();
            std::mem::forget(buffer);
            if LLVMGetBitcodeModuleInContext2(context.as_ctx_ref(), taken, &mut raw) != 0 {
                return Err("our own bitcode cannot be read".into());
            }
            Ok(Module::new(raw))
        }
    }
}

/// Assembly and lists of used symbols belong to the first piece.
fn leave_whole_lists(module: &Module<'_>) {
    module.set_inline_assembly("");
    for list in USED_LISTS {
        if let Some(list) = module.get_global(list) {
            // SAFETY: nothing refers to these lists.
            unsafe { list.delete() };
        }
    }
}

fn rename(value: LLVMValueRef, name: &str) {
    // SAFETY: a live value takes a copy of the name.
    unsafe { LLVMSetValueName2(value, name.as_ptr().cast(), name.len()) };
}

/// Gives a local symbol a name of its own that stays inside the program.
fn share(value: LLVMValueRef) {
    // SAFETY: a definition of a live module.
    unsafe {
        let local = matches!(
            LLVMGetLinkage(value),
            LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage
        );
        if local {
            rename(value, &format!("{}{SUFFIX}", name_of(value)));
            LLVMSetLinkage(value, LLVMLinkage::LLVMExternalLinkage);
            LLVMSetVisibility(value, LLVMVisibility::LLVMHiddenVisibility);
        }
    }
}

/// Puts a declaration in the place of a definition whose body has not been read.
/// (Dropping the body alone would destroy constants that the reader still counts on.)
fn give_away(module: &Module<'_>, value: LLVMValueRef) {
    let name = name_of(value);
    // SAFETY: a definition of `module`, of one of four kinds, deleted after its
    // last use.
    unsafe {
        let kind = LLVMGlobalGetValueType(value);
        let declared = if LLVMGetTypeKind(kind) == LLVMTypeKind::LLVMFunctionTypeKind {
            let declared = LLVMAddFunction(module.as_mut_ptr(), c"".as_ptr(), kind);
            if !LLVMIsAFunction(value).is_null() {
                copy_convention(value, declared);
            }
            declared
        } else {
            let space = LLVMGetPointerAddressSpace(LLVMTypeOf(value));
            let raw = module.as_mut_ptr();
            let declared = LLVMAddGlobalInAddressSpace(raw, kind, c"".as_ptr(), space);
            if !LLVMIsAGlobalVariable(value).is_null() {
                LLVMSetThreadLocalMode(declared, LLVMGetThreadLocalMode(value));
                LLVMSetGlobalConstant(declared, LLVMIsGlobalConstant(value));
                LLVMSetAlignment(declared, LLVMGetAlignment(value));
            }
            declared
        };
        LLVMSetVisibility(declared, LLVMGetVisibility(value));
        LLVMReplaceAllUsesWith(value, declared);
        if !LLVMIsAFunction(value).is_null() {
            LLVMDeleteFunction(value);
        } else if !LLVMIsAGlobalIFunc(value).is_null() {
            LLVMEraseGlobalIFunc(value);
        } else if !LLVMIsAGlobalVariable(value).is_null() {
            LLVMDeleteGlobal(value);
        } else {
            // Nothing can delete an alias; a local one that nobody uses is left behind.
            rename(value, "");
            LLVMSetLinkage(value, LLVMLinkage::LLVMInternalLinkage);
        }
        rename(declared, &name);
    }
}

/// How a function is called, and what it promises its callers.
///
/// # Safety
/// Both must be functions of one type.
pub(crate) unsafe fn copy_convention(from: LLVMValueRef, to: LLVMValueRef) {
    // SAFETY: attributes are read into a list of their number.
    unsafe {
        LLVMSetFunctionCallConv(to, LLVMGetFunctionCallConv(from));
        let parameters = 0..=LLVMCountParams(from);
        for index in parameters.chain([LLVMAttributeFunctionIndex]) {
            let count = LLVMGetAttributeCountAtIndex(from, index);
            let mut attributes = vec![std::ptr::null_mut(); count as usize];
            LLVMGetAttributesAtIndex(from, index, attributes.as_mut_ptr());
            for attribute in attributes {
                LLVMAddAttributeAtIndex(to, index, attribute);
            }
        }
        // Only bodies can be left unoptimised, or be naked.
        for name in ["optnone", "naked"] {
            let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            LLVMRemoveEnumAttributeAtIndex(to, LLVMAttributeFunctionIndex, kind);
        }
    }
}
