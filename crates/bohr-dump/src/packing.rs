//! Cores as systems leave them: packed by zstd, lz4 or gzip, or not at all.

use crate::DumpError;
use std::borrow::Cow;
use std::io::Read;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Zstd,
    Lz4,
    Gzip,
}

impl Packing {
    /// By its first bytes.
    fn of(bytes: &[u8]) -> Option<Packing> {
        match bytes {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Packing::Lz4),
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            _ => None,
        }
    }
}

/// The bytes of a core that may be packed; never more than `most`. What was cut off
/// in the middle gives what there is of it.
///
/// ```
/// let core = bohr_dump::unpack(b"\x7fELF, not packed", 1 << 30).unwrap();
/// assert_eq!(&*core, b"\x7fELF, not packed");
/// ```
///
/// # Errors
/// If it is packed and not even its beginning can be unpacked, or is longer.
pub fn unpack(bytes: &[u8], most: u64) -> Result<Cow<'_, [u8]>, DumpError> {
    let Some(packing) = Packing::of(bytes) else {
        return Ok(Cow::Borrowed(bytes));
    };
    let unpacked = match packing {
        Packing::Zstd => {
            let reader = zstd::stream::read::Decoder::with_buffer(bytes);
            read(reader.map_err(DumpError::Packing)?, most)
        }
        Packing::Lz4 => read(lz4_flex::frame::FrameDecoder::new(bytes), most),
        Packing::Gzip => read(flate2::read::MultiGzDecoder::new(bytes), most),
    };
    unpacked.map(Cow::Owned)
}

fn read(reader: impl Read, most: u64) -> Result<Vec<u8>, DumpError> {
    let mut unpacked = Vec::new();
    let end = reader.take(most + 1).read_to_end(&mut unpacked);
    if unpacked.len() as u64 > most {
        return Err(DumpError::TooLarge { most });
    }
    match end {
        Err(error) if unpacked.is_empty() => Err(DumpError::Packing(error)),
        _ => Ok(unpacked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
    use std::io::Write;

    fn content(count: u32) -> Vec<u8> {
        (0..count)
            .flat_map(|number| (number / 7).to_le_bytes())
            .collect()
    }

    fn packed(content: &[u8]) -> [Vec<u8>; 3] {
        let zstd = zstd::encode_all(content, 1).expect("packs");
        let blocks = FrameInfo::new().block_size(BlockSize::Max64KB);
        let mut lz4 = FrameEncoder::with_frame_info(blocks, Vec::new());
        lz4.write_all(content).expect("packs");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(content).expect("packs");
        [
            zstd,
            lz4.finish().expect("packs"),
            gzip.finish().expect("packs"),
        ]
    }

    #[test]
    fn every_packing_gives_the_same_bytes() {
        let content = content(200_000);
        for packed in packed(&content) {
            assert!(packed.len() < content.len());
            assert_eq!(&*unpack(&packed, 1 << 20).expect("unpacks"), &content);
        }
    }

    #[test]
    fn what_grows_without_bound_is_refused() {
        for packed in packed(&vec![0; 1 << 20]) {
            let refused = unpack(&packed, 1 << 16);
            assert!(matches!(refused, Err(DumpError::TooLarge { .. })));
        }
    }

    #[test]
    fn what_was_cut_off_gives_its_beginning() {
        let content = content(400_000);
        for packed in packed(&content) {
            let half = unpack(&packed[..packed.len() / 2], 1 << 30).expect("a part");
            assert!(!half.is_empty() && content.starts_with(&half));
        }
    }
}
