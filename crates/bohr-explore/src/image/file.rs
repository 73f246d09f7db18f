//! The file of an image, and what a process needs of it.
//!
//! ```text
//!     offset  size  what
//!          0     8  "bohr-img"
//!          8     4  version, little endian
//!         12     …  pages: the content of memory, compressed with zstd
//!          …     …  origin: an Origin in postcard, compressed with zstd
//!        -48     8  bytes of the origin, little endian
//!        -40    32  BLAKE3 hash of all that comes before it
//!         -8     8  "end-img\0"
//! ```
//!
//! Whether a reader can read a file is told by the version alone. It is written under
//! another name, and gets its own when it is whole and on the disk.

#[cfg(test)]
mod tests;

use super::process::state_of;
use super::{ImageError, Machine, Origin};
use crate::target::Target;
use bohr_event::abi::NOT_IN_IMAGES;
use bohr_event::control::{Script, Stretch};
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const MAGIC: [u8; 8] = *b"bohr-img";
const END: [u8; 8] = *b"end-img\0";
const HEAD: u64 = 12;
const TAIL: u64 = 48;
const PAGE: u64 = 4096;

/// The version that this build writes and reads.
pub const VERSION: u32 = 1;

/// An origin that unpacks to more is none that bohr has written.
const LARGEST_ORIGIN: u64 = 1 << 30;

/// More memory than this no image has.
const LARGEST_MEMORY: u64 = 1 << 40;

/// An image that is being written.
pub(super) struct Writing {
    path: PathBuf,
    pages: zstd::Encoder<'static, Hashed>,
}

/// A file whose hash is known when it is whole.
struct Hashed {
    file: NamedTempFile,
    hash: blake3::Hasher,
    length: u64,
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// How much is compressed: images are written once and hold much that is zero.
const LEVEL: i32 = 1;

impl Writing {
    pub(super) fn begin(path: &Path) -> Result<Writing, ImageError> {
        let begun = || {
            let folder = path
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            let mut out = Hashed {
                file: NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?,
                hash: blake3::Hasher::new(),
                length: 0,
            };
            out.write_all(&MAGIC)?;
            out.write_all(&VERSION.to_le_bytes())?;
            zstd::Encoder::new(out, LEVEL)
        };
        Ok(Writing {
            pages: begun().map_err(|source| failed(path, source))?,
            path: path.to_path_buf(),
        })
    }

    /// Where the content of memory goes.
    pub(super) fn pages(&mut self) -> &mut impl Write {
        &mut self.pages
    }

    /// Gives it its name; how long it is.
    pub(super) fn end(self, origin: &Origin) -> Result<u64, ImageError> {
        let path = self.path;
        let ended = || {
            let mut out = self.pages.finish()?;
            let plain = postcard::to_allocvec(origin).map_err(std::io::Error::other)?;
            let packed = zstd::encode_all(&plain[..], LEVEL)?;
            out.write_all(&packed)?;
            out.write_all(&(packed.len() as u64).to_le_bytes())?;
            let hash = *out.hash.finalize().as_bytes();
            out.write_all(&hash)?;
            out.write_all(&END)?;
            out.file.as_file().sync_all()?;
            let length = out.length;
            out.file.persist(&path).map_err(|error| error.error)?;
            Ok(length)
        };
        ended().map_err(|source| failed(&path, source))
    }
}

fn failed(path: &Path, source: std::io::Error) -> ImageError {
    ImageError::File {
        path: path.to_path_buf(),
        source,
    }
}

/// An image that has been read, ready for processes to begin from.
#[derive(Debug)]
pub struct Image {
    /// Where it comes from.
    pub origin: Origin,
    /// Names it: the hash of all that is in it.
    pub hash: [u8; 32],
    /// Script and pages, in memory.
    unpacked: File,
}

impl Image {
    /// Reads the image at `path`.
    ///
    /// # Errors
    /// If it is not a whole, undamaged image of this version.
    pub fn open(path: &Path) -> Result<Image, ImageError> {
        let mut file = File::open(path).map_err(|source| failed(path, source))?;
        let length = file
            .metadata()
            .map_err(|source| failed(path, source))?
            .len();
        let (origin_length, hash) = check(&mut file, path, length)?;
        let malformed = |what| ImageError::Malformed {
            path: path.to_path_buf(),
            what,
        };
        let pages_end = (length - TAIL).checked_sub(origin_length);
        let pages_end = pages_end.filter(|end| *end >= HEAD);
        let pages_end = pages_end.ok_or_else(|| malformed("the origin has no room"))?;
        let origin = origin(&mut file, pages_end, origin_length).map_err(malformed)?;
        examine(&origin.script).map_err(malformed)?;
        let unpacked = unpack(&mut file, pages_end - HEAD, &origin.script);
        Ok(Image {
            unpacked: unpacked.map_err(|error| match error {
                Unpacking::Senseless(what) => malformed(what),
                Unpacking::NoRoom(source) => failed(path, source),
            })?,
            origin,
            hash,
        })
    }

