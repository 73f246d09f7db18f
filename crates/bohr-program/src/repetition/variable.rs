//! Induction variables: what changes by the same amount in every iteration.

use super::region::Region;
use crate::ids::InstructionNumber;
use crate::instruction::{Operation, Value};
use crate::operator::BinaryOperator;

/// Where a loop keeps a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a phi at the top of the loop.
    Phi(InstructionNumber),
    /// In a stack slot whose address is not used otherwise.
    Slot(InstructionNumber),
}

/// By how much a variable changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A constant; bytes, of a pointer.
    Constant(i64),
    /// A value computed outside the loop is added, as often as this.
    Invariant(Value, i64),
}

/// A variable that changes once per iteration, by the same step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Induction {
    /// Where it is.
    pub place: Place,
    /// Its value when the loop is entered, if that is one value.
    pub start: Option<Value>,
    /// By how much it changes.
    pub step: Step,
    /// The instruction that computes its next value.
    pub next: InstructionNumber,
}

/// The induction variables of a loop: phis first, in layout order.
pub(crate) fn inductions(region: &Region<'_>) -> Vec<Induction> {
    let phis = region.phis().filter_map(|phi| {
        let next = region.next_of(phi)?;
        let (next, _) = region.inside(next)?;
        let step = step(region, next, |value| value == phi.into())?;
        Some(Induction {
            place: Place::Phi(phi),
            start: region.start_of(phi),
            step,
            next,
        })
    });
    let mut found: Vec<Induction> = phis.collect();
    let blocks = region
        .shape
        .blocks
        .iter()
        .flat_map(|&block| region.body.block(block));
    for (number, instruction) in blocks {
        let Operation::Store { address, value, .. } = instruction.operation else {
            continue;
        };
        let Some(slot) = region.slots.of(address) else {
            continue;
        };
        if let Some(induction) = slot_induction(region, slot, number, value) {
            found.push(induction);
        }
    }
    found
}

/// The variable in `slot` if `store`, which stores `value`, is its one change.
fn slot_induction(
    region: &Region<'_>,
    slot: InstructionNumber,
    store: InstructionNumber,
    value: Value,
) -> Option<Induction> {
    if region.stores_to(slot) != [store] || !region.once(region.body.block_of(store)) {
        return None;
    }
    let (next, _) = region.inside(value)?;
    let is_slot = |value: Value| loads(region, value) == Some(slot);
    let step = step(region, next, is_slot)?;
    Some(Induction {
        place: Place::Slot(slot),
        start: None,
        step,
        next,
    })
}

/// The private slot that a value of the loop is loaded from.
pub(crate) fn loads(region: &Region<'_>, value: Value) -> Option<InstructionNumber> {
    match region.inside(value)?.1.operation {
        Operation::Load { address, .. } => region.slots.of(address),
        _ => None,
    }
}

/// By how much `next` differs from the variable.
fn step(
    region: &Region<'_>,
    next: InstructionNumber,
    is_variable: impl Fn(Value) -> bool,
) -> Option<Step> {
    let amount = |value: Value, sign: i64| match value.constant() {
        Some(constant) => Some(Step::Constant(
            region.program.signed(constant)?.checked_mul(sign)?,
        )),
        None => region
            .is_outside(value)
            .then_some(Step::Invariant(value, sign)),
    };
    let step = match region.body.instructions[next].operation {
        Operation::Binary {
            operator: BinaryOperator::Add,
            left,
            right,
            ..
        } => {
            if is_variable(left) {
                amount(right, 1)
            } else {
                amount(left, 1).filter(|_| is_variable(right))
            }
        }
        Operation::Binary {
            operator: BinaryOperator::Subtract,
            left,
            right,
            ..
        } => amount(right, -1).filter(|_| is_variable(left)),
        Operation::ElementPointer {
            source,
            base,
            indices,
            ..
        } if is_variable(base) => {
            let indices = region.body.values.get(indices);
            let steps = region.program.steps(region.layouts, source, indices)?;
            match steps.as_slice() {
                [crate::Step::Constant(bytes)] => Some(Step::Constant(*bytes)),
                [crate::Step::Scaled(value, times)] => region
                    .is_outside(*value)
                    .then_some(Step::Invariant(*value, *times)),
                _ => None,
            }
        }
        _ => None,
    };
    step.filter(|step| *step != Step::Constant(0))
}
