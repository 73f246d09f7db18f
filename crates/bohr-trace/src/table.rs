//! Tables that the host adds to a file once it knows more than the runtime
//! did: what places stand for, what lies where in memory, and what threads were
//! about to do when the run was over.

use crate::block::stamp;
use crate::bytes::{checksum, read_u64, write_u64};
use crate::format::{
    BLOCK_HEADER, CHECKSUM_AT, END_AT, FileHeader, KIND_LABELS, KIND_PENDING, KIND_PLACES,
    KIND_REGIONS,
};
use crate::{RegionTable, TraceError};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use bohr_event::control::Step;
use bohr_event::{Place, PlaceNumber};
use serde::{Deserialize, Serialize};

/// What the place numbers of a run stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceTable(pub BTreeMap<PlaceNumber, Place>);

/// What people call places and variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// Function and line.
    pub places: BTreeMap<PlaceNumber, String>,
    /// By the address that was touched.
    pub variables: BTreeMap<u64, String>,
}

/// A table in a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Table {
    /// What place numbers stand for.
    Places(PlaceTable),
    /// What lies where.
    Regions(RegionTable),
    /// What people call things.
    Labels(Labels),
    /// What threads were about to do when the run ended. A file without it does
    /// not tell; an empty one says that nobody was about to do anything.
    Pending(Vec<Step>),
}

impl Table {
    /// `None` for a kind that this version does not know.
    pub(crate) fn read(kind: u32, block: &[u8]) -> Result<Option<Table>, TraceError> {
        let damaged = TraceError::Damaged {
            offset: 0,
            expected: "a table as its checksum says",
        };
        let content = &block[BLOCK_HEADER..];
        if read_u64(block, CHECKSUM_AT) != Some(checksum(content)) {
            return Err(damaged);
        }
        let table = match kind {
            KIND_PLACES => postcard::from_bytes(content).map(Table::Places),
            KIND_REGIONS => postcard::from_bytes(content).map(Table::Regions),
            KIND_LABELS => postcard::from_bytes(content).map(Table::Labels),
            KIND_PENDING => postcard::from_bytes(content).map(Table::Pending),
            _ => return Ok(None),
        };
        table.map(Some).map_err(|_| damaged)
    }
}

/// Adds a table to a finished file, which grows.
///
/// # Errors
/// If the file is no trace, or was cut.
pub fn append_table(file: &mut Vec<u8>, table: &Table) -> Result<(), TraceError> {
    let header = FileHeader::read(file)?;
    let end = usize::try_from(header.end)
        .ok()
        .filter(|&end| end <= file.len());
    let end = end.ok_or(TraceError::Damaged {
        offset: file.len() as u64,
        expected: "the whole file",
    })?;
    file.truncate(end);
    let (kind, block) = match table {
        Table::Places(places) => (
            KIND_PLACES,
            postcard::to_extend(places, vec![0; BLOCK_HEADER]),
        ),
        Table::Regions(regions) => (
            KIND_REGIONS,
            postcard::to_extend(regions, vec![0; BLOCK_HEADER]),
        ),
        Table::Labels(labels) => (
            KIND_LABELS,
            postcard::to_extend(labels, vec![0; BLOCK_HEADER]),
        ),
        Table::Pending(steps) => (
            KIND_PENDING,
            postcard::to_extend(steps, vec![0; BLOCK_HEADER]),
        ),
    };
    let mut block = block.expect("tables hold nothing that cannot be written");
    stamp(&mut block, kind);
    file.extend_from_slice(&block);
    let end = file.len() as u64;
    write_u64(file, END_AT, end);
    Ok(())
}
