//! Traces that runs have left behind. All runs of a job write into one nameless
//! file, one behind the other; it goes when nobody wants to read it any more.

use bohr_trace::{Outline, Trace, TraceError, format::FILE_HEADER, pack};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredTraceError {
    /// The file cannot be.
    #[error("the trace of a run cannot be read from its file")]
    File(#[from] std::io::Error),
    /// What is in it is none: the run may have overwritten it.
    #[error("the trace of a run is none")]
    Trace(#[from] TraceError),
}

/// The file of a job.
#[derive(Clone, Debug)]
pub(crate) struct Store(Arc<File>);

impl Store {
    /// A file that takes no room yet, in the directory for temporary files.
    pub(crate) fn new() -> std::io::Result<Store> {
        tempfile::tempfile().map(|file| Store(Arc::new(file)))
    }

    /// By which the program opens it.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// The trace that begins at this offset.
    pub(crate) fn trace(&self, offset: u64) -> StoredTrace {
        StoredTrace {
            file: Arc::clone(&self.0),
            offset,
        }
    }
}

/// The trace of one run.
#[derive(Debug)]
pub struct StoredTrace {
    file: Arc<File>,
    offset: u64,
}

impl StoredTrace {
    /// The trace as one packed file. What its run could not finish says so.
    ///
    /// # Errors
    /// If it cannot be read, or is none.
    pub fn read(&self) -> Result<Vec<u8>, StoredTraceError> {
        let outline = self.outline()?;
        if let Some(blocks) = outline.blocks() {
            let mut bytes = outline.packed_header().to_vec();
            self.append(&mut bytes, blocks.start, blocks.end - blocks.start)?;
            return Ok(bytes);
        }
        let mut bytes = Vec::new();
        self.append(&mut bytes, 0, outline.length())?;
        Ok(pack(&Trace::open(&bytes)?)?)
    }

    fn outline(&self) -> Result<Outline, StoredTraceError> {
        let mut header = Vec::new();
        self.append(&mut header, 0, FILE_HEADER as u64)?;
        // A run that was killed at its birth has not written any.
        header.resize(FILE_HEADER, 0);
        let header = header.first_chunk().expect("as long as a header");
        Ok(Outline::read(header)?)
    }

    /// Reads as much as there is of a part: lengths are the run's word, and no
    /// more than that.
    fn append(&self, bytes: &mut Vec<u8>, from: u64, length: u64) -> std::io::Result<()> {
        let from = self.offset.saturating_add(from);
        let there = self.file.metadata()?.len().saturating_sub(from);
        let start = bytes.len();
        bytes.resize(start + length.min(there) as usize, 0);
        self.file.read_exact_at(&mut bytes[start..], from)
    }
}

impl Drop for StoredTrace {
    /// Gives the room back while other runs of the job still need the file.
    fn drop(&mut self) {
        if Arc::strong_count(&self.file) > 1
            && let Ok(outline) = self.outline()
        {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // Where that cannot be done, the room goes with the file.
            let _ = fallocate(&*self.file, hole, self.offset, outline.length());
        }
    }
}
