//! Which loops can leave out an iteration, and how.
//!
//! An iteration is left out by going from its beginning straight to the next
//! one. The instructions that this jumps over do not run, so whatever the next
//! iteration and the code after the loop need must exist without them: it comes
//! from a phi at the top of the loop, unchanged, or it is computed again by
//! instructions without side effects from what exists. The loop's own condition
//! must advance, or leaving out an iteration would never end. It may read memory,
//! such as a bound that others may change: what is there without the iteration
//! is what an iteration that does nothing would find.
//!
//! ```text
//!   the condition comes first               the condition comes last
//!
//!   header: phis; condition; leave?         header: phis; ── gate ──▶ skip:
//!     │ ── gate ──▶ skip: advance;            body            advance;
//!   body            back to header          latch: leave?     leave?
//! ```

use super::region::Region;
use super::variable::{Induction, Place, loads};
use crate::graph::Edge;
use crate::ids::{BlockNumber, InstructionNumber};
use crate::instruction::{Operation, Value};
use crate::operator::BinaryOperator;

/// When a loop decides about another iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// In its header, before the body.
    First,
    /// In its latch, after the body.
    Last,
}

/// How a loop leaves out an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortcut {
    /// When the loop decides.
    pub test: Test,
    /// The block that decides, with all ordinary exits.
    pub decision: BlockNumber,
    /// The instructions to run again in place of the iteration, in this order.
    pub again: Vec<InstructionNumber>,
    /// What each phi of the header gets then: the result of one of these
    /// instructions, a value from outside, or what the phi was before.
    pub phis: Vec<(InstructionNumber, Value)>,
    /// What code after the loop gets in place of values of the last iteration,
    /// if the condition comes last and that iteration was left out.
    pub after: Vec<(InstructionNumber, Value)>,
}

/// Why no iteration of a loop can be left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has no end but exceptions.
    Endless,
    /// It ends at more than one place, so that an iteration may be the last
    /// because of what it does.
    Breaks(Vec<Edge>),
    /// The only end is in the middle of the iteration.
    DecidedInTheMiddle(BlockNumber),
    /// The condition depends on what the iteration computes here.
    ConditionNeeds(InstructionNumber),
    /// Nothing that the condition depends on advances by itself.
    NothingAdvances,
    /// Code after the loop uses what the iteration computes here.
    UsedAfter(InstructionNumber),
    /// It is entered by a jump to a computed address.
    EnteredByAddress,
    /// Its iterations begin with the catching of an exception.
    BeginsWithCatch,
}

/// Whether iterations of the loop can be left out, given its variables and its
/// ordinary exits.
pub(crate) fn shortcut(
    region: &Region<'_>,
    variables: &[Induction],
    exits: &[Edge],
) -> Result<Shortcut, Refusal> {
    let decision = match exits {
        [] => return Err(Refusal::Endless),
        [exit, others @ ..] if others.iter().all(|other| other.from == exit.from) => exit.from,
        _ => return Err(Refusal::Breaks(exits.to_vec())),
    };
    let header = region.shape.header;
    let test = match region.shape.latches.as_slice() {
        [latch] if *latch == decision => Test::Last,
        _ if decision == header => Test::First,
        _ => return Err(Refusal::DecidedInTheMiddle(decision)),
    };
    may_have_another_entry(region, test)?;
    let mut skip = Skip {
        region,
        variables,
        test,
        again: Vec::new(),
    };
    let condition = skip.condition(decision)?;
    let phis = skip.phis(&condition.phis)?;
    let after = match test {
        Test::First => Vec::new(),
        Test::Last => {
            skip.other_ends(decision, exits)?;
            skip.live_after(decision)?
        }
    };
    skip.advance_slots();
    skip.order();
    Ok(Shortcut {
        test,
        decision,
        again: skip.again,
        phis,
        after,
    })
}

/// Whether branches to the header can be led elsewhere.
fn may_have_another_entry(region: &Region<'_>, test: Test) -> Result<(), Refusal> {
    let header = region.shape.header;
    let by_address = |&block: &BlockNumber| {
        matches!(
            region.body.terminator(block).operation,
            Operation::IndirectBranch { .. }
                | Operation::CallBranch { .. }
                | Operation::OpaqueTerminator { .. }
        )
    };
    if region
        .flow
        .graph
        .predecessors(header)
        .iter()
        .any(by_address)
    {
        return Err(Refusal::EnteredByAddress);
    }
    let mut behind_phis = region
        .body
        .block(header)
        .skip_while(|(_, one)| matches!(one.operation, Operation::Phi { .. }));
    let catches = behind_phis
        .next()
        .is_some_and(|(_, one)| matches!(one.operation, Operation::LandingPad { .. }));
    match test {
        Test::Last if catches => Err(Refusal::BeginsWithCatch),
        _ => Ok(()),
    }
}

/// What may be read again where an iteration is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Stack slots that nobody else knows.
    Slots,
    /// Whatever the iteration reads.
    Memory,
}

