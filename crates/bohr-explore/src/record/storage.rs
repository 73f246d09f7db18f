//! The file that a recorded program writes to.

use bohr_event::recording::{CHUNK, HEADER_MAGIC, HeaderWord};
use bohr_log::raw::{self, Header, Raw, RawError};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Longer than any disk; what nobody writes takes no room.
const LENGTH: u64 = 1 << 40;

/// Threads that were ended before they could fill the place that they had taken.
const UNFINISHED: u64 = 1024;

/// What goes wrong with it.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The system refused.
    #[error("no log can be kept in {}", folder.display())]
    File {
        /// Where.
        folder: PathBuf,
        /// As the system says.
        source: io::Error,
    },
    /// The program left something else.
    #[error(transparent)]
    Raw(#[from] RawError),
}

/// See the module. It goes away with this.
pub struct Storage {
    file: NamedTempFile,
    folder: PathBuf,
}

impl Storage {
    /// An empty one, which asks for these things.
    pub fn in_folder(folder: &Path, wishes: u64) -> Result<Storage, StorageError> {
        let made = || {
            let file = tempfile::Builder::new()
                .prefix(".bohr-recording-")
                .tempfile_in(folder)?;
            file.as_file().set_len(LENGTH)?;
            let write = |word: HeaderWord, value: u64| {
                file.as_file()
                    .write_all_at(&value.to_le_bytes(), word as u64 * 8)
            };
            write(HeaderWord::Magic, HEADER_MAGIC)?;
            write(HeaderWord::Chunks, 1)?;
            write(HeaderWord::Wishes, wishes)?;
            Ok(file)
        };
        let folder = folder.to_path_buf();
        match made() {
            Ok(file) => Ok(Storage { file, folder }),
            Err(source) => Err(StorageError::File { folder, source }),
        }
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What the program has left there.
    pub fn read(&self) -> Result<Raw, StorageError> {
        let file = self.file.as_file();
        let at = |source| StorageError::File {
            folder: self.folder.clone(),
            source,
        };
        let header = piece(file, 0).map_err(at)?;
        let header = Header::new(&header)?;
        // Space is taken piece by piece; a number far beyond it was written by mistake.
        let blocks = file.metadata().map_err(at)?;
        let taken =
            std::os::unix::fs::MetadataExt::blocks(&blocks) * 512 / CHUNK as u64 + UNFINISHED;
        if header.pieces() > taken {
            return Err(RawError::Overwritten.into());
        }
        let pieces = (1..header.pieces()).map(|number| piece(file, number));
        let pieces = pieces.collect::<io::Result<Vec<_>>>().map_err(at)?;
        Ok(raw::read(header, pieces)?)
    }
}

fn piece(file: &File, number: u64) -> io::Result<Vec<u64>> {
    let mut bytes = vec![0; CHUNK];
    file.read_exact_at(&mut bytes, number * CHUNK as u64)?;
    let (words, _) = bytes.as_chunks::<8>();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}
