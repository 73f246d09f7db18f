//! Opcodes, predicates, orders and flags.

use bohr_event::MemoryOrder;
use bohr_program::{
    Access, Alignment, BinaryOperator, CastOperator, FloatPredicate, IntegerPredicate,
    OperationFlags, UpdateOperator,
};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate, LLVMOpcode, LLVMRealPredicate,
};

/// The operator of an opcode that takes two operands.
pub(super) fn binary_operator(opcode: LLVMOpcode) -> Option<BinaryOperator> {
    use BinaryOperator::*;
    Some(match opcode {
        LLVMOpcode::LLVMAdd => Add,
        LLVMOpcode::LLVMFAdd => FloatAdd,
        LLVMOpcode::LLVMSub => Subtract,
        LLVMOpcode::LLVMFSub => FloatSubtract,
        LLVMOpcode::LLVMMul => Multiply,
        LLVMOpcode::LLVMFMul => FloatMultiply,
        LLVMOpcode::LLVMUDiv => UnsignedDivide,
        LLVMOpcode::LLVMSDiv => SignedDivide,
        LLVMOpcode::LLVMFDiv => FloatDivide,
        LLVMOpcode::LLVMURem => UnsignedRemainder,
        LLVMOpcode::LLVMSRem => SignedRemainder,
        LLVMOpcode::LLVMFRem => FloatRemainder,
        LLVMOpcode::LLVMShl => ShiftLeft,
        LLVMOpcode::LLVMLShr => LogicalShiftRight,
        LLVMOpcode::LLVMAShr => ArithmeticShiftRight,
        LLVMOpcode::LLVMAnd => And,
        LLVMOpcode::LLVMOr => Or,
        LLVMOpcode::LLVMXor => ExclusiveOr,
        _ => return None,
    })
}

/// The operator of an opcode that converts.
pub(super) fn cast_operator(opcode: LLVMOpcode) -> Option<CastOperator> {
    use CastOperator::*;
    Some(match opcode {
        LLVMOpcode::LLVMTrunc => Truncate,
        LLVMOpcode::LLVMZExt => ZeroExtend,
        LLVMOpcode::LLVMSExt => SignExtend,
        LLVMOpcode::LLVMFPTrunc => FloatTruncate,
        LLVMOpcode::LLVMFPExt => FloatExtend,
        LLVMOpcode::LLVMFPToUI => FloatToUnsigned,
        LLVMOpcode::LLVMFPToSI => FloatToSigned,
        LLVMOpcode::LLVMUIToFP => UnsignedToFloat,
        LLVMOpcode::LLVMSIToFP => SignedToFloat,
        LLVMOpcode::LLVMPtrToInt => PointerToInteger,
        LLVMOpcode::LLVMPtrToAddr => PointerToAddress,
        LLVMOpcode::LLVMIntToPtr => IntegerToPointer,
        LLVMOpcode::LLVMBitCast => Bitcast,
        LLVMOpcode::LLVMAddrSpaceCast => AddressSpace,
        _ => return None,
    })
}

/// How integers are compared.
pub(super) fn integer_predicate(predicate: LLVMIntPredicate) -> IntegerPredicate {
    use IntegerPredicate::*;
    match predicate {
        LLVMIntPredicate::LLVMIntEQ => Equal,
        LLVMIntPredicate::LLVMIntNE => NotEqual,
        LLVMIntPredicate::LLVMIntUGT => UnsignedGreater,
        LLVMIntPredicate::LLVMIntUGE => UnsignedGreaterOrEqual,
        LLVMIntPredicate::LLVMIntULT => UnsignedLess,
        LLVMIntPredicate::LLVMIntULE => UnsignedLessOrEqual,
        LLVMIntPredicate::LLVMIntSGT => SignedGreater,
        LLVMIntPredicate::LLVMIntSGE => SignedGreaterOrEqual,
        LLVMIntPredicate::LLVMIntSLT => SignedLess,
        LLVMIntPredicate::LLVMIntSLE => SignedLessOrEqual,
    }
}

/// How floating-point numbers are compared.
pub(super) fn float_predicate(predicate: LLVMRealPredicate) -> FloatPredicate {
    use FloatPredicate::*;
    match predicate {
        LLVMRealPredicate::LLVMRealPredicateFalse => False,
        LLVMRealPredicate::LLVMRealOEQ => OrderedEqual,
        LLVMRealPredicate::LLVMRealOGT => OrderedGreater,
        LLVMRealPredicate::LLVMRealOGE => OrderedGreaterOrEqual,
        LLVMRealPredicate::LLVMRealOLT => OrderedLess,
        LLVMRealPredicate::LLVMRealOLE => OrderedLessOrEqual,
        LLVMRealPredicate::LLVMRealONE => OrderedNotEqual,
        LLVMRealPredicate::LLVMRealORD => Ordered,
        LLVMRealPredicate::LLVMRealUNO => Unordered,
        LLVMRealPredicate::LLVMRealUEQ => UnorderedEqual,
        LLVMRealPredicate::LLVMRealUGT => UnorderedGreater,
        LLVMRealPredicate::LLVMRealUGE => UnorderedGreaterOrEqual,
        LLVMRealPredicate::LLVMRealULT => UnorderedLess,
        LLVMRealPredicate::LLVMRealULE => UnorderedLessOrEqual,
        LLVMRealPredicate::LLVMRealUNE => UnorderedNotEqual,
        LLVMRealPredicate::LLVMRealPredicateTrue => True,
    }
}

