//! A core without its values, for others to look at: section 7 of D. Weeratunge,
//! X. Zhang, S. Jagannathan, "Analyzing Multicore Dumps to Facilitate Concurrency Bug
//! Reproduction", ASPLOS 2010.
//!
//! Memory is taken as cells of four bytes, but for the code and the constants of the
//! program and its libraries, which are in their files for everybody to read. A cell
//! stays if it is part of an address of mapped memory, or a small number: loop counts,
//! lengths, discriminants and the numbers of threads are such. Any other is replaced by
//! a keyed hash of itself, so that what was equal is equal. The key follows the core,
//! since the state that it is compared with has to be hashed by the same key.
//!
//! What this reveals: where things lie, what points where, which values are equal,
//! numbers between -16,777,216 and 16,777,215, texts of up to three letters at the
//! beginning of a cell, and to whoever tries all four billion values of a cell, every
//! cell. Longer texts, keys, floating-point numbers and large numbers cannot be read.

use crate::dump::Dump;
use crate::error::DumpError;
use crate::loaded;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};
use std::ops::Range;

/// What cells are hashed by.
pub type Key = [u8; 32];

/// Stands behind the core, before the key.
const MARK: &[u8; 8] = b"bohr.key";
/// Bytes of a cell.
const CELL: usize = 4;
/// Numbers of a smaller amount stay.
const SMALL: i64 = 1 << 24;
/// Where `struct elf_prstatus` has the registers.
const REGISTERS: Range<usize> = 112..112 + 27 * 8;
/// Where `struct user_fpregs_struct` has the vector registers.
const VECTORS: usize = 160;
/// Where `struct elf_prpsinfo` has the command line.
const COMMAND: usize = 56;

/// The key of a core that was made anonymous.
#[must_use]
pub fn key(core: &[u8]) -> Option<Key> {
    let (rest, key) = core.split_last_chunk::<32>()?;
    rest.ends_with(MARK).then_some(*key)
}

/// The same core without its values.
///
/// # Errors
/// If it is no core, or has no values any more.
pub fn anonymised(core: &[u8], key: &Key) -> Result<Vec<u8>, DumpError> {
    let header = elf::FileHeader64::<Endianness>::parse(core)?;
    let endian = header.endian()?;
    let parts = header.program_headers(endian, core)?;
    if self::key(core).is_some() {
        return Err(DumpError::Anonymous);
    }
    let dump = Dump::read(core)?;
    let hasher = Hasher {
        key,
        mapped: mapped(core, &dump)?,
    };
    let mut anonymous = core.to_vec();
    for part in parts {
        let (offset, size) = part.file_range(endian);
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let start = place(offset).min(core.len());
        let end = place(offset.saturating_add(size)).min(core.len());
        let bytes = &mut anonymous[start..end];
        match part.p_type(endian) {
            elf::PT_LOAD if is_private(part, endian, &dump) => hasher.hide(bytes),
            elf::PT_NOTE => hide_notes(bytes, &hasher),
            _ => {}
        }
    }
    anonymous.extend(MARK);
    anonymous.extend(key);
    Ok(anonymous)
}

/// Whether what lies there is the process's own: what it can write, and what it has
/// written and protected since, or mapped from a file that is no program or library.
fn is_private(
    part: &elf::ProgramHeader64<Endianness>,
    endian: Endianness,
    dump: &Dump<'_>,
) -> bool {
    let flags = part.p_flags(endian).0;
    let address = part.p_vaddr(endian);
    let mut files = dump.files.iter();
    let file = files.find(|file| (file.start..file.end).contains(&address));
    let is_object = || file.is_some_and(|file| loaded::paths(dump).contains(&&*file.path));
    flags & elf::PF_W.0 != 0 || (flags & elf::PF_X.0 == 0 && !is_object())
}

/// All that was mapped, by address: debuggers leave out what is in files.
fn mapped(core: &[u8], dump: &Dump<'_>) -> Result<Vec<Range<u64>>, DumpError> {
    let header = elf::FileHeader64::<Endianness>::parse(core)?;
    let endian = header.endian()?;
    let parts = header.program_headers(endian, core)?.iter();
    let loaded = parts.filter(|part| part.p_type(endian) == elf::PT_LOAD);
    let loaded = loaded.map(|part| {
        let start = part.p_vaddr(endian);
        start..start.saturating_add(part.p_memsz(endian))
    });
    let files = dump.files.iter();
    let files = files.map(|file| file.start..file.end);
    let mut all: Vec<Range<u64>> = loaded.chain(files).collect();
    all.sort_by_key(|range| range.start);
    // One inside of another would hide what follows it.
    all.dedup_by(|next, before| {
        let meets = next.start <= before.end;
        if meets {
            before.end = before.end.max(next.end);
        }
        meets
    });
    Ok(all)
}

