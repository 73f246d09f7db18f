//! Pairs of nodes with a literal that says which comes first, so that what the order
//! says anyway need not be guessed.

use super::closure::{Fresh, Place};
use batsat::Lit;
use std::collections::{BTreeMap, HashMap};

/// A literal by which the first node comes before the second.
pub(crate) type Pair = (Place, Place, Lit);

/// All pairs with a literal.
#[derive(Default)]
pub(crate) struct Pairs {
    /// By chains, then by positions.
    literals: HashMap<(u32, u32), BTreeMap<(u32, u32), Lit>>,
    /// Those that have not been looked at.
    new: Vec<Pair>,
}

impl Pairs {
    /// The first node comes before the second if a literal holds, else behind it.
    pub(crate) fn add(&mut self, first: Place, second: Place, literal: Lit) {
        for (one, other, literal) in [(first, second, literal), (second, first, !literal)] {
            let pairs = self.literals.entry((one.chain, other.chain)).or_default();
            pairs.insert((one.position, other.position), literal);
            self.new.push((one, other, literal));
        }
    }

    /// Those that have come since this was last asked, either way round.
    pub(crate) fn take_new(&mut self) -> Vec<Pair> {
        std::mem::take(&mut self.new)
    }

    /// The pairs that something new about the order decides.
    pub(crate) fn decided(&self, fresh: &Fresh) -> Vec<Pair> {
        let (from, to) = (fresh.from, fresh.to);
        let Some(pairs) = self.literals.get(&(from.chain, to.chain)) else {
            return Vec::new();
        };
        let near = pairs.range((fresh.since, 0)..=(from.position, u32::MAX));
        let behind = near.filter(|((_, second), _)| *second >= to.position);
        behind
            .map(|((first, second), literal)| (from.at(*first), to.at(*second), *literal))
            .collect()
    }
}
