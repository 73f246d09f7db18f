//! Stores of which nothing comes that matters for the failure (LEAN, Algorithm 3):
//! the slice of the run tells which, and the oracle has the last word. A store is
//! left out wherever its thread makes it, if none of those that it made matters;
//! else by the numbers of those that do not.
//!
//! Last of all that goes, since passes that go before would change the numbers.
//! Never one by one: there are too many; all that threads do at one place goes
//! together.

use super::iterations::{keeping, left_of, replaced};
use super::{Block, Length, Reducer, Stage, Work};
use bohr_event::control::{GateReference, Omissions, OmittedPasses, Passes, Recorded};
use bohr_event::{EventKind, PlaceNumber, ThreadIndex};
use std::collections::BTreeMap;

/// Tests in a row that fail before the rest stays: some are missed, by a function
/// outside the program that looks at them, and which ones has to be found out.
const PATIENCE: usize = 64;

pub(super) fn fewer<R: Reducer>(work: &mut Work<'_, R>, stage: &mut Stage) -> Result<(), R::Error> {
    if !work.reducer.has_time() {
        return Ok(());
    }
    let before = work.cut.clone();
    let mut places: BTreeMap<GateReference, Vec<(Block, Vec<u64>)>> = BTreeMap::new();
    for (block, stores) in work.reducer.irrelevant_stores() {
        places.entry(block.gate).or_default().push((block, stores));
    }
    let places: Vec<Vec<(Block, Vec<u64>)>> = places.into_values().collect();
    let cut = |kept: &[usize]| {
        let goes = places.iter().enumerate();
        let goes = goes.filter(|(position, _)| kept.binary_search(position).is_err());
        let goes = goes.flat_map(|(_, stores)| stores);
        let cut = goes.fold(before.without.clone(), |omissions, (block, stores)| {
            without(&omissions, block, stores)
        });
        before.leaving_out(cut)
    };
    let length = Length::Shorter;
    work.search_patiently(stage, places.len(), length, PATIENCE, &cut)
}

/// The same without these stores.
fn without(omissions: &Omissions, block: &Block, stores: &[u64]) -> Omissions {
    let mut kept = left_of(block, omissions);
    kept.retain(|store| stores.binary_search(store).is_err());
    match kept.is_empty() {
        true => replaced(omissions, block, Vec::new(), Some(0)),
        false => keeping(omissions, block, &kept),
    }
}

/// Every store of a run that was, or could be, left out, by who made it where. `gate`
/// tells which places are stores; `told` is what was reported of those that were.
#[must_use]
pub fn stores(
    run: &Recorded,
    told: &[Passes],
    omissions: &Omissions,
    gate: &dyn Fn(PlaceNumber) -> Option<GateReference>,
) -> Vec<Block> {
    let mut made: BTreeMap<(GateReference, ThreadIndex), Vec<u64>> = BTreeMap::new();
    for (event, step) in (0u64..).zip(&run.steps) {
        // What a buffer writes, its thread has stored.
        let thread = run.threads.get(step.thread.position());
        let is_program = thread.is_some_and(|path| path.buffer_of().is_none());
        let kind = step.operation.kind;
        let writes = is_program && (kind.writes() || kind == EventKind::Store);
        if let Some(gate) = gate(step.operation.place).filter(|_| writes) {
            made.entry((gate, step.thread)).or_default().push(event);
        }
    }
    let told = told.iter().filter(|passes| passes.gate.is_store());
    let counts: BTreeMap<_, _> = told
        .map(|passes| ((passes.gate, passes.thread), passes.count))
        .collect();
    for visitor in counts.keys() {
        made.entry(*visitor).or_default();
    }
    let end = run.steps.len() as u64;
    let blocks = made.into_iter().filter_map(|(visitor, events)| {
        let (gate, thread) = visitor;
        let thread = run.threads.get(thread.position())?.clone();
        let mut known = omissions.iterations.iter();
        let known = known.find(|one| one.gate == gate && one.thread == thread);
        let passes = counts.get(&visitor).copied();
        let passes = passes.unwrap_or(events.len() as u64);
        Some(Block {
            gate,
            starts: starts(&events, passes, known, end),
            thread,
            passes,
            first_child: 0,
            children: 0,
            length: 1,
            pinned: Vec::new(),
            joins: false,
        })
    });
    blocks.collect()
}

