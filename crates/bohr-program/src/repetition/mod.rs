//! Loops as repetition: what counts their iterations, which of them are
//! repetitive code blocks, and which can leave out an iteration.

mod region;
mod repetitive;
mod shortcut;
mod show;
mod tally;
mod variable;

pub use repetitive::{Counter, Irregularity};
pub use shortcut::{Refusal, Shortcut, Test};
pub use tally::{Tallied, Tally, left_name, mark_name, tallies, tally_mark, tally_name};
pub use variable::{Induction, Place, Step as InductionStep};

use crate::flow::FunctionFlow;
use crate::graph::LoopNumber;
use crate::ids::FunctionNumber;
use crate::layout::Layouts;
use crate::program::Program;
use cranelift_entity::PrimaryMap;
use region::{PrivateSlots, Region, returning};

/// What is known about a loop.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// The variables that change by one step in every iteration.
    pub variables: Vec<Induction>,
    /// What counts its iterations, if it is a repetitive code block.
    pub counter: Result<Counter, Irregularity>,
    /// How an iteration can be left out.
    pub shortcut: Result<Shortcut, Refusal>,
}

/// Analyses every loop of a function.
#[must_use]
pub fn repetitions(
    program: &Program,
    layouts: &Layouts,
    function: FunctionNumber,
    flow: &FunctionFlow,
) -> PrimaryMap<LoopNumber, Repetition> {
    let Some(body) = program.functions[function].body.as_ref() else {
        return PrimaryMap::new();
    };
    if flow.loops.is_empty() {
        return PrimaryMap::new();
    }
    let slots = &PrivateSlots::new(program, body);
    let returning = returning(body, flow);
    let regions = flow.loops.iter().map(|(number, shape)| Region {
        program,
        body,
        flow,
        slots,
        layouts,
        number,
        shape,
    });
    regions
        .map(|region| {
            let variables = variable::inductions(&region);
            let exits = region.ordinary_exits(&returning);
            let counter = repetitive::counter(&region, &variables, &exits);
            let shortcut = shortcut::shortcut(&region, &variables, &exits);
            Repetition {
                variables,
                counter,
                shortcut,
            }
        })
        .collect()
}
