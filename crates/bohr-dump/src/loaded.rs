//! The program and its libraries as they were loaded.

use crate::{Dump, DumpError, Segment, notes::MappedFile};
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::path::{Path, PathBuf};

/// A file that may have been loaded.
#[derive(Clone, Copy, Debug)]
pub struct Available<'a> {
    /// The path at which it was mapped.
    pub path: &'a str,
    /// Where it was found.
    pub found: &'a Path,
    /// What is in it.
    pub bytes: &'a [u8],
    /// Separate debug information that belongs to it.
    pub debug: Option<&'a [u8]>,
}

/// An object in the memory of the process.
#[derive(Debug)]
pub struct Loaded<'a> {
    /// Its path when it was mapped.
    pub path: String,
    /// What has to be added to addresses in its file.
    pub bias: u64,
    /// The addresses that it covers.
    pub range: std::ops::Range<u64>,
    /// What is in its file.
    pub file: object::File<'a>,
    /// The file with the debug information: the same, or a separate one.
    pub debug: object::File<'a>,
}

impl Loaded<'_> {
    /// Whether anything tells its lines and variables.
    #[must_use]
    pub fn is_described(&self) -> bool {
        self.debug.has_debug_symbols()
    }

    /// The name of the variable at this address, by the symbols.
    #[must_use]
    pub fn variable(&self, address: u64) -> Option<String> {
        let wanted = address.wrapping_sub(self.bias);
        let symbols = self.debug.symbols().chain(self.file.dynamic_symbols());
        let mut holding = symbols.filter(|symbol| {
            symbol.kind() == SymbolKind::Data
                && (symbol.address()..symbol.address() + symbol.size()).contains(&wanted)
        });
        let found = holding.next()?;
        let name = readable(found.name().ok()?);
        Some(match wanted - found.address() {
            0 => name,
            offset => format!("{name}+{offset}"),
        })
    }

    /// The name of the function at this address, by the symbols.
    #[must_use]
    pub fn symbol(&self, address: u64) -> Option<String> {
        let wanted = address.wrapping_sub(self.bias);
        let symbols = self.debug.symbols().chain(self.file.dynamic_symbols());
        let holding = symbols.filter(|symbol| {
            symbol.kind() == SymbolKind::Text
                && symbol.address() <= wanted
                && wanted - symbol.address() < symbol.size().max(1)
        });
        let nearest = holding.max_by_key(|symbol| symbol.address())?;
        Some(readable(nearest.name().ok()?))
    }
}

/// A linkage name as its author wrote it.
#[must_use]
pub fn readable(name: &str) -> String {
    addr2line::demangle_auto(name.into(), None).into_owned()
}

/// By what the separate debug file of an object can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugLink {
    /// Its build id.
    pub build_id: Option<String>,
    /// The name that it gives.
    pub name: Option<String>,
}

impl DebugLink {
    /// Of an object that has no debug information of its own.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<DebugLink> {
        let file = object::File::parse(bytes).ok()?;
        if file.has_debug_symbols() {
            return None;
        }
        let build_id = file.build_id().ok().flatten();
        let name = file.gnu_debuglink().ok().flatten();
        Some(DebugLink {
            build_id: build_id.map(in_hexadecimal),
            name: name.map(|(name, _)| String::from_utf8_lossy(name).into_owned()),
        })
    }
}

/// Paths of the objects that were loaded, in the order of their addresses.
#[must_use]
pub fn paths<'d>(dump: &'d Dump<'_>) -> Vec<&'d str> {
    let beginnings = dump.files.iter().filter(|file| is_object(dump, file));
    let mut paths: Vec<&str> = beginnings.map(|file| &*file.path).collect();
    paths.dedup();
    paths
}

/// The path of the program itself: what its headers lie in.
#[must_use]
pub fn program<'d>(dump: &'d Dump<'_>) -> Option<&'d str> {
    /// `AT_PHDR`.
    const HEADERS: u64 = 3;
    let &(_, headers) = dump.auxiliary.iter().find(|pair| pair.0 == HEADERS)?;
    let holds = |file: &&MappedFile| (file.start..file.end).contains(&headers);
    dump.files.iter().find(holds).map(|file| &*file.path)
}