/// What a condition is made of.
#[derive(Default)]
struct Condition {
    phis: Vec<InstructionNumber>,
}

struct Skip<'a, 'r> {
    region: &'r Region<'a>,
    variables: &'r [Induction],
    test: Test,
    again: Vec<InstructionNumber>,
}

impl Skip<'_, '_> {
    /// Makes sure that the condition can be evaluated and advances.
    fn condition(&mut self, decision: BlockNumber) -> Result<Condition, Refusal> {
        let terminator = &self.region.body.terminator(decision).operation;
        let value = match *terminator {
            Operation::ConditionalBranch { condition, .. } => condition,
            Operation::Switch { value, .. } => value,
            _ => return Err(Refusal::DecidedInTheMiddle(decision)),
        };
        if self.test == Test::Last {
            self.again =
                { self.recompute_by(value, Reading::Memory) }.map_err(Refusal::ConditionNeeds)?;
        }
        let (phis, slots) = self.leaves(value);
        let advances = |place: Place| self.variables.iter().any(|one| one.place == place);
        let any = phis.iter().any(|&phi| advances(Place::Phi(phi)))
            || slots.iter().any(|&slot| advances(Place::Slot(slot)));
        if any {
            Ok(Condition { phis })
        } else {
            Err(Refusal::NothingAdvances)
        }
    }

    /// The phis and the slots that a value depends on within an iteration.
    fn leaves(&self, value: Value) -> (Vec<InstructionNumber>, Vec<InstructionNumber>) {
        let (mut phis, mut slots, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            let Some((number, instruction)) = self.region.inside(value) else {
                continue;
            };
            if seen.contains(&number) {
                continue;
            }
            seen.push(number);
            if self.region.is_phi(number) {
                phis.push(number);
            } else if let Some(slot) = loads(self.region, value) {
                slots.push(slot);
            } else {
                self.region
                    .body
                    .for_each_operand(instruction, |operand| work.push(operand));
            }
        }
        (phis, slots)
    }

    /// What every phi gets. Those that the condition depends on have to
    /// advance as they would; the others do if they can, or stay.
    fn phis(
        &mut self,
        needed: &[InstructionNumber],
    ) -> Result<Vec<(InstructionNumber, Value)>, Refusal> {
        let mut phis = Vec::new();
        for phi in self.region.phis() {
            let next = self.region.next_of(phi);
            let again = next.and_then(|next| Some((next, self.recompute(next).ok()?)));
            let value = match again {
                Some((next, instructions)) => {
                    self.again.extend(instructions);
                    next
                }
                None if needed.contains(&phi) => return Err(Refusal::ConditionNeeds(phi)),
                None => phi.into(),
            };
            phis.push((phi, value));
        }
        Ok(phis)
    }

    /// Where the decision can also end the program, values of the iteration are
    /// of no use: there is none in an iteration that was left out.
    fn other_ends(&self, decision: BlockNumber, exits: &[Edge]) -> Result<(), Refusal> {
        let graph = &self.region.flow.graph;
        let ordinary: Vec<BlockNumber> = exits.iter().map(|edge| graph.target(*edge)).collect();
        let others = self.region.body.successors(decision).into_iter();
        for block in others.filter(|block| !self.region.shape.contains(*block)) {
            if ordinary.contains(&block) {
                continue;
            }
            if let Some((phi, _)) = self.region.body.block(block).next()
                && matches!(
                    self.region.body.instructions[phi].operation,
                    Operation::Phi { .. }
                )
            {
                return Err(Refusal::UsedAfter(phi));
            }
        }
        Ok(())
    }

    /// What code after the loop gets for the values of this iteration.
    fn live_after(
        &mut self,
        decision: BlockNumber,
    ) -> Result<Vec<(InstructionNumber, Value)>, Refusal> {
        let mut after = Vec::new();
        for number in self.used_after(decision) {
            if self.region.is_phi(number) {
                continue;
            }
            if !self.can_be_kept(number) {
                return Err(Refusal::UsedAfter(number));
            }
            let stays = self
                .region
                .phis()
                .find(|&phi| self.region.next_of(phi) == Some(number.into()));
            let value = match (self.recompute(number.into()), stays) {
                (Ok(instructions), _) => {
                    self.again.extend(instructions);
                    number.into()
                }
                (Err(_), Some(phi)) => phi.into(),
                (Err(_), None) => return Err(Refusal::UsedAfter(number)),
            };
            after.push((number, value));
        }
        Ok(after)
    }

    /// Whether there is a place behind an instruction where its result can be
    /// stored: behind an invoke, if only it leads there.
    fn can_be_kept(&self, number: InstructionNumber) -> bool {
        match self.region.body.instructions[number].operation {
            Operation::Invoke { normal, .. } => {
                self.region.flow.graph.predecessors(normal).len() == 1
            }
            operation => !operation.is_terminator(),
        }
    }