    /// Where a process finds it unpacked, as long as this lives.
    #[must_use]
    pub fn path(&self) -> String {
        format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.unpacked.as_raw_fd()
        )
    }

    /// Whether processes of this program can begin from it, here and now.
    ///
    /// # Errors
    /// If they cannot, with the reason.
    pub fn check(&self, target: &Target) -> Result<(), ImageError> {
        let (own, other) = (&self.origin.program, &target.identity);
        if own.hash != other.hash {
            return Err(ImageError::OtherBuild("the file differs"));
        }
        if own.mode != other.mode {
            return Err(ImageError::OtherBuild(
                "it is controlled elsewhere (`bohr core` takes checkpoints of its own)",
            ));
        }
        if own.libraries != other.libraries {
            return Err(ImageError::OtherBuild(
                "its libraries are controlled elsewhere",
            ));
        }
        self.check_machine()?;
        for (path, hash) in &self.origin.mapped {
            let bytes = std::fs::read(path).unwrap_or_default();
            if blake3::hash(&bytes).as_bytes() != hash {
                return Err(match Path::new(path) == target.runtime {
                    true => ImageError::OtherRuntime(path.clone()),
                    false => ImageError::OtherLibrary(path.clone()),
                });
            }
        }
        let runtime = target.runtime.to_string_lossy();
        if !self.origin.mapped.iter().any(|(path, _)| *path == runtime) {
            return Err(ImageError::OtherRuntime(runtime.into_owned()));
        }
        for (path, size, changed) in &self.origin.opened {
            if state_of(Path::new(path)) != Some((*size, *changed)) {
                return Err(ImageError::OtherFile(path.clone()));
            }
        }
        Ok(())
    }

    fn check_machine(&self) -> Result<(), ImageError> {
        let here = Machine::here().ok_or(ImageError::Unreadable("the machine"))?;
        if here.kernel != self.origin.machine.kernel {
            return Err(ImageError::OtherKernel);
        }
        match here.processor == self.origin.machine.processor {
            true => Ok(()),
            false => Err(ImageError::OtherProcessor),
        }
    }
}

/// Whether all bytes are there and are those that were written; how long the origin is,
/// and the hash.
fn check(file: &mut File, path: &Path, length: u64) -> Result<(u64, [u8; 32]), ImageError> {
    let failed = |source| failed(path, source);
    let mut head = Vec::new();
    { &mut *file }
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(failed)?;
    if !head.starts_with(&MAGIC) {
        return Err(match !head.is_empty() && MAGIC.starts_with(&head) {
            true => ImageError::Truncated(path.into()),
            false => ImageError::NotAnImage(path.into()),
        });
    }
    let version = head.get(8..12).and_then(|bytes| bytes.try_into().ok());
    match version.map(u32::from_le_bytes) {
        Some(VERSION) => {}
        Some(found) => {
            return Err(ImageError::OtherVersion {
                path: path.into(),
                found,
            });
        }
        None => return Err(ImageError::Truncated(path.into())),
    }
    let truncated = || ImageError::Truncated(path.into());
    let hashed = length.checked_sub(TAIL - 8).filter(|end| *end >= HEAD + 8);
    let hashed = hashed.ok_or_else(truncated)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&head);
    let mut rest = { &mut *file }.take(hashed - HEAD);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match rest.read(&mut buffer).map_err(failed)? {
            0 => break,
            count => {
                hasher.update(&buffer[..count]);
            }
        }
    }
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(length - TAIL)).map_err(failed)?;
    { &mut *file }
        .take(TAIL)
        .read_to_end(&mut tail)
        .map_err(failed)?;
    let Some((origin, rest)) = tail.split_first_chunk::<8>() else {
        return Err(truncated());
    };
    let Some((hash, end)) = rest.split_first_chunk::<32>() else {
        return Err(truncated());
    };
    if *end != END {
        return Err(truncated());
    }
    match hasher.finalize().as_bytes() == hash {
        true => Ok((u64::from_le_bytes(*origin), *hash)),
        false => Err(ImageError::Damaged(path.into())),
    }
}

