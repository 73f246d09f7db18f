//! The format of a bundle, version 2. All numbers are little-endian.
//!
//! ```text
//!  0  8   magic "bohr-bdl"
//!  8  4   version of the format
//! 12  4   zero
//! 16  8   length of the whole bundle, header included
//! 24  8   length of the table of contents as stored
//! 32  32  BLAKE3 hash of everything behind the header
//! 64  ..  table of contents: a postcard-encoded `Manifest`, zstd
//! ..  ..  the parts, each a zstd frame, in the order of the table
//! ```
//!
//! The same parts and the same link line give the same bytes: there is no time
//! and no name of a user or machine in it beyond the paths that the linker saw.
//! The hash is the program's identity.

use crate::error::BundleError;
use crate::link::LinkLine;
use crate::part::Part;
use core::fmt;
use serde::{Deserialize, Serialize};
use std::io::Read;

const MAGIC: [u8; 8] = *b"bohr-bdl";
pub(crate) const HEADER_SIZE: usize = 64;

/// Level 1 takes a tenth of the time of the default and gives a quarter more bytes.
const COMPRESSION_LEVEL: i32 = 1;

/// Version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatVersion(pub u32);

impl FormatVersion {
    /// What this crate writes.
    pub const CURRENT: FormatVersion = FormatVersion(2);
    /// The oldest that it reads.
    pub const OLDEST: FormatVersion = FormatVersion(2);

    /// Whether this crate reads that version.
    pub fn check(self) -> Result<(), BundleError> {
        if self < FormatVersion::OLDEST {
            return Err(BundleError::TooOld { found: self });
        }
        if self > FormatVersion::CURRENT {
            return Err(BundleError::TooNew { found: self });
        }
        Ok(())
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The identity of a bundle, and so of the program that carries it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BundleHash(pub [u8; 32]);

impl fmt::Display for BundleHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for BundleHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "bundle:{self}")
    }
}

/// The table of contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) tools: Vec<String>,
    pub(crate) link: LinkLine,
    pub(crate) parts: Vec<Part>,
}

/// The fixed first bytes of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) length: u64,
    pub(crate) contents: u64,
    pub(crate) hash: BundleHash,
}

impl Header {
    pub(crate) fn encode(self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FormatVersion::CURRENT.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.length.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.contents.to_le_bytes());
        bytes[32..].copy_from_slice(&self.hash.0);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Header, BundleError> {
        let header: &[u8; HEADER_SIZE] = bytes
            .first_chunk()
            .ok_or_else(|| truncated("its header", HEADER_SIZE as u64, bytes.len()))?;
        let magic: [u8; 8] = field(header, 0);
        if magic != MAGIC {
            return Err(BundleError::Foreign { found: magic });
        }
        FormatVersion(u32::from_le_bytes(field(header, 8))).check()?;
        let reserved: [u8; 4] = field(header, 12);
        if reserved != [0; 4] {
            return Err(BundleError::Damaged("reserved bytes are set".into()));
        }
        Ok(Header {
            length: u64::from_le_bytes(field(header, 16)),
            contents: u64::from_le_bytes(field(header, 24)),
            hash: BundleHash(field(header, 32)),
        })
    }
}

fn field<const N: usize>(header: &[u8; HEADER_SIZE], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[at..at + N]);
    bytes
}

pub(crate) fn truncated(what: &'static str, expected: u64, found: usize) -> BundleError {
    BundleError::Truncated {
        what,
        expected,
        found: found as u64,
    }
}

/// The hash of everything behind the header.
pub(crate) fn hash_body(body: &[u8]) -> BundleHash {
    BundleHash(*blake3::hash(body).as_bytes())
}

pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(bytes, COMPRESSION_LEVEL)
        .expect("compressing memory to memory cannot fail")
}

/// Decompresses one frame that should give `size` bytes. Memory grows with
/// what comes out, not with what a damaged table promises.
pub(crate) fn decompress(frame: &[u8], size: u64) -> Result<Vec<u8>, BundleError> {
    let damaged = |error: std::io::Error| BundleError::Damaged(error.to_string());
    let decoder = zstd::stream::read::Decoder::with_buffer(frame).map_err(damaged)?;
    let mut bytes = Vec::new();
    decoder
        .single_frame()
        .take(size.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(damaged)?;
    if bytes.len() as u64 != size {
        let found = bytes.len();
        return Err(BundleError::Damaged(format!(
            "a part of {size} bytes unpacks to {found} or more"
        )));
    }
    Ok(bytes)
}
