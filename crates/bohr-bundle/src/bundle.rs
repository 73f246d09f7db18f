//! Reads a bundle. Every way in which the bytes can be wrong has its own answer.

use crate::elf;
use crate::error::BundleError;
use crate::format::{BundleHash, HEADER_SIZE, Header, Manifest, decompress, hash_body, truncated};
use crate::link::LinkLine;
use crate::part::{ContentHash, Part, PartId};
use std::io::Read;

/// The most that a table of contents may unpack to; a program with a hundred
/// thousand parts stays far below.
const MANIFEST_LIMIT: u64 = 256 << 20;

/// A bundle whose bytes have been checked against its hash.
#[derive(Debug)]
pub struct Bundle<'bytes> {
    manifest: Manifest,
    hash: BundleHash,
    frames: &'bytes [u8],
}

impl<'bytes> Bundle<'bytes> {
    /// Finds and reads the bundle in the bytes of a program or shared library.
    pub fn in_program(program: &'bytes [u8]) -> Result<Bundle<'bytes>, BundleError> {
        Bundle::parse(elf::locate(program)?)
    }

    /// Reads the bytes of a bundle.
    pub fn parse(bytes: &'bytes [u8]) -> Result<Bundle<'bytes>, BundleError> {
        let header = Header::decode(bytes)?;
        if header.length > bytes.len() as u64 {
            return Err(truncated("the bundle", header.length, bytes.len()));
        }
        if header.length < bytes.len() as u64 {
            let extra = bytes.len() as u64 - header.length;
            return Err(BundleError::Damaged(format!(
                "{extra} bytes too many at its end"
            )));
        }
        let body = bytes
            .get(HEADER_SIZE..)
            .filter(|_| header.length >= HEADER_SIZE as u64)
            .ok_or_else(|| truncated("the bundle", HEADER_SIZE as u64, bytes.len()))?;
        if hash_body(body) != header.hash {
            return Err(BundleError::Damaged("its hash does not match".into()));
        }
        Bundle::parse_body(header, body)
    }

    fn parse_body(header: Header, body: &'bytes [u8]) -> Result<Bundle<'bytes>, BundleError> {
        let (contents, frames) = usize::try_from(header.contents)
            .ok()
            .and_then(|length| body.split_at_checked(length))
            .ok_or_else(|| truncated("the table of contents", header.contents, body.len()))?;
        let damaged = |cause: String| BundleError::Damaged(format!("table of contents: {cause}"));
        let mut plain = Vec::new();
        zstd::stream::read::Decoder::with_buffer(contents)
            .and_then(|decoder| decoder.take(MANIFEST_LIMIT).read_to_end(&mut plain))
            .map_err(|cause| damaged(cause.to_string()))?;
        let manifest: Manifest =
            postcard::from_bytes(&plain).map_err(|cause| damaged(cause.to_string()))?;
        for part in &manifest.parts {
            frame(frames, part)?;
        }
        Ok(Bundle {
            manifest,
            hash: header.hash,
            frames,
        })
    }

    /// The identity of the program.
    #[must_use]
    pub fn hash(&self) -> BundleHash {
        self.hash
    }

    /// How the program was linked.
    #[must_use]
    pub fn link(&self) -> &LinkLine {
        &self.manifest.link
    }

    /// The tools that built it, with their versions.
    #[must_use]
    pub fn tools(&self) -> &[String] {
        &self.manifest.tools
    }

    /// The parts, in link order; a [`PartId`] is a position here.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.manifest.parts
    }

    /// The part of that number.
    #[must_use]
    pub fn part(&self, id: PartId) -> Option<&Part> {
        self.manifest.parts.get(id.0 as usize)
    }

    /// All parts with their numbers, in link order.
    pub fn numbered_parts(&self) -> impl Iterator<Item = (PartId, &Part)> {
        (0..).map(PartId).zip(&self.manifest.parts)
    }

    /// The bytes of a part, unpacked and checked.
    pub fn contents(&self, id: PartId) -> Result<Vec<u8>, BundleError> {
        let part = self
            .part(id)
            .ok_or_else(|| BundleError::Damaged(format!("there is no part number {}", id.0)))?;
        let bytes = decompress(frame(self.frames, part)?, part.size)?;
        if ContentHash::of(&bytes) != part.hash {
            let origin = &part.origin;
            return Err(BundleError::Damaged(format!(
                "the hash of {origin} does not match"
            )));
        }
        Ok(bytes)
    }
}

fn frame<'bytes>(frames: &'bytes [u8], part: &Part) -> Result<&'bytes [u8], BundleError> {
    let end = part.start.checked_add(part.stored);
    end.and_then(|end| frames.get(part.start as usize..end as usize))
        .ok_or_else(|| {
            truncated(
                "a part",
                part.start.saturating_add(part.stored),
                frames.len(),
            )
        })
}
