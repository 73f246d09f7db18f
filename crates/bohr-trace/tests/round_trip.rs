//! What was written is what is read, in every way of reading.

mod runs;

use bohr_event::control::Step;
use bohr_event::{ChoiceKind, EventKind, Operation, Place, PlaceNumber, ThreadIndex, ThreadPath};
use bohr_trace::{
    BlockNumber, Completeness, Note, Outline, PlaceTable, Record, Region, RegionKind, RegionTable,
    Sequence, Table, Trace, Writer, append_table,
    format::{BLOCK_EVENTS, FILE_HEADER},
    pack,
};
use proptest::prelude::*;
use runs::{any_run, long_run, write};

fn read(trace: &Trace<'_>) -> Vec<Record> {
    trace.events().map(|event| event.unwrap().1).collect()
}

/// The naive way to look for something: read everything.
fn only(records: &[Record], wanted: impl Fn(&Record) -> bool) -> Vec<(Sequence, Record)> {
    let numbered = (0..).map(Sequence).zip(records.iter().copied());
    numbered.filter(|(_, record)| wanted(record)).collect()
}

fn touches(record: &Record, start: u64, end: u64) -> bool {
    let first = u128::from(record.operation.object);
    let behind = first + u128::from(record.operation.size.max(1));
    first < u128::from(end) && u128::from(start) < behind
}

proptest! {
    #[test]
    fn any_run_round_trips(records in any_run(300)) {
        let file = write(&records);
        let trace = Trace::open(&file).unwrap();
        prop_assert_eq!(trace.completeness(), Completeness::Complete);
        prop_assert_eq!(trace.len(), records.len() as u64);
        prop_assert_eq!(read(&trace), records.clone());
        let steps: Vec<_> = records.iter().map(|record| (record.thread, record.operation)).collect();
        let found: Vec<_> = trace.steps().unwrap().iter().map(|step| (step.thread, step.operation)).collect();
        prop_assert_eq!(found, steps);
    }

    #[test]
    fn parts_are_found(records in any_run(200), from in 0u64..250, thread in 0u32..5, start in 0u64..80, length in 0u64..20) {
        let file = write(&records);
        let trace = Trace::open(&file).unwrap();
        let found: Vec<_> = trace.from(Sequence(from)).map(Result::unwrap).collect();
        prop_assert_eq!(found, only(&records, |_| true).split_off((from as usize).min(records.len())));
        let found: Vec<_> = trace.of_thread(ThreadIndex(thread)).map(Result::unwrap).collect();
        prop_assert_eq!(found, only(&records, |record| record.thread.0 == thread));
        let found: Vec<_> = trace.touching(start..start + length).map(Result::unwrap).collect();
        prop_assert_eq!(found, only(&records, |record| length > 0 && touches(record, start, start + length)));
    }

    #[test]
    fn packing_changes_nothing_but_the_size(records in any_run(100), finished: bool) {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.name_thread(ThreadIndex(1), &[2]);
        records.iter().for_each(|record| writer.push(record));
        let file = if finished { writer.finish() } else { snapshot(writer) };
        let trace = Trace::open(&file).unwrap();
        let packed = pack(&trace).unwrap();
        prop_assert!(packed.len() < 1000 + 64 * records.len());
        let again = Trace::open(&packed).unwrap();
        prop_assert_eq!(again.completeness(), trace.completeness());
        prop_assert_eq!(again.notes(), trace.notes());
        prop_assert_eq!(read(&again), records);
    }
}

proptest! {
    #[test]
    fn a_trace_goes_on_elsewhere(records in any_run(200), cut in 0usize..200, others in any_run(20)) {
        let (before, after) = records.split_at(cut.min(records.len()));
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.name_thread(ThreadIndex(1), &[2]);
        before.iter().for_each(|record| writer.push(record));
        let mut old = writer.relocate(Vec::new()).unwrap();
        // Whatever becomes of the old file, the new one is its own.
        others.iter().zip(&mut old[64..]).for_each(|(_, byte)| *byte ^= 0x55);
        after.iter().for_each(|record| writer.push(record));
        let file = writer.finish();
        let trace = Trace::open(&file).unwrap();
        prop_assert_eq!(read(&trace), records);
        prop_assert_eq!(trace.threads().unwrap().len(), 1);
    }

    #[test]
    fn header_and_blocks_are_a_packed_trace(records in any_run(100)) {
        let file = write(&records);
        let outline = Outline::read(file[..FILE_HEADER].try_into().unwrap()).unwrap();
        let blocks = outline.blocks().unwrap();
        let blocks = &file[blocks.start as usize..blocks.end as usize];
        let packed = [&outline.packed_header()[..], blocks].concat();
        prop_assert_eq!(pack(&Trace::open(&file).unwrap()).unwrap(), packed);
    }
}

