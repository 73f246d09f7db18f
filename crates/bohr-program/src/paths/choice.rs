//! The choice that the end of a block makes.

use super::{Counted, width};
use crate::function::Body;
use crate::ids::BlockNumber;
use crate::instruction::Operation;
use crate::program::Program;

/// The blocks that control can go to from the end of a block, each once, in the
/// order in which the terminator names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The blocks.
    pub targets: Vec<BlockNumber>,
    /// Which of them it is, if that follows from how often it was chosen before.
    pub counted: Option<Counted>,
}

impl Choice {
    /// The choice at the end of a block. That an invoked function unwinds is no
    /// choice of the caller's: the landing pad tells.
    #[must_use]
    pub fn of(program: &Program, body: &Body, block: BlockNumber) -> Choice {
        let mut targets = body.successors(block);
        if matches!(body.terminator(block).operation, Operation::Invoke { .. }) {
            targets.truncate(1);
        }
        let mut distinct: Vec<BlockNumber> = Vec::with_capacity(targets.len());
        for target in targets {
            if !distinct.contains(&target) {
                distinct.push(target);
            }
        }
        Choice {
            targets: distinct,
            counted: Counted::of(program, body, block),
        }
    }

    /// How many bits tell the targets apart: none if nobody has to be told.
    #[must_use]
    pub fn bits(&self) -> u32 {
        match self.counted {
            Some(_) => 0,
            None => width(self.targets.len()),
        }
    }

    /// The target of a branch that counts, behind so many passes in a row.
    #[must_use]
    pub fn after(&self, passes: u32) -> usize {
        self.counted.map_or(0, |counted| {
            usize::from((passes < counted.again) != counted.first)
        })
    }

    /// The position of a target.
    #[must_use]
    pub fn outcome(&self, target: BlockNumber) -> Option<u64> {
        let position = self.targets.iter().position(|one| *one == target)?;
        Some(position as u64)
    }
}
