//! The table of symbols that compilers put behind a module for linkers
//! (`llvm/Object/IRSymtab.h`, version 3): little-endian words; names lie in the
//! module's table of strings.

/// The version of the format that is known here.
const VERSION: u32 = 3;

/// Positions of what is read from the header, in words. A name and a range are
/// two words each: where it begins and how long it is.
const SYMBOLS: usize = 7;
const SOURCE: usize = 13;
const SYMBOL_SIZE: usize = 24;
const FLAGS: usize = 5;

const UNDEFINED: u32 = 1 << 3;
const WEAK: u32 = 1 << 4;
const GLOBAL: u32 = 1 << 10;
/// For LLVM itself; never in an object.
const FORMAT_SPECIFIC: u32 = 1 << 11;

/// How a symbol stands to those of its name in other modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::link) enum Binding {
    /// Defined elsewhere.
    Undefined,
    /// Nobody else sees it.
    Local,
    /// Gives way to others, and may be left out where it is not needed.
    Weak,
    /// The one of its name.
    Strong,
}

/// A symbol of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::link) struct Symbol<'bytes> {
    pub(in crate::link) name: &'bytes [u8],
    pub(in crate::link) binding: Binding,
}

/// The table and the strings that it refers to.
pub(super) struct Table<'bytes> {
    table: &'bytes [u8],
    strings: &'bytes [u8],
}

impl<'bytes> Table<'bytes> {
    /// A table of the version that is known here.
    pub(super) fn read(table: &'bytes [u8], strings: &'bytes [u8]) -> Option<Table<'bytes>> {
        (word(table, 0)? == VERSION).then_some(Table { table, strings })
    }

    /// The name of the source file.
    pub(super) fn source(&self) -> Option<String> {
        let name = self.string(self.table, SOURCE)?;
        Some(String::from_utf8_lossy(name).into_owned()).filter(|name| !name.is_empty())
    }

    /// Every symbol.
    pub(super) fn symbols(&self) -> Option<Vec<Symbol<'bytes>>> {
        let start = word(self.table, SYMBOLS)? as usize;
        let count = word(self.table, SYMBOLS + 1)? as usize;
        let entries = self.table.get(start..)?;
        let entries = entries.get(..count.checked_mul(SYMBOL_SIZE)?)?;
        let mut symbols = Vec::with_capacity(count);
        for entry in entries.chunks_exact(SYMBOL_SIZE) {
            let flags = word(entry, FLAGS)?;
            if flags & FORMAT_SPECIFIC == 0 {
                symbols.push(Symbol {
                    name: self.string(entry, 0)?,
                    binding: binding(flags),
                });
            }
        }
        Some(symbols)
    }

    fn string(&self, words: &[u8], at: usize) -> Option<&'bytes [u8]> {
        let start = word(words, at)? as usize;
        self.strings
            .get(start..)?
            .get(..word(words, at + 1)? as usize)
    }
}

fn binding(flags: u32) -> Binding {
    if flags & UNDEFINED != 0 {
        Binding::Undefined
    } else if flags & GLOBAL == 0 {
        Binding::Local
    } else if flags & WEAK != 0 {
        Binding::Weak
    } else {
        Binding::Strong
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at * 4..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}
