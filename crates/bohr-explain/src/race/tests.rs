//! Races of small executions, and agreement with the definition.

use super::memory::words;
use super::*;
use bohr_event::{Operation, ThreadIndex};
use proptest::prelude::*;

fn step(thread: u32, kind: EventKind, object: u64, order: MemoryOrder) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation {
            kind,
            order,
            size: 1,
            object,
            place: PlaceNumber(u64::from(thread) << 8 | object),
        },
    }
}

fn plain(thread: u32, kind: EventKind, object: u64) -> Step {
    step(thread, kind, object, MemoryOrder::Plain)
}

fn pairs(steps: &[Step]) -> Vec<(usize, usize)> {
    let races = races(steps);
    races.iter().map(|race| (race.first, race.second)).collect()
}

#[test]
fn a_thread_that_gets_the_place_of_another_does_not_meet_it() {
    use EventKind::*;
    let place = THREAD_SLOTS.start + 64;
    let begins = |thread, since: u64| plain(thread, Start, 1000 + since);
    let ends = |thread, since: u64| plain(thread, Exit, 2000 + since);
    let life = |thread, since, place| {
        [
            begins(thread, since),
            plain(thread, Write, place),
            ends(thread, since),
        ]
    };
    // One after the other, perhaps with the index of the first.
    let both = [life(1, 1, place), life(2, 2, place)];
    assert_eq!(pairs(&both.concat()), []);
    let three = [life(1, 1, place), life(1, 2, place), life(2, 3, place)];
    assert_eq!(pairs(&three.concat()), []);
    // Beside each other they meet, and elsewhere always.
    let [start, write, exit] = life(1, 1, place);
    let beside = [begins(2, 2), start, write, exit, plain(2, Write, place)];
    assert_eq!(pairs(&beside), [(2, 4)]);
    assert_eq!(pairs(&[life(1, 1, 64), life(2, 2, 64)].concat()), [(1, 4)]);
}

#[test]
fn what_is_volatile_is_not_atomic() {
    use EventKind::*;
    let volatile = |thread, kind| step(thread, kind, 1, MemoryOrder::Unordered);
    assert_eq!(pairs(&[volatile(1, Write), volatile(2, Read)]), [(0, 1)]);
    let relaxed = |thread, kind| step(thread, kind, 1, MemoryOrder::Relaxed);
    assert_eq!(pairs(&[relaxed(1, Write), relaxed(2, Read)]), []);
}

#[test]
fn a_lock_orders_and_its_absence_does_not() {
    use EventKind::*;
    let locked = |thread| {
        [
            plain(thread, Acquire, 100),
            plain(thread, Write, 1),
            plain(thread, Release, 100),
        ]
    };
    assert_eq!(pairs(&[locked(0), locked(1)].concat()), []);
    let steps = [plain(0, Write, 1), plain(1, Write, 1)];
    assert_eq!(pairs(&steps), [(0, 1)]);
    let shared = |thread, kind| {
        [
            plain(thread, AcquireShared, 100),
            plain(thread, kind, 1),
            plain(thread, ReleaseShared, 100),
        ]
    };
    assert_eq!(pairs(&[shared(0, Read), locked(1)].concat()), []);
    assert_eq!(
        pairs(&[shared(0, Write), shared(1, Write)].concat()),
        [(1, 4)]
    );
    let reads = [plain(0, Read, 1), plain(1, Read, 1), plain(2, Write, 1)];
    assert_eq!(pairs(&reads), [(0, 2)]);
}

/// Three threads at a barrier, round after round; the third is in the second round
/// before the others have left the first.
#[test]
fn a_barrier_orders_one_round_and_not_the_next() {
    use EventKind::*;
    let barrier = 100;
    let mut steps = vec![plain(0, Write, 1)];
    steps.extend([0, 1, 2].map(|thread| plain(thread, Arrive, barrier)));
    steps.extend([
        plain(2, Depart, barrier),
        plain(2, Read, 1), // ordered behind the write before the barrier
        plain(2, Write, 2),
        plain(2, Arrive, barrier),
        plain(0, Depart, barrier),
        plain(0, Write, 2), // the round before orders it behind nothing of this one
        plain(0, Arrive, barrier),
        plain(1, Depart, barrier),
        plain(1, Arrive, barrier),
        plain(1, Depart, barrier),
        plain(1, Read, 2), // the second round orders it behind both
    ]);
    assert_eq!(pairs(&steps), [(6, 9)]);
}

