//! The JSON trace-event format, which ui.perfetto.dev and chrome://tracing
//! open: a row for each thread, a slice for each event. A run has no clock of
//! its own, so an event takes one microsecond and begins at its number; what is
//! beside each other on the time line happened one after the other.

use crate::row::{Rows, Tables};
use crate::{ExportError, Row};
use bohr_trace::Trace;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;

pub(crate) fn write(trace: &Trace<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let tables = Tables::of(trace)?;
    let mut lanes: HashMap<String, usize> = HashMap::new();
    out.write_all(b"{\"displayTimeUnit\": \"ns\", \"traceEvents\": [")?;
    let mut separator = "\n";
    for row in Rows::new(trace, &tables)? {
        let row = row?;
        let next = lanes.len() + 1;
        let lane = *lanes.entry(row.thread.clone()).or_insert(next);
        let named = (lane == next).then(|| lane_name(lane, &row.thread));
        for entry in named.into_iter().chain([slice(lane, &row)]) {
            out.write_all(separator.as_bytes())?;
            serde_json::to_writer(&mut *out, &entry)?;
            separator = ",\n";
        }
    }
    out.write_all(b"\n]}\n")?;
    Ok(())
}

/// What a row of the time line is called.
fn lane_name(lane: usize, thread: &str) -> Value {
    json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": lane, "args": {"name": format!("thread {thread}")}})
}

fn slice(lane: usize, row: &Row) -> Value {
    json!({
        "ph": "X", "pid": 1, "tid": lane, "ts": row.sequence, "dur": 1,
        "name": format!("{} {}", row.kind, row.variable),
        "cat": row.kind,
        "args": {"place": row.place, "order": row.order, "size": row.size, "value": row.value},
    })
}
