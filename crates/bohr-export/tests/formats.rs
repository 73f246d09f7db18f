//! The same events come out of every format; texts of the program cannot break
//! out of theirs.

use bohr_event::{EventKind, MemoryOrder, Operation, Place, PlaceNumber, ThreadIndex};
use bohr_export::{Format, export};
use bohr_trace::{
    PlaceTable, Record, Region, RegionKind, RegionTable, Table, Trace, Writer, append_table,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use std::io::Write;

/// A program that wants to be trouble.
const HOSTILE: &str = "ma\"p,\n</script>";

fn record(thread: u32, kind: EventKind, object: u64, value: Option<u64>) -> Record {
    Record {
        thread: ThreadIndex(thread),
        operation: Operation {
            kind,
            order: MemoryOrder::SequentiallyConsistent,
            size: 4,
            object,
            place: PlaceNumber(3),
        },
        value,
    }
}

fn file() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.name_thread(ThreadIndex(0), &[]);
    writer.push(&record(0, EventKind::Write, 0x104, Some(u64::MAX)));
    writer.name_thread(ThreadIndex(1), &[1]);
    writer.push(&record(0, EventKind::Fork, ThreadIndex(1).object(), None));
    writer.push(&record(1, EventKind::Alloc, 0x2000, None));
    writer.push(&record(1, EventKind::Read, 0x2002, Some(7)));
    let mut file = writer.finish();
    let place = Place::Code {
        object: "libc.so.6".to_string(),
        offset: 0x99,
    };
    let places = Table::Places(PlaceTable([(PlaceNumber(3), place)].into()));
    let region = Region {
        start: 0x100,
        length: 8,
        kind: RegionKind::Global(HOSTILE.to_string()),
    };
    append_table(&mut file, &places).unwrap();
    append_table(&mut file, &Table::Regions(RegionTable::new(vec![region]))).unwrap();
    file
}

fn exported(format: Format) -> Vec<u8> {
    let file = file();
    let mut out = Vec::new();
    export(&Trace::open(&file).unwrap(), format, &mut out).unwrap();
    out
}

/// Thread, kind, variable and value of each event.
fn expected() -> Vec<(&'static str, &'static str, String, Option<u64>)> {
    vec![
        ("0", "write", format!("{HOSTILE}+4"), Some(u64::MAX)),
        ("0", "fork", "thread 0:1".to_string(), None),
        (
            "0:1",
            "alloc",
            "heap(0:1, libc.so.6+0x99, 0)+0".to_string(),
            None,
        ),
        (
            "0:1",
            "read",
            "heap(0:1, libc.so.6+0x99, 0)+2".to_string(),
            Some(7),
        ),
    ]
}

#[test]
fn json_has_every_event() {
    let document: Value = serde_json::from_slice(&exported(Format::Json)).unwrap();
    assert_eq!(document["format"], "bohr-trace-events");
    assert_eq!(document["completeness"], "complete");
    let events = document["events"].as_array().unwrap();
    assert_eq!(events.len(), 4);
    for (event, (thread, kind, variable, value)) in events.iter().zip(expected()) {
        assert_eq!(
            (&event["thread"], &event["kind"]),
            (&thread.into(), &kind.into())
        );
        assert_eq!(
            (&event["variable"], event["value"].as_u64()),
            (&variable.into(), value)
        );
        assert_eq!(event["place"], "libc.so.6+0x99");
        assert_eq!(event["order"], "sequentially-consistent");
    }
}

#[test]
fn csv_has_every_event() {
    let text = String::from_utf8(exported(Format::Csv)).unwrap();
    let quoted = format!("\"{}+4\"", HOSTILE.replace('"', "\"\""));
    let first = format!(
        "0,0,write,sequentially-consistent,260,{quoted},4,libc.so.6+0x99,{}\r\n",
        u64::MAX
    );
    assert!(text.contains(&first), "{text}");
    assert!(text.ends_with("3,0:1,read,sequentially-consistent,8194,\"heap(0:1, libc.so.6+0x99, 0)+2\",4,libc.so.6+0x99,7\r\n"));
    assert_eq!(text.matches("\r\n").count(), 5);
}

#[test]
fn perfetto_has_a_lane_for_each_thread_and_a_slice_for_each_event() {
    let document: Value = serde_json::from_slice(&exported(Format::Perfetto)).unwrap();
    let entries = document["traceEvents"].as_array().unwrap();
    let lanes: Vec<_> = entries.iter().filter(|entry| entry["ph"] == "M").collect();
    assert_eq!(lanes.len(), 2);
    assert_eq!(lanes[1]["args"]["name"], "thread 0:1");
    let slices: Vec<_> = entries.iter().filter(|entry| entry["ph"] == "X").collect();
    assert_eq!(slices.len(), 4);
    for (at, (slice, (_, kind, variable, _))) in slices.iter().zip(expected()).enumerate() {
        assert_eq!(slice["ts"], at);
        assert_eq!(slice["name"], format!("{kind} {variable}"));
    }
    assert_eq!(slices[3]["tid"], lanes[1]["tid"]);
}

#[test]
fn parquet_has_every_event() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&exported(Format::Parquet)).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(rows.len(), 4);
    for (at, (row, (thread, kind, variable, value))) in rows.iter().zip(expected()).enumerate() {
        let fields: Vec<(&String, &Field)> = row.get_column_iter().collect();
        let text = |text: &str| Field::Str(text.to_string());
        assert_eq!(
            fields[0],
            (&"sequence".to_string(), &Field::ULong(at as u64))
        );
        assert_eq!(fields[1], (&"thread".to_string(), &text(thread)));
        assert_eq!(fields[2], (&"kind".to_string(), &text(kind)));
        assert_eq!(fields[5], (&"variable".to_string(), &text(&variable)));
        let value = value.map_or(Field::Null, Field::ULong);
        assert_eq!(fields[8], (&"value".to_string(), &value));
    }
}

#[test]
fn a_damaged_trace_is_not_exported_in_part_without_a_word() {
    let mut packed = bohr_trace::pack(&Trace::open(&file()).unwrap()).unwrap();
    // Behind the headers of file and block: the content of its columns.
    packed[64 + 584 + 2] ^= 1;
    let trace = Trace::open(&packed).unwrap();
    for format in Format::ALL {
        let error = export(&trace, format, &mut Vec::new()).unwrap_err();
        assert!(
            error.to_string().contains("damaged"),
            "{}: {error}",
            format.name()
        );
    }
}
