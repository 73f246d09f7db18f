//! Branches that nobody has to write down: a loop of one block that only computes
//! and counts from one constant to another goes back the same number of times
//! whenever it is entered.
//!
//! A loop that touches memory or calls is left as it is, though it may count as
//! well: it can crash or be seen by others in any of its passes, and the log has to
//! tell in which.

use crate::function::Body;
use crate::ids::{BlockNumber, InstructionNumber};
use crate::instruction::{Operation, Value};
use crate::interpret::arithmetic::compare_integers;
use crate::operator::{BinaryOperator, IntegerPredicate};
use crate::program::Program;

/// Loops that go back more often are written down, so that a walk along a log is
/// never far from its next bit.
const MOST_PASSES: u32 = 1 << 16;

/// How often a block of its own goes back to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// So many times in a row, then not.
    pub again: u32,
    /// Whether the branch goes back by its first target.
    pub first: bool,
}

impl Counted {
    /// How often a block goes back to itself, if that is always the same and nobody
    /// can notice the passes in between.
    pub(super) fn of(program: &Program, body: &Body, block: BlockNumber) -> Option<Counted> {
        let Operation::ConditionalBranch {
            condition,
            then,
            otherwise,
        } = body.terminator(block).operation
        else {
            return None;
        };
        let first = then == block;
        let computes = |operation: Operation| only_computes(operation);
        if first == (otherwise == block)
            || !body.block(block).all(|(_, one)| computes(one.operation))
        {
            return None;
        }
        let condition = condition.instruction()?;
        let Operation::CompareIntegers {
            predicate,
            left,
            right,
            ..
        } = body.instructions[condition].operation
        else {
            return None;
        };
        let counter = counter(program, body, block, left)?;
        let bound = program.signed(right.constant()?)?;
        let again = counter.passes(predicate, bound, first)?;
        Some(Counted { again, first })
    }
}

/// What neither stops, nor traps, nor is seen.
fn only_computes(operation: Operation) -> bool {
    use BinaryOperator::{SignedDivide, SignedRemainder, UnsignedDivide, UnsignedRemainder};
    match operation {
        Operation::Binary { operator, .. } => !matches!(
            operator,
            SignedDivide | SignedRemainder | UnsignedDivide | UnsignedRemainder
        ),
        Operation::Negate { .. }
        | Operation::CompareIntegers { .. }
        | Operation::CompareFloats { .. }
        | Operation::Cast { .. }
        | Operation::Select { .. }
        | Operation::Freeze { .. }
        | Operation::Phi { .. }
        | Operation::ElementPointer { .. }
        | Operation::ExtractValue { .. }
        | Operation::InsertValue { .. }
        | Operation::ExtractElement { .. }
        | Operation::InsertElement { .. }
        | Operation::Shuffle { .. }
        | Operation::ConditionalBranch { .. } => true,
        _ => false,
    }
}

/// A variable that begins with a constant and changes by a constant.
struct Counter {
    start: i64,
    step: i64,
    bits: u32,
    /// Whether it is compared after it has changed.
    after: bool,
}

/// The counter that is compared, as its phi or as what is added to that.
fn counter(program: &Program, body: &Body, block: BlockNumber, compared: Value) -> Option<Counter> {
    let compared = compared.instruction()?;
    let (phi, after) = match body.instructions[compared].operation {
        Operation::Phi { .. } => (compared, false),
        _ => (sum(program, body, compared)?.0.instruction()?, true),
    };
    let Operation::Phi { incoming } = body.instructions[phi].operation else {
        return None;
    };
    let of_block = body.block_of(phi) == block;
    let incoming = body.incoming.get(incoming);
    let back = incoming.iter().find(|one| one.from == block)?.value;
    let mut entering = incoming.iter().filter(|one| one.from != block);
    let start = entering.next()?.value;
    if !of_block || !entering.all(|one| one.value == start) {
        return None;
    }
    let next = back.instruction()?;
    let (variable, step) = sum(program, body, next)?;
    if variable != phi.into() || after && compared != next {
        return None;
    }
    let start = start.constant()?;
    let bits = program.types[program.constants[start].of].integer_bits()?;
    Some(Counter {
        start: program.signed(start)?,
        step,
        bits,
        after,
    })
}

/// A value and the constant that is added to it.
fn sum(program: &Program, body: &Body, number: InstructionNumber) -> Option<(Value, i64)> {
    match body.instructions[number].operation {
        Operation::Binary {
            operator: BinaryOperator::Add,
            left,
            right,
            ..
        } => Some((left, program.signed(right.constant()?)?)),
        _ => None,
    }
}

impl Counter {
    /// How often a loop goes on that does so while the comparison gives `stays`. A
    /// counter that leaves the numbers of its width is none.
    fn passes(&self, predicate: IntegerPredicate, bound: i64, stays: bool) -> Option<u32> {
        let unused = 64 - self.bits;
        let word = |value: i64| u128::from((value as u64) << unused >> unused);
        let mut value = self.start;
        for passes in 0..MOST_PASSES {
            let next = value.checked_add(self.step)?;
            if next << unused >> unused != next {
                return None;
            }
            let compared = if self.after { next } else { value };
            let holds = compare_integers(predicate, self.bits, word(compared), word(bound));
            if holds != stays {
                return Some(passes);
            }
            value = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(start: i64, step: i64, bound: i64, after: bool) -> Option<u32> {
        let counter = Counter {
            start,
            step,
            bits: 8,
            after,
        };
        counter.passes(IntegerPredicate::SignedLess, bound, true)
    }

    #[test]
    fn passes_are_counted_as_the_code_would() {
        // do { … } while (++i < 5)
        assert_eq!(passes(0, 1, 5, true), Some(4));
        // do { … } while (i++ < 5)
        assert_eq!(passes(0, 1, 5, false), Some(5));
        assert_eq!(passes(7, 1, 5, true), Some(0));
        assert_eq!(passes(-8, 4, 5, true), Some(3));
    }

    #[test]
    fn a_counter_that_overflows_is_none() {
        assert_eq!(passes(100, 20, 127, true), None);
        assert_eq!(passes(0, -1, 5, true), None);
        assert_eq!(passes(0, 0, 5, true), None);
    }
}
