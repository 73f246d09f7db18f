//! A function as a walk sees it: of every block, the instructions at which
//! something can happen to control.

use bohr_program::paths::{Calling, Choice, Paths};
use bohr_program::{BlockNumber, Body, InstructionNumber, Operation, Program};
use cranelift_entity::SecondaryMap;

/// What happens at an instruction.
#[derive(Clone, Debug, Default)]
pub enum Stop {
    /// A call that leads somewhere.
    Call(Calling),
    /// The function returns.
    Return,
    /// An exception goes on its way.
    Resume,
    /// Nobody comes here.
    #[default]
    Unreachable,
    /// Another block.
    Choice {
        /// Which ones.
        choice: Choice,
        /// How many bits tell.
        bits: u32,
    },
}

/// The stops of one function, in layout order.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    stops: Vec<(InstructionNumber, Stop)>,
    /// The first stop of each block.
    first: SecondaryMap<BlockNumber, u32>,
}

impl Stops {
    pub fn of(program: &Program, paths: &Paths, body: &Body) -> Stops {
        let mut found = Stops::default();
        for block in body.blocks.keys() {
            found.first[block] = found.stops.len() as u32;
            for (number, instruction) in body.block(block) {
                let operation = instruction.operation;
                if let Some(call) = operation.call() {
                    let calling = paths.calling(program, &body.calls[call]);
                    if calling != Calling::Quiet {
                        found.stops.push((number, Stop::Call(calling)));
                    }
                }
                if operation.is_terminator() {
                    found
                        .stops
                        .push((number, end(program, body, block, operation)));
                }
            }
        }
        found
    }

    /// The position of a block's first stop.
    pub fn first(&self, block: BlockNumber) -> u32 {
        self.first[block]
    }

    /// The stop at a position, and its instruction.
    pub fn at(&self, position: u32) -> &(InstructionNumber, Stop) {
        &self.stops[position as usize]
    }

    /// The position of the first stop at an instruction.
    pub fn position(&self, instruction: InstructionNumber) -> u32 {
        self.stops.partition_point(|stop| stop.0 < instruction) as u32
    }
}

fn end(program: &Program, body: &Body, block: BlockNumber, operation: Operation) -> Stop {
    match operation {
        Operation::Return { .. } => Stop::Return,
        Operation::Resume { .. } => Stop::Resume,
        Operation::Unreachable => Stop::Unreachable,
        _ => {
            let choice = Choice::of(program, body, block);
            let bits = choice.bits();
            Stop::Choice { choice, bits }
        }
    }
}