struct Hasher<'k> {
    key: &'k Key,
    /// By address, none touching another.
    mapped: Vec<Range<u64>>,
}

impl Hasher<'_> {
    /// Hashes what is neither an address nor small.
    fn hide(&self, bytes: &mut [u8]) {
        for word in bytes.chunks_mut(2 * CELL) {
            let address = word.first_chunk().copied().map(u64::from_le_bytes);
            if address.is_some_and(|address| self.is_mapped(address)) {
                continue;
            }
            word.chunks_mut(CELL).for_each(|cell| self.hide_cell(cell));
        }
    }

    fn is_mapped(&self, address: u64) -> bool {
        let after = self.mapped.partition_point(|range| range.start <= address);
        let last = after.checked_sub(1).map(|last| &self.mapped[last]);
        last.is_some_and(|range| address < range.end)
    }

    fn hide_cell(&self, cell: &mut [u8]) {
        let value = cell.first_chunk().copied().map(i32::from_le_bytes);
        if value.is_some_and(|value| (-SMALL..SMALL).contains(&i64::from(value))) {
            return;
        }
        let hash = blake3::keyed_hash(self.key, cell);
        let length = cell.len();
        cell.copy_from_slice(&hash.as_bytes()[..length]);
    }
}

/// Registers, and what follows the program's name in its command line.
fn hide_notes(mut bytes: &mut [u8], hasher: &Hasher<'_>) {
    // Name size, content size, kind; both padded to four bytes.
    while let Some((header, rest)) = bytes.split_first_chunk_mut::<12>() {
        let [name, size, kind] = [0, 4, 8].map(|at| {
            let word = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            u32::from_le_bytes(word)
        });
        let padded = |size: u32| (size as usize).next_multiple_of(4);
        let Some((_, rest)) = rest.split_at_mut_checked(padded(name)) else {
            return;
        };
        let end = padded(size).min(rest.len());
        let (content, rest) = rest.split_at_mut(end);
        match elf::NoteType(kind) {
            elf::NT_PRSTATUS => {
                if let Some(registers) = content.get_mut(REGISTERS) {
                    hasher.hide(registers);
                }
            }
            elf::NT_PRFPREG | elf::NT_X86_XSTATE => {
                if let Some(vectors) = content.get_mut(VECTORS..) {
                    hasher.hide(vectors);
                }
            }
            elf::NT_PRPSINFO => {
                let words = content.get_mut(COMMAND..).unwrap_or_default().iter_mut();
                words
                    .skip_while(|byte| **byte != b' ')
                    .for_each(|byte| *byte = 0);
            }
            _ => {}
        }
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is equal stays equal, small numbers and addresses stay, and the rest
        /// does not.
        #[test]
        fn cells(words in proptest::collection::vec(any::<u64>(), 1..20), small in 0u64..1 << 24) {
            let page = 0x7f00_0000_0000..0x7f00_0000_1000;
            let mapped = Vec::from([page]);
            let hasher = Hasher { key: &[7; 32], mapped };
            let all: Vec<u64> = words
                .iter()
                .copied()
                .chain([small, 0x7f00_0000_0123])
                .chain(words.iter().copied())
                .collect();
            let mut bytes: Vec<u8> = all.iter().flat_map(|word| word.to_le_bytes()).collect();
            hasher.hide(&mut bytes);
            let hidden: Vec<u64> = bytes
                .as_chunks::<8>()
                .0
                .iter()
                .map(|word| u64::from_le_bytes(*word))
                .collect();
            let count = words.len();
            prop_assert_eq!(&hidden[..count], &hidden[count + 2..]);
            prop_assert_eq!(hidden[count], small);
            prop_assert_eq!(hidden[count + 1], 0x7f00_0000_0123);
            for (word, hidden) in words.iter().zip(&hidden) {
                let is_small = |cell: u32| (-SMALL..SMALL).contains(&i64::from(cell as i32));
                let low = (*word as u32, *hidden as u32);
                prop_assert_eq!(is_small(low.0), low.0 == low.1);
            }
        }
    }
}
