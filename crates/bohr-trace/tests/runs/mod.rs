//! Runs to write and read back: arbitrary ones, and long ones that look like
//! programs.

use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};
use bohr_trace::{Record, Writer};
use proptest::prelude::*;

/// Any event at all, with numbers from few and from all.
pub fn any_record() -> impl Strategy<Value = Record> {
    let few_or_any = || prop_oneof![3 => 0u64..64, 1 => any::<u64>()];
    (
        prop_oneof![3 => 0u32..4, 1 => any::<u32>()],
        (0..EventKind::ALL.len(), 0..MemoryOrder::ALL.len()),
        prop_oneof![0u32..17, any::<u32>()],
        few_or_any(),
        few_or_any(),
        prop::option::of(few_or_any()),
    )
        .prop_map(
            |(thread, (kind, order), size, object, place, value)| Record {
                thread: ThreadIndex(thread),
                operation: Operation {
                    kind: EventKind::ALL[kind],
                    order: MemoryOrder::ALL[order],
                    size,
                    object,
                    place: PlaceNumber(place),
                },
                value,
            },
        )
}

/// A run of arbitrary events.
pub fn any_run(longest: usize) -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec(any_record(), 0..longest)
}

/// A run of some length in which four threads loop over arrays and take locks,
/// with surprises.
pub fn long_run(length: usize, seed: u64) -> Vec<Record> {
    let mut state = seed | 1;
    let mut random = move |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut indices = [0u64; 4];
    let mut thread = 0;
    (0..length)
        .map(|_| {
            if random(20) == 0 {
                thread = random(4);
            }
            let step = &mut indices[thread as usize];
            *step += 1;
            let kind = [
                EventKind::Read,
                EventKind::Write,
                EventKind::Acquire,
                EventKind::Release,
            ][*step as usize % 4];
            let object = if kind.is_access() {
                0x10000 * thread + *step * 8
            } else {
                0x900 + random(3)
            };
            Record {
                thread: ThreadIndex(thread as u32),
                operation: Operation::plain(
                    kind,
                    8,
                    object,
                    PlaceNumber::new(1, *step % 9 + 40 * random(2)),
                ),
                value: kind.is_access().then(|| random(1 << 40)),
            }
        })
        .collect()
}

/// The file of a run, finished.
pub fn write(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    records.iter().for_each(|record| writer.push(record));
    writer.finish()
}
