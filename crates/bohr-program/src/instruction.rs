//! One instruction: what it does, to what, and where it stands in the source.

use crate::ids::{
    ArgumentNumber, BlockNumber, CallNumber, ConstantNumber, InstructionNumber, LocationNumber,
    TextNumber, TypeNumber,
};
use crate::operator::{
    Access, BinaryOperator, CastOperator, FloatPredicate, IntegerPredicate, OperationFlags,
    UpdateOperator,
};
use crate::pool::List;
use bohr_event::MemoryOrder;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, packed_option::ReservedValue};
use serde::{Deserialize, Serialize};

/// What an instruction can take as operand, in four bytes; [`Value::operand`]
/// tells which it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Value(u32);

/// What a [`Value`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The result of an instruction of the same function.
    Instruction(InstructionNumber),
    /// An argument of the function.
    Argument(ArgumentNumber),
    /// A constant of the program.
    Constant(ConstantNumber),
}

impl Value {
    const INDEX: u32 = (1 << 30) - 1;

    /// What it stands for.
    #[must_use]
    pub fn operand(self) -> Operand {
        let index = self.0 & Value::INDEX;
        match self.0 >> 30 {
            0 => Operand::Instruction(InstructionNumber::from_u32(index)),
            1 => Operand::Argument(ArgumentNumber::from_u32(index)),
            _ => Operand::Constant(ConstantNumber::from_u32(index)),
        }
    }

    /// The instruction whose result it is, if it is one.
    #[must_use]
    pub fn instruction(self) -> Option<InstructionNumber> {
        match self.operand() {
            Operand::Instruction(number) => Some(number),
            _ => None,
        }
    }

    /// The constant that it is, if it is one.
    #[must_use]
    pub fn constant(self) -> Option<ConstantNumber> {
        match self.operand() {
            Operand::Constant(number) => Some(number),
            _ => None,
        }
    }

    fn packed(kind: u32, index: usize) -> Value {
        assert!(index < Value::INDEX as usize, "2^30 values in a program");
        Value(kind << 30 | index as u32)
    }
}

impl From<InstructionNumber> for Value {
    fn from(number: InstructionNumber) -> Value {
        Value::packed(0, number.index())
    }
}

impl From<ArgumentNumber> for Value {
    fn from(number: ArgumentNumber) -> Value {
        Value::packed(1, number.index())
    }
}

impl From<ConstantNumber> for Value {
    fn from(number: ConstantNumber) -> Value {
        Value::packed(2, number.index())
    }
}

impl ReservedValue for Value {
    fn reserved_value() -> Value {
        Value(u32::MAX)
    }

    fn is_reserved_value(&self) -> bool {
        self.0 == u32::MAX
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.operand() {
            _ if self.is_reserved_value() => out.write_str("none"),
            Operand::Instruction(number) => write!(out, "{number}"),
            Operand::Argument(number) => write!(out, "{number}"),
            Operand::Constant(number) => write!(out, "{number}"),
        }
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// What it does.
    pub operation: Operation,
    /// Type of its result; the void type where it has none.
    pub result: TypeNumber,
    /// Where it stands in the source, if the debug information tells.
    pub location: PackedOption<LocationNumber>,
}

/// Where a phi's value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incoming {
    /// The block that control came from.
    pub from: BlockNumber,
    /// The value in that case.
    pub value: Value,
}

/// One case of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The constant that the operand equals.
    pub value: ConstantNumber,
    /// Where control goes then.
    pub target: BlockNumber,
}

/// What a landing pad stops at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clause {
    /// An exception that this type information matches; null matches all.
    Catch(ConstantNumber),
    /// An exception that none of this array's type informations matches.
    Filter(ConstantNumber),
}

