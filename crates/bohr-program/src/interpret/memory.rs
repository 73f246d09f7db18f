//! Bytes at addresses: globals, heap and stack, each one growing range.
//!
//! ```text
//! 0x0000_0000_0010_0000  globals
//! 0x0000_0000_4000_0000  functions (not readable; 16 bytes each)
//! 0x0000_0010_0000_0000  heap
//! 0x0000_7000_0000_0000  stack, growing upwards
//! ```

use super::{Halt, Step, not_modelled};
use crate::ids::FunctionNumber;
use cranelift_entity::EntityRef;

const GLOBALS: u64 = 0x10_0000;
const FUNCTIONS: u64 = 0x4000_0000;
const FUNCTION_SIZE: u64 = 16;
const HEAP: u64 = 0x10_0000_0000;
const STACK: u64 = 0x7000_0000_0000;

/// No range grows beyond this.
const LIMIT: u64 = 1 << 30;

/// Bytes from a base address on.
#[derive(Debug)]
pub(super) struct Region {
    base: u64,
    bytes: Vec<u8>,
}

impl Region {
    fn new(base: u64) -> Region {
        Region {
            base,
            bytes: Vec::new(),
        }
    }

    /// The address after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Adds zeroed bytes at a multiple of the alignment.
    pub(super) fn grow(&mut self, length: u64, alignment: u64) -> Step<u64> {
        let start = self.end().next_multiple_of(alignment.max(1));
        let new = (start - self.base).saturating_add(length);
        if new > LIMIT {
            return not_modelled("more than 1 GiB of memory");
        }
        self.bytes.resize(new as usize, 0);
        Ok(start)
    }

    /// Gives back everything from an address on.
    pub(super) fn shrink(&mut self, end: u64) {
        self.bytes.truncate(end.saturating_sub(self.base) as usize);
    }

    fn offset(&self, address: u64, length: u64) -> Option<usize> {
        let offset = address.checked_sub(self.base)?;
        let end = offset.checked_add(length)?;
        (end <= self.bytes.len() as u64).then_some(offset as usize)
    }
}

/// All memory of a program.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) globals: Region,
    pub(super) heap: Region,
    pub(super) stack: Region,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory {
            globals: Region::new(GLOBALS),
            heap: Region::new(HEAP),
            stack: Region::new(STACK),
        }
    }

    /// Bytes that can be read.
    pub(super) fn read(&self, address: u64, length: u64) -> Step<&[u8]> {
        let region = match address {
            STACK.. => &self.stack,
            HEAP.. => &self.heap,
            _ => &self.globals,
        };
        match region.offset(address, length) {
            Some(offset) => Ok(&region.bytes[offset..][..length as usize]),
            None if length == 0 => Ok(&[]),
            None => Err(Halt::Fault { address, length }),
        }
    }

    /// Bytes that can be written.
    pub(super) fn bytes(&mut self, address: u64, length: u64) -> Step<&mut [u8]> {
        let region = match address {
            STACK.. => &mut self.stack,
            HEAP.. => &mut self.heap,
            _ => &mut self.globals,
        };
        match region.offset(address, length) {
            Some(offset) => Ok(&mut region.bytes[offset..][..length as usize]),
            None if length == 0 => Ok(&mut []),
            None => Err(Halt::Fault { address, length }),
        }
    }

    pub(super) fn write(&mut self, address: u64, bytes: &[u8]) -> Step<()> {
        self.bytes(address, bytes.len() as u64)?
            .copy_from_slice(bytes);
        Ok(())
    }

    /// Copies bytes that may overlap.
    pub(super) fn copy(&mut self, to: u64, from: u64, length: u64) -> Step<()> {
        let bytes = self.read(from, length)?.to_vec();
        self.write(to, &bytes)
    }

    pub(super) fn read_word(&self, address: u64) -> Step<u64> {
        let bytes = self.read(address, 8)?;
        Ok(bytes
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)))
    }

    pub(super) fn read_int(&self, address: u64) -> Step<i32> {
        let bytes = self.read(address, 4)?;
        let word = bytes
            .iter()
            .rev()
            .fold(0u32, |word, byte| word << 8 | u32::from(*byte));
        Ok(word.cast_signed())
    }

    pub(super) fn write_word(&mut self, address: u64, word: u64) -> Step<()> {
        self.write(address, &word.to_le_bytes())
    }

    /// The bytes of a C string, without the zero.
    pub(super) fn string(&self, address: u64) -> Step<Vec<u8>> {
        self.string_within(address, u64::MAX)
    }

    /// The bytes of a C string of at most so many bytes.
    pub(super) fn string_within(&self, address: u64, limit: u64) -> Step<Vec<u8>> {
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < limit {
            match self.read(address + bytes.len() as u64, 1)?[0] {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(bytes)
    }
}

/// The address of a function.
pub(super) fn function_address(function: FunctionNumber) -> u64 {
    FUNCTIONS + function.index() as u64 * FUNCTION_SIZE
}

/// The function at an address, of so many.
pub(super) fn function_at(address: u64, count: usize) -> Option<FunctionNumber> {
    let offset = address.checked_sub(FUNCTIONS)?;
    let index = (offset / FUNCTION_SIZE) as usize;
    (offset % FUNCTION_SIZE == 0 && index < count).then(|| FunctionNumber::new(index))
}
