//! Calls: what is called, with what, under which promises.

use super::Lowering;
use super::body::Local;
use bohr_program::{Call, CallNumber, TailCall, Value};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::{LLVMOpcode, LLVMTailCallKind};

impl Lowering {
    /// Lowers what a call, invoke or callbr has in common.
    ///
    /// # Safety
    /// `value` must be one of these, as `opcode` says.
    pub(super) unsafe fn lower_call(
        &mut self,
        local: &mut Local,
        value: LLVMValueRef,
        opcode: LLVMOpcode,
    ) -> CallNumber {
        // SAFETY: arguments are asked for within their count; only plain calls
        // have a tail call kind.
        unsafe {
            let count = LLVMGetNumArgOperands(value);
            let arguments: Vec<Value> = (0..count)
                .map(|index| self.value(local, LLVMGetOperand(value, index)))
                .collect();
            let bundled = self.bundled(local, value);
            let tail = match opcode {
                LLVMOpcode::LLVMCall => tail(LLVMGetTailCallKind(value)),
                _ => TailCall::Unmarked,
            };
            let call = Call {
                callee: self.value(local, LLVMGetCalledValue(value)),
                signature: self.type_number(LLVMGetCalledFunctionType(value)),
                arguments: local.body.body().values.push(arguments),
                bundled: local.body.body().values.push(bundled),
                attributes: self.lower_attributes(value, true, count),
                tail,
            };
            local.body.body().calls.push(call)
        }
    }

    /// # Safety
    /// `value` must be a call.
    unsafe fn bundled(&mut self, local: &Local, value: LLVMValueRef) -> Vec<Value> {
        let mut bundled = Vec::new();
        // SAFETY: indices are within their counts; each bundle is given back.
        unsafe {
            for index in 0..LLVMGetNumOperandBundles(value) {
                let bundle = LLVMGetOperandBundleAtIndex(value, index);
                for index in 0..LLVMGetNumOperandBundleArgs(bundle) {
                    let argument = LLVMGetOperandBundleArgAtIndex(bundle, index);
                    bundled.push(self.value(local, argument));
                }
                LLVMDisposeOperandBundle(bundle);
            }
        }
        bundled
    }
}

fn tail(kind: LLVMTailCallKind) -> TailCall {
    match kind {
        LLVMTailCallKind::LLVMTailCallKindNone => TailCall::Unmarked,
        LLVMTailCallKind::LLVMTailCallKindTail => TailCall::Tail,
        LLVMTailCallKind::LLVMTailCallKindMustTail => TailCall::Must,
        LLVMTailCallKind::LLVMTailCallKindNoTail => TailCall::Never,
    }
}
