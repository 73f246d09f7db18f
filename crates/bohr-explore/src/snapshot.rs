//! A core of a run that was stopped where a watched thread came to its end of the
//! way: written from outside, as the kernel would write it, with one thread.

use crate::error::ExploreError;
use crate::replay::watch_stopped;
use crate::server::Voice;
use crate::subject::Subject;
use bohr_event::control::{HELD_SYMBOL, HeldRegisters, Job, Watch};
use bohr_schedule::Plan;
use object::elf;
use object::{Object, ObjectSymbol};
use rustix::process::Pid;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the kernel's order of registers has those that DWARF numbers.
const KERNEL_ORDER: [usize; 17] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16];
/// Bytes of a mapping that is looked into; more is a reservation.
const LARGEST: u64 = 64 << 30;
const PAGE: u64 = 4096;
/// Pages that are looked up at a time.
const LOOKED_UP: u64 = 1 << 16;

/// A part of the memory of a process, as `/proc` tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    flags: u32,
    offset: u64,
    path: String,
}

/// Runs a plan until the watched thread is at the end of its way, and tells what
/// was in memory then, as the bytes of a core; `None` if it does not come there.
///
/// # Errors
/// If the program cannot be run.
pub fn snapshot(
    subject: &Subject,
    plan: &Plan,
    watch: Watch,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<u8>>, ExploreError> {
    let mut server = subject.serve(Voice::Muted, go_on)?;
    let job = Job {
        watch: Some(Watch {
            hold: true,
            ..watch
        }),
        rewind: false,
        ..subject.job(plan)
    };
    let (template, ended) = (server.process(), AtomicBool::new(false));
    let runtime = &subject.target.runtime;
    let mut taken = None;
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut core = None;
            watch_stopped(template, &ended, |process| core = core_of(process, runtime));
            core
        });
        // A run that is killed in the end has no report.
        let run = server.run(job, go_on, |_| ControlFlow::Continue(()));
        ended.store(true, Ordering::Relaxed);
        taken = watching
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        run
    })
    .or_else(|error| match taken {
        Some(_) => Ok(()),
        None => Err(error),
    })?;
    Ok(taken)
}

fn core_of(process: Pid, runtime: &Path) -> Option<Vec<u8>> {
    let folder = format!("/proc/{}", process.as_raw_nonzero());
    let mappings = fs::read_to_string(format!("{folder}/maps")).ok()?;
    let mappings: Vec<Mapping> = mappings.lines().filter_map(mapping).collect();
    let memory = File::open(format!("{folder}/mem")).ok()?;
    let registers = held_registers(&mappings, &memory, runtime)?;
    let auxiliary = fs::read(format!("{folder}/auxv")).unwrap_or_default();
    let pages = File::open(format!("{folder}/pagemap")).ok()?;
    let parts = mappings.iter().flat_map(|mapping| present(&pages, mapping));
    let parts: Vec<Mapping> = parts.collect();
    let mut notes = Vec::new();
    note(&mut notes, elf::NT_PRSTATUS.0, &status(&registers));
    note(&mut notes, elf::NT_AUXV.0, &auxiliary);
    note(&mut notes, elf::NT_FILE.0, &files(&mappings));
    Some(write(&parts, &memory, notes))
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

/// What the runtime has kept of the registers.
fn held_registers(mappings: &[Mapping], memory: &File, runtime: &Path) -> Option<HeldRegisters> {
    let path = runtime.canonicalize().ok()?;
    let bytes = fs::read(&path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let symbol = file
        .dynamic_symbols()
        .find(|symbol| symbol.name() == Ok(HELD_SYMBOL))?
        .address();
    let own = |mapping: &&Mapping| Path::new(&mapping.path) == path && mapping.offset == 0;
    let base = mappings.iter().find(own)?.start;
    let mut words = [0; 17 * 8];
    memory.read_exact_at(&mut words, base + symbol).ok()?;
    let mut registers = [0; 17];
    for (register, word) in registers.iter_mut().zip(words.as_chunks::<8>().0) {
        *register = u64::from_le_bytes(*word);
    }
    Some(registers)
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
    let mut offset = 64 + 56 * parts as u64;
    let mut core = header(parts as u16);
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
    core.extend(notes);
    for mapping in mappings {
        copy(&mut core, memory, mapping);
    }
    core
}

/// `Elf64_Ehdr` of a core for x86-64.
fn header(parts: u16) -> Vec<u8> {
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [elf::ET_CORE.0, elf::EM_X86_64.0] {
        header.extend(half.to_le_bytes());
    }
    header.extend(1u32.to_le_bytes());
    for word in [0u64, 64, 0] {
        header.extend(word.to_le_bytes());
    }
    header.extend(0u32.to_le_bytes());
    for half in [64u16, 56, parts, 64, 0, 0] {
        header.extend(half.to_le_bytes());
    }
    header
}

/// `struct elf_prstatus` of the thread that was watched.
fn status(registers: &HeldRegisters) -> Vec<u8> {
    let mut status = vec![0; 336];
    status[32..36].copy_from_slice(&1i32.to_le_bytes());
    for (position, value) in KERNEL_ORDER.iter().zip(registers) {
        let at = 112 + 8 * position;
        status[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    status
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