/// Whether this is the beginning of an object, by what is in memory or, where the
/// core does not say, by the way it is mapped.
fn is_object(dump: &Dump<'_>, file: &MappedFile) -> bool {
    let magic = dump.memory.from(file.start, 4);
    file.offset == 0 && (magic == b"\x7fELF" || magic.is_empty())
}

/// Finds the files that were loaded among those at hand, and adds to the memory what
/// the core leaves out because it is in them.
///
/// # Errors
/// If a file is of another build than the one in memory.
pub fn load<'a>(
    dump: &mut Dump<'a>,
    files: &[Available<'a>],
) -> Result<Vec<Loaded<'a>>, DumpError> {
    let mut loaded = Vec::new();
    for mapped in dump.files.clone() {
        let named = files.iter().find(|file| file.path == mapped.path);
        let Some(available) = named.filter(|_| is_object(dump, &mapped)) else {
            continue;
        };
        let Ok(file) = object::File::parse(available.bytes) else {
            continue;
        };
        check_build(dump, &mapped, &file, available.found)?;
        let Some(lowest) = file.segments().map(|segment| segment.address()).min() else {
            continue;
        };
        let separate = available
            .debug
            .and_then(|bytes| object::File::parse(bytes).ok());
        let debug = match separate {
            Some(separate) => separate,
            None => match object::File::parse(available.bytes) {
                Ok(same) => same,
                Err(_) => continue,
            },
        };
        let parts = dump.files.iter().filter(|part| part.path == mapped.path);
        let end = parts.map(|part| part.end).max().unwrap_or(mapped.end);
        loaded.push(Loaded {
            path: mapped.path.clone(),
            bias: mapped.start.wrapping_sub(lowest & !0xfff),
            range: mapped.start..end,
            file,
            debug,
        });
    }
    for part in &dump.files {
        let named = files.iter().find(|file| file.path == part.path);
        if let Some(bytes) = named.and_then(|file| mapped_bytes(part, file.bytes)) {
            dump.memory.add(Segment {
                start: part.start,
                bytes,
            });
        }
    }
    Ok(loaded)
}

fn mapped_bytes<'a>(part: &MappedFile, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let rest = bytes.get(usize::try_from(part.offset).ok()?..)?;
    let length = usize::try_from(part.end.checked_sub(part.start)?).ok()?;
    Some(&rest[..rest.len().min(length)])
}

/// Compares the build id in memory with that of the file; where one is not known
/// there is nothing to compare.
fn check_build(
    dump: &Dump<'_>,
    mapped: &MappedFile,
    file: &object::File<'_>,
    found: &Path,
) -> Result<(), DumpError> {
    let Ok(Some(own)) = file.build_id() else {
        return Ok(());
    };
    let Some(expected) = build_id_in_memory(dump, mapped) else {
        return Ok(());
    };
    match expected == own {
        true => Ok(()),
        false => Err(DumpError::OtherBuild {
            program: PathBuf::from(found),
            found: in_hexadecimal(own),
            expected: in_hexadecimal(&expected),
        }),
    }
}

/// The first page of an object is in every core, and its build id is on it.
fn build_id_in_memory(dump: &Dump<'_>, mapped: &MappedFile) -> Option<Vec<u8>> {
    use object::read::elf::{FileHeader, ProgramHeader};
    let image = dump.memory.from(mapped.start, 4096);
    let header = object::elf::FileHeader64::<object::Endianness>::parse(image).ok()?;
    let endian = header.endian().ok()?;
    for part in header.program_headers(endian, image).ok()? {
        let Ok(Some(mut notes)) = part.notes(endian, image) else {
            continue;
        };
        while let Ok(Some(note)) = notes.next() {
            if note.name() == b"GNU" && note.n_type(endian) == object::elf::NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
    }
    None
}

/// A build id as people write it.
fn in_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
