//! Traces for other tools. Each format has a file of its own; all of them write
//! the same [`Row`]s. (What the trace store is for, and why it is not one of
//! these formats: it is written inside the target, event by event.)

#![forbid(unsafe_code)]

mod csv;
mod error;
mod json;
mod parquet;
mod perfetto;
mod row;

pub use error::ExportError;
pub use row::{Row, Rows};

use bohr_trace::Trace;
use std::io::Write;

/// A format to write a trace in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Columns for DuckDB, pandas, Spark.
    Parquet,
    /// Comma-separated values, RFC 4180, with a line of names.
    Csv,
    /// One JSON document.
    Json,
    /// The JSON trace-event format, which ui.perfetto.dev and chrome://tracing open.
    Perfetto,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Parquet, Format::Csv, Format::Json, Format::Perfetto];

    /// The word for it on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Perfetto => "perfetto",
        }
    }
}

/// Writes a whole trace.
///
/// ```
/// use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};
/// use bohr_export::{Format, export};
/// use bohr_trace::{Record, Trace, Writer};
///
/// let mut writer = Writer::new(Vec::new()).unwrap();
/// writer.name_thread(ThreadIndex::MAIN, &[]);
/// writer.push(&Record {
///     thread: ThreadIndex::MAIN,
///     operation: Operation {
///         kind: EventKind::Write, order: MemoryOrder::Plain, size: 4, object: 0x1000, place: PlaceNumber(7),
///     },
///     value: Some(42),
/// });
/// let file = writer.finish();
/// let mut out = Vec::new();
/// export(&Trace::open(&file).unwrap(), Format::Csv, &mut out).unwrap();
/// assert_eq!(
///     String::from_utf8(out).unwrap(),
///     "sequence,thread,kind,order,object,variable,size,place,value\r\n0,0,write,plain,4096,0x1000,4,place 0x7,42\r\n"
/// );
/// ```
///
/// # Errors
/// If the trace is damaged, or cannot be written.
pub fn export(
    trace: &Trace<'_>,
    format: Format,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    match format {
        Format::Parquet => parquet::write(trace, out),
        Format::Csv => csv::write(trace, out),
        Format::Json => json::write(trace, out),
        Format::Perfetto => perfetto::write(trace, out),
    }
}
