//! Repetitive code blocks: loops that count.
//!
//! J. Huang, C. Zhang, "LEAN: Simplifying Concurrency Bug Reproduction via
//! Replay-Supported Execution Reduction", OOPSLA 2012, section 3.2.2: the loop
//! condition contains only primitive data, the loop variable is incremented or
//! decremented once in each iteration, and there is no break; exceptions are
//! allowed. Deviations: pointers count as primitive data, as C's and C++'s
//! iterators are pointers; code from which the function does not return
//! (`abort`, a panic) counts as an exception.

use super::region::Region;
use super::variable::{Induction, Place, loads};
use crate::graph::Edge;
use crate::ids::{BlockNumber, InstructionNumber};
use crate::instruction::{Operation, Value};
use crate::operator::IntegerPredicate;

/// What keeps a loop going.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The variable that counts.
    pub variable: Induction,
    /// The block that decides about another iteration.
    pub block: BlockNumber,
    /// The comparison there.
    pub comparison: InstructionNumber,
    /// How the variable is compared; turned around where the code has the bound
    /// on the left.
    pub predicate: IntegerPredicate,
    /// Whether the loop goes on while the comparison holds.
    pub while_true: bool,
    /// Whether the variable is compared before or after it changes.
    pub after_change: bool,
    /// What it is compared with.
    pub bound: Value,
    /// Whether that is known to be the same in all iterations.
    pub bound_is_fixed: bool,
}

/// Why a loop is not a repetitive code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Irregularity {
    /// It has no end but exceptions.
    Endless,
    /// It ends at more than one place.
    Breaks(Vec<Edge>),
    /// Its only end is not decided by a comparison of integers or addresses.
    NoComparison(BlockNumber),
    /// None of the compared values changes once per iteration by one step.
    NoCounter(BlockNumber),
}

/// Whether the loop counts, given its variables and its ordinary exits.
pub(crate) fn counter(
    region: &Region<'_>,
    variables: &[Induction],
    exits: &[Edge],
) -> Result<Counter, Irregularity> {
    let block = match exits {
        [] => return Err(Irregularity::Endless),
        [exit] => exit.from,
        _ => return Err(Irregularity::Breaks(exits.to_vec())),
    };
    if !region.once(block) {
        return Err(Irregularity::NoCounter(block));
    }
    let no_comparison = Irregularity::NoComparison(block);
    let Operation::ConditionalBranch {
        condition, then, ..
    } = region.body.terminator(block).operation
    else {
        return Err(no_comparison);
    };
    let compared = region
        .inside(condition)
        .ok_or_else(|| no_comparison.clone())?;
    let Operation::CompareIntegers {
        predicate,
        left,
        right,
        ..
    } = compared.1.operation
    else {
        return Err(no_comparison);
    };
    let while_true = region.shape.contains(then);
    let found = variables.iter().find_map(|variable| {
        let on = |side| compares(region, variable, side);
        let (after_change, bound, predicate) = match (on(left), on(right)) {
            (Some(after), _) => (after, right, predicate),
            (None, Some(after)) => (after, left, turned(predicate)),
            (None, None) => return None,
        };
        Some(Counter {
            variable: *variable,
            block,
            comparison: compared.0,
            predicate,
            while_true,
            after_change,
            bound,
            bound_is_fixed: is_fixed(region, bound),
        })
    });
    found.ok_or(Irregularity::NoCounter(block))
}

/// Whether a compared value is the variable: `Some(false)` before its change,
/// `Some(true)` after it.
fn compares(region: &Region<'_>, variable: &Induction, side: Value) -> Option<bool> {
    let mut value = side;
    loop {
        if value == variable.next.into() {
            return Some(true);
        }
        match variable.place {
            Place::Phi(phi) if value == phi.into() => return Some(false),
            Place::Slot(slot) if loads(region, value) == Some(slot) => return Some(false),
            _ => {}
        }
        value = match region.inside(value)?.1.operation {
            Operation::Cast { operand, .. } | Operation::Freeze { operand } => operand,
            _ => return None,
        };
    }
}

/// The predicate with its operands exchanged.
fn turned(predicate: IntegerPredicate) -> IntegerPredicate {
    use IntegerPredicate::*;
    match predicate {
        UnsignedGreater => UnsignedLess,
        UnsignedGreaterOrEqual => UnsignedLessOrEqual,
        UnsignedLess => UnsignedGreater,
        UnsignedLessOrEqual => UnsignedGreaterOrEqual,
        SignedGreater => SignedLess,
        SignedGreaterOrEqual => SignedLessOrEqual,
        SignedLess => SignedGreater,
        SignedLessOrEqual => SignedGreaterOrEqual,
        Equal | NotEqual => predicate,
    }
}

/// Whether a value is known to be the same in all iterations.
pub(crate) fn is_fixed(region: &Region<'_>, value: Value) -> bool {
    match region.inside(value) {
        None => true,
        Some((_, instruction)) => match instruction.operation {
            Operation::Load { address, .. } => {
                let slot = region.slots.of(address);
                slot.is_some_and(|slot| region.stores_to(slot).is_empty())
            }
            Operation::Cast { operand, .. } | Operation::Freeze { operand } => {
                is_fixed(region, operand)
            }
            Operation::Binary { left, right, .. } => {
                is_fixed(region, left) && is_fixed(region, right)
            }
            _ => false,
        },
    }
}
