//! The operators of instructions and the flags that refine them.

use crate::instruction::Alignment;
use bitflags::bitflags;
use bohr_event::MemoryOrder;
use serde::{Deserialize, Serialize};

macro_rules! operators {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$each])* $variant,)* }

        impl $name {
            /// Every one of them.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The name that LLVM's assembly language gives it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(self.name())
            }
        }
    };
}

operators!(
    /// Operations on two operands of the same type.
    BinaryOperator {
        /// Sum of integers.
        Add = "add",
        /// Sum of floating-point numbers.
        FloatAdd = "fadd",
        /// Difference of integers.
        Subtract = "sub",
        /// Difference of floating-point numbers.
        FloatSubtract = "fsub",
        /// Product of integers.
        Multiply = "mul",
        /// Product of floating-point numbers.
        FloatMultiply = "fmul",
        /// Quotient of unsigned integers.
        UnsignedDivide = "udiv",
        /// Quotient of signed integers, towards zero.
        SignedDivide = "sdiv",
        /// Quotient of floating-point numbers.
        FloatDivide = "fdiv",
        /// Remainder of unsigned integers.
        UnsignedRemainder = "urem",
        /// Remainder of signed integers, with the sign of the dividend.
        SignedRemainder = "srem",
        /// C's `fmod`.
        FloatRemainder = "frem",
        /// Shift to the left.
        ShiftLeft = "shl",
        /// Shift to the right, filling with zeros.
        LogicalShiftRight = "lshr",
        /// Shift to the right, filling with the sign.
        ArithmeticShiftRight = "ashr",
        /// Bits in both.
        And = "and",
        /// Bits in either.
        Or = "or",
        /// Bits in one.
        ExclusiveOr = "xor",
    }
);

operators!(
    /// Conversions.
    CastOperator {
        /// Drops upper bits.
        Truncate = "trunc",
        /// Adds upper bits of zero.
        ZeroExtend = "zext",
        /// Adds upper bits like the sign.
        SignExtend = "sext",
        /// Floating point to a narrower format.
        FloatTruncate = "fptrunc",
        /// Floating point to a wider format.
        FloatExtend = "fpext",
        /// Floating point to unsigned integer.
        FloatToUnsigned = "fptoui",
        /// Floating point to signed integer.
        FloatToSigned = "fptosi",
        /// Unsigned integer to floating point.
        UnsignedToFloat = "uitofp",
        /// Signed integer to floating point.
        SignedToFloat = "sitofp",
        /// Address to integer.
        PointerToInteger = "ptrtoint",
        /// Address to the integer that stands for it.
        PointerToAddress = "ptrtoaddr",
        /// Integer to address.
        IntegerToPointer = "inttoptr",
        /// The same bits as another type.
        Bitcast = "bitcast",
        /// Address to another address space.
        AddressSpace = "addrspacecast",
    }
);

operators!(
    /// How integers or addresses are compared.
    IntegerPredicate {
        /// Equal.
        Equal = "eq",
        /// Not equal.
        NotEqual = "ne",
        /// Unsigned, greater.
        UnsignedGreater = "ugt",
        /// Unsigned, greater or equal.
        UnsignedGreaterOrEqual = "uge",
        /// Unsigned, less.
        UnsignedLess = "ult",
        /// Unsigned, less or equal.
        UnsignedLessOrEqual = "ule",
        /// Signed, greater.
        SignedGreater = "sgt",
        /// Signed, greater or equal.
        SignedGreaterOrEqual = "sge",
        /// Signed, less.
        SignedLess = "slt",
        /// Signed, less or equal.
        SignedLessOrEqual = "sle",
    }
);

