//! Stack slots whose address never leaves its function's loads and stores.
//!
//! No other thread can touch such a slot, so its accesses are never hooked,
//! whatever the whole-program analysis says. Unoptimised code keeps every
//! variable in one.

use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMUseRef, LLVMValueRef};
use std::collections::HashMap;

/// Remembers which slots were looked at.
#[derive(Default)]
pub struct PrivateSlots {
    known: HashMap<LLVMValueRef, bool>,
}

/// Uses of one slot that are looked at before it counts as shared.
const USES: usize = 2000;

impl PrivateSlots {
    /// Whether `address` points into a slot whose address goes nowhere.
    pub fn holds(&mut self, address: LLVMValueRef) -> bool {
        let slot = base(address);
        // SAFETY: `slot` is a live value.
        if unsafe { LLVMIsAAllocaInst(slot) }.is_null() {
            return false;
        }
        *self.known.entry(slot).or_insert_with(|| stays(slot))
    }
}

/// The value that an address is computed from by adding offsets.
pub(crate) fn base(mut address: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: operands of live values are live; only values with operands are asked.
    unsafe {
        loop {
            let opcode = if !LLVMIsAInstruction(address).is_null() {
                LLVMGetInstructionOpcode(address)
            } else if !LLVMIsAConstantExpr(address).is_null() {
                LLVMGetConstOpcode(address)
            } else {
                return address;
            };
            match opcode {
                LLVMOpcode::LLVMGetElementPtr
                | LLVMOpcode::LLVMBitCast
                | LLVMOpcode::LLVMAddrSpaceCast => address = LLVMGetOperand(address, 0),
                _ => return address,
            }
        }
    }
}

/// Whether every use of `slot`, through offsets, phis and selects, is an access.
fn stays(slot: LLVMValueRef) -> bool {
    let mut pending = vec![slot];
    let mut seen = vec![slot];
    while let Some(pointer) = pending.pop() {
        // SAFETY: the uses of a live value, each with its user; null ends the list.
        let users: Vec<LLVMValueRef> = unsafe {
            let some = |each: LLVMUseRef| (!each.is_null()).then_some(each);
            let first = some(LLVMGetFirstUse(pointer));
            std::iter::successors(first, |each| some(LLVMGetNextUse(*each)))
                .map(|each| LLVMGetUser(each))
                .collect()
        };
        for user in users {
            // SAFETY: `user` uses `pointer`.
            match unsafe { how(user, pointer) } {
                Use::Access => {}
                Use::Leak => return false,
                Use::Derived if seen.contains(&user) => {}
                Use::Derived if seen.len() == USES => return false,
                Use::Derived => {
                    seen.push(user);
                    pending.push(user);
                }
            }
        }
    }
    true
}

enum Use {
    Access,
    Derived,
    Leak,
}

/// # Safety
/// `user` must be a user of `pointer`.
unsafe fn how(user: LLVMValueRef, pointer: LLVMValueRef) -> Use {
    // SAFETY: operands are asked for as the opcode defines them.
    unsafe {
        if LLVMIsAInstruction(user).is_null() {
            return Use::Leak;
        }
        match LLVMGetInstructionOpcode(user) {
            LLVMOpcode::LLVMLoad | LLVMOpcode::LLVMICmp => Use::Access,
            LLVMOpcode::LLVMStore if LLVMGetOperand(user, 0) != pointer => Use::Access,
            LLVMOpcode::LLVMAtomicRMW if LLVMGetOperand(user, 1) != pointer => Use::Access,
            LLVMOpcode::LLVMGetElementPtr
            | LLVMOpcode::LLVMBitCast
            | LLVMOpcode::LLVMPHI
            | LLVMOpcode::LLVMSelect => Use::Derived,
            LLVMOpcode::LLVMCall if is_harmless_intrinsic(user) => Use::Access,
            _ => Use::Leak,
        }
    }
}

/// # Safety
/// `call` must be a call.
unsafe fn is_harmless_intrinsic(call: LLVMValueRef) -> bool {
    const HARMLESS: [&str; 8] = [
        "llvm.lifetime.",
        "llvm.memcpy.",
        "llvm.memmove.",
        "llvm.memset.",
        "llvm.dbg.",
        "llvm.assume",
        "llvm.va_start",
        "llvm.va_end",
    ];
    // SAFETY: a call has a callee.
    let callee = unsafe { LLVMGetCalledValue(call) };
    let name = crate::internalise::name_of(callee);
    HARMLESS.iter().any(|known| name.starts_with(known))
}
