//! Bitcode as far as a linker has to look into it: where a module ends and the
//! next begins, and which symbols each has.
//!
//! A file of bitcode is a row of blocks, each with its length in front
//! (LLVM's "Bitcode File Format", "Blocks"). `ld -r` puts the sections of its
//! inputs one behind the other, so one section can hold several files.

mod bits;
mod symbols;

use bits::Bits;
pub(super) use symbols::{Binding, Symbol};

const MAGIC: &[u8] = b"BC\xc0\xde";
/// Bitcode behind a header that tells where it begins.
const WRAPPED_MAGIC: &[u8] = &0x0b17_c0de_u32.to_le_bytes();

/// Whether bytes begin as bitcode does.
pub(super) fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(WRAPPED_MAGIC)
}

/// The files of bitcode that a section holds, if it holds nothing else.
pub(super) fn modules(section: &[u8]) -> Option<Vec<Module<'_>>> {
    let mut modules = Vec::new();
    let mut rest = section;
    while !rest.is_empty() {
        let module = Module::first(rest)?;
        rest = &rest[module.bytes.len()..];
        modules.push(module);
    }
    Some(modules)
}

/// One file of bitcode.
pub(super) struct Module<'bytes> {
    /// All of it.
    pub(super) bytes: &'bytes [u8],
    /// The name of its source, if it tells.
    pub(super) source: Option<String>,
    /// Its symbols, if it has a table of them that can be read.
    pub(super) symbols: Option<Vec<Symbol<'bytes>>>,
}

impl<'bytes> Module<'bytes> {
    /// The file that these bytes begin with.
    fn first(bytes: &'bytes [u8]) -> Option<Module<'bytes>> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let (mut strings, mut table) = (None, None);
        while !rest.is_empty() && !rest.starts_with(MAGIC) {
            let (block, behind) = Block::first(rest)?;
            match block.kind {
                Block::STRINGS => strings = block.blob(),
                Block::SYMBOLS => table = block.blob(),
                _ => {}
            }
            rest = behind;
        }
        let table = table
            .zip(strings)
            .and_then(|(table, strings)| symbols::Table::read(table, strings));
        Some(Module {
            bytes: &bytes[..bytes.len() - rest.len()],
            source: table.as_ref().and_then(symbols::Table::source),
            symbols: table.and_then(|table| table.symbols()),
        })
    }
}

/// A block at the top of a file.
struct Block<'bytes> {
    kind: u64,
    abbreviation_width: u32,
    contents: &'bytes [u8],
}

impl<'bytes> Block<'bytes> {
    const STRINGS: u64 = 23;
    const SYMBOLS: u64 = 25;

    /// The block that these bytes begin with, and what is behind it.
    fn first(bytes: &'bytes [u8]) -> Option<(Block<'bytes>, &'bytes [u8])> {
        const OUTER_WIDTH: u32 = 2;
        const ENTER_BLOCK: u64 = 1;
        const WORD: usize = 4;
        let mut bits = Bits::new(bytes);
        if bits.fixed(OUTER_WIDTH)? != ENTER_BLOCK {
            return None;
        }
        let kind = bits.variable(8)?;
        let abbreviation_width = u32::try_from(bits.variable(4)?).ok()?;
        bits.align();
        let length = usize::try_from(bits.fixed(32)?).ok()?.checked_mul(WORD)?;
        let (contents, behind) = bits.rest()?.split_at_checked(length)?;
        let block = Block {
            kind,
            abbreviation_width,
            contents,
        };
        Some((block, behind))
    }

    /// The bytes of a block that is one abbreviation and one record of bytes.
    fn blob(&self) -> Option<&'bytes [u8]> {
        const DEFINE_ABBREVIATION: u64 = 2;
        const FIRST_ABBREVIATION: u64 = 4;
        let mut bits = Bits::new(self.contents);
        if bits.fixed(self.abbreviation_width)? != DEFINE_ABBREVIATION {
            return None;
        }
        // The record's code as a literal, then bytes.
        let [operands, literal] = [bits.variable(5)?, bits.fixed(1)?];
        bits.variable(8)?;
        let [other_literal, encoding] = [bits.fixed(1)?, bits.fixed(3)?];
        const BYTES: u64 = 5;
        let expected = [operands, literal, other_literal, encoding] == [2, 1, 0, BYTES];
        if !expected || bits.fixed(self.abbreviation_width)? != FIRST_ABBREVIATION {
            return None;
        }
        let length = usize::try_from(bits.variable(6)?).ok()?;
        bits.align();
        bits.rest()?.get(..length)
    }
}
