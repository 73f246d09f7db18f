//! What a program or shared library says about itself to the dynamic linker.

use object::LittleEndian;
use object::elf::{DT_NEEDED, DT_SONAME, DynamicTag, FileHeader64};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, SectionHeader};

type Elf = FileHeader64<LittleEndian>;
const ENDIAN: LittleEndian = LittleEndian;

/// The name by which programs ask for this library.
pub(crate) fn soname(library: &[u8]) -> Option<String> {
    strings(library, DT_SONAME).pop()
}

/// The libraries that this program asks for.
pub(super) fn needed(program: &[u8]) -> Vec<String> {
    strings(program, DT_NEEDED)
}

/// Names of the compilers and linkers that had a hand in this file.
pub(super) fn tools(program: &[u8]) -> Vec<String> {
    let comment = Elf::parse(program).ok().and_then(|header| {
        let sections = header.sections(ENDIAN, program).ok()?;
        let (_, section) = sections.section_by_name(ENDIAN, b".comment")?;
        section.data(ENDIAN, program).ok()
    });
    let mut tools: Vec<String> = comment
        .unwrap_or_default()
        .split(|&byte| byte == 0)
        .filter(|text| !text.is_empty())
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect();
    tools.sort();
    tools.dedup();
    tools
}

fn strings(file: &[u8], tag: DynamicTag) -> Vec<String> {
    read_strings(file, tag).unwrap_or_default()
}

fn read_strings(file: &[u8], tag: DynamicTag) -> Option<Vec<String>> {
    let header = Elf::parse(file).ok()?;
    let sections = header.sections(ENDIAN, file).ok()?;
    let (entries, names) = sections.dynamic(ENDIAN, file).ok()??;
    let names: StringTable<'_> = sections.strings(ENDIAN, file, names).ok()?;
    let values = entries.iter().filter(|entry| entry.d_tag(ENDIAN) == tag);
    Some(
        values
            .filter_map(|entry| names.get(u32::try_from(entry.d_val(ENDIAN)).ok()?).ok())
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    )
}
