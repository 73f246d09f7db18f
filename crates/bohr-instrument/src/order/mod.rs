//! Has the threads of a program write down in which order they come by memory that
//! may be shared (LEAP): a call before and behind every access that control would
//! hook. Between the two the recorder keeps others away from those bytes, so what
//! is written is what happened (`bohr_event::recording`).

mod tables;

pub use tables::assembly;

use crate::hooks::{self, HookCount};
use crate::sites::{Length, ModuleSites, Operation, Site, SiteNumber};
use bohr_program::Reason;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMIntPredicate;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use inkwell::llvm_sys::prelude::{LLVMBuilderRef, LLVMTypeRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use std::ffi::CStr;

/// LLVM's number of the convention under which a call changes few registers.
const PRESERVE_MOST: u32 = 14;

/// Adds the calls to every site that control would hook.
pub fn insert(
    context: &Context,
    module: &Module<'_>,
    sites: &ModuleSites<'_>,
    private: &dyn Fn(SiteNumber) -> Option<Reason>,
) -> HookCount {
    let calls = Calls::new(context, module);
    hooks::each(sites, private, &mut |_, site, _| calls.surround(site))
}

struct Calls {
    builder: LLVMBuilderRef,
    word: LLVMTypeRef,
    pointer: LLVMTypeRef,
    begin: LLVMValueRef,
    end: LLVMValueRef,
}

impl Drop for Calls {
    fn drop(&mut self) {
        // SAFETY: made by `new`, used by nobody else.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

impl Calls {
    fn new(context: &Context, module: &Module<'_>) -> Calls {
        let context = context.as_ctx_ref();
        // SAFETY: types and functions of a live module.
        unsafe {
            let word = LLVMInt64TypeInContext(context);
            let pointer = LLVMPointerTypeInContext(context, 0);
            let void = LLVMVoidTypeInContext(context);
            let declare = |name: &CStr, parameters: &mut [LLVMTypeRef]| {
                let count = parameters.len() as u32;
                let kind = LLVMFunctionType(void, parameters.as_mut_ptr(), count, 0);
                let function = LLVMAddFunction(module.as_mut_ptr(), name.as_ptr(), kind);
                LLVMSetFunctionCallConv(function, PRESERVE_MOST);
                function
            };
            Calls {
                builder: LLVMCreateBuilderInContext(context),
                word,
                pointer,
                begin: declare(tables::BEFORE, &mut [pointer, word, pointer]),
                end: declare(tables::BEHIND, &mut []),
            }
        }
    }

    fn surround(&self, site: &Site<'_>) {
        let access = site.instruction.as_value_ref();
        self.stand_before(access);
        let size = u64::from(site.info.size());
        match site.operation {
            Operation::Access { address } => self.begin(address, self.number(size), None),
            Operation::Range { address, length } => self.begin(address, self.length(length), None),
            Operation::Copy {
                destination,
                source,
                length,
            } => self.begin(destination, self.length(length), Some(source)),
            Operation::Compare { one, other, length } => {
                self.begin(other, self.length(length), Some(one));
            }
            Operation::Lanes { addresses, mask } => {
                self.lanes(addresses, mask, size);
                return;
            }
            Operation::Fence | Operation::Call { .. } => return,
        }
        // SAFETY: an instruction of a live function; one that ends its block is over
        // as soon as it begins, as far as we can tell.
        unsafe {
            let next = LLVMGetNextInstruction(access);
            self.stand_before(if next.is_null() { access } else { next });
        }
        self.call(self.end, &mut []);
    }

    fn stand_before(&self, instruction: LLVMValueRef) {
        // SAFETY: the instruction is in a block of a live function.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, instruction);
            LLVMSetCurrentDebugLocation2(self.builder, LLVMInstructionGetDebugLoc(instruction));
        }
    }

    fn begin(&self, address: LLVMValueRef, length: LLVMValueRef, source: Option<LLVMValueRef>) {
        // SAFETY: a constant of a live context.
        let nothing = unsafe { LLVMConstNull(self.pointer) };
        self.call(
            self.begin,
            &mut [address, length, source.unwrap_or(nothing)],
        );
    }

    /// Each lane for itself, as under control; of length 0 where the mask is off.
    fn lanes(&self, addresses: LLVMValueRef, mask: LLVMValueRef, size: u64) {
        // SAFETY: the operands of a gather or scatter are vectors of one length.
        unsafe {
            for lane in 0..LLVMGetVectorSize(LLVMTypeOf(addresses)) {
                let lane = self.number(u64::from(lane));
                let name = c"".as_ptr();
                let address = LLVMBuildExtractElement(self.builder, addresses, lane, name);
                let on = LLVMBuildExtractElement(self.builder, mask, lane, name);
                let (size, nothing) = (self.number(size), self.number(0));
                let length = LLVMBuildSelect(self.builder, on, size, nothing, name);
                self.begin(address, length, None);
                self.call(self.end, &mut []);
            }
        }
    }

    fn number(&self, number: u64) -> LLVMValueRef {
        // SAFETY: a constant of a live context.
        unsafe { LLVMConstInt(self.word, number, 0) }
    }

    fn length(&self, length: Length) -> LLVMValueRef {
        let name = c"".as_ptr();
        // SAFETY: lengths are integers; the builder stands where they are live.
        unsafe {
            match length {
                Length::First => self.number(1),
                Length::Bytes(count) => LLVMBuildIntCast2(self.builder, count, self.word, 0, name),
                Length::FirstUnlessZero(count) => {
                    let zero = LLVMConstNull(LLVMTypeOf(count));
                    let unequal = LLVMIntPredicate::LLVMIntNE;
                    let some = LLVMBuildICmp(self.builder, unequal, count, zero, name);
                    LLVMBuildZExt(self.builder, some, self.word, name)
                }
            }
        }
    }

    fn call(&self, function: LLVMValueRef, arguments: &mut [LLVMValueRef]) {
        // SAFETY: each of the functions is called with arguments of its type.
        unsafe {
            let kind = LLVMGlobalGetValueType(function);
            let (first, count) = (arguments.as_mut_ptr(), arguments.len() as u32);
            let call = LLVMBuildCall2(self.builder, kind, function, first, count, c"".as_ptr());
            LLVMSetInstructionCallConv(call, PRESERVE_MOST);
        }
    }
}
