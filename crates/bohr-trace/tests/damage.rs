//! A process that dies, a disk that is full, a file that was cut, bytes that
//! were never a trace: an error or a trace that says so, never a panic, never
//! a wrong event.

mod runs;

use bohr_trace::{
    Completeness, Medium, Record, Trace, TraceError, Writer, append_table,
    format::{BLOCK_EVENTS, FormatVersion},
    pack,
};
use proptest::prelude::*;
use runs::{any_run, long_run, write};

/// Reads all there is to read.
fn devour(bytes: &[u8]) -> Option<Vec<Record>> {
    let trace = Trace::open(bytes).ok()?;
    let _ = (trace.notes(), trace.tables(), pack(&trace));
    trace.blocks().for_each(|block| drop(trace.summary(block)));
    let records = trace.events().flatten().map(|(_, record)| record);
    Some(records.take(1 << 20).collect())
}

/// Forgets a writer, as a dying process does.
fn die(mut writer: Writer<Vec<u8>>) -> Vec<u8> {
    std::mem::take(writer.medium_mut())
}

/// A disk of a certain size.
struct Small(Vec<u8>, usize);

impl Medium for Small {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn grow(&mut self, length: usize) -> bool {
        length <= self.1 && self.0.grow(length)
    }
}

#[test]
fn a_dead_writer_leaves_every_event() {
    let records = long_run(BLOCK_EVENTS + 500, 9);
    for length in [
        0,
        1,
        499,
        BLOCK_EVENTS - 1,
        BLOCK_EVENTS,
        BLOCK_EVENTS + 1,
        records.len(),
    ] {
        let mut writer = Writer::new(Vec::new()).unwrap();
        records[..length]
            .iter()
            .for_each(|record| writer.push(record));
        let file = die(writer);
        let trace = Trace::open(&file).unwrap();
        assert_eq!(trace.completeness(), Completeness::Unfinished);
        assert!(
            trace
                .events()
                .map(|event| event.unwrap().1)
                .eq(records[..length].iter().copied())
        );
    }
}

#[test]
fn death_between_sealing_and_emptying_repeats_nothing() {
    let records = long_run(BLOCK_EVENTS, 2);
    let mut writer = Writer::new(Vec::new()).unwrap();
    records.iter().for_each(|record| writer.push(record));
    let open_length = writer.length();
    let before = writer.medium_mut().clone();
    let mut after = writer.finish();
    // The sealed block is there, the open one still as it was.
    after[64..open_length].copy_from_slice(&before[64..open_length]);
    let trace = Trace::open(&after).unwrap();
    assert!(
        trace
            .events()
            .map(|event| event.unwrap().1)
            .eq(records.iter().copied())
    );
}

#[test]
fn a_full_disk_costs_the_events_at_the_end() {
    let records = long_run(3 * BLOCK_EVENTS, 4);
    let empty = Writer::new(Vec::new()).unwrap().length();
    assert!(Writer::new(Small(Vec::new(), empty - 1)).is_err());
    // One block can be sealed, the second stays open, the third finds no room.
    let room = write(&records[..BLOCK_EVENTS]).len();
    let mut writer = Writer::new(Small(Vec::new(), room)).unwrap();
    records.iter().for_each(|record| writer.push(record));
    let Small(file, _) = writer.finish();
    let trace = Trace::open(&file).unwrap();
    let kept = 2 * BLOCK_EVENTS;
    assert_eq!(trace.len() as usize, kept);
    assert_eq!(
        trace.completeness(),
        Completeness::Full {
            lost: (records.len() - kept) as u64
        }
    );
    assert!(
        trace
            .events()
            .map(|event| event.unwrap().1)
            .eq(records[..kept].iter().copied())
    );
}

#[test]
fn a_cut_file_says_so_and_keeps_whole_blocks() {
    let records = long_run(2 * BLOCK_EVENTS + 9, 6);
    let file = write(&records);
    let trace = Trace::open(&file[..file.len() - 1]).unwrap();
    assert_eq!(
        trace.completeness(),
        Completeness::Truncated {
            expected: file.len() as u64,
            found: file.len() as u64 - 1
        }
    );
    assert_eq!(trace.len() as usize, 2 * BLOCK_EVENTS);
    assert!(
        trace
            .events()
            .map(|event| event.unwrap().1)
            .eq(records[..2 * BLOCK_EVENTS].iter().copied())
    );
    let packed = pack(&trace).unwrap();
    assert!(matches!(
        Trace::open(&packed).unwrap().completeness(),
        Completeness::Truncated { .. }
    ));
    let mut cut = file[..file.len() - 1].to_vec();
    let table = bohr_trace::Table::Places(Default::default());
    assert!(matches!(
        append_table(&mut cut, &table),
        Err(TraceError::Damaged { .. })
    ));
}

#[test]
fn a_damaged_block_costs_its_own_events_only() {
    let records = long_run(3 * BLOCK_EVENTS, 8);
    let packed = pack(&Trace::open(&write(&records)).unwrap()).unwrap();
    let mut file = packed.clone();
    let middle = file.len() / 2;
    file[middle] ^= 4;
    let trace = Trace::open(&file).unwrap();
    let errors: Vec<TraceError> = trace.events().filter_map(Result::err).collect();
    assert!(
        matches!(errors[..], [TraceError::DamagedBlock { first, .. }] if first.0 == BLOCK_EVENTS as u64)
    );
    let kept: Vec<Record> = trace.events().flatten().map(|(_, record)| record).collect();
    assert_eq!(kept[..BLOCK_EVENTS], records[..BLOCK_EVENTS]);
    assert_eq!(kept[BLOCK_EVENTS..], records[2 * BLOCK_EVENTS..]);
}

#[test]
fn foreign_and_other_versions_are_told_apart() {
    let file = write(&[]);
    assert_eq!(Trace::open(b"").unwrap_err(), TraceError::Foreign);
    assert_eq!(
        Trace::open(b"\x7fELF, and more").unwrap_err(),
        TraceError::Foreign
    );
    let with_major = |major: u16| {
        let mut other = file.clone();
        other[8..10].copy_from_slice(&major.to_le_bytes());
        Trace::open(&other).unwrap_err()
    };
    assert!(matches!(with_major(0), TraceError::TooOld(version) if version.major == 0));
    let newer = FormatVersion::CURRENT.major + 1;
    assert!(matches!(with_major(newer), TraceError::TooNew(version) if version.major == newer));
    assert!(matches!(
        Trace::open(&file[..20]).unwrap_err(),
        TraceError::Damaged { offset: 20, .. }
    ));
}

proptest! {
    #[test]
    fn any_bytes_behind_the_magic_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut file = b"bohr-trc\x01\x00\x00\x00".to_vec();
        file.extend(bytes);
        devour(&file);
    }

    #[test]
    fn a_flipped_byte_is_an_error_or_invents_no_event(records in any_run(60), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let original = write(&records);
        let mut file = pack(&Trace::open(&original).unwrap()).unwrap();
        for (at, mask) in flips {
            let at = at.index(file.len());
            file[at] ^= mask;
        }
        if let Some(found) = devour(&file) {
            prop_assert!(found.is_empty() || found == records);
        }
    }

    #[test]
    fn a_torn_open_block_does_no_harm(records in any_run(40), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6), cut: prop::sample::Index) {
        let mut writer = Writer::new(Vec::new()).unwrap();
        records.iter().for_each(|record| writer.push(record));
        let mut file = die(writer);
        for (at, byte) in flips {
            let at = at.index(400);
            file[at] = byte;
        }
        devour(&file);
        devour(&file[..cut.index(file.len())]);
    }
}