fn origin(file: &mut File, start: u64, length: u64) -> Result<Origin, &'static str> {
    const UNREADABLE: &str = "its origin cannot be unpacked";
    file.seek(SeekFrom::Start(start)).map_err(|_| UNREADABLE)?;
    let decoder = zstd::Decoder::new(file.take(length)).map_err(|_| UNREADABLE)?;
    let mut plain = Vec::new();
    let unpacked = decoder.take(LARGEST_ORIGIN).read_to_end(&mut plain);
    unpacked.map_err(|_| UNREADABLE)?;
    match postcard::take_from_bytes(&plain) {
        Ok((origin, [])) => Ok(origin),
        _ => Err("it has no origin"),
    }
}

/// The lowest and the first no longer possible address of a program.
const ADDRESSES: (u64, u64) = (0x1000, 0x7fff_ffff_f000);

/// The stack of the main thread may begin so far below its part of the address space.
const RESERVE: u64 = 1 << 32;

/// Whether a process can be made so: all of it lies where programs lie.
fn examine(script: &Script) -> Result<(), &'static str> {
    let mut last = ADDRESSES.0;
    for mapping in &script.mappings {
        let (start, end) = (mapping.start, mapping.end);
        let aligned = start % PAGE == 0 && end % PAGE == 0;
        let own = start < NOT_IN_IMAGES.end - RESERVE && end > NOT_IN_IMAGES.start;
        if !aligned || start < last || end <= start || end > ADDRESSES.1 || own {
            return Err("a mapping lies where none can be");
        }
        last = end;
    }
    let mut last = 0;
    let mut memory = 0u64;
    for stretch in &script.pages {
        let end = stretch.start.checked_add(stretch.length);
        let end = end.filter(|end| stretch.length > 0 && end % PAGE == 0);
        let end = end.ok_or("pages lie where none can be")?;
        if stretch.start < last || stretch.start % PAGE != 0 || !is_mapped(script, stretch, end) {
            return Err("pages lie where none can be");
        }
        last = end;
        memory = memory.saturating_add(stretch.length);
    }
    match memory <= LARGEST_MEMORY {
        true => Ok(()),
        false => Err("it has more memory than a machine"),
    }
}

fn is_mapped(script: &Script, stretch: &Stretch, end: u64) -> bool {
    let first = script
        .mappings
        .partition_point(|one| one.end <= stretch.start);
    let mut at = stretch.start;
    for mapping in &script.mappings[first..] {
        if mapping.start > at || at >= end {
            break;
        }
        at = mapping.end;
    }
    at >= end
}

enum Unpacking {
    Senseless(&'static str),
    NoRoom(std::io::Error),
}

/// Script and pages, as the runtime reads them.
fn unpack(file: &mut File, packed: u64, script: &Script) -> Result<File, Unpacking> {
    use Unpacking::{NoRoom, Senseless};
    let memory: u64 = script.pages.iter().map(|stretch| stretch.length).sum();
    let told = postcard::to_allocvec(script).map_err(|_| Senseless("its script"))?;
    let out = rustix::fs::memfd_create("bohr-image", MemfdFlags::CLOEXEC);
    let mut out = File::from(out.map_err(|error| NoRoom(error.into()))?);
    let length = told.len() as u64;
    let first = Script::first_page(length);
    let written = out
        .write_all(&length.to_le_bytes())
        .and_then(|()| out.write_all(&told))
        .and_then(|()| out.seek(SeekFrom::Start(first)));
    written.map_err(NoRoom)?;
    file.seek(SeekFrom::Start(HEAD)).map_err(NoRoom)?;
    let decoder = zstd::Decoder::new(file.take(packed));
    let mut decoder = decoder.map_err(|_| Senseless("its pages cannot be unpacked"))?;
    let mut buffer = vec![0; 1 << 20];
    let mut left = memory;
    loop {
        let count = decoder.read(&mut buffer);
        let count = count.map_err(|_| Senseless("its pages cannot be unpacked"))? as u64;
        match count {
            0 if left == 0 => return Ok(out),
            0 => return Err(Senseless("pages are missing")),
            count if count > left => return Err(Senseless("it has too many pages")),
            _ => {}
        }
        out.write_all(&buffer[..count as usize]).map_err(NoRoom)?;
        left -= count;
    }
}
