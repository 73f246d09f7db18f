//! One JSON document: what it is, how much of the run it holds, the events.
//!
//! ```text
//! {"format": "bohr-trace-events", "version": 1, "completeness": "complete", "events": [
//!   {"sequence": 0, "thread": "0", "kind": "write", ..., "value": 42},
//!   ...
//! ]}
//! ```

use crate::ExportError;
use crate::row::{Rows, Tables};
use bohr_trace::Trace;
use std::io::Write;

pub(crate) fn write(trace: &Trace<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let tables = Tables::of(trace)?;
    write!(
        out,
        r#"{{"format": "bohr-trace-events", "version": 1, "completeness": "#
    )?;
    serde_json::to_writer(&mut *out, &trace.completeness().to_string())?;
    write!(out, r#", "events": ["#)?;
    let mut separator = "\n  ";
    for row in Rows::new(trace, &tables)? {
        out.write_all(separator.as_bytes())?;
        serde_json::to_writer(&mut *out, &row?)?;
        separator = ",\n  ";
    }
    out.write_all(b"\n]}\n")?;
    Ok(())
}
