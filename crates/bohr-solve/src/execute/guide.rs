//! Where a thread goes: as was recorded, or as its values say.

use super::{End, Halt, Step};
use crate::path;
use bohr_program::{BlockNumber, FunctionNumber};

/// Where a thread goes.
#[derive(Clone, Debug)]
pub(crate) enum Guide {
    /// Along these steps.
    Follow {
        steps: Vec<path::Step>,
        /// How many were taken.
        taken: usize,
    },
    /// As values say; the steps it took.
    Choose(Vec<path::Step>),
}

impl Guide {
    fn next(&mut self) -> Option<Step<path::Step>> {
        match self {
            Guide::Choose(_) => None,
            Guide::Follow { steps, taken } => {
                let step = steps.get(*taken).copied();
                *taken += 1;
                Some(step.ok_or(Halt::Ended(End::Unknown)))
            }
        }
    }

    /// How many steps were taken.
    pub(crate) fn taken(&self) -> usize {
        match self {
            Guide::Follow { taken, .. } => *taken,
            Guide::Choose(steps) => steps.len(),
        }
    }

    /// The function that is to be entered, if somebody knows.
    pub(crate) fn peek_entry(&self) -> Option<FunctionNumber> {
        match self {
            Guide::Follow { steps, taken } => match steps.get(*taken) {
                Some(path::Step::Enter(function)) => Some(*function),
                _ => None,
            },
            Guide::Choose(_) => None,
        }
    }

    /// A function is entered.
    pub(crate) fn enter(&mut self, function: FunctionNumber) -> Step<()> {
        self.pass(path::Step::Enter(function))
    }

    /// The innermost function returns.
    pub(crate) fn leave(&mut self) -> Step<()> {
        self.pass(path::Step::Return)
    }

    fn pass(&mut self, expected: path::Step) -> Step<()> {
        match self.next().transpose()? {
            None => {
                if let Guide::Choose(steps) = self {
                    steps.push(expected);
                }
                Ok(())
            }
            Some(step) if step == expected => Ok(()),
            Some(path::Step::Land) => super::not_modelled("an exception"),
            Some(other) => Err(Halt::OffPath(format!(
                "the code says {expected:?}, the log says {other:?}"
            ))),
        }
    }

    /// The block that comes next: the recorded one, or the one that values say.
    pub(crate) fn block(
        &mut self,
        by_value: impl FnOnce() -> Step<BlockNumber>,
    ) -> Step<BlockNumber> {
        match self.next().transpose()? {
            Some(path::Step::Block(block)) => Ok(block),
            Some(path::Step::Land) => super::not_modelled("an exception"),
            Some(other) => Err(Halt::OffPath(format!(
                "the code goes on with a block, the log says {other:?}"
            ))),
            None => {
                let block = by_value()?;
                if let Guide::Choose(steps) = self {
                    steps.push(path::Step::Block(block));
                }
                Ok(block)
            }
        }
    }
}
