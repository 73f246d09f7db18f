//! A recorded run as a trace file, with the names of its variables and places.

use crate::outcome::Failure;
use bohr_event::ThreadIndex;
use bohr_event::control::Recorded;
use bohr_explore::{ExploreError, Names};
use bohr_trace::{Labels, Record, Table, Writer, append_table};

/// Writes every event and what people call what it is about.
pub fn store(run: &Recorded, names: &mut Names<'_>) -> Result<Vec<u8>, Failure> {
    let mut writer = Writer::new(Vec::new()).map_err(|_| ExploreError::NotReproduced)?;
    for (index, path) in (0u32..).zip(&run.threads) {
        writer.name_thread(ThreadIndex(index), path.steps());
    }
    let mut labels = Labels::default();
    for step in &run.steps {
        let operation = step.operation;
        writer.push(&Record {
            thread: step.thread,
            operation,
            value: None,
        });
        labels
            .places
            .entry(operation.place)
            .or_insert_with(|| names.spot(operation.place).to_string());
        labels
            .variables
            .entry(operation.object)
            .or_insert_with(|| names.object(&operation));
    }
    let mut file = writer.finish();
    append_table(&mut file, &Table::Labels(labels))?;
    Ok(file)
}