/// What an instruction does. Operands that are addresses are named `address`,
/// so that looking for accesses is looking for that field.
#[allow(missing_docs, reason = "each variant's doc tells its fields")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// Leaves the function.
    Return { value: PackedOption<Value> },
    /// Goes on at a block.
    Branch { target: BlockNumber },
    /// Goes on at one of two blocks.
    ConditionalBranch {
        condition: Value,
        then: BlockNumber,
        otherwise: BlockNumber,
    },
    /// Goes on at the block of the equal case, or at the default.
    Switch {
        value: Value,
        default: BlockNumber,
        cases: List<Case>,
    },
    /// Goes on at the block with this address, one of the targets.
    IndirectBranch {
        address: Value,
        targets: List<BlockNumber>,
    },
    /// A call that goes on at `normal`, or at the landing pad in `unwind`.
    Invoke {
        call: CallNumber,
        normal: BlockNumber,
        unwind: BlockNumber,
    },
    /// Inline assembly that goes on at `fallthrough` or at one of the targets.
    CallBranch {
        call: CallNumber,
        fallthrough: BlockNumber,
        targets: List<BlockNumber>,
    },
    /// Unwinds on with the exception that a landing pad caught.
    Resume { value: Value },
    /// Is never reached.
    Unreachable,
    /// A terminator that this model does not know: those of Windows' exception
    /// handling, which take tokens and no other values.
    OpaqueTerminator {
        what: TextNumber,
        targets: List<BlockNumber>,
    },

    /// Negates a floating-point number.
    Negate {
        operand: Value,
        flags: OperationFlags,
    },
    /// An operation on two operands.
    Binary {
        operator: BinaryOperator,
        flags: OperationFlags,
        left: Value,
        right: Value,
    },
    /// Compares integers or addresses.
    CompareIntegers {
        predicate: IntegerPredicate,
        flags: OperationFlags,
        left: Value,
        right: Value,
    },
    /// Compares floating-point numbers.
    CompareFloats {
        predicate: FloatPredicate,
        flags: OperationFlags,
        left: Value,
        right: Value,
    },
    /// Converts to the result type.
    Cast {
        operator: CastOperator,
        flags: OperationFlags,
        operand: Value,
    },
    /// One of two values.
    Select {
        condition: Value,
        then: Value,
        otherwise: Value,
        flags: OperationFlags,
    },
    /// Fixes an undefined value to one value.
    Freeze { operand: Value },
    /// A value that depends on the block control came from.
    Phi { incoming: List<Incoming> },

    /// Room on the stack for `count` values of a type.
    StackSlot {
        allocated: TypeNumber,
        count: Value,
        alignment: Alignment,
    },
    /// Reads memory.
    Load { address: Value, access: Access },
    /// Writes memory.
    Store {
        address: Value,
        value: Value,
        access: Access,
    },
    /// Reads, computes and writes in one step; the result is the old value.
    Update {
        operator: UpdateOperator,
        address: Value,
        value: Value,
        access: Access,
    },
    /// Writes `desired` if memory holds `expected`; the result is the old value
    /// and whether it was written.
    CompareExchange {
        address: Value,
        expected: Value,
        desired: Value,
        access: Access,
        failure: MemoryOrder,
        weak: bool,
    },
    /// Orders accesses.
    Fence { access: Access },
    /// An address within an object.
    ElementPointer {
        source: TypeNumber,
        base: Value,
        indices: List<Value>,
        flags: OperationFlags,
    },
    /// The next variable argument.
    VariableArgument { list: Value },

    /// A part of an aggregate.
    ExtractValue { aggregate: Value, path: List<u32> },
    /// The aggregate with one part replaced.
    InsertValue {
        aggregate: Value,
        value: Value,
        path: List<u32>,
    },
    /// An element of a vector.
    ExtractElement { vector: Value, index: Value },
    /// The vector with one element replaced.
    InsertElement {
        vector: Value,
        value: Value,
        index: Value,
    },
    /// Elements of two vectors; a mask element of `u32::MAX` is any value.
    Shuffle {
        left: Value,
        right: Value,
        mask: List<u32>,
    },

    /// A call.
    Call { call: CallNumber },
    /// Where an unwinding exception arrives.
    LandingPad {
        clauses: List<Clause>,
        cleanup: bool,
    },
    /// Something that this model does not know.
    Opaque {
        what: TextNumber,
        operands: List<Value>,
    },
}

/// An alignment, a power of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Alignment(u8);

impl Alignment {
    /// No alignment at all.
    pub const ONE: Alignment = Alignment(0);

    /// The alignment of so many bytes: the largest power of two not above it.
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Alignment {
        Alignment(bytes.max(1).ilog2() as u8)
    }

    /// In bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        1u64.checked_shl(u32::from(self.0)).unwrap_or(1 << 63)
    }
}

impl std::fmt::Debug for Alignment {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.bytes())
    }
}

impl Operation {
    /// Whether it ends a block.
    #[must_use]
    pub fn is_terminator(&self) -> bool {
        use Operation::*;
        matches!(
            self,
            Return { .. }
                | Branch { .. }
                | ConditionalBranch { .. }
                | Switch { .. }
                | IndirectBranch { .. }
                | Invoke { .. }
                | CallBranch { .. }
                | Resume { .. }
                | Unreachable
                | OpaqueTerminator { .. }
        )
    }

    /// The call's details, of every operation that calls.
    #[must_use]
    pub fn call(&self) -> Option<CallNumber> {
        match self {
            Operation::Call { call }
            | Operation::Invoke { call, .. }
            | Operation::CallBranch { call, .. } => Some(*call),
            _ => None,
        }
    }
}
