//! The dependence relation of a trace, direct part (SimTrace, Definition 4):
//! which earlier steps of other threads a step must not overtake. Its closure
//! under program order is what every reordering has to respect.
//!
//! `P` is how a step is named by whoever asks: an event number, a node of the
//! dependence graph.

use crate::footprint::Touch;
use crate::order::Chain;
use crate::variables::VariableNumber;
use std::collections::HashMap;

/// The state of every variable while a trace goes by: who wrote it last, and
/// who has read it since.
pub struct Dependences<P> {
    variables: Vec<Variable<P>>,
}

struct Variable<P> {
    writer: Option<(Chain, P)>,
    /// At most one for each chain, the latest: program order does the rest.
    readers: Vec<(Chain, P)>,
    /// Where in `readers` a chain is, once those are many.
    slots: HashMap<Chain, u32>,
}

/// So many readers are looked through one by one.
const FEW_READERS: usize = 16;

impl<P: Copy> Dependences<P> {
    /// Before the first step.
    #[must_use]
    pub fn new(variables: usize) -> Dependences<P> {
        let untouched = || Variable {
            writer: None,
            readers: Vec::new(),
            slots: HashMap::new(),
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
            variable.slots.clear();
            return;
        }
        match variable.slot(chain) {
            Some(slot) => variable.readers[slot].1 = step,
            None => variable.add(chain, step),
        }
    }
}

impl<P> Variable<P> {
    /// Where a reader is.
    #[inline]
    fn slot(&self, chain: Chain) -> Option<usize> {
        match self.readers.len() <= FEW_READERS {
            true => self.readers.iter().position(|(reader, _)| *reader == chain),
            false => self.slots.get(&chain).map(|&slot| slot as usize),
        }
    }

    fn add(&mut self, chain: Chain, step: P) {
        self.readers.push((chain, step));
        let count = self.readers.len();
        if count == FEW_READERS + 1 {
            let readers = self.readers.iter().map(|(reader, _)| *reader);
            self.slots.extend(readers.zip(0..));
        } else if count > FEW_READERS {
            self.slots.insert(chain, count as u32 - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_follows_the_last_read_of_each_thread() {
        for threads in [3, 16, 17, 18, 100] {
            let mut dependences = Dependences::new(1);
            let touch = |writes| Touch {
                variable: VariableNumber(0),
                writes,
            };
            // The second round finds another number of readers than the first.
            for (round, readers) in [(0, threads), (1, threads / 2)] {
                for step in 0..3 {
                    for chain in (0..readers).map(Chain) {
                        dependences.record(chain, (round, step), touch(false));
                    }
                }
                let mut found = Vec::new();
                dependences.of(Chain(0), touch(true), |chain, step| {
                    found.push((chain, step))
                });
                found.retain(|(chain, _)| *chain != Chain(1000));
                found.sort_unstable();
                let expected = (1..readers).map(|chain| (Chain(chain), (round, 2)));
                assert_eq!(found, expected.collect::<Vec<_>>(), "{threads} threads");
                dependences.record(Chain(1000), (round, 3), touch(true));
            }
        }
    }
}
