//! One loop of one function, with the questions that the analyses of loops ask:
//! what is inside, what does not change, what leaves it.

use crate::constant::ConstantValue;
use crate::flow::FunctionFlow;
use crate::function::Body;
use crate::graph::{Edge, Loop, LoopNumber};
use crate::ids::{BlockNumber, InstructionNumber};
use crate::instruction::{Instruction, Operand, Operation, Value};
use crate::layout::Layouts;
use crate::program::Program;
use cranelift_entity::EntitySet;

/// A loop and its surroundings.
#[derive(Clone, Copy)]
pub(crate) struct Region<'a> {
    pub(crate) program: &'a Program,
    pub(crate) body: &'a Body,
    pub(crate) flow: &'a FunctionFlow,
    pub(crate) slots: &'a PrivateSlots,
    pub(crate) layouts: &'a Layouts,
    pub(crate) number: LoopNumber,
    pub(crate) shape: &'a Loop,
}

impl<'a> Region<'a> {
    /// Whether an instruction belongs to the loop.
    pub(crate) fn contains(&self, instruction: InstructionNumber) -> bool {
        self.shape.contains(self.body.block_of(instruction))
    }

    /// Whether a value is the same in all iterations because it is computed
    /// outside.
    pub(crate) fn is_outside(&self, value: Value) -> bool {
        value
            .instruction()
            .is_none_or(|number| !self.contains(number))
    }

    /// The instruction of a value, if it is one of the loop.
    pub(crate) fn inside(&self, value: Value) -> Option<(InstructionNumber, &'a Instruction)> {
        let number = value
            .instruction()
            .filter(|&number| self.contains(number))?;
        Some((number, &self.body.instructions[number]))
    }

    /// The phis at the top of the loop.
    pub(crate) fn phis(&self) -> impl Iterator<Item = InstructionNumber> + use<'a> {
        let all = self.body.block(self.shape.header);
        all.take_while(|(_, one)| matches!(one.operation, Operation::Phi { .. }))
            .map(|(number, _)| number)
    }

    /// Whether a value is a phi at the top of the loop.
    pub(crate) fn is_phi(&self, number: InstructionNumber) -> bool {
        self.body.block_of(number) == self.shape.header
            && matches!(
                self.body.instructions[number].operation,
                Operation::Phi { .. }
            )
    }

    /// What a phi gets from the iteration before, if all latches agree.
    pub(crate) fn next_of(&self, phi: InstructionNumber) -> Option<Value> {
        let Operation::Phi { incoming } = self.body.instructions[phi].operation else {
            return None;
        };
        let incoming = self.body.incoming.get(incoming).iter();
        let mut back = incoming.filter(|one| self.shape.latches.contains(&one.from));
        let next = back.next()?.value;
        back.all(|one| one.value == next).then_some(next)
    }

    /// What a phi gets when the loop is entered, if there is one way in.
    pub(crate) fn start_of(&self, phi: InstructionNumber) -> Option<Value> {
        let Operation::Phi { incoming } = self.body.instructions[phi].operation else {
            return None;
        };
        let incoming = self.body.incoming.get(incoming).iter();
        let mut entering = incoming.filter(|one| !self.shape.contains(one.from));
        let start = entering.next()?.value;
        entering.all(|one| one.value == start).then_some(start)
    }

    /// The stores of the loop into a stack slot.
    pub(crate) fn stores_to(&self, slot: InstructionNumber) -> Vec<InstructionNumber> {
        let blocks = self
            .shape
            .blocks
            .iter()
            .flat_map(|&block| self.body.block(block));
        let stores = blocks.filter(|(_, one)| match one.operation {
            Operation::Store { address, .. } => address == slot.into(),
            _ => false,
        });
        stores.map(|(number, _)| number).collect()
    }

    /// Whether a block runs exactly once in every iteration that is finished.
    pub(crate) fn once(&self, block: BlockNumber) -> bool {
        let dominators = &self.flow.dominators;
        self.flow.loops.innermost(block) == Some(self.number)
            && self
                .shape
                .latches
                .iter()
                .all(|&latch| dominators.dominates(block, latch))
    }

    /// The edges that leave the loop other than by an exception or towards code
    /// from which the function does not return.
    pub(crate) fn ordinary_exits(&self, returning: &[bool]) -> Vec<Edge> {
        let exits = self.shape.exits.iter().copied();
        exits
            .filter(|edge| {
                let target = self.flow.graph.target(*edge);
                returning[target.as_u32() as usize] && !self.is_pad(target)
            })
            .collect()
    }

    fn is_pad(&self, block: BlockNumber) -> bool {
        let mut instructions = self.body.block(block);
        instructions.any(|(_, one)| matches!(one.operation, Operation::LandingPad { .. }))
    }
}

/// The blocks from which the function can return; all of them if none can.
pub(crate) fn returning(body: &Body, flow: &FunctionFlow) -> Vec<bool> {
    let graph = &flow.graph;
    let mut found = vec![false; graph.len()];
    let returns = |block: &BlockNumber| {
        graph.successors(*block).is_empty()
            && matches!(body.terminator(*block).operation, Operation::Return { .. })
    };
    let mut work: Vec<BlockNumber> = graph.blocks().filter(returns).collect();
    if work.is_empty() {
        found.fill(true);
    }
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut found[block.as_u32() as usize], true) {
            work.extend_from_slice(graph.predecessors(block));
        }
    }
    found
}

/// The stack slots of a function that are only ever loaded from and stored to:
/// local variables as a compiler without optimisation leaves them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PrivateSlots(EntitySet<InstructionNumber>);

impl PrivateSlots {
    /// Finds them.
    pub(crate) fn new(program: &Program, body: &Body) -> PrivateSlots {
        let mut slots = EntitySet::new();
        for (number, instruction) in body.instructions.iter() {
            if matches!(instruction.operation, Operation::StackSlot { .. }) {
                slots.insert(number);
            }
        }
        for instruction in body.instructions.values() {
            let address = match instruction.operation {
                Operation::Load { address, access }
                | Operation::Store {
                    address, access, ..
                } if !access.volatile => Some(address),
                _ => None,
            };
            if is_lifetime(program, body, instruction) {
                continue;
            }
            let mut uses = 0;
            body.for_each_operand(instruction, |value| {
                // The address operand itself comes once; any other use, the
                // stored value included, gives the address away.
                uses += u32::from(Some(value) == address);
                if (Some(value) != address || uses > 1)
                    && let Operand::Instruction(number) = value.operand()
                {
                    slots.remove(number);
                }
            });
        }
        PrivateSlots(slots)
    }

    /// Whether a value is the address of such a slot.
    pub(crate) fn of(&self, address: Value) -> Option<InstructionNumber> {
        address
            .instruction()
            .filter(|&number| self.0.contains(number))
    }
}

/// Whether an instruction only says how long a slot is used.
fn is_lifetime(program: &Program, body: &Body, instruction: &Instruction) -> bool {
    let callee = instruction
        .operation
        .call()
        .map(|call| body.calls[call].callee);
    let callee = callee
        .and_then(Value::constant)
        .map(|one| &program.constants[one].value);
    matches!(callee, Some(ConstantValue::Function(function))
        if program.texts[program.functions[*function].name].starts_with("llvm.lifetime."))
}
