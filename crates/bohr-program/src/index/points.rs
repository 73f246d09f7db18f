//! Numbers for the points of a program that a run can be watched at: the
//! beginning of every block, and every call. Whoever puts hooks there and whoever
//! asks about them number alike.

use crate::ids::{BlockNumber, FunctionNumber, InstructionNumber};
use crate::program::Program;
use std::collections::HashMap;

/// A point; dense in a program, blocks before calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointNumber(pub u32);

/// The variable of each thread that counts the blocks that it has begun, in programs
/// that were built so.
pub const BLOCK_COUNTER: &str = "__bohr_blocks";

/// The points of a program.
#[derive(Clone, Debug, Default)]
pub struct Points {
    /// Of each function, the point of its first block.
    blocks: Vec<u32>,
    calls: HashMap<(FunctionNumber, InstructionNumber), PointNumber>,
    first_call: u32,
}

impl Points {
    /// Numbers them.
    #[must_use]
    pub fn of(program: &Program) -> Points {
        let mut points = Points::default();
        for function in program.functions.values() {
            points.blocks.push(points.first_call);
            let blocks = function.body.as_ref().map_or(0, |body| body.blocks.len());
            points.first_call += blocks as u32;
        }
        let numbers = (points.first_call..).map(PointNumber);
        points.calls = calls(program).zip(numbers).collect();
        points
    }

    /// Where a block begins.
    #[must_use]
    pub fn block(&self, function: FunctionNumber, block: BlockNumber) -> PointNumber {
        PointNumber(self.blocks[function.as_u32() as usize] + block.as_u32())
    }

    /// Where a call is made; `None` if that instruction is none.
    #[must_use]
    pub fn call(
        &self,
        function: FunctionNumber,
        instruction: InstructionNumber,
    ) -> Option<PointNumber> {
        self.calls.get(&(function, instruction)).copied()
    }

    /// The first of those that are calls.
    #[must_use]
    pub fn first_call(&self) -> PointNumber {
        PointNumber(self.first_call)
    }
}

/// Every call that is one in the end.
fn calls(program: &Program) -> impl Iterator<Item = (FunctionNumber, InstructionNumber)> + '_ {
    program
        .functions
        .iter()
        .flat_map(move |(number, function)| {
            let body = function.body.iter();
            body.flat_map(move |body| {
                let calls = body
                    .instructions
                    .keys()
                    .filter(move |&instruction| body.call_at(instruction).is_some());
                let is_real = move |&instruction: &InstructionNumber| {
                    let callee = body.named_callee(program, instruction);
                    !callee.is_some_and(|callee| program.is_intrinsic(callee))
                };
                calls
                    .filter(is_real)
                    .map(move |instruction| (number, instruction))
            })
        })
}