/// The event of each store that was made; of one that was not, the next one's.
fn starts(events: &[u64], passes: u64, known: Option<&OmittedPasses>, end: u64) -> Vec<u64> {
    let mut events = events.iter().copied().peekable();
    let start = |number: u64| match known.is_some_and(|known| known.has(number)) {
        true => events.peek().copied(),
        false => events.next(),
    };
    (0..passes)
        .map(start)
        .map(|start| start.unwrap_or(end))
        .collect()
}

/// The stores of a block that were made and do not matter, ascending.
#[must_use]
pub fn irrelevant_stores(
    block: &Block,
    omissions: &Omissions,
    is_relevant: &dyn Fn(u64) -> bool,
) -> Vec<u64> {
    let mut stores = left_of(block, omissions);
    stores.retain(|store| !is_relevant(block.starts[*store as usize]));
    stores.reverse();
    stores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::step;
    use bohr_event::EventKind::{Read, Write};
    use bohr_event::abi::STORE_GATE;

    fn gate(number: u32) -> GateReference {
        GateReference {
            program: [0; 32],
            number: STORE_GATE | number,
        }
    }

    /// Thread 1 stores at place 7 in events 0, 2, 3 and 5.
    fn run() -> Recorded {
        let mut steps = [
            (1, Write),
            (0, Write),
            (1, Write),
            (1, Write),
            (1, Read),
            (1, Write),
        ]
        .map(|(thread, kind)| step(thread, kind, 8))
        .to_vec();
        for step in &mut steps {
            step.operation.place = PlaceNumber(7);
        }
        Recorded {
            threads: vec!["0".parse().unwrap(), "0:1".parse().unwrap()],
            steps,
            ..Recorded::default()
        }
    }

    fn of_thread_1(told: &[Passes], omissions: &Omissions) -> Block {
        let at = |place: PlaceNumber| (place == PlaceNumber(7)).then(|| gate(7));
        let mut blocks = stores(&run(), told, omissions, &at);
        assert_eq!(blocks.len(), 2);
        blocks.swap_remove(1)
    }

    #[test]
    fn stores_that_all_do_not_matter_go_for_good_and_others_by_number() {
        let nothing = Omissions::default();
        let block = of_thread_1(&[], &nothing);
        assert_eq!((block.passes, &block.starts[..]), (4, &[0, 2, 3, 5][..]));
        assert_eq!(
            irrelevant_stores(&block, &nothing, &|event| event == 3),
            [0, 1, 3]
        );
        let some = without(&nothing, &block, &[0, 1, 3]);
        assert_eq!(some.iterations[0].numbers, [0, 1, 3]);
        assert_eq!(some.iterations[0].beyond, None);
        let all = without(&nothing, &block, &[0, 1, 2, 3]);
        assert_eq!(all.iterations[0].numbers, []);
        assert_eq!(all.iterations[0].beyond, Some(0));
        // What is gone already stays so.
        let all = without(&some, &block, &[2]);
        assert_eq!(all.iterations[0].beyond, Some(0));
    }

    #[test]
    fn stores_that_were_not_made_keep_their_numbers() {
        let known = Omissions {
            iterations: vec![OmittedPasses {
                gate: gate(7),
                thread: "0:1".parse().unwrap(),
                numbers: vec![1, 5],
                beyond: None,
                children: 0,
            }],
            ..Omissions::default()
        };
        let told = Passes {
            gate: gate(7),
            thread: ThreadIndex(1),
            count: 6,
            left_out: 2,
            first_child: 0,
            children: 0,
            starts: Vec::new(),
        };
        let block = of_thread_1(&[told], &known);
        assert_eq!(block.starts, [0, 2, 2, 3, 5, 6]);
        let none = irrelevant_stores(&block, &known, &|_| true);
        assert_eq!(none, []);
        assert_eq!(irrelevant_stores(&block, &known, &|_| false), [0, 2, 3, 4]);
    }
}
