//! Unread stores of random executions against their definition: a store matters if a
//! read that matters comes upon one of its bytes before another store that is made.

use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use bohr_program::SiteNumber;
use bohr_reduce::Execution;
use bohr_slice::{Stores, Trace, unread};
use cranelift_entity::EntityRef;
use proptest::prelude::*;

/// Sites from here on are of stores that stay.
const STAYS: usize = 4;
/// A read at this site only decides what the store at site 0 writes.
const FEEDING: usize = 5;

fn site(place: PlaceNumber) -> Option<SiteNumber> {
    Some(SiteNumber::new(place.offset() as usize))
}

fn step(thread: u32, kind: EventKind, object: u64, size: u32, place: usize) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation::plain(kind, size, object, PlaceNumber(place as u64)),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = prop_oneof![
        Just(EventKind::Read),
        Just(EventKind::Write),
        Just(EventKind::Update)
    ];
    let event = (0u32..2, kind, 0u64..20, 1u32..12, 0usize..STAYS + 1);
    let step = event.prop_map(|(thread, kind, byte, size, place)| {
        step(thread, kind, 0x1000 + byte, size, place)
    });
    prop::collection::vec(step, 1..30)
}

fn all_unread(steps: &[Step]) -> Vec<u32> {
    let trace = Trace {
        execution: Execution::of(steps),
        site: &site,
        from: 0,
    };
    let stores = Stores {
        can_go: &|site| site.index() < STAYS,
        feeds: &|site| (site.index() == FEEDING).then(|| vec![SiteNumber::new(0)]),
    };
    unread(trace, &stores)
}

/// By the definition, from the last store to the first.
fn expected(steps: &[Step]) -> Vec<u32> {
    let mut goes = vec![false; steps.len()];
    for event in (0..steps.len()).rev() {
        let store = &steps[event].operation;
        let is_met = |byte: u64| {
            let mut later = (event + 1..steps.len()).filter(|later| {
                let other = &steps[*later].operation;
                !goes[*later]
                    && (other.object..other.object + u64::from(other.size)).contains(&byte)
            });
            later
                .next()
                .is_some_and(|later| steps[later].operation.kind != EventKind::Write)
        };
        let mut bytes = store.object..store.object + u64::from(store.size);
        let is_store = store.kind != EventKind::Read;
        goes[event] = is_store && (store.place.offset() as usize) < STAYS && !bytes.any(is_met);
    }
    (0u32..)
        .zip(goes)
        .filter(|one| one.1)
        .map(|one| one.0)
        .collect()
}

proptest! {
    #[test]
    fn exactly_what_no_read_comes_upon_is_unread(steps in steps()) {
        prop_assert_eq!(all_unread(&steps), expected(&steps));
    }
}

#[test]
fn a_read_for_a_store_that_goes_is_none() {
    use EventKind::{Read, Write};
    // One counts twice, and nobody looks.
    let mut steps = vec![
        step(1, Read, 0x10, 4, FEEDING),
        step(1, Write, 0x10, 4, 0),
        step(1, Read, 0x10, 4, FEEDING),
        step(1, Write, 0x10, 4, 0),
    ];
    assert_eq!(all_unread(&steps), [1, 3]);
    // Another reads what the first has counted.
    steps.insert(2, step(2, Read, 0x10, 4, 1));
    assert_eq!(all_unread(&steps), [4]);
    // Somebody looks at last.
    steps.push(step(2, Read, 0x10, 4, 1));
    assert_eq!(all_unread(&steps), []);
}

#[test]
fn whoever_waits_reads_the_object() {
    let steps = [
        step(1, EventKind::Write, 0x18, 4, 0),
        step(2, EventKind::Wait, 0x10, 0, 1),
    ];
    assert_eq!(all_unread(&steps), []);
    assert_eq!(all_unread(&steps[..1]), [0]);
}
