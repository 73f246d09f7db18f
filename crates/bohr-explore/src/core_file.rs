//! Writes cores of processes that stand still, from outside, as the kernel would.

use object::elf;
use rustix::process::Pid;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Bytes of a mapping that is looked into; more is a reservation.
const LARGEST: u64 = 64 << 30;
const PAGE: u64 = 4096;
/// Pages that are looked up at a time.
const LOOKED_UP: u64 = 1 << 16;

/// Registers in the order of the kernel's `struct user_regs_struct`.
pub(crate) type KernelRegisters = [u64; 27];

/// A thread of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadStatus {
    /// The kernel's number.
    pub number: i32,
    /// The signal that it has got, 0 for none.
    pub signal: i32,
    pub registers: KernelRegisters,
}

/// The signal that ends a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndingSignal {
    pub number: i32,
    /// The kernel's reason for it.
    pub code: i32,
    /// What it is about.
    pub address: u64,
}

/// A process that stands still.
pub(crate) struct Standing {
    mappings: Vec<Mapping>,
    memory: File,
    pages: File,
    auxiliary: Vec<u8>,
}

/// A part of the memory of a process, as `/proc` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub start: u64,
    end: u64,
    flags: u32,
    pub offset: u64,
    pub path: String,
}

impl Standing {
    /// `None` if the kernel does not let us look.
    pub(crate) fn of(process: Pid) -> Option<Standing> {
        let folder = format!("/proc/{}", process.as_raw_nonzero());
        let mappings = fs::read_to_string(format!("{folder}/maps")).ok()?;
        Some(Standing {
            mappings: mappings.lines().filter_map(mapping).collect(),
            memory: File::open(format!("{folder}/mem")).ok()?,
            pages: File::open(format!("{folder}/pagemap")).ok()?,
            auxiliary: fs::read(format!("{folder}/auxv")).unwrap_or_default(),
        })
    }

    /// What is mapped.
    pub(crate) fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Its memory, by address.
    pub(crate) fn memory(&self) -> &File {
        &self.memory
    }

    /// Its core. The first thread is the one that the core is about.
    pub(crate) fn core(&self, threads: &[ThreadStatus], ending: Option<EndingSignal>) -> Vec<u8> {
        let used = |mapping| present(&self.pages, mapping);
        let parts: Vec<Mapping> = self.mappings.iter().flat_map(used).collect();
        let mut notes = Vec::new();
        for thread in threads {
            note(&mut notes, elf::NT_PRSTATUS.0, &status(thread));
        }
        if let Some(ending) = ending {
            note(&mut notes, elf::NT_SIGINFO.0, &signal(&ending));
        }
        note(&mut notes, elf::NT_AUXV.0, &self.auxiliary);
        note(&mut notes, elf::NT_FILE.0, &files(&self.mappings));
        write(&parts, &self.memory, notes)
    }
}

/// One line of `/proc/PID/maps`; `None` for what cannot be read.
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let access = words.next()?;
    let offset = number(words.next()?)?;
    let path = words.nth(2).unwrap_or_default().trim_start();
    let flags = [('r', elf::PF_R), ('w', elf::PF_W), ('x', elf::PF_X)];
    let flags = flags.iter().filter(|(letter, _)| access.contains(*letter));
    Some(Mapping {
        start: number(start)?,
        end: number(end)?,
        flags: flags.map(|(_, flag)| flag.0).sum(),
        offset,
        path: path.to_string(),
    })
    .filter(|mapping| access.starts_with('r') && mapping.end - mapping.start <= LARGEST)
}

/// The parts of a mapping that have been used: the rest of a reservation is empty.
fn present(pages: &File, mapping: &Mapping) -> Vec<Mapping> {
    /// In memory, or swapped out.
    const USED: u64 = 3 << 62;
    let mut parts: Vec<Mapping> = Vec::new();
    let mut at = mapping.start;
    while at < mapping.end {
        let count = LOOKED_UP.min((mapping.end - at) / PAGE);
        let mut entries = vec![0; count as usize * 8];
        if pages.read_exact_at(&mut entries, at / PAGE * 8).is_err() {
            break;
        }
        for entry in entries.as_chunks::<8>().0 {
            if u64::from_le_bytes(*entry) & USED != 0 {
                match parts.last_mut().filter(|part| part.end == at) {
                    Some(part) => part.end += PAGE,
                    None => parts.push(Mapping {
                        start: at,
                        end: at + PAGE,
                        ..mapping.clone()
                    }),
                }
            }
            at += PAGE;
        }
    }
    parts
}

fn write(mappings: &[Mapping], memory: &File, notes: Vec<u8>) -> Vec<u8> {
    let parts = mappings.len() + 1;
    let counted = section_that_counts(parts);
    let mut offset = 64 + 56 * parts as u64 + counted.len() as u64;
    let mut core = header(parts, !counted.is_empty());
    let mut part = |kind: u32, flags: u32, address: u64, size: u64| {
        for word in [kind, flags] {
            core.extend(word.to_le_bytes());
        }
        for word in [offset, address, 0, size, size, 0] {
            core.extend(word.to_le_bytes());
        }
        offset += size;
    };
    part(elf::PT_NOTE.0, 0, 0, notes.len() as u64);
    for mapping in mappings {
        let size = mapping.end - mapping.start;
        part(elf::PT_LOAD.0, mapping.flags, mapping.start, size);
    }
    core.extend(counted);
    core.extend(notes);
    for mapping in mappings {
        copy(&mut core, memory, mapping);
    }
    core
}

