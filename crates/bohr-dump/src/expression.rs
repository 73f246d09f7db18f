//! Evaluates DWARF expressions against registers and memory that are gone.

use crate::{Memory, Registers};
use gimli::{
    DebugAddr, DebugAddrBase, Encoding, EndianSlice, Evaluation, EvaluationResult, Expression,
    LittleEndian, Piece, UnitOffset, Value, ValueType,
};

/// Sections as they are read here.
pub type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Steps of one expression; nothing that compilers write takes as many.
const MOST_STEPS: u32 = 10_000;

/// What an expression may ask for. What is not known ends its evaluation.
pub struct Surroundings<'s, 'a> {
    pub registers: &'s Registers,
    pub memory: &'s Memory<'s>,
    /// The canonical address of the frame.
    pub frame: Option<u64>,
    /// What the function's own expression says about its frame.
    pub frame_base: Option<u64>,
    /// What has to be added to addresses in the file.
    pub bias: u64,
    /// Where a thread's variables of this object begin.
    pub thread_local: Option<u64>,
    /// For addresses by number.
    pub addresses: Option<(&'s DebugAddr<Bytes<'a>>, DebugAddrBase<usize>)>,
    /// What an expression was when the function was called.
    pub at_entry: &'s dyn Fn(Expression<Bytes<'a>>) -> Option<u64>,
    /// The types that values can have, by their place in the unit.
    pub base_type: &'s dyn Fn(UnitOffset) -> Option<ValueType>,
}

impl<'a> Surroundings<'_, 'a> {
    /// Where the value of the expression is, in pieces.
    pub fn locate(
        &self,
        expression: Expression<Bytes<'a>>,
        encoding: Encoding,
    ) -> Option<Vec<Piece<Bytes<'a>>>> {
        let evaluation = expression.evaluation(encoding);
        self.finish(evaluation).map(Evaluation::result)
    }

    /// The number that the expression stands for, with another one below it.
    pub fn number(
        &self,
        expression: Expression<Bytes<'a>>,
        encoding: Encoding,
        initial: Option<u64>,
    ) -> Option<u64> {
        let mut evaluation = expression.evaluation(encoding);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        let pieces = self.finish(evaluation)?.result();
        match pieces.first()?.location {
            gimli::Location::Address { address } => Some(address),
            gimli::Location::Value { value } => value.to_u64(u64::MAX).ok(),
            gimli::Location::Register { register } => self.registers.get(register.0),
            _ => None,
        }
    }

    fn finish(&self, mut evaluation: Evaluation<Bytes<'a>>) -> Option<Evaluation<Bytes<'a>>> {
        evaluation.set_max_iterations(MOST_STEPS);
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => return Some(evaluation),
                EvaluationResult::RequiresMemory {
                    address,
                    size,
                    base_type,
                    ..
                } => {
                    let number = self.memory.number(address, usize::from(size))?;
                    evaluation.resume_with_memory(self.value(base_type, number)?)
                }
                EvaluationResult::RequiresRegister {
                    register,
                    base_type,
                } => {
                    let number = self.registers.get(register.0)?;
                    evaluation.resume_with_register(self.value(base_type, number)?)
                }
                EvaluationResult::RequiresFrameBase => {
                    evaluation.resume_with_frame_base(self.frame_base?)
                }
                EvaluationResult::RequiresCallFrameCfa => {
                    evaluation.resume_with_call_frame_cfa(self.frame?)
                }
                EvaluationResult::RequiresTls(offset) => {
                    evaluation.resume_with_tls(self.thread_local?.wrapping_add(offset))
                }
                EvaluationResult::RequiresRelocatedAddress(address) => {
                    evaluation.resume_with_relocated_address(address.wrapping_add(self.bias))
                }
                EvaluationResult::RequiresIndexedAddress { index, relocate } => {
                    let (section, base) = self.addresses?;
                    let address = section.get_address(8, base, index).ok()?;
                    let bias = if relocate { self.bias } else { 0 };
                    evaluation.resume_with_indexed_address(address.wrapping_add(bias))
                }
                EvaluationResult::RequiresBaseType(offset) => {
                    evaluation.resume_with_base_type((self.base_type)(offset)?)
                }
                EvaluationResult::RequiresEntryValue(expression) => {
                    let value = (self.at_entry)(expression)?;
                    evaluation.resume_with_entry_value(Value::Generic(value))
                }
                _ => return None,
            }
            .ok()?;
        }
    }

    fn value(&self, base_type: UnitOffset, number: u64) -> Option<Value> {
        let value_type = match base_type {
            UnitOffset(0) => ValueType::Generic,
            offset => (self.base_type)(offset)?,
        };
        Value::from_u64(value_type, number).ok()
    }
}
