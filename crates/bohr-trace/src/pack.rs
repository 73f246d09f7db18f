//! The form in which a trace is kept: no open block, so a short run is a short file.

use crate::block::EventBlock;
use crate::block::write_events;
use crate::decoder::Decoder;
use crate::filter::Summary;
use crate::format::{Column, EVENT_HEADER, FILE_HEADER, FINISHED, FileHeader, RUNNING};
use crate::predictor::Predictor;
use crate::{Completeness, Trace, TraceError};
use alloc::vec;
use alloc::vec::Vec;

/// Copies a trace into a file without an open block. Completeness stays as it
/// was: a file whose writer died remains unfinished.
///
/// # Errors
/// If a block is damaged.
pub fn pack(trace: &Trace<'_>) -> Result<Vec<u8>, TraceError> {
    let mut file = vec![0; FILE_HEADER];
    for number in trace.blocks() {
        let block = trace.block(number).expect("the trace lists its own blocks");
        block.verify()?;
        match block.sealed {
            Some(sealed) => file.extend_from_slice(sealed),
            None => seal(block, &mut file)?,
        }
    }
    for (_, table) in trace.raw_tables() {
        file.extend_from_slice(table);
    }
    let header = FileHeader {
        state: match trace.completeness() {
            Completeness::Unfinished => RUNNING,
            _ => FINISHED,
        },
        open: 0,
        blocks: FILE_HEADER as u64,
        end: match trace.completeness() {
            Completeness::Truncated { expected, found } => file.len() as u64 + (expected - found),
            _ => file.len() as u64,
        },
        lost: match trace.completeness() {
            Completeness::Full { lost } => lost,
            _ => 0,
        },
    };
    header.write(&mut file);
    Ok(file)
}

/// Seals a block that its writer left open. Decoding it tells how much of each
/// column is in use and what the block is about.
fn seal(block: &EventBlock<'_>, file: &mut Vec<u8>) -> Result<(), TraceError> {
    let mut decoder = Decoder::new(block)?;
    let mut predictor = Predictor::new();
    let mut summary = Summary::empty();
    while let Some(event) = decoder.next(&mut predictor) {
        let (_, record) = event?;
        summary.add_thread(record.thread);
        summary.add_object(record.operation.object, record.operation.size);
    }
    let mut columns = block.columns;
    for (column, left) in [Column::Site, Column::Address, Column::Value]
        .into_iter()
        .zip(decoder.unused())
    {
        let column = &mut columns[column as usize];
        *column = &column[..column.len() - left];
    }
    let start = file.len();
    let length: usize = columns.iter().map(|column| column.len()).sum();
    file.resize(start + EVENT_HEADER + length, 0);
    write_events(&mut file[start..], block.first.0, columns, &summary);
    Ok(())
}