#[test]
fn a_long_trace_goes_on_elsewhere() {
    let records = long_run(2 * BLOCK_EVENTS + 77, 5);
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (number, record) in records.iter().enumerate() {
        if number % 30_011 == 30_010 {
            writer.relocate(Vec::new()).unwrap();
        }
        writer.push(record);
    }
    assert_eq!(read(&Trace::open(&writer.finish()).unwrap()), records);
}

#[test]
fn an_unfinished_trace_is_needed_whole() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.push(&long_run(1, 1)[0]);
    let file = snapshot(writer);
    let outline = Outline::read(file[..FILE_HEADER].try_into().unwrap()).unwrap();
    assert_eq!(
        (outline.blocks(), outline.length()),
        (None, file.len() as u64)
    );
}

#[test]
fn events_that_nobody_wants_are_counted() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.leave_out(3);
    writer.leave_out(4);
    let file = writer.finish();
    let trace = Trace::open(&file).unwrap();
    assert_eq!(trace.completeness(), Completeness::Full { lost: 7 });
}

/// The bytes that a writer leaves behind when its process dies.
fn snapshot(mut writer: Writer<Vec<u8>>) -> Vec<u8> {
    core::mem::take(writer.medium_mut())
}

#[test]
fn long_runs_span_blocks() {
    let records = long_run(3 * BLOCK_EVENTS + 77, 5);
    let file = write(&records);
    let trace = Trace::open(&file).unwrap();
    assert_eq!(trace.blocks().count(), 4);
    assert_eq!(read(&trace), records);
    let middle = Sequence(BLOCK_EVENTS as u64 + 1000);
    let event = trace.from(middle).next().unwrap().unwrap();
    assert_eq!(event, (middle, records[middle.0 as usize]));
    let block = trace.block_range(BlockNumber(1));
    assert!(block.contains(&middle) && !block.contains(&Sequence(5)));
    let object = records[70_000].operation.object;
    let found: Vec<_> = trace
        .touching(object..object + 1)
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        found,
        only(&records, |record| touches(record, object, object + 1))
    );
}

#[test]
fn notes_stand_where_they_were_made() {
    let records = long_run(10, 1);
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.name_thread(ThreadIndex(0), &[]);
    records.iter().for_each(|record| writer.push(record));
    writer.name_thread(ThreadIndex(3), &[1, 7]);
    writer.choose(ThreadIndex(3), 4, ChoiceKind::Waiter, 2);
    assert_eq!(writer.next(), Sequence(10));
    let file = writer.finish();
    let trace = Trace::open(&file).unwrap();
    let child = ThreadPath::MAIN.child(1).child(7);
    let choice = Note::Choice {
        thread: ThreadIndex(3),
        number: 4,
        kind: ChoiceKind::Waiter,
        picked: 2,
    };
    assert_eq!(trace.notes().unwrap()[2], (Sequence(10), choice));
    assert_eq!(
        trace.threads().unwrap(),
        [
            (Sequence(0), ThreadIndex(0), ThreadPath::MAIN),
            (Sequence(10), ThreadIndex(3), child)
        ]
    );
}

#[test]
fn more_notes_than_a_block_holds_begin_another() {
    let deep: Vec<u32> = vec![u32::MAX; 5000];
    let mut writer = Writer::new(Vec::new()).unwrap();
    for index in 0..7 {
        writer.name_thread(ThreadIndex(index), &deep);
    }
    let file = writer.finish();
    let trace = Trace::open(&file).unwrap();
    assert_eq!(trace.threads().unwrap().len(), 7);
    assert!(trace.blocks().count() > 1);
}

#[test]
fn tables_travel_with_the_file() {
    let mut file = write(&long_run(100, 3));
    let place = Place::Code {
        object: "libc.so.6".to_string(),
        offset: 0x99,
    };
    let places = Table::Places(PlaceTable([(PlaceNumber(3), place)].into()));
    let region = Region {
        start: 16,
        length: 8,
        kind: RegionKind::Global("map".to_string()),
    };
    let regions = Table::Regions(RegionTable::new(vec![region]));
    append_table(&mut file, &places).unwrap();
    append_table(&mut file, &regions).unwrap();
    let waits = Operation::plain(EventKind::Acquire, 40, 0x10, PlaceNumber(3));
    let pending = Table::Pending(vec![Step {
        thread: ThreadIndex(2),
        operation: waits,
    }]);
    append_table(&mut file, &pending).unwrap();
    let trace = Trace::open(&file).unwrap();
    assert_eq!(trace.tables().unwrap(), [places, regions, pending]);
    assert_eq!(trace.len(), 100);
    let packed = pack(&trace).unwrap();
    assert_eq!(Trace::open(&packed).unwrap().tables(), trace.tables());
}
