//! What a program carries in production, so that a core of it can be read to the
//! block and to the iteration: marks that lead from addresses to blocks of the
//! model ([`probes`]), counters of those loops whose iterations nothing else
//! tells ([`counters`]), and the names of threads ([`threads`]). Whoever asks for it
//! has the blocks of each thread counted as well ([`blocks`]).

mod blocks;
pub mod counters;
pub(crate) mod probes;
pub mod threads;

use crate::gates::Numbered;
use bohr_program::Program;
use inkwell::context::Context;
use inkwell::module::Module;
use serde::Serialize;

/// What was added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Added {
    /// Marks.
    pub probes: u32,
    /// Loops whose iterations a variable tells.
    pub told: u32,
    /// Loops with a counter.
    pub counted: u32,
}

/// Adds all of it to a module, which is numbered like its model.
pub fn insert<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    program: &Program,
    mut numbered: Numbered,
    counts_blocks: bool,
) -> Added {
    let mut added = Added::default();
    counters::insert(context, module, program, &mut numbered, &mut added);
    probes::insert(context, module, program, &numbered, &mut added);
    if counts_blocks {
        blocks::insert(context, module, program, &numbered);
    }
    added
}
