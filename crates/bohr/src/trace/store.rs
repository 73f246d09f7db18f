//! A trace with the names of its variables and places, and with what its threads
//! were about to do at its end, as one file.

use crate::outcome::Failure;
use bohr_event::control::Step;
use bohr_explore::Names;
use bohr_trace::{Labels, Table, Trace, append_table};

/// Adds what the writer within the program did not know: what people call what the
/// events are about, and what threads were about to do.
pub fn complete(
    mut file: Vec<u8>,
    pending: Vec<Step>,
    names: &mut Names<'_>,
) -> Result<Vec<u8>, Failure> {
    let mut labels = Labels::default();
    for event in Trace::open(&file)?.events() {
        let operation = event?.1.operation;
        labels
            .places
            .entry(operation.place)
            .or_insert_with(|| names.spot(operation.place).to_string());
        labels
            .variables
            .entry(operation.object)
            .or_insert_with(|| names.object(&operation));
    }
    append_table(&mut file, &Table::Labels(labels))?;
    append_table(&mut file, &Table::Pending(pending))?;
    Ok(file)
}
