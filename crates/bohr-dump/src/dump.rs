//! A core file: threads and memory.

use crate::{
    DumpError,
    memory::{Memory, Segment},
    notes::{self, Fault, MappedFile, ThreadImage},
};
use object::{
    Endianness, elf,
    read::elf::{FileHeader, ProgramHeader},
};

/// The signal by which a debugger stops a process whose core it takes.
const STOPPED: i32 = 19;

/// What a core file holds. Parts that are damaged are missing, no more.
#[derive(Debug)]
pub struct Dump<'a> {
    /// The one that failed first.
    pub threads: Vec<ThreadImage>,
    /// Why it was dumped, where the core says so.
    pub fault: Option<Fault>,
    /// The thread that got that signal is not in the core: its notes stand before the
    /// signal's.
    pub failed_is_missing: bool,
    /// The command line, as far as the kernel keeps it.
    pub command: Option<String>,
    /// What was mapped from files.
    pub files: Vec<MappedFile>,
    /// The kernel's words to the program at its start, such as where it lies.
    pub auxiliary: Vec<(u64, u64)>,
    /// What was in memory.
    pub memory: Memory<'a>,
    /// Bytes that the core should have and has not: it was cut off.
    pub missing: u64,
}

impl<'a> Dump<'a> {
    /// Reads an unpacked core.
    ///
    /// # Errors
    /// If it is none, or of another machine, or without threads.
    pub fn read(bytes: &'a [u8]) -> Result<Dump<'a>, DumpError> {
        let header = elf::FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        let machine = header.e_machine(endian);
        match header.e_type(endian) {
            elf::ET_CORE if machine == elf::EM_X86_64 => {}
            elf::ET_CORE => return Err(DumpError::OtherMachine(machine.0)),
            elf::ET_EXEC | elf::ET_DYN => {
                return Err(DumpError::NotCore {
                    found: "a program or library",
                });
            }
            _ => {
                return Err(DumpError::NotCore {
                    found: "an object file",
                });
            }
        }
        let mut dump = Dump {
            threads: Vec::new(),
            fault: None,
            failed_is_missing: false,
            command: None,
            files: Vec::new(),
            auxiliary: Vec::new(),
            memory: Memory::default(),
            missing: 0,
        };
        let mut segments = Vec::new();
        for part in header.program_headers(endian, bytes)? {
            match part.p_type(endian) {
                elf::PT_LOAD => segments.push(dump.segment(part, endian, bytes)),
                elf::PT_NOTE => dump.take_notes(part, endian, bytes),
                _ => {}
            }
        }
        dump.memory = Memory::new(segments);
        match dump.threads.is_empty() {
            true => Err(DumpError::NoThread),
            false => Ok(dump),
        }
    }

    fn segment(
        &mut self,
        part: &elf::ProgramHeader64<Endianness>,
        endian: Endianness,
        bytes: &'a [u8],
    ) -> Segment<'a> {
        let (offset, size) = part.file_range(endian);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = bytes.get(start..).unwrap_or_default();
        let kept = there.len().min(usize::try_from(size).unwrap_or(usize::MAX));
        self.missing = self.missing.saturating_add(size - kept as u64);
        Segment {
            start: part.p_vaddr(endian),
            bytes: &there[..kept],
        }
    }

    fn take_notes(
        &mut self,
        part: &elf::ProgramHeader64<Endianness>,
        endian: Endianness,
        bytes: &'a [u8],
    ) {
        let Ok(Some(mut notes)) = part.notes(endian, bytes) else {
            return;
        };
        while let Ok(Some(note)) = notes.next() {
            let content = note.desc();
            match note.n_type(endian) {
                elf::NT_PRSTATUS => self.threads.extend(notes::thread(content)),
                elf::NT_PRFPREG => {
                    if let Some(thread) = self.threads.last_mut() {
                        thread.registers.set_vectors(notes::vectors(content));
                    }
                }
                elf::NT_PRPSINFO => self.command = notes::command(content),
                elf::NT_SIGINFO if self.fault.is_none() => {
                    self.fault = notes::fault(content).filter(|fault| fault.signal != STOPPED);
                    self.failed_is_missing = self.fault.is_some() && self.threads.is_empty();
                }
                elf::NT_FILE => self.files = notes::files(content).unwrap_or_default(),
                elf::NT_AUXV => {
                    let pairs = content.chunks_exact(16);
                    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
                    self.auxiliary = pairs
                        .map(|pair| (word(&pair[..8]), word(&pair[8..])))
                        .collect();
                }
                _ => {}
            }
        }
    }
}
