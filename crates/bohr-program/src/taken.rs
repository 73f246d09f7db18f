//! Whose address is used other than by calling it, or by loading from it or
//! storing to it.

use crate::constant::ConstantValue;
use crate::function::Body;
use crate::ids::ConstantNumber;
use crate::instruction::{Instruction, Operation, Value};
use crate::program::Program;
use cranelift_entity::EntitySet;

impl Program {
    /// Notes at each function and global whether its address is taken.
    pub(crate) fn note_taken_addresses(&mut self) {
        let mut taken = Taken::default();
        for global in self.globals.values() {
            taken.initial.extend(global.initialiser.expand());
        }
        taken
            .initial
            .extend(self.aliases.values().map(|alias| alias.target));
        for (_, _, body) in self.bodies() {
            for instruction in body.instructions.values() {
                taken.note(body, instruction);
            }
        }
        let constants = taken.reach(self);
        // Its `keys` are all numbers up to the greatest one in it.
        for constant in constants.iter() {
            match self.constants[constant].value {
                ConstantValue::Function(function) => {
                    self.functions[function].address_taken = true;
                }
                ConstantValue::Global(global) => self.globals[global].address_taken = true,
                _ => {}
            }
        }
        // Whoever unwinds calls them.
        let functions = self.functions.values();
        let personalities: Vec<_> = functions
            .filter_map(|one| one.personality.expand())
            .collect();
        for personality in personalities {
            self.functions[personality].address_taken = true;
        }
    }
}

/// Constants that are used as values.
#[derive(Default)]
struct Taken {
    initial: Vec<ConstantNumber>,
}

impl Taken {
    fn note(&mut self, body: &Body, instruction: &Instruction) {
        let direct = direct_use(body, &instruction.operation);
        body.for_each_operand(instruction, |value| {
            if Some(value) != direct {
                self.initial.extend(value.constant());
            }
        });
        // An address that is also stored or passed is taken after all.
        match instruction.operation {
            Operation::Store { value, .. } | Operation::Update { value, .. } => {
                self.initial.extend(value.constant());
            }
            Operation::CompareExchange {
                expected, desired, ..
            } => {
                self.initial.extend(expected.constant());
                self.initial.extend(desired.constant());
            }
            _ => {
                if let Some(call) = instruction.operation.call() {
                    let call = &body.calls[call];
                    let passed = body.values.get(call.arguments).iter();
                    self.initial
                        .extend(passed.filter_map(|value| value.constant()));
                }
            }
        }
    }

    /// All constants that these are made of.
    fn reach(self, program: &Program) -> EntitySet<ConstantNumber> {
        let mut seen = EntitySet::with_capacity(program.constants.len());
        let mut work = self.initial;
        while let Some(constant) = work.pop() {
            if seen.insert(constant) {
                work.extend(program.constants[constant].value.parts());
            }
        }
        seen
    }
}

/// The operand that is called, loaded from or stored to.
fn direct_use(body: &Body, operation: &Operation) -> Option<Value> {
    match operation {
        Operation::Load { address, .. }
        | Operation::Store { address, .. }
        | Operation::Update { address, .. }
        | Operation::CompareExchange { address, .. } => Some(*address),
        other => Some(body.calls[other.call()?].callee),
    }
}
