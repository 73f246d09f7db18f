//! A program as a file.
//!
//! ```text
//!  0  magic            8 bytes  "bohr-prg"
//!  8  version          u32
//! 12  zero             u32
//! 16  plain length     u64      bytes of the payload before compression
//! 24  payload length   u64
//! 32  checksum         32 bytes BLAKE3 of the payload
//! 64  payload                   postcard, compressed with zstd
//! ```
//!
//! Numbers are little-endian. The version changes whenever a type of the model
//! does: models are caches, made again from the bundle when they do not fit.

use crate::check::Malformed;
use crate::program::Program;
use std::io::Read;
use thiserror::Error;

const MAGIC: [u8; 8] = *b"bohr-prg";
const HEADER: usize = 64;
const LEVEL: i32 = 3;

/// No program is larger than this before compression.
const LIMIT: u64 = 1 << 36;

/// The version of a file's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileVersion(pub u32);

impl FileVersion {
    /// What this version of bohr writes.
    pub const CURRENT: FileVersion = FileVersion(6);

    /// The oldest that it reads.
    pub const OLDEST: FileVersion = FileVersion(6);

    /// Whether this version of bohr reads files of that one.
    ///
    /// # Errors
    /// Whether the file is too old or too new.
    pub fn readable(self) -> Result<(), ReadError> {
        let (found, current) = (self.0, FileVersion::CURRENT.0);
        match self {
            _ if self < FileVersion::OLDEST => Err(ReadError::TooOld { found, current }),
            _ if self > FileVersion::CURRENT => Err(ReadError::TooNew { found, current }),
            _ => Ok(()),
        }
    }
}

/// Why a file is not read as a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    /// Something else.
    #[error(
        "this is not a program model: it begins with {found:02x?}, a model with \"bohr-prg\"; give the program itself and bohr finds its model"
    )]
    NotAProgram {
        /// How it begins.
        found: Vec<u8>,
    },
    /// Written by an older bohr.
    #[error(
        "the program model has format {found}, this bohr reads {current}: remove it, and bohr makes it again from the program"
    )]
    TooOld {
        /// Its version.
        found: u32,
        /// Ours.
        current: u32,
    },
    /// Written by a newer bohr.
    #[error(
        "the program model has format {found}, this bohr reads up to {current}: use the newer bohr, or remove the model to have it made again"
    )]
    TooNew {
        /// Its version.
        found: u32,
        /// Ours.
        current: u32,
    },
    /// Shorter or longer than it says.
    #[error(
        "the program model has {found} bytes and should have {expected}: it was cut off or appended to; remove it, and bohr makes it again"
    )]
    Length {
        /// As its header says.
        expected: u64,
        /// As it is.
        found: u64,
    },
    /// Changed since it was written.
    #[error(
        "the program model is damaged ({what}); remove it, and bohr makes it again from the program"
    )]
    Damaged {
        /// What does not fit.
        what: String,
    },
    /// Written by a bohr with a mistake in it.
    #[error("the program model contradicts itself: {0} (bohr's fault: report it with the program)")]
    Malformed(#[from] Malformed),
}

fn damaged(what: impl ToString) -> ReadError {
    ReadError::Damaged {
        what: what.to_string(),
    }
}

impl Program {
    /// The program as the bytes of a file.
    ///
    /// ```
    /// use bohr_program::{Program, ProgramBuilder};
    ///
    /// let program = ProgramBuilder::new("e-i64:64").finish();
    /// assert_eq!(Program::from_bytes(&program.to_bytes()), Ok(program));
    /// ```
    ///
    /// # Panics
    /// If memory runs out.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let plain =
            postcard::to_allocvec(self).expect("a program has nothing that cannot be written");
        let payload = zstd::bulk::compress(&plain, LEVEL).expect("compression into memory");
        let mut file = Vec::with_capacity(HEADER + payload.len());
        file.extend(MAGIC);
        file.extend(FileVersion::CURRENT.0.to_le_bytes());
        file.extend([0; 4]);
        file.extend((plain.len() as u64).to_le_bytes());
        file.extend((payload.len() as u64).to_le_bytes());
        file.extend(blake3::hash(&payload).as_bytes());
        file.extend(payload);
        file
    }

    /// The program in the bytes of a file.
    ///
    /// # Errors
    /// If the bytes are not exactly what a readable version of bohr wrote.
    pub fn from_bytes(file: &[u8]) -> Result<Program, ReadError> {
        let header = Header::read(file)?;
        let payload = &file[HEADER..];
        if payload.len() as u64 != header.payload {
            return Err(ReadError::Length {
                expected: header.payload.saturating_add(HEADER as u64),
                found: file.len() as u64,
            });
        }
        if *blake3::hash(payload).as_bytes() != header.checksum {
            return Err(damaged("its checksum differs"));
        }
        let plain = decompress(payload, header.plain)?;
        let (program, rest) = postcard::take_from_bytes::<Program>(&plain).map_err(damaged)?;
        if !rest.is_empty() {
            return Err(damaged("something follows the program"));
        }
        program.check()?;
        Ok(program)
    }
}

/// The payload before compression. Grows with what is really there, not with
/// what the header claims.
fn decompress(payload: &[u8], length: u64) -> Result<Vec<u8>, ReadError> {
    if length > LIMIT {
        return Err(damaged("it claims to be larger than any program"));
    }
    let mut plain = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(payload).map_err(damaged)?;
    let mut limited = decoder.take(length + 1);
    limited.read_to_end(&mut plain).map_err(damaged)?;
    match plain.len() as u64 == length {
        true => Ok(plain),
        false => Err(damaged("its length before compression differs")),
    }
}

