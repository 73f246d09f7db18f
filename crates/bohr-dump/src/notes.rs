//! The notes of a core: what the kernel tells beside the memory.

use crate::registers::Registers;
use serde::Serialize;

/// A thread at the moment of the dump.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadImage {
    /// The kernel's number.
    pub number: i32,
    /// The signal that it had got, 0 for none.
    pub signal: i32,
    /// The number of the system call that it was in.
    pub system_call: Option<u64>,
    /// What its processor held.
    pub registers: Registers,
}

/// Why the process was dumped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The signal.
    pub signal: i32,
    /// The kernel's reason for it.
    pub code: i32,
    /// The address that could not be used, where the signal is about one.
    pub address: u64,
}

impl Fault {
    /// Whether somebody outside has sent it, as `kill` and a terminal do: no thread of
    /// the process has done anything wrong.
    #[must_use]
    pub fn is_from_outside(&self) -> bool {
        /// `SI_USER`, `SI_QUEUE`, `SI_KERNEL`.
        const CODES: [i32; 3] = [0, -1, 0x80];
        /// Hang-up, interruption, quitting, abort, termination.
        const SENT: [i32; 5] = [1, 2, 3, 6, 15];
        CODES.contains(&self.code) && SENT.contains(&self.signal)
    }
}

/// A part of a file that was mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MappedFile {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// Its path when it was mapped.
    pub path: String,
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

fn number(bytes: &[u8], at: usize) -> Option<i32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(i32::from_le_bytes(bytes.try_into().ok()?))
}

/// `struct elf_prstatus`.
pub fn thread(note: &[u8]) -> Option<ThreadImage> {
    let mut words = [0; 27];
    for (position, place) in words.iter_mut().enumerate() {
        *place = word(note, 112 + 8 * position)?;
    }
    Some(ThreadImage {
        number: number(note, 32)?,
        signal: number(note, 12)? & 0xffff,
        // The kernel keeps -1 there outside of system calls.
        system_call: Some(words[15]).filter(|&call| call <= 0xffff),
        registers: Registers::from_kernel(&words),
    })
}

/// The lower halves of the vector registers in a `struct user_fpregs_struct`.
pub fn vectors(note: &[u8]) -> Option<[u64; 16]> {
    let mut vectors = [0; 16];
    for (position, place) in vectors.iter_mut().enumerate() {
        *place = word(note, 160 + 16 * position)?;
    }
    Some(vectors)
}

/// The command line in a `struct elf_prpsinfo`, as far as it goes.
pub fn command(note: &[u8]) -> Option<String> {
    let text = note.get(56..136)?;
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(80);
    Some(String::from_utf8_lossy(&text[..end]).trim_end().to_string())
}

/// A `siginfo_t`.
pub fn fault(note: &[u8]) -> Option<Fault> {
    Some(Fault {
        signal: number(note, 0)?,
        code: number(note, 8)?,
        address: word(note, 16)?,
    })
}

/// The list of mapped files. `None` if it contradicts itself.
pub fn files(note: &[u8]) -> Option<Vec<MappedFile>> {
    let count = usize::try_from(word(note, 0)?).ok()?;
    let page = word(note, 8)?;
    let names = count.checked_mul(24)?.checked_add(16)?;
    let mut names = note.get(names..)?.split(|&byte| byte == 0);
    let file = |position: usize| {
        let at = 16 + 24 * position;
        Some(MappedFile {
            start: word(note, at)?,
            end: word(note, at + 8)?,
            offset: word(note, at + 16)?.checked_mul(page)?,
            path: String::from_utf8_lossy(names.next()?).into_owned(),
        })
    };
    (0..count).map(file).collect()
}
