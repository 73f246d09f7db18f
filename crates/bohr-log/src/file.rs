//! A recording on disk.
//!
//! ```text
//!     offset  size  what
//!          0     8  "bohr-log"
//!          8     4  version, little endian
//!         12     8  length of the body in bytes, little endian
//!         20    32  BLAKE3 hash of the body
//!         52     …  body: a Recording in postcard, compressed with zstd
//! ```
//!
//! Whether a reader can read a file is told by the version alone; a change of
//! [`Recording`] or of anything in it is a new version.

use crate::Recording;
use std::io::Read;

const MAGIC: [u8; 8] = *b"bohr-log";
const HEADER: usize = 52;

/// A body that unpacks to more is no log that bohr has written.
const LARGEST: u64 = 1 << 36;

/// The version that this build writes and reads.
pub const VERSION: u32 = 4;

/// Why a file is not a log that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogFileError {
    /// It does not begin as a log does.
    #[error("this is not a log of `bohr record`: it does not begin with `bohr-log`")]
    NotALog,
    /// It was written by another version of the format.
    #[error("the log has format version {found}, this bohr reads version {VERSION}")]
    OtherVersion {
        /// What the file says.
        found: u32,
    },
    /// It is shorter than it says.
    #[error("the log is truncated: {expected} bytes were written, {found} are there")]
    Truncated {
        /// How long it was.
        expected: u64,
        /// How long it is.
        found: u64,
    },
    /// It is longer than it says.
    #[error("the log has {extra} bytes too many at its end")]
    TooLong {
        /// How many.
        extra: u64,
    },
    /// The checksum does not fit.
    #[error("the log is damaged: its checksum does not fit its content")]
    Damaged,
    /// The checksum fits and the content still makes no sense.
    #[error("the log is whole but its content makes no sense: {0}")]
    Malformed(&'static str),
}

/// The bytes of a log file.
///
/// # Panics
/// If there is no memory to compress them.
#[must_use]
pub fn write(recording: &Recording) -> Vec<u8> {
    let plain = postcard::to_allocvec(recording).expect("a recording can be written");
    let body = zstd::encode_all(&plain[..], 3).expect("compressing memory does no I/O");
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(blake3::hash(&body).as_bytes());
    bytes.extend(body);
    bytes
}

/// The recording in these bytes.
///
/// # Errors
/// If they are not a whole, undamaged log of this version.
pub fn read(bytes: &[u8]) -> Result<Recording, LogFileError> {
    let (body, hash) = body(bytes)?;
    if blake3::hash(body).as_bytes() != hash {
        return Err(LogFileError::Damaged);
    }
    let mut plain = Vec::new();
    let unpacked =
        zstd::Decoder::new(body).and_then(|decoder| decoder.take(LARGEST).read_to_end(&mut plain));
    unpacked.map_err(|_| LogFileError::Malformed("it cannot be unpacked"))?;
    let recording = postcard::from_bytes(&plain);
    recording.map_err(|_| LogFileError::Malformed("it is no recording"))
}

/// The body that the header tells of, and its hash.
fn body(bytes: &[u8]) -> Result<(&[u8], &[u8]), LogFileError> {
    let truncated = |expected: u64| LogFileError::Truncated {
        expected,
        found: bytes.len() as u64,
    };
    let begins = &bytes[..bytes.len().min(MAGIC.len())];
    if begins.is_empty() || !MAGIC.starts_with(begins) {
        return Err(LogFileError::NotALog);
    }
    let Some((header, body)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(truncated(HEADER as u64));
    };
    let found = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    if found != VERSION {
        return Err(LogFileError::OtherVersion { found });
    }
    let length = header[12..20].iter().rev();
    let length = length.fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let held = body.len() as u64;
    if held < length {
        return Err(truncated(length.saturating_add(HEADER as u64)));
    }
    if held > length {
        return Err(LogFileError::TooLong {
            extra: held - length,
        });
    }
    Ok((body, &bytes[20..HEADER]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{End, LogKind, ThreadLog};
    use bohr_event::ThreadPath;
    use proptest::prelude::*;

    fn recording(words: Vec<u64>) -> Recording {
        Recording {
            writer: "0".into(),
            bundle: [7; 32],
            program: b"a".to_vec(),
            arguments: vec![b"b".to_vec()],
            environment: vec![(b"c".to_vec(), b"d".to_vec())],
            input: Vec::new(),
            good_exit: 0,
            kind: LogKind::Path,
            threads: vec![ThreadLog {
                thread: ThreadPath::MAIN.child(2),
                order: words.iter().map(|word| !word).collect(),
                inputs: words.iter().map(|word| word / 3).collect(),
                path: words,
            }],
            end: End::Exit(1),
            message: String::new(),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(words in prop::collection::vec(any::<u64>(), 0..50)) {
            let recording = recording(words);
            prop_assert_eq!(read(&write(&recording)), Ok(recording));
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), log: bool) {
            let mut bytes = bytes;
            if log {
                bytes.splice(0..0, MAGIC.iter().chain(&VERSION.to_le_bytes()).copied());
            }
            prop_assert!(read(&bytes).is_err());
        }

        #[test]
        fn a_changed_byte_is_noticed(at: prop::sample::Index, change in 1u8..) {
            let mut bytes = write(&recording(vec![1, 2, 3]));
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            prop_assert!(read(&bytes).is_err());
        }
    }

    #[test]
    fn halves_and_strangers_are_told_apart() {
        let bytes = write(&recording(vec![9]));
        let half = &bytes[..bytes.len() - 3];
        let expected = bytes.len() as u64;
        let found = expected - 3;
        assert_eq!(read(half), Err(LogFileError::Truncated { expected, found }));
        assert_eq!(read(b"bohr-bug"), Err(LogFileError::NotALog));
        assert_eq!(read(b""), Err(LogFileError::NotALog));
        let longer = [&bytes[..], b"!"].concat();
        assert_eq!(read(&longer), Err(LogFileError::TooLong { extra: 1 }));
    }
}