operators!(
    /// How floating-point numbers are compared. *Ordered* is false, *unordered*
    /// true, if either is not a number.
    FloatPredicate {
        /// Never.
        False = "false",
        /// Ordered and equal.
        OrderedEqual = "oeq",
        /// Ordered and greater.
        OrderedGreater = "ogt",
        /// Ordered and greater or equal.
        OrderedGreaterOrEqual = "oge",
        /// Ordered and less.
        OrderedLess = "olt",
        /// Ordered and less or equal.
        OrderedLessOrEqual = "ole",
        /// Ordered and not equal.
        OrderedNotEqual = "one",
        /// Both are numbers.
        Ordered = "ord",
        /// Either is not a number.
        Unordered = "uno",
        /// Unordered or equal.
        UnorderedEqual = "ueq",
        /// Unordered or greater.
        UnorderedGreater = "ugt",
        /// Unordered or greater or equal.
        UnorderedGreaterOrEqual = "uge",
        /// Unordered or less.
        UnorderedLess = "ult",
        /// Unordered or less or equal.
        UnorderedLessOrEqual = "ule",
        /// Unordered or not equal.
        UnorderedNotEqual = "une",
        /// Always.
        True = "true",
    }
);

operators!(
    /// What an atomic update computes from the old value and its operand.
    UpdateOperator {
        /// The operand.
        Exchange = "xchg",
        /// The sum.
        Add = "add",
        /// The difference.
        Subtract = "sub",
        /// The bits in both.
        And = "and",
        /// The complement of the bits in both.
        Nand = "nand",
        /// The bits in either.
        Or = "or",
        /// The bits in one.
        ExclusiveOr = "xor",
        /// The greater, signed.
        SignedMaximum = "max",
        /// The lesser, signed.
        SignedMinimum = "min",
        /// The greater, unsigned.
        UnsignedMaximum = "umax",
        /// The lesser, unsigned.
        UnsignedMinimum = "umin",
        /// The sum of floating-point numbers.
        FloatAdd = "fadd",
        /// Their difference.
        FloatSubtract = "fsub",
        /// The greater of them, as `llvm.maxnum`.
        FloatMaximumNumber = "fmax",
        /// The lesser of them, as `llvm.minnum`.
        FloatMinimumNumber = "fmin",
        /// The greater, not-a-number wins.
        FloatMaximum = "fmaximum",
        /// The lesser, not-a-number wins.
        FloatMinimum = "fminimum",
        /// One more, back to zero after the operand.
        IncrementWrapping = "uinc_wrap",
        /// One less, back to the operand after zero.
        DecrementWrapping = "udec_wrap",
        /// The difference if it is not negative, else the old value.
        SubtractConditionally = "usub_cond",
        /// The difference, or zero.
        SubtractSaturating = "usub_sat",
    }
);

bitflags! {
    /// What else is promised of an operation. A broken promise makes the result poison.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub struct OperationFlags: u16 {
        /// No unsigned overflow.
        const NO_UNSIGNED_WRAP = 1;
        /// No signed overflow.
        const NO_SIGNED_WRAP = 1 << 1;
        /// No remainder is lost.
        const EXACT = 1 << 2;
        /// The operand is not negative.
        const NOT_NEGATIVE = 1 << 3;
        /// The operands have no bit in common.
        const DISJOINT = 1 << 4;
        /// The operands have the same sign.
        const SAME_SIGN = 1 << 5;
        /// The address stays within its object.
        const INBOUNDS = 1 << 6;
        /// The address does not wrap as a signed number.
        const NO_UNSIGNED_SIGNED_WRAP = 1 << 7;
        /// Operations may be regrouped.
        const REASSOCIATE = 1 << 8;
        /// No operand or result is not a number.
        const NO_NAN = 1 << 9;
        /// No operand or result is infinite.
        const NO_INFINITY = 1 << 10;
        /// The sign of a zero does not matter.
        const NO_SIGNED_ZERO = 1 << 11;
        /// A reciprocal may stand for a division.
        const RECIPROCAL = 1 << 12;
        /// Operations may be fused.
        const CONTRACT = 1 << 13;
        /// Functions may be approximated.
        const APPROXIMATE = 1 << 14;
    }
}

/// How memory is accessed. The size is that of the type of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Access {
    /// Plain, or the memory order of an atomic access.
    pub order: MemoryOrder,
    /// What the address is a multiple of.
    pub alignment: Alignment,
    /// Whether the access has to happen as written.
    pub volatile: bool,
    /// Whether it is ordered only against signal handlers of the same thread.
    pub single_thread: bool,
}

impl Access {
    /// A plain access of unknown alignment.
    pub const PLAIN: Access = Access {
        order: MemoryOrder::Plain,
        alignment: Alignment::ONE,
        volatile: false,
        single_thread: false,
    };
}
