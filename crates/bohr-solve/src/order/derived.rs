//! What follows at once from a read's getting a write, since every thread's writes to
//! one place come in its own order (the from-read edges of Zord and Deagle): the read
//! comes before the next write of the same writer, and what the reader itself wrote there
//! before comes before the write. Writes of third threads are left to lemmas.

use super::encode::Choices;
use crate::model::{Chains, NodeNumber};
use crate::term::Scalar;
use std::collections::{BTreeMap, HashMap};

/// The writes of a thread to one place, by their position in the thread.
type Writes = BTreeMap<usize, usize>;

/// Who writes where, of places that are known.
#[derive(Default)]
pub(crate) struct Derived {
    /// By the first byte of a place that is read: the writes to it, by thread.
    places: HashMap<u64, BTreeMap<usize, Writes>>,
}

/// The first byte that a choice is about, if that is known.
fn place(choices: &Choices, choice: usize) -> Option<u64> {
    let choice = &choices.choices[choice];
    let address = choice.address.known()? as u64;
    Some(address + u64::from(choice.offset))
}

impl Derived {
    pub(crate) fn of(choices: &Choices) -> Derived {
        let read = (0..choices.choices.len()).filter_map(|choice| place(choices, choice));
        let mut places: BTreeMap<u64, BTreeMap<usize, Writes>> =
            read.map(|place| (place, BTreeMap::new())).collect();
        for (number, write) in choices.writes.iter().enumerate() {
            let Scalar::Known(address) = write.address else {
                continue;
            };
            let start = address as u64;
            for (_, by_thread) in places.range_mut(start..start + u64::from(write.size)) {
                let writes = by_thread.entry(write.id.thread).or_default();
                writes.insert(write.id.event, number);
            }
        }
        Derived {
            places: places.into_iter().collect(),
        }
    }

    /// The writes of other threads than the reader's and the writer's to the place of a
    /// choice, if that is known: none of them comes between the two.
    pub(crate) fn thirds<'a>(
        &'a self,
        choices: &'a Choices,
        number: usize,
        chosen: Option<usize>,
    ) -> impl Iterator<Item = usize> + 'a {
        let reader = choices.choices[number].id.thread;
        let writer = chosen.map(|write| choices.writes[write].id.thread);
        let by_thread = place(choices, number).and_then(|place| self.places.get(&place));
        let third = move |thread: usize| thread != reader && Some(thread) != writer;
        let threads = by_thread.into_iter().flatten();
        threads
            .filter(move |(thread, _)| third(**thread))
            .flat_map(|(_, writes)| writes.values().copied())
    }

    /// What comes before what if a choice takes a candidate.
    pub(crate) fn edges(
        &self,
        choices: &Choices,
        chains: &Chains,
        number: usize,
        candidate: usize,
    ) -> Vec<(NodeNumber, NodeNumber)> {
        let by_thread = place(choices, number).and_then(|place| self.places.get(&place));
        let Some(by_thread) = by_thread else {
            return Vec::new();
        };
        let choice = &choices.choices[number];
        let read = chains.event(choice.id);
        let visible = |write: &usize| chains.visible(choices.writes[*write].id);
        let Some(write) = choice.candidates[candidate] else {
            let others = by_thread
                .iter()
                .filter(|(thread, _)| **thread != choice.id.thread);
            let firsts = others.filter_map(|(_, writes)| writes.values().next());
            return firsts.map(|first| (read, visible(first))).collect();
        };
        let writer = choices.writes[write].id;
        if writer.thread == choice.id.thread {
            return Vec::new();
        }
        let next = by_thread
            .get(&writer.thread)
            .and_then(|writes| writes.range(writer.event + 1..).next());
        let own = by_thread
            .get(&choice.id.thread)
            .and_then(|writes| writes.range(..choice.id.event).next_back());
        let next = next.map(|(_, next)| (read, visible(next)));
        let own = own.map(|(_, own)| (visible(own), visible(&write)));
        next.into_iter().chain(own).collect()
    }
}
