//! Functions that one place alone asks: the predicates that C++ gives to its waits, which
//! without optimisation stay functions of their own.
//!
//! Whoever reads a variable in such a function reads it for that place, so a loop there can
//! wait for it. In a function that several places ask, nobody knows for whom.

use crate::calls::named;
use crate::evidence::stored_once;
use crate::function::Body;
use crate::ids::{FunctionNumber, InstructionNumber};
use crate::instruction::{Operand, Operation, Value};
use crate::program::Program;
use std::collections::BTreeMap;

/// A call, and the function that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Who asks.
    pub function: FunctionNumber,
    /// Where.
    pub call: InstructionNumber,
}

/// The functions of a program that one place alone asks.
#[derive(Clone, Debug, Default)]
pub struct Predicates {
    asked: BTreeMap<FunctionNumber, Asking>,
}

impl Predicates {
    /// Those of a program, in one look at all its calls.
    #[must_use]
    pub fn of(program: &Program) -> Predicates {
        let mut asked: BTreeMap<FunctionNumber, Option<Asking>> = BTreeMap::new();
        for (function, _, body) in program.bodies() {
            for call in body.instructions.keys() {
                let callee = body.call_at(call).and_then(|made| named(program, made)?);
                if let Some(callee) = callee {
                    let asking = Asking { function, call };
                    let known = asked.entry(callee);
                    known
                        .and_modify(|known| *known = None)
                        .or_insert(Some(asking));
                }
            }
        }
        let alone = asked.into_iter().filter_map(|(callee, asking)| {
            let known = &program.functions[callee];
            let elsewhere = known.address_taken || known.exported || known.body.is_none();
            asking.filter(|_| !elsewhere).map(|asking| (callee, asking))
        });
        Predicates {
            asked: alone.collect(),
        }
    }

    /// Who alone asks a function.
    #[must_use]
    pub fn asked_by(&self, function: FunctionNumber) -> Option<Asking> {
        self.asked.get(&function).copied()
    }
}

/// What the function that a call names gives back, if it returns in one place.
pub(super) fn given(
    program: &Program,
    body: &Body,
    call: InstructionNumber,
) -> Option<(FunctionNumber, Value)> {
    let callee = body.named_callee(program, call)?;
    let asked = program.functions[callee].body.as_ref()?;
    let mut returned = asked
        .instructions
        .values()
        .filter_map(|one| match one.operation {
            Operation::Return { value } => Some(value.expand()),
            _ => None,
        });
    let value = returned.next()??;
    returned.next().is_none().then_some((callee, value))
}

/// What is loaded from a variable on the stack that is stored to once: an argument without
/// optimisation.
pub(super) fn behind_slot(body: &Body, loaded: Value) -> Option<Value> {
    let Operand::Instruction(number) = loaded.operand() else {
        return None;
    };
    match body.instructions[number].operation {
        Operation::Load { address, .. } => stored_once(body, address),
        _ => None,
    }
}
