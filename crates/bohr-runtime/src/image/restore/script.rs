//! From what is to be mapped, and what is, to the system calls between the two.

use super::{super::maps::Own, mapped};
use crate::{channel, system};
use alloc::{ffi::CString, format, string::String, vec::Vec};
use bohr_event::control::{Mapped, OpenFile, Script, Stretch};
use core::{mem::size_of, ops::Range};

/// Exit code of a process that could not be made.
pub const FAILED: i32 = 71;

/// A call, and what the kernel has to answer.
#[derive(Clone, Copy)]
pub struct Call {
    pub number: i64,
    pub arguments: [usize; 6],
    pub wanted: Option<isize>,
}

/// Most bytes of one read.
const LONGEST_READ: u64 = 1 << 30;

const _: () = assert!(size_of::<usize>() == 8);

/// The calls that give this process the memory that `script` tells of; the pages come
/// from `file`. What has nothing to do with memory is done at once.
pub fn compile(script: &Script, file: i32) -> Result<Vec<Call>, String> {
    let own = mapped(script.heap_end).ok_or("the kernel does not tell what is mapped")?;
    check(script, &own)?;
    for open in &script.files {
        reopen(open)?;
    }
    let folder = CString::new(&*script.folder).map_err(|_| "the folder has no name")?;
    // SAFETY: reads the name.
    let moved =
        unsafe { system::try_call(libc::SYS_chdir, [folder.as_ptr() as usize, 0, 0, 0, 0, 0]) };
    moved.map_err(|error| format!("{} cannot be entered: error {error}", script.folder))?;
    let mut list = List(Vec::new());
    let mut files = Vec::new();
    own.iter()
        .filter(|own| own.is_private && own.is_part())
        .for_each(|own| list.unmap(own, &script.mappings));
    for mapping in &script.mappings {
        match &mapping.file {
            Some((path, offset)) => list.map_file(mapping, path, *offset, &own, &mut files)?,
            None => list.map_memory(mapping, &own)?,
        }
    }
    let both = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    for mapping in &script.mappings {
        let ends = |stretch: &Stretch| stretch.start + stretch.length <= mapping.start;
        let first = script.pages.partition_point(ends);
        let next = script.pages.get(first);
        if next.is_some_and(|stretch| stretch.start < mapping.end) {
            list.protect(mapping, mapping.access as usize | both);
        }
    }
    list.read(script, file);
    for mapping in &script.mappings {
        list.protect(mapping, mapping.access as usize);
    }
    for descriptor in files.into_iter().chain([file]) {
        list.push(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0], None);
    }
    Ok(list.0)
}

/// Whether addresses that no image can change are what they were.
fn check(script: &Script, own: &[Own]) -> Result<(), String> {
    let kernel = own.iter().find(|own| own.name == "[vdso]");
    let kernel = kernel.map_or(0, |own| own.range.start as u64);
    // SAFETY: asks for the running thread.
    let block = unsafe { libc::pthread_self() };
    let what = if kernel != script.kernel_code {
        "the kernel's own code"
    } else if block != script.control_block {
        "the main thread's control block"
    } else {
        return Ok(());
    };
    Err(elsewhere(what))
}

fn elsewhere(what: &str) -> String {
    format!(
        "{what} lies elsewhere than in the image: take a new one here; if that does not help, \
         addresses are random on this system"
    )
}

/// Opens a file, under a number that no program expects.
pub fn open(path: &str, flags: i32) -> Result<i32, i32> {
    let path = CString::new(path).map_err(|_| libc::EINVAL)?;
    let flags = (flags | libc::O_CLOEXEC) as usize;
    let folder = libc::AT_FDCWD as usize;
    let arguments = [folder, path.as_ptr() as usize, flags, 0, 0, 0];
    // SAFETY: reads the path.
    let file = unsafe { system::try_call(libc::SYS_openat, arguments) }?;
    channel::move_up(file as i32)
}

/// Opens what the run had open, as far as that is not bohr's, at the place that it had
/// come to.
fn reopen(file: &OpenFile) -> Result<(), String> {
    let number = file.descriptor as usize;
    if number >= channel::LOWEST_DESCRIPTOR || (1..=2).contains(&number) {
        return Ok(());
    }
    let failed = |error: i32| format!("{} cannot be opened again: error {error}", file.path);
    // Standard input is there.
    if number != 0 {
        const PASSING: i32 = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_NOCTTY;
        let flags = file.flags as i32;
        let opened = open(&file.path, flags & !PASSING).map_err(failed)?;
        let kept = flags & libc::O_CLOEXEC;
        let arguments = [opened as usize, number, kept as usize, 0, 0, 0];
        // SAFETY: the program has not begun, so the number is free or inherited.
        unsafe { system::try_call(libc::SYS_dup3, arguments) }.map_err(failed)?;
        system::close(opened);
    }
    let arguments = [
        number,
        file.offset as usize,
        libc::SEEK_SET as usize,
        0,
        0,
        0,
    ];
    // SAFETY: moves an offset. What has none does not need it.
    unsafe { system::call(libc::SYS_lseek, arguments) };
    Ok(())
}

