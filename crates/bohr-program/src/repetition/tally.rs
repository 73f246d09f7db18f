//! By what the number of the current iteration of a loop can be told when its
//! process has stopped: a variable that is there anyway, or a counter that a
//! production build adds. Whoever makes that build and whoever reads its cores
//! ask here, and so agree.

use super::region::{Region, returning};
use super::{Induction, InductionStep, Place, Repetition, repetitions};
use crate::flow::FunctionFlow;
use crate::graph::LoopNumber;
use crate::ids::{BlockNumber, FunctionNumber, InstructionNumber};
use crate::instruction::Operation;
use crate::layout::Layouts;
use crate::program::Program;
use cranelift_entity::PrimaryMap;

/// What tells the iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// A variable that begins with a constant and changes by a constant.
    Variable {
        /// The phi that holds it.
        phi: InstructionNumber,
        /// Its bits.
        bits: u32,
        /// Its value in the first iteration.
        start: i64,
        /// What is added from one iteration to the next; not 0.
        step: i64,
    },
    /// A counter that has to be added.
    Counter,
    /// Nothing: a process cannot stop in it.
    Nothing,
}

impl Tally {
    /// Which iteration it is, the first being 1, by what was found in the variable
    /// or in the counter.
    ///
    /// ```
    /// use bohr_program::{InstructionNumber, Tally};
    /// let phi = InstructionNumber::from_u32(7);
    /// let down = Tally::Variable { phi, bits: 32, start: 10, step: -2 };
    /// // What lies above the variable's bits is not its value.
    /// assert_eq!(down.iteration(0xffff_ffff_0000_0006), 3);
    /// assert_eq!(Tally::Counter.iteration(3), 3);
    /// ```
    #[must_use]
    pub fn iteration(self, found: u64) -> u64 {
        match self {
            Tally::Variable {
                bits, start, step, ..
            } => {
                let mask = u64::MAX >> (64 - bits.clamp(1, 64));
                let distance = match step > 0 {
                    true => found.wrapping_sub(start.cast_unsigned()),
                    false => start.cast_unsigned().wrapping_sub(found),
                };
                (distance & mask) / step.unsigned_abs() + 1
            }
            Tally::Counter | Tally::Nothing => found,
        }
    }
}

/// The name under which debug information of a production build has the variable
/// or counter of a loop.
#[must_use]
pub fn tally_name(number: LoopNumber) -> String {
    format!("bohr.{number}")
}

/// The name of the variable that has the iteration in which the loop was left for
/// code that does not return, where [`tally_mark`] says so.
#[must_use]
pub fn left_name(number: LoopNumber) -> String {
    format!("bohr.{number}.left")
}

/// The name of the variable that says whether it was, by holding [`tally_mark`].
#[must_use]
pub fn mark_name(number: LoopNumber) -> String {
    format!("bohr.{number}.mark")
}

/// What stands there then. Anything else may stand there otherwise.
#[must_use]
pub fn tally_mark(number: LoopNumber) -> u64 {
    u64::from_be_bytes(*b"bohrleft") ^ u64::from(number.as_u32())
}

/// A loop and what tells its iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tallied {
    /// By what.
    pub tally: Tally,
    /// Blocks right behind the loop from which the function does not return: a
    /// process that stops there was in an iteration.
    pub doomed: Vec<BlockNumber>,
}

/// What tells the iterations of every loop of a function.
#[must_use]
pub fn tallies(
    program: &Program,
    layouts: &Layouts,
    function: FunctionNumber,
    flow: &FunctionFlow,
) -> PrimaryMap<LoopNumber, Tallied> {
    let found = repetitions(program, layouts, function, flow);
    let Some(body) = program.functions[function].body.as_ref() else {
        return PrimaryMap::new();
    };
    let returning = returning(body, flow);
    let slots = &super::region::PrivateSlots::new(program, body);
    let loops = flow.loops.iter().zip(found.values());
    loops
        .map(|((number, shape), repetition)| {
            let region = Region {
                program,
                body,
                flow,
                slots,
                layouts,
                number,
                shape,
            };
            Tallied {
                tally: tally(&region, repetition),
                doomed: doomed(&region, &returning),
            }
        })
        .collect()
}

fn tally(region: &Region<'_>, repetition: &Repetition) -> Tally {
    let variables = repetition.variables.iter();
    let mut variables = variables.filter_map(|one| variable(region, one));
    let variable = variables.next().filter(|_| !ends_in_call(region));
    variable.unwrap_or_else(|| match can_stop(region) {
        true => Tally::Counter,
        false => Tally::Nothing,
    })
}

fn variable(region: &Region<'_>, induction: &Induction) -> Option<Tally> {
    let (Place::Phi(phi), InductionStep::Constant(step)) = (induction.place, induction.step) else {
        return None;
    };
    let start = induction.start?.constant()?;
    let of = region.program.constants[start].of;
    let bits = region.program.types[of].integer_bits()?;
    let start = region.program.signed(start)?;
    (step != 0).then_some(Tally::Variable {
        phi,
        bits,
        start,
        step,
    })
}

/// Whether an iteration ends with a call that may be left in two ways: then there is no
/// place behind the call, and in the loop, at which the variable could be kept for it.
fn ends_in_call(region: &Region<'_>) -> bool {
    let mut latches = region.shape.latches.iter();
    latches.any(|&latch| region.body.terminator(latch).operation.call().is_some())
}

/// Whether an iteration may touch memory or call: whoever only computes goes on.
fn can_stop(region: &Region<'_>) -> bool {
    let blocks = region.shape.blocks.iter();
    let mut instructions = blocks.flat_map(|&block| region.body.block(block));
    instructions.any(|(_, instruction)| {
        instruction.operation.call().is_some()
            || matches!(
                instruction.operation,
                Operation::Load { .. }
                    | Operation::Store { .. }
                    | Operation::Update { .. }
                    | Operation::CompareExchange { .. }
            )
    })
}

fn doomed(region: &Region<'_>, returning: &[bool]) -> Vec<BlockNumber> {
    let graph = &region.flow.graph;
    let exits = region.shape.exits.iter().map(|&edge| graph.target(edge));
    let only_from_here = |block: &BlockNumber| {
        let before = graph.predecessors(*block);
        before.iter().all(|&from| region.shape.contains(from))
    };
    let mut doomed: Vec<BlockNumber> = exits
        .filter(|block| !returning[block.as_u32() as usize])
        .filter(only_from_here)
        .collect();
    doomed.sort_unstable();
    doomed.dedup();
    doomed
}