    /// The instructions of the loop that code outside uses to which the decision can lead.
    /// Whether that code returns does not matter: what a failed assertion prints is used,
    /// too. Where an iteration gives up in its middle, its values are all there.
    fn used_after(&self, decision: BlockNumber) -> Vec<InstructionNumber> {
        let body = self.region.body;
        let mut found = Vec::new();
        let mut note = |value: Value| {
            found.extend(self.region.inside(value).map(|(number, _)| number));
        };
        for block in self.blocks_behind(decision) {
            for (_, instruction) in body.block(block) {
                match instruction.operation {
                    Operation::Phi { incoming } => body
                        .incoming
                        .get(incoming)
                        .iter()
                        .filter(|one| one.from == decision || !self.region.shape.contains(one.from))
                        .for_each(|one| note(one.value)),
                    _ => body.for_each_operand(instruction, &mut note),
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The blocks outside the loop that can come after the decision.
    fn blocks_behind(&self, decision: BlockNumber) -> Vec<BlockNumber> {
        let graph = &self.region.flow.graph;
        let mut seen = vec![false; graph.len()];
        let (mut behind, mut work) = (Vec::new(), vec![decision]);
        while let Some(block) = work.pop() {
            for &next in graph.successors(block) {
                let is_inside = self.region.shape.contains(next);
                if !is_inside && !std::mem::replace(&mut seen[next.as_u32() as usize], true) {
                    behind.push(next);
                    work.push(next);
                }
            }
        }
        behind
    }

    /// Puts the instructions in an order in which each comes after what it uses.
    fn order(&mut self) {
        let position = |&number: &InstructionNumber| {
            let block = self.region.body.block_of(number);
            (self.region.flow.graph.position(block), number)
        };
        self.again.sort_unstable_by_key(position);
        self.again.dedup();
    }

    /// The stack slots that advance are changed by the same instructions as ever.
    fn advance_slots(&mut self) {
        let body = self.region.body;
        for variable in self.variables {
            let Place::Slot(slot) = variable.place else {
                continue;
            };
            self.again.extend(self.region.stores_to(slot));
            self.again.push(variable.next);
            body.for_each_operand(&body.instructions[variable.next], |value| {
                if loads(self.region, value) == Some(slot) {
                    self.again.extend(value.instruction());
                }
            });
        }
    }

    /// The instructions that compute a value again from phis and from outside,
    /// or the first one that stands in the way.
    fn recompute(&self, value: Value) -> Result<Vec<InstructionNumber>, InstructionNumber> {
        self.recompute_by(value, Reading::Slots)
    }

    fn recompute_by(
        &self,
        value: Value,
        reading: Reading,
    ) -> Result<Vec<InstructionNumber>, InstructionNumber> {
        let mut instructions = Vec::new();
        let mut work = vec![value];
        while let Some(value) = work.pop() {
            let Some((number, instruction)) = self.region.inside(value) else {
                continue;
            };
            if instructions.contains(&number) || self.exists(number) {
                continue;
            }
            if !self.is_repeatable(value, &instruction.operation, reading) {
                return Err(number);
            }
            instructions.push(number);
            self.region
                .body
                .for_each_operand(instruction, |operand| work.push(operand));
        }
        Ok(instructions)
    }

    /// Whether an instruction has been run where the iteration is left out.
    fn exists(&self, number: InstructionNumber) -> bool {
        let in_header = self.region.body.block_of(number) == self.region.shape.header;
        self.region.is_phi(number) || self.test == Test::First && in_header
    }

    /// Whether running an instruction out of turn gives what it would give in
    /// its turn, and nothing else happens.
    fn is_repeatable(&self, value: Value, operation: &Operation, reading: Reading) -> bool {
        use Operation::*;
        match operation {
            Load { access, .. } => match loads(self.region, value) {
                // One that the loop does not write, or advances itself.
                Some(slot) => {
                    let advances = |one: &Induction| one.place == Place::Slot(slot);
                    self.region.stores_to(slot).is_empty() || self.variables.iter().any(advances)
                }
                None => reading == Reading::Memory && !access.volatile,
            },
            Binary {
                operator, right, ..
            } => !divides(*operator) || self.is_not_zero(*right),
            Negate { .. }
            | CompareIntegers { .. }
            | CompareFloats { .. }
            | Cast { .. }
            | Select { .. }
            | Freeze { .. }
            | ElementPointer { .. }
            | ExtractValue { .. }
            | InsertValue { .. }
            | ExtractElement { .. }
            | InsertElement { .. }
            | Shuffle { .. } => true,
            _ => false,
        }
    }

    fn is_not_zero(&self, value: Value) -> bool {
        let number = value
            .constant()
            .and_then(|constant| self.region.program.signed(constant));
        // Minus one traps too, with the smallest number as dividend.
        number.is_some_and(|number| number != 0 && number != -1)
    }
}

fn divides(operator: BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(
        operator,
        UnsignedDivide | SignedDivide | UnsignedRemainder | SignedRemainder
    )
}
