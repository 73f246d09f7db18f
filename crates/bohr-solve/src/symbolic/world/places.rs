//! The few places that an address can be, where it is computed from reads of which each is
//! known to give one of a few values.

use super::{MOST_ADDRESSES, Shared};
use crate::memory::NULL_END;
use crate::term::{Evaluation, ReadNumber, Scalar};
use std::collections::HashMap;

impl Shared<'_> {
    /// The few numbers that an address can be, if that is known, but for null.
    pub(super) fn addresses(&mut self, address: Scalar) -> Option<Vec<u64>> {
        if let Some(known) = self.places.get(&address) {
            return known.clone();
        }
        let found = self.new_addresses(address);
        self.places.insert(address, found.clone());
        found
    }

    fn new_addresses(&mut self, address: Scalar) -> Option<Vec<u64>> {
        let reads = self.terms.support(address);
        let mut all = Vec::new();
        let possible = |read: &ReadNumber| Some((*read, *self.possible.get(read)?));
        let choices: Vec<_> = reads.iter().map(possible).collect::<Option<_>>()?;
        let count: usize = choices.iter().map(|choice| choice.1.len()).product();
        for number in 0..Some(count).filter(|count| *count <= MOST_ADDRESSES)? {
            let mut rest = number;
            let picked = choices.iter().map(|(read, values)| {
                let value = values[rest % values.len()];
                rest /= values.len();
                (*read, value)
            });
            let picked: HashMap<ReadNumber, u128> = picked.collect();
            let value = |read| picked.get(&read).copied();
            let mut evaluation = Evaluation::default();
            let value = self.terms.evaluate(address, &mut evaluation, &value).ok()? as u64;
            if value >= NULL_END && !all.contains(&value) {
                all.push(value);
            }
        }
        Some(all)
    }
}
