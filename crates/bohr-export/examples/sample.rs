//! Writes a small trace in every format into a folder, to try other tools on:
//! `cargo run -p bohr-export --example sample -- FOLDER`. Two threads count to
//! 1000 without a lock, and lose some.

use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use bohr_export::{Format, export};
use bohr_trace::{Record, Region, RegionKind, RegionTable, Table, Trace, Writer, append_table};
use std::error::Error;

const COUNTER: u64 = 0x4000;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let mut file = record()?;
    let counter = Region {
        start: COUNTER,
        length: 4,
        kind: RegionKind::Global("counter".to_string()),
    };
    append_table(&mut file, &Table::Regions(RegionTable::new(vec![counter])))?;
    let trace = Trace::open(&file)?;
    for format in Format::ALL {
        let path = format!("{folder}/sample.{}", format.name());
        export(&trace, format, &mut std::fs::File::create(&path)?)?;
        println!("{path}");
    }
    Ok(())
}

/// Both threads read, then both write what they have read plus one, every
/// tenth time; otherwise they take turns.
fn record() -> Result<Vec<u8>, Box<dyn Error>> {
    let mut writer = Writer::new(Vec::new())?;
    writer.name_thread(ThreadIndex(0), &[]);
    writer.name_thread(ThreadIndex(1), &[1]);
    let mut access = |thread, kind, value| {
        writer.push(&Record {
            thread: ThreadIndex(thread),
            operation: Operation::plain(kind, 4, COUNTER, PlaceNumber(kind as u64)),
            value: Some(value),
        });
    };
    let mut counter = 0;
    for round in 0..1000 {
        access(0, EventKind::Read, counter);
        if round % 10 != 0 {
            access(0, EventKind::Write, counter + 1);
            counter += 1;
            access(1, EventKind::Read, counter);
        } else {
            access(1, EventKind::Read, counter);
            access(0, EventKind::Write, counter + 1);
        }
        access(1, EventKind::Write, counter + 1);
        counter += 1;
    }
    Ok(writer.finish())
}
