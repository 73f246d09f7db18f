//! The choice that the end of a block makes.

use super::width;
use crate::function::Body;
use crate::ids::BlockNumber;
use crate::instruction::Operation;

/// The blocks that control can go to from the end of a block, each once, in the
/// order in which the terminator names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The blocks.
    pub targets: Vec<BlockNumber>,
}

impl Choice {
    /// The choice at the end of a block. That an invoked function unwinds is no
    /// choice of the caller's: the landing pad tells.
    #[must_use]
    pub fn of(body: &Body, block: BlockNumber) -> Choice {
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
        Choice { targets: distinct }
    }

    /// How many bits tell the targets apart.
    #[must_use]
    pub fn bits(&self) -> u32 {
        width(self.targets.len())
    }

    /// The position of a target.
    #[must_use]
    pub fn outcome(&self, target: BlockNumber) -> Option<u64> {
        let position = self.targets.iter().position(|one| *one == target)?;
        Some(position as u64)
    }
}
