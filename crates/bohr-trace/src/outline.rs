//! What of a file has to be read, told by its first bytes: the file of a long
//! run has room for an open block that a finished one does not use.

use crate::TraceError;
use crate::format::{FILE_HEADER, FINISHED, FileHeader};
use core::ops::Range;

/// Where a trace keeps its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    header: FileHeader,
}

impl Outline {
    /// Reads it off the file header.
    ///
    /// # Errors
    /// If this is no trace, or one of another version.
    pub fn read(header: &[u8; FILE_HEADER]) -> Result<Outline, TraceError> {
        let header = FileHeader::read(header)?;
        Ok(Outline { header })
    }

    /// The bytes that hold all events of a finished trace. `None` if its writer
    /// has not come to an end: then the whole file is needed.
    #[must_use]
    pub fn blocks(&self) -> Option<Range<u64>> {
        let blocks = self.header.blocks..self.header.end;
        (self.header.state == FINISHED && blocks.start <= blocks.end).then_some(blocks)
    }

    /// How long the file is at least.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.header.end
    }

    /// The header to put before the [blocks](Outline::blocks), so that both
    /// together are a packed trace.
    #[must_use]
    pub fn packed_header(&self) -> [u8; FILE_HEADER] {
        let length = self.header.end.saturating_sub(self.header.blocks);
        let header = FileHeader {
            open: 0,
            blocks: FILE_HEADER as u64,
            end: FILE_HEADER as u64 + length,
            ..self.header
        };
        let mut bytes = [0; FILE_HEADER];
        header.write(&mut bytes);
        bytes
    }
}
