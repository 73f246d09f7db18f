//! The dependence relation of a trace, direct part (SimTrace, Definition 4):
//! which earlier steps of other threads a step must not overtake. Its closure
//! under program order is what every reordering has to respect.
//!
//! `P` is how a step is named by whoever asks: an event number, a node of the
//! dependence graph.

use crate::footprint::Touch;
use crate::order::Chain;
use crate::variables::VariableNumber;

/// The state of every variable while a trace goes by: who wrote it last, and
/// who has read it since.
pub struct Dependences<P> {
    variables: Vec<Variable<P>>,
}

struct Variable<P> {
    writer: Option<(Chain, P)>,
    /// At most one for each chain, the latest: program order does the rest.
    readers: Vec<(Chain, P)>,
}

impl<P: Copy> Dependences<P> {
    /// Before the first step.
    #[must_use]
    pub fn new(variables: usize) -> Dependences<P> {
        let untouched = || Variable {
            writer: None,
            readers: Vec::new(),
        };
        Dependences {
            variables: std::iter::repeat_with(untouched).take(variables).collect(),
        }
    }

    /// Tells `found` every step of another chain that a step touching this
    /// depends on directly.
    #[inline]
    pub fn of(&self, chain: Chain, touch: Touch, mut found: impl FnMut(Chain, P)) {
        let variable = &self.variables[touch.variable.0 as usize];
        let writer = variable.writer.iter();
        // A write follows the reads before it; those follow the write before them.
        let readers = if touch.writes {
            &variable.readers[..]
        } else {
            &[]
        };
        for &(other, step) in writer.chain(readers).filter(|(other, _)| *other != chain) {
            found(other, step);
        }
    }

    /// The step that wrote a variable last, whoever made it.
    #[must_use]
    pub fn writer(&self, variable: VariableNumber) -> Option<P> {
        let writer = self.variables[variable.0 as usize].writer;
        writer.map(|(_, step)| step)
    }

    /// The step has happened.
    #[inline]
    pub fn record(&mut self, chain: Chain, step: P, touch: Touch) {
        let variable = &mut self.variables[touch.variable.0 as usize];
        if touch.writes {
            variable.writer = Some((chain, step));
            variable.readers.clear();
            return;
        }
        match variable
            .readers
            .iter_mut()
            .find(|(reader, _)| *reader == chain)
        {
            Some(reader) => reader.1 = step,
            None => variable.readers.push((chain, step)),
        }
    }
}