#[test]
fn a_message_is_passed_by_release_and_acquire_and_not_by_relaxed() {
    use EventKind::*;
    let message = |store, load| {
        vec![
            plain(0, Write, 1),
            step(0, Write, 2, store),
            step(1, Read, 2, load),
            plain(1, Read, 1),
        ]
    };
    use MemoryOrder::{Acquire, Relaxed, Release};
    assert_eq!(pairs(&message(Release, Acquire)), []);
    assert_eq!(pairs(&message(Relaxed, Acquire)), [(0, 3)]);
    assert_eq!(pairs(&message(Release, Relaxed)), [(0, 3)]);
    let fenced = [
        plain(0, Write, 1),
        step(0, Fence, 0, Release),
        step(0, Write, 2, Relaxed),
        step(1, Read, 2, Relaxed),
        step(1, Fence, 0, Acquire),
        plain(1, Read, 1),
    ];
    assert_eq!(pairs(&fenced), []);
    let sequence = [
        plain(0, Write, 1),
        step(0, Write, 2, Release),
        step(1, Update, 2, Relaxed),
        step(2, Read, 2, Acquire),
        plain(2, Read, 1),
    ];
    assert_eq!(pairs(&sequence), [], "an update goes on with the sequence");
}

#[test]
fn words_cover_a_range_once() {
    let bytes: Vec<u64> = words(5, 14)
        .flat_map(|(word, mask)| {
            (0..8)
                .filter(move |bit| mask >> bit & 1 == 1)
                .map(move |bit| word * 8 + bit)
        })
        .collect();
    assert_eq!(bytes, (5..19).collect::<Vec<_>>());
}

#[test]
fn memory_that_changes_hands_is_forgotten() {
    use EventKind::*;
    let owned = |kind| Step {
        operation: Operation {
            size: 16,
            ..plain(1, kind, 0).operation
        },
        ..plain(1, kind, 0)
    };
    assert_eq!(
        pairs(&[plain(0, Write, 1), owned(Alloc), plain(1, Write, 1)]),
        []
    );
    assert_eq!(
        pairs(&[plain(0, Write, 17), owned(Free), plain(1, Write, 17)]),
        [(0, 2)]
    );
}

#[test]
fn threads_are_ordered_with_their_creator_and_joiner() {
    use EventKind::*;
    let child = ThreadIndex(1).object();
    let steps = [
        plain(0, Write, 1),
        plain(0, Fork, child),
        plain(1, Start, child),
        plain(1, Write, 1),
        plain(1, Exit, child),
        plain(0, Join, child),
        plain(0, Write, 1),
    ];
    assert_eq!(pairs(&steps), []);
}

/// The definition: two conflicting accesses race if no chain of program order
/// and synchronisation leads from one to the other.
fn naive(steps: &[Step]) -> Vec<(usize, usize)> {
    use EventKind::*;
    let count = steps.len();
    let mut before = vec![vec![false; count]; count];
    for second in 0..count {
        for first in 0..second {
            let (one, two) = (&steps[first], &steps[second]);
            let passes = one.operation.object == two.operation.object
                && one.operation.kind == Release
                && two.operation.kind == Acquire;
            before[first][second] = one.thread == two.thread || passes;
        }
    }
    for middle in 0..count {
        for first in 0..count {
            for second in 0..count {
                before[first][second] |= before[first][middle] && before[middle][second];
            }
        }
    }
    let mut found = Vec::new();
    for second in 0..count {
        for first in 0..second {
            let (one, two) = (&steps[first].operation, &steps[second].operation);
            let accesses = one.kind.is_access() && two.kind.is_access();
            if accesses && one.conflicts(two) && !before[first][second] {
                found.push((first, second));
            }
        }
    }
    found
}

proptest! {
    /// Every race that is told is one, and none is told only if there is none.
    #[test]
    fn the_definition_agrees(choices in prop::collection::vec((0u32..3, 0u8..4, 0u64..2), 0..24)) {
        use EventKind::*;
        let kinds = [Read, Write, Acquire, Release];
        let steps: Vec<Step> = choices
            .iter()
            .map(|&(thread, kind, object)| {
                let kind = kinds[usize::from(kind)];
                plain(thread, kind, object + if kind.is_access() { 0 } else { 100 })
            })
            .collect();
        let truth = naive(&steps);
        let told = pairs(&steps);
        prop_assert_eq!(told.is_empty(), truth.is_empty());
        for race in told {
            prop_assert!(truth.contains(&race), "{:?} is no race", race);
        }
    }
}
