//! How a bundle sits in an ELF file: as the section `.bohr.bundle`, which no
//! segment covers, so that it is never loaded and moves nothing.
//!
//! It is added behind the end of the file, in place:
//!
//! ```text
//! before   ELF header | what the linker wrote ......................... |
//! after    ELF header'| what the linker wrote (old tables are left over) |
//!          bundle | section names with one more | section headers with one more
//! ```
//!
//! The new header is written last, in one piece. Until then the file is what
//! the linker left, with bytes behind its end that nobody looks at.

use crate::error::BundleError;
use object::elf::{
    FileHeader64, SHN_LORESERVE, SHT_NULL, SHT_PROGBITS, SHT_STRTAB, SectionFlags, SectionHeader64,
    SectionType, SymbolSection,
};
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, U32, U64, pod};

/// The name of the section.
pub const SECTION: &str = ".bohr.bundle";

const NAMES_SECTION: &str = ".shstrtab";

type Endian = LittleEndian;
const ENDIAN: Endian = LittleEndian;
const HEADER_SIZE: usize = size_of::<FileHeader64<Endian>>();

/// What to write to turn a program into one that carries a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Where `tail` goes: at or behind the end of the file.
    pub tail_at: u64,
    /// Write this first.
    pub tail: Vec<u8>,
    /// Then this, over the first bytes of the file.
    pub header: [u8; HEADER_SIZE],
}

impl Attachment {
    /// Carries it out in memory.
    #[must_use]
    pub fn apply(&self, program: &[u8]) -> Vec<u8> {
        let mut bytes = program.to_vec();
        bytes.resize(self.tail_at as usize, 0);
        bytes.extend_from_slice(&self.tail);
        bytes[..HEADER_SIZE].copy_from_slice(&self.header);
        bytes
    }
}

/// Says how to add `bundle` to `program`. A bundle that is there already is
/// forgotten.
pub fn attach(program: &[u8], bundle: &[u8]) -> Result<Attachment, BundleError> {
    let mut header = *parse(program)?;
    let (mut sections, mut names) = tables(program)?;
    let name = append_name(&mut names, SECTION);

    let tail_at = (program.len() as u64).next_multiple_of(8);
    let mut tail = bundle.to_vec();
    let names_at = tail_at + tail.len() as u64;

    let own = sections.len();
    sections.push(section(name, SHT_PROGBITS, tail_at, bundle.len()));
    let names_index = match header.e_shstrndx.get(ENDIAN).0 {
        0 => {
            let name = append_name(&mut names, NAMES_SECTION);
            sections.push(section(name, SHT_STRTAB, names_at, 0));
            own + 1
        }
        index => usize::from(index),
    };
    let table = sections
        .get_mut(names_index)
        .ok_or_else(|| BundleError::NotElf("there is no section with names".into()))?;
    table.sh_offset = U64::new(ENDIAN, names_at);
    table.sh_size = U64::new(ENDIAN, names.len() as u64);
    tail.extend_from_slice(&names);
    tail.resize(tail.len().next_multiple_of(8), 0);

    header.e_shoff = U64::new(ENDIAN, tail_at + tail.len() as u64);
    header.e_shnum = object::U16::new(ENDIAN, count(sections.len())?);
    header.e_shstrndx = object::U16::new(ENDIAN, SymbolSection(count(names_index)?));
    header.e_shentsize = object::U16::new(ENDIAN, size_of::<SectionHeader64<Endian>>() as u16);
    tail.extend_from_slice(pod::bytes_of_slice(&sections));
    Ok(Attachment {
        tail_at,
        tail,
        header: *pod::bytes_of(&header)
            .first_chunk()
            .expect("a header has the size of a header"),
    })
}

/// The bytes of the bundle in a program.
pub(crate) fn locate(program: &[u8]) -> Result<&[u8], BundleError> {
    let header = parse(program)?;
    let sections = header.sections(ENDIAN, program).map_err(not_elf)?;
    let (_, section) = sections
        .section_by_name(ENDIAN, SECTION.as_bytes())
        .ok_or(BundleError::Missing)?;
    section
        .data(ENDIAN, program)
        .map_err(|_| BundleError::Truncated {
            what: "the section",
            expected: section.sh_size(ENDIAN),
            found: (program.len() as u64).saturating_sub(section.sh_offset(ENDIAN)),
        })
}

/// The header of a program that bohr can serve.
fn parse(program: &[u8]) -> Result<&FileHeader64<Endian>, BundleError> {
    let header = FileHeader64::<Endian>::parse(program).map_err(not_elf)?;
    if header.e_machine(ENDIAN) != object::elf::EM_X86_64 || header.endian().is_err() {
        let machine = header.e_machine(ENDIAN);
        return Err(BundleError::NotElf(format!("it is for machine {machine}")));
    }
    Ok(header)
}

/// Section headers and section names without those of an earlier bundle.
fn tables(program: &[u8]) -> Result<(Vec<SectionHeader64<Endian>>, Vec<u8>), BundleError> {
    let header = parse(program)?;
    let sections = header.section_headers(ENDIAN, program).map_err(not_elf)?;
    if sections.is_empty() {
        return Ok((vec![section(0, SHT_NULL, 0, 0)], vec![0]));
    }
    let names_index = header.shstrndx(ENDIAN, program).map_err(not_elf)?;
    let names = sections
        .get(names_index as usize)
        .ok_or_else(|| BundleError::NotElf("there is no section with names".into()))?
        .data(ENDIAN, program)
        .map_err(not_elf)?;
    let table = header.sections(ENDIAN, program).map_err(not_elf)?;
    let mut kept = sections.to_vec();
    if let Some((index, _)) = table.section_by_name(ENDIAN, SECTION.as_bytes()) {
        // Taking the header out would renumber the sections that symbols refer to.
        kept[index.0] = section(0, SHT_NULL, 0, 0);
    }
    Ok((kept, names.to_vec()))
}

fn append_name(names: &mut Vec<u8>, name: &str) -> u32 {
    let at = names.len() as u32;
    names.extend_from_slice(name.as_bytes());
    names.push(0);
    at
}

fn section(name: u32, kind: SectionType, offset: u64, size: usize) -> SectionHeader64<Endian> {
    SectionHeader64 {
        sh_name: U32::new(ENDIAN, name),
        sh_type: U32::new(ENDIAN, kind),
        sh_flags: U64::new(ENDIAN, SectionFlags(0)),
        sh_addr: U64::new(ENDIAN, 0),
        sh_offset: U64::new(ENDIAN, offset),
        sh_size: U64::new(ENDIAN, size as u64),
        sh_link: U32::new(ENDIAN, 0),
        sh_info: U32::new(ENDIAN, 0),
        sh_addralign: U64::new(ENDIAN, u64::from(kind != SHT_NULL)),
        sh_entsize: U64::new(ENDIAN, 0),
    }
}

/// Numbers from `SHN_LORESERVE` on need another encoding of the header.
fn count(sections: usize) -> Result<u16, BundleError> {
    u16::try_from(sections)
        .ok()
        .filter(|&count| count < SHN_LORESERVE)
        .ok_or(BundleError::TooManySections {
            sections: sections as u64,
        })
}

fn not_elf(error: object::read::Error) -> BundleError {
    BundleError::NotElf(error.to_string())
}