/// What an atomic update computes.
pub(super) fn update_operator(operator: LLVMAtomicRMWBinOp) -> UpdateOperator {
    use LLVMAtomicRMWBinOp::*;
    use UpdateOperator::*;
    match operator {
        LLVMAtomicRMWBinOpXchg => Exchange,
        LLVMAtomicRMWBinOpAdd => Add,
        LLVMAtomicRMWBinOpSub => Subtract,
        LLVMAtomicRMWBinOpAnd => And,
        LLVMAtomicRMWBinOpNand => Nand,
        LLVMAtomicRMWBinOpOr => Or,
        LLVMAtomicRMWBinOpXor => ExclusiveOr,
        LLVMAtomicRMWBinOpMax => SignedMaximum,
        LLVMAtomicRMWBinOpMin => SignedMinimum,
        LLVMAtomicRMWBinOpUMax => UnsignedMaximum,
        LLVMAtomicRMWBinOpUMin => UnsignedMinimum,
        LLVMAtomicRMWBinOpFAdd => FloatAdd,
        LLVMAtomicRMWBinOpFSub => FloatSubtract,
        LLVMAtomicRMWBinOpFMax => FloatMaximumNumber,
        LLVMAtomicRMWBinOpFMin => FloatMinimumNumber,
        LLVMAtomicRMWBinOpFMaximum => FloatMaximum,
        LLVMAtomicRMWBinOpFMinimum => FloatMinimum,
        LLVMAtomicRMWBinOpUIncWrap => IncrementWrapping,
        LLVMAtomicRMWBinOpUDecWrap => DecrementWrapping,
        LLVMAtomicRMWBinOpUSubCond => SubtractConditionally,
        LLVMAtomicRMWBinOpUSubSat => SubtractSaturating,
    }
}

/// A memory order.
pub(super) fn memory_order(ordering: LLVMAtomicOrdering) -> MemoryOrder {
    use LLVMAtomicOrdering::*;
    match ordering {
        LLVMAtomicOrderingNotAtomic => MemoryOrder::Plain,
        LLVMAtomicOrderingUnordered => MemoryOrder::Unordered,
        LLVMAtomicOrderingMonotonic => MemoryOrder::Relaxed,
        LLVMAtomicOrderingAcquire => MemoryOrder::Acquire,
        LLVMAtomicOrderingRelease => MemoryOrder::Release,
        LLVMAtomicOrderingAcquireRelease => MemoryOrder::AcquireRelease,
        LLVMAtomicOrderingSequentiallyConsistent => MemoryOrder::SequentiallyConsistent,
    }
}

/// How an instruction accesses memory.
///
/// # Safety
/// `value` must be a load, store, atomic operation or fence, as `opcode` says.
pub(super) unsafe fn access(value: LLVMValueRef, opcode: LLVMOpcode) -> Access {
    // SAFETY: each has an order; all but fences have volatility and alignment.
    unsafe {
        let order = memory_order(match opcode {
            LLVMOpcode::LLVMAtomicCmpXchg => LLVMGetCmpXchgSuccessOrdering(value),
            _ => LLVMGetOrdering(value),
        });
        let single_thread = order != MemoryOrder::Plain && LLVMIsAtomicSingleThread(value) != 0;
        if opcode == LLVMOpcode::LLVMFence {
            return Access {
                order,
                single_thread,
                ..Access::PLAIN
            };
        }
        Access {
            order,
            alignment: Alignment::of_bytes(LLVMGetAlignment(value).into()),
            volatile: LLVMGetVolatile(value) != 0,
            single_thread,
        }
    }
}

/// What is promised of an instruction.
///
/// # Safety
/// `value` must be an instruction with this opcode.
pub(super) unsafe fn flags(value: LLVMValueRef, opcode: LLVMOpcode) -> OperationFlags {
    use LLVMOpcode::*;
    let mut flags = OperationFlags::empty();
    // SAFETY: each opcode is asked for the flags that it can have.
    unsafe {
        match opcode {
            LLVMAdd | LLVMSub | LLVMMul | LLVMShl | LLVMTrunc => {
                flags.set(OperationFlags::NO_UNSIGNED_WRAP, LLVMGetNUW(value) != 0);
                flags.set(OperationFlags::NO_SIGNED_WRAP, LLVMGetNSW(value) != 0);
            }
            LLVMUDiv | LLVMSDiv | LLVMLShr | LLVMAShr => {
                flags.set(OperationFlags::EXACT, LLVMGetExact(value) != 0);
            }
            LLVMZExt => flags.set(OperationFlags::NOT_NEGATIVE, LLVMGetNNeg(value) != 0),
            LLVMUIToFP => flags.set(OperationFlags::NOT_NEGATIVE, LLVMGetNNeg(value) != 0),
            LLVMOr => flags.set(OperationFlags::DISJOINT, LLVMGetIsDisjoint(value) != 0),
            LLVMICmp => flags.set(OperationFlags::SAME_SIGN, LLVMGetICmpSameSign(value) != 0),
            LLVMGetElementPtr => {
                let bits = LLVMGEPGetNoWrapFlags(value);
                flags.set(OperationFlags::INBOUNDS, bits & 1 != 0);
                flags.set(OperationFlags::NO_UNSIGNED_SIGNED_WRAP, bits & 2 != 0);
                flags.set(OperationFlags::NO_UNSIGNED_WRAP, bits & 4 != 0);
            }
            _ => {}
        }
        if LLVMCanValueUseFastMathFlags(value) != 0 {
            // LLVM's seven bits and ours are in the same order.
            let fast = (LLVMGetFastMathFlags(value) as u16 & 0x7f) << 8;
            flags |= OperationFlags::from_bits_truncate(fast);
        }
    }
    flags
}