struct List(Vec<Call>);

impl List {
    fn push(&mut self, number: i64, arguments: [usize; 6], wanted: Option<isize>) {
        self.0.push(Call {
            number,
            arguments,
            wanted,
        });
    }

    /// What is mapped here and not in the image is unmapped.
    fn unmap(&mut self, own: &Own, mappings: &[Mapped]) {
        let mut start = own.range.start;
        for mapping in mappings {
            let range = range(mapping);
            if range.end <= start || range.start >= own.range.end {
                continue;
            }
            self.unmap_range(start..range.start.max(start));
            start = range.end;
        }
        self.unmap_range(start..own.range.end.max(start));
    }

    fn unmap_range(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            let arguments = [range.start, range.len(), 0, 0, 0, 0];
            self.push(libc::SYS_munmap, arguments, Some(0));
        }
    }

    /// A file that both show at one place stays; one that is not mapped here is.
    fn map_file(
        &mut self,
        mapping: &Mapped,
        path: &str,
        offset: u64,
        own: &[Own],
        files: &mut Vec<i32>,
    ) -> Result<(), String> {
        for (part, there) in parts(range(mapping), own) {
            let offset = offset + (part.start - mapping.start as usize) as u64;
            let Some(there) = there else {
                let file = open(path, libc::O_RDONLY);
                let file =
                    file.map_err(|error| format!("{path} cannot be opened: error {error}"))?;
                files.push(file);
                let access = libc::PROT_READ as usize;
                let flags = (libc::MAP_PRIVATE | libc::MAP_FIXED) as usize;
                let arguments = [
                    part.start,
                    part.len(),
                    access,
                    flags,
                    file as usize,
                    offset as usize,
                ];
                self.push(libc::SYS_mmap, arguments, Some(part.start as isize));
                continue;
            };
            let shown = there.offset + (part.start - there.range.start) as u64;
            if there.name != path || shown != offset {
                return Err(elsewhere(path));
            }
        }
        Ok(())
    }

    /// Memory that is there already is cleared, so that gaps below stacks stay.
    fn map_memory(&mut self, mapping: &Mapped, own: &[Own]) -> Result<(), String> {
        for (part, there) in parts(range(mapping), own) {
            match there {
                Some(there) if there.is_file() || !there.is_private => {
                    return Err(elsewhere("memory of the program"));
                }
                Some(_) => {
                    let advice = libc::MADV_DONTNEED as usize;
                    let arguments = [part.start, part.len(), advice, 0, 0, 0];
                    self.push(libc::SYS_madvise, arguments, Some(0));
                }
                None => {
                    let flags = libc::MAP_PRIVATE
                        | libc::MAP_ANONYMOUS
                        | libc::MAP_NORESERVE
                        | libc::MAP_FIXED;
                    let arguments = [
                        part.start,
                        part.len(),
                        libc::PROT_READ as usize,
                        flags as usize,
                        usize::MAX,
                        0,
                    ];
                    self.push(libc::SYS_mmap, arguments, Some(part.start as isize));
                }
            }
        }
        Ok(())
    }

    fn protect(&mut self, mapping: &Mapped, access: usize) {
        let range = range(mapping);
        let arguments = [range.start, range.len(), access, 0, 0, 0];
        self.push(libc::SYS_mprotect, arguments, Some(0));
    }

    fn read(&mut self, script: &Script, file: i32) {
        let length = postcard::to_allocvec(script).map_or(0, |bytes| bytes.len() as u64);
        let mut offset = Script::first_page(length);
        for stretch in &script.pages {
            let end = stretch.start + stretch.length;
            let mut start = stretch.start;
            while start < end {
                let length = LONGEST_READ.min(end - start);
                let arguments = [
                    file as usize,
                    start as usize,
                    length as usize,
                    offset as usize,
                    0,
                    0,
                ];
                self.push(libc::SYS_pread64, arguments, Some(length as isize));
                start += length;
                offset += length;
            }
        }
    }
}

fn range(mapping: &Mapped) -> Range<usize> {
    mapping.start as usize..mapping.end as usize
}

/// A range, cut where what is mapped there changes.
fn parts(range: Range<usize>, own: &[Own]) -> Vec<(Range<usize>, Option<&Own>)> {
    let mut parts = Vec::new();
    let mut start = range.start;
    for there in own {
        let (from, to) = (there.range.start.max(start), there.range.end.min(range.end));
        if from >= to {
            continue;
        }
        if start < from {
            parts.push((start..from, None));
        }
        parts.push((from..to, Some(there)));
        start = to;
    }
    if start < range.end {
        parts.push((start..range.end, None));
    }
    parts
}
