//! What can be seen of a stopped run from outside: its mappings, where they have
//! content, and its files.

use super::ImageError;
use bohr_event::abi::{IMAGE_NOTE, LOWEST_DESCRIPTOR, NOT_IN_IMAGES};
use bohr_event::control::{
    IMAGE_MAGIC, MOST_STRETCHES, Mapped, NOTE_WORDS, OpenFile, Script, Stretch,
};
use rustix::process::Pid;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// One line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub start: u64,
    pub end: u64,
    access: u32,
    is_private: bool,
    offset: u64,
    pub name: String,
}

impl Mapping {
    /// Whether an image has it: what is shared and can be written is the runtime's own.
    fn is_part(&self) -> bool {
        const WRITE: u32 = 2;
        let is_file = self.name.starts_with('/');
        let kept = self.is_private || (is_file && self.access & WRITE == 0);
        let left_out = NOT_IN_IMAGES.start <= self.start && self.end <= NOT_IN_IMAGES.end;
        kept && !left_out && !self.name.starts_with("[v")
    }
}

/// What is mapped, as the kernel tells it.
pub(super) fn mappings(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let access = words.next()?;
    let offset = number(words.next()?)?;
    let name = words.nth(2).unwrap_or_default().trim_start();
    let bits = ['r', 'w', 'x'].iter().enumerate();
    let bits = bits.filter(|(_, letter)| access.contains(**letter));
    Some(Mapping {
        start: number(start)?,
        end: number(end)?,
        access: bits.map(|(bit, _)| 1 << bit).sum(),
        is_private: access.ends_with('p'),
        offset,
        name: name.to_string(),
    })
}

/// A run that has stopped for its image to be taken.
pub(super) struct Stopped {
    folder: PathBuf,
    /// The process that it was cloned from, which has what it has inherited.
    template: PathBuf,
    memory: File,
    /// Events that it has executed.
    pub events: u64,
    control_block: u64,
    stretches: Vec<Stretch>,
}

/// A chunk of memory that is read at once.
const CHUNK: u64 = 1 << 20;
const PAGE: u64 = 4096;

impl Stopped {
    /// Looks at it.
    pub(super) fn of(process: Pid, template: Pid) -> Result<Stopped, ImageError> {
        let folder_of = |process: Pid| PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
        let folder = folder_of(process);
        let memory = File::open(folder.join("mem"));
        let memory = memory.map_err(|_| ImageError::Unreadable("its memory"))?;
        let word = |number: u64| {
            let mut bytes = [0; 8];
            let read = memory.read_exact_at(&mut bytes, IMAGE_NOTE + 8 * number);
            read.map(|()| u64::from_le_bytes(bytes))
                .map_err(|_| ImageError::Unreadable("its note"))
        };
        let count = word(1)?;
        if word(0)? != IMAGE_MAGIC || count > MOST_STRETCHES as u64 {
            return Err(ImageError::Unreadable("its note makes no sense"));
        }
        let stretches = (0..count).map(|number| {
            let at = NOTE_WORDS as u64 + 2 * number;
            let (start, end) = (word(at)?, word(at + 1)?);
            Ok(Stretch {
                start,
                length: end.saturating_sub(start),
            })
        });
        Ok(Stopped {
            stretches: stretches.collect::<Result<_, ImageError>>()?,
            events: word(2)?,
            control_block: word(3)?,
            template: folder_of(template),
            folder,
            memory,
        })
    }

