//! What explorer and runtime say to each other about images of runs: the memory of a
//! run at one of its moments, from which later runs begin in processes of their own.
//!
//! A run that is to have its image taken notes at [`abi::IMAGE_NOTE`](crate::abi)
//! where its memory has content, and stops. Whoever restores it gets a file: the
//! length of a [`Script`] as eight bytes, little endian, the script, and from the next
//! page on the pages that the script refers to.

use alloc::{string::String, vec::Vec};
use serde::{Deserialize, Serialize};

/// First word of a note.
pub const IMAGE_MAGIC: u64 = u64::from_le_bytes(*b"bohr-img");

/// Words before the list of a note: the magic number, the number of entries, events
/// executed so far, and the address of the main thread's control block.
pub const NOTE_WORDS: usize = 4;

/// The most entries of a note, each of two words: where memory has content, and up to
/// where.
pub const MOST_STRETCHES: usize = 4 << 20;

/// How the memory of a process is to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// All private mappings, ascending.
    pub mappings: Vec<Mapped>,
    /// Their content, ascending; the rest is zero, or what is in the file.
    pub pages: Vec<Stretch>,
    /// Descriptors of files that are open.
    pub files: Vec<OpenFile>,
    /// The working directory.
    pub folder: String,
    /// Where the heap of the C library ended, at a page; 0 if there was none.
    pub heap_end: u64,
    /// Where the kernel's own code lies.
    pub kernel_code: u64,
    /// The control block of the main thread.
    pub control_block: u64,
}

/// A private mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapped {
    /// Lowest address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// What may be done with it, in the words of `mprotect`.
    pub access: u32,
    /// The file that it shows, and from where on.
    pub file: Option<(String, u64)>,
}

/// Neighbouring pages with content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Where.
    pub start: u64,
    /// Bytes.
    pub length: u64,
}

/// A file that was open for reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFile {
    /// By this number.
    pub descriptor: u32,
    /// Where it is.
    pub path: String,
    /// How far it had been read.
    pub offset: u64,
    /// As `open` takes them.
    pub flags: u32,
}

impl Script {
    /// Where its pages begin in a file that begins with so many bytes of script.
    #[must_use]
    pub const fn first_page(length: u64) -> u64 {
        (8 + length).next_multiple_of(4096)
    }
}