/// What stands before the payload.
struct Header {
    plain: u64,
    payload: u64,
    checksum: [u8; 32],
}

impl Header {
    fn read(file: &[u8]) -> Result<Header, ReadError> {
        if !file.starts_with(&MAGIC) {
            let found = file[..file.len().min(MAGIC.len())].to_vec();
            return Err(ReadError::NotAProgram { found });
        }
        let short = ReadError::Length {
            expected: HEADER as u64,
            found: file.len() as u64,
        };
        let header: &[u8; HEADER] = file.first_chunk().ok_or(short)?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
        FileVersion(word(8) as u32).readable()?;
        if word(8) >> 32 != 0 {
            return Err(damaged("its header has unknown flags"));
        }
        Ok(Header {
            plain: word(16),
            payload: word(24),
            checksum: std::array::from_fn(|byte| header[32 + byte]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{counter, sampler};
    use proptest::prelude::*;

    /// A file with this payload before compression, and a checksum that fits.
    fn file_of(plain: &[u8]) -> Vec<u8> {
        let payload = zstd::bulk::compress(plain, LEVEL).unwrap();
        let mut file = counter().to_bytes()[..16].to_vec();
        file.extend((plain.len() as u64).to_le_bytes());
        file.extend((payload.len() as u64).to_le_bytes());
        file.extend(blake3::hash(&payload).as_bytes());
        file.extend(payload);
        file
    }

    /// Looks at everything in a program.
    fn walk(program: &Program) {
        let layouts = program.layouts();
        for function in program.functions.keys() {
            let _ = program.show_function(function).to_string();
        }
        for of in program.types.keys() {
            let _ = layouts[of].stored();
        }
        for site in program.sites.keys() {
            assert_eq!(program.site_number(program.site_id(site)), Some(site));
        }
        for (_, _, body) in program.bodies() {
            for block in body.blocks.keys().flat_map(|block| body.successors(block)) {
                assert_eq!(body.block_of(body.blocks[block].first), block);
            }
        }
        for alias in program.aliases.values() {
            let _ = program.show_constant(alias.target).to_string();
        }
        for attributes in program.attributes.values() {
            let _ = attributes.result.by_value.map(|of| &program.types[of]);
        }
        for location in program.locations.values() {
            let scope = &program.scopes[location.scope];
            let _ = &program.texts[scope.name];
            let _ = scope.file.expand().map(|file| &program.files[file]);
        }
        let _ = program.memory();
    }

    #[test]
    fn what_is_written_is_read() {
        for program in [counter(), sampler()] {
            assert_eq!(Program::from_bytes(&program.to_bytes()), Ok(program));
        }
    }

    #[test]
    fn refusals_say_why() {
        let good = counter().to_bytes();
        let with = |at: usize, byte: u8| {
            let mut file = good.clone();
            file[at] = byte;
            Program::from_bytes(&file).unwrap_err()
        };
        assert_eq!(
            with(8, 0),
            ReadError::TooOld {
                found: 0,
                current: FileVersion::CURRENT.0
            }
        );
        assert_eq!(
            with(8, 9),
            ReadError::TooNew {
                found: 9,
                current: FileVersion::CURRENT.0
            }
        );
        assert!(matches!(with(0, b'B'), ReadError::NotAProgram { .. }));
        assert!(matches!(with(40, !good[40]), ReadError::Damaged { .. }));
        assert!(matches!(with(16, !good[16]), ReadError::Damaged { .. }));
        let cut = Program::from_bytes(&good[..good.len() - 1]).unwrap_err();
        assert!(matches!(cut, ReadError::Length { .. }));
        let short = Program::from_bytes(&good[..20]).unwrap_err();
        assert!(matches!(
            short,
            ReadError::Length {
                expected: 64,
                found: 20
            }
        ));
        assert!(matches!(
            Program::from_bytes(&[]),
            Err(ReadError::NotAProgram { .. })
        ));
    }

    #[test]
    fn a_claim_of_many_bytes_allocates_none() {
        let mut file = file_of(&[0; 100]);
        file[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(
            Program::from_bytes(&file),
            Err(ReadError::Damaged { .. })
        ));
        // A length prefix of 2^60 elements with nothing behind it.
        let mut plain = vec![0; 33];
        plain.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]);
        assert!(matches!(
            Program::from_bytes(&file_of(&plain)),
            Err(ReadError::Damaged { .. })
        ));
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Program::from_bytes(&bytes).is_err());
            let mut file = MAGIC.to_vec();
            file.extend(bytes);
            prop_assert!(Program::from_bytes(&file).is_err());
        }

        #[test]
        fn a_changed_file_is_refused(at: prop::sample::Index, change in 1u8..) {
            let mut file = counter().to_bytes();
            let at = at.index(file.len());
            file[at] ^= change;
            prop_assert!(Program::from_bytes(&file).is_err());
        }

        #[test]
        fn a_changed_payload_is_refused_or_safe(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut: prop::sample::Index,
        ) {
            let mut plain = postcard::to_allocvec(&sampler()).unwrap();
            for (at, byte) in changes {
                let at = at.index(plain.len());
                plain[at] = byte;
            }
            if let Ok(program) = Program::from_bytes(&file_of(&plain)) {
                walk(&program);
            }
            plain.truncate(cut.index(plain.len()));
            prop_assert!(Program::from_bytes(&file_of(&plain)).is_err());
        }
    }
}