    /// Writes the content of its memory; what is to be done with it.
    pub(super) fn write(&self, out: &mut impl Write) -> Result<Script, ImageError> {
        let text = fs::read_to_string(self.folder.join("maps"));
        let all = mappings(&text.map_err(|_| ImageError::Unreadable("its mappings"))?);
        let start_of = |name: &str| all.iter().find(|one| one.name == name);
        let folder = fs::read_link(self.folder.join("cwd"));
        let folder = folder.map_err(|_| ImageError::Unreadable("its folder"))?;
        let mapped = all.iter().filter(|one| one.is_part()).map(|one| Mapped {
            start: one.start,
            end: one.end,
            access: one.access,
            file: one
                .name
                .starts_with('/')
                .then(|| (one.name.clone(), one.offset)),
        });
        Ok(Script {
            pages: self.write_pages(out)?,
            files: self.files()?,
            folder: folder.to_string_lossy().into_owned(),
            heap_end: start_of("[heap]").map_or(0, |heap| heap.end),
            kernel_code: start_of("[vdso]").map_or(0, |code| code.start),
            control_block: self.control_block,
            mappings: mapped.collect(),
        })
    }

    fn write_pages(&self, out: &mut impl Write) -> Result<Vec<Stretch>, ImageError> {
        let mut written: Vec<Stretch> = Vec::new();
        let mut take = |start: u64, bytes: &[u8]| {
            let length = bytes.len() as u64;
            match written.last_mut() {
                Some(last) if last.start + last.length == start => last.length += length,
                _ => written.push(Stretch { start, length }),
            }
            out.write_all(bytes)
        };
        let mut buffer = vec![0; CHUNK as usize];
        for stretch in &self.stretches {
            let end = stretch.start + stretch.length;
            let mut at = stretch.start;
            while at < end {
                let chunk = &mut buffer[..CHUNK.min(end - at) as usize];
                if self.memory.read_exact_at(chunk, at).is_ok() {
                    take(at, chunk).map_err(|_| ImageError::Unreadable("no room for it"))?;
                } else {
                    // Some of its pages nobody may read, as those between stacks.
                    for page in (at..at + chunk.len() as u64).step_by(PAGE as usize) {
                        let bytes = &mut [0; PAGE as usize];
                        if self.memory.read_exact_at(bytes, page).is_ok() {
                            take(page, bytes)
                                .map_err(|_| ImageError::Unreadable("no room for it"))?;
                        }
                    }
                }
                at += CHUNK.min(end - at);
            }
        }
        Ok(written)
    }

    /// The files that it has opened; what it has inherited, others will inherit.
    fn files(&self) -> Result<Vec<OpenFile>, ImageError> {
        let unreadable = || ImageError::Unreadable("its files");
        let mut files = Vec::new();
        for entry in fs::read_dir(self.folder.join("fd")).map_err(|_| unreadable())? {
            let entry = entry.map_err(|_| unreadable())?;
            let number = entry.file_name();
            let number = number.to_str().and_then(|name| name.parse::<u32>().ok());
            let number = number.ok_or_else(unreadable)?;
            if number >= LOWEST_DESCRIPTOR || (1..=2).contains(&number) {
                continue;
            }
            let path = fs::read_link(entry.path()).map_err(|_| unreadable())?;
            let inherited = fs::read_link(self.template.join("fd").join(number.to_string()));
            if number > 2 && inherited.is_ok_and(|other| other == path) {
                continue;
            }
            let path = path.to_string_lossy().into_owned();
            let told = fs::read_to_string(self.folder.join("fdinfo").join(number.to_string()));
            let told = told.map_err(|_| unreadable())?;
            let field = |name: &str, radix| {
                let line = told.lines().find_map(|line| line.strip_prefix(name));
                line.and_then(|value| u64::from_str_radix(value.trim(), radix).ok())
            };
            files.push(OpenFile {
                descriptor: number,
                offset: field("pos:", 10).ok_or_else(unreadable)?,
                flags: field("flags:", 8).ok_or_else(unreadable)? as u32,
                path,
            });
        }
        files.sort_by_key(|file| file.descriptor);
        Ok(files)
    }
}

/// Size and last change of a file, by which it is known again.
pub(super) fn state_of(path: &Path) -> Option<(u64, u64)> {
    let status = fs::metadata(path).ok()?;
    let nanoseconds = status.mtime() as u64 * 1_000_000_000 + status.mtime_nsec() as u64;
    // What is no file has nothing that changes.
    Some(match status.is_file() {
        true => (status.len(), nanoseconds),
        false => (0, 0),
    })
}