/// `Elf64_Ehdr` of a core for x86-64. Where its number has no room for the parts, the
/// section behind their headers has it.
fn header(parts: usize, is_counted_elsewhere: bool) -> Vec<u8> {
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [elf::ET_CORE.0, elf::EM_X86_64.0] {
        header.extend(half.to_le_bytes());
    }
    header.extend(1u32.to_le_bytes());
    let (sections, parts_here) = match is_counted_elsewhere {
        true => (64 + 56 * parts as u64, elf::PN_XNUM),
        false => (0, parts as u16),
    };
    for word in [0u64, 64, sections] {
        header.extend(word.to_le_bytes());
    }
    header.extend(0u32.to_le_bytes());
    for half in [
        64u16,
        56,
        parts_here,
        64,
        u16::from(is_counted_elsewhere),
        0,
    ] {
        header.extend(half.to_le_bytes());
    }
    header
}

/// The `Elf64_Shdr` that tells how many parts there are, if there are so many that the
/// header cannot: a heap of which every other page was used has them.
fn section_that_counts(parts: usize) -> Vec<u8> {
    if parts < usize::from(elf::PN_XNUM) {
        return Vec::new();
    }
    let mut section = vec![0; 64];
    section[44..48].copy_from_slice(&(parts as u32).to_le_bytes());
    section
}

/// `struct elf_prstatus`.
fn status(thread: &ThreadStatus) -> Vec<u8> {
    let mut status = vec![0; 336];
    status[12..14].copy_from_slice(&(thread.signal as u16).to_le_bytes());
    status[32..36].copy_from_slice(&thread.number.to_le_bytes());
    for (position, value) in thread.registers.iter().enumerate() {
        let at = 112 + 8 * position;
        status[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    status
}

/// `siginfo_t`.
fn signal(ending: &EndingSignal) -> Vec<u8> {
    let mut signal = vec![0; 128];
    signal[..4].copy_from_slice(&ending.number.to_le_bytes());
    signal[8..12].copy_from_slice(&ending.code.to_le_bytes());
    signal[16..24].copy_from_slice(&ending.address.to_le_bytes());
    signal
}

fn files(mappings: &[Mapping]) -> Vec<u8> {
    let mapped = || mappings.iter().filter(|one| one.path.starts_with('/'));
    let mut note = Vec::new();
    for word in [mapped().count() as u64, PAGE] {
        note.extend(word.to_le_bytes());
    }
    for one in mapped() {
        for word in [one.start, one.end, one.offset / PAGE] {
            note.extend(word.to_le_bytes());
        }
    }
    for one in mapped() {
        note.extend(one.path.bytes().chain([0]));
    }
    note
}

fn note(notes: &mut Vec<u8>, kind: u32, content: &[u8]) {
    const NAME: &[u8; 8] = b"CORE\0\0\0\0";
    for word in [5, content.len() as u32, kind] {
        notes.extend(word.to_le_bytes());
    }
    notes.extend(NAME);
    notes.extend(content);
    notes.resize(notes.len().next_multiple_of(4), 0);
}

/// Copies a part of the memory; what cannot be read is zero.
fn copy(core: &mut Vec<u8>, memory: &File, mapping: &Mapping) {
    let begins = core.len();
    core.resize(begins + (mapping.end - mapping.start) as usize, 0);
    // The kernel's own pages, which every process has, cannot be read.
    let _ = memory.read_exact_at(&mut core[begins..], mapping.start);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header's number has no room for more than 65,534.
    #[test]
    fn a_core_can_have_any_number_of_parts() {
        use object::Endianness;
        use object::read::elf::{FileHeader, ProgramHeader};
        let nothing = File::open("/dev/null").expect("nothing");
        let page = |number: u64| Mapping {
            start: number * PAGE,
            end: number * PAGE,
            flags: 6,
            offset: 0,
            path: String::new(),
        };
        for count in [3, 70_000] {
            let mappings: Vec<Mapping> = (1..=count).map(page).collect();
            let core = write(&mappings, &nothing, vec![7; 16]);
            let header = elf::FileHeader64::<Endianness>::parse(&*core).expect("a core");
            let endian = header.endian().expect("an order of bytes");
            let parts = header.program_headers(endian, &*core).expect("parts");
            assert_eq!(parts.len() as u64, count + 1);
            assert_eq!(parts[0].data(endian, &*core), Ok(&[7; 16][..]));
            assert_eq!(parts[count as usize].p_vaddr(endian), count * PAGE);
        }
    }

    #[test]
    fn the_kernels_lines_are_read() {
        let line = "00400000-00401000 r-xp 00001000 fe:01 42    /usr/bin/one two";
        let expected = Mapping {
            start: 0x40_0000,
            end: 0x40_1000,
            flags: 5,
            offset: 0x1000,
            path: "/usr/bin/one two".into(),
        };
        assert_eq!(mapping(line), Some(expected));
        // Nothing can be read of what nobody may read.
        assert_eq!(mapping("7f0000000000-7f0000001000 ---p 0 00:00 0"), None);
        assert_eq!(mapping(""), None);
    }
}
