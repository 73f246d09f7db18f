//! Names of global variables and of the fields in them, from a program's
//! symbols and debug information.

mod parts;

use gimli::Reader;
use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianArcSlice, RunTimeEndian, Unit,
};
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use parts::{Row, bits, bounds, indices};
use std::sync::Arc;

type Bytes = EndianArcSlice<RunTimeEndian>;
type Entry<'a> = DebuggingInformationEntry<Bytes>;

/// A variable that is there for the whole run, or a piece of one: optimisation takes
/// structures apart.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Global {
    start: u64,
    size: u64,
    /// How much of the variable comes before it.
    before: u64,
    name: String,
    /// Unit and offset of its type, if debug information knows it.
    kind: Option<(usize, gimli::UnitOffset)>,
}

/// The global variables of one object, by address.
pub struct Globals {
    dwarf: Dwarf<Bytes>,
    units: Vec<Unit<Bytes>>,
    variables: Vec<Global>,
    /// The lowest address that the object asks for.
    base: u64,
}

/// Fields inside fields that are looked at; deeper ones are told by offset.
const DEEPEST: usize = 8;

impl Globals {
    /// Of the object in these bytes; `None` if they are none.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Globals> {
        let file = object::File::parse(bytes).ok()?;
        let base = file.segments().map(|segment| segment.address()).min()?;
        let load = |id: gimli::SectionId| -> Result<Bytes, gimli::Error> {
            let data = file
                .section_by_name(id.name())
                .and_then(|section| section.uncompressed_data().ok())
                .unwrap_or_default();
            Ok(Bytes::new(Arc::from(&*data), RunTimeEndian::Little))
        };
        let dwarf = Dwarf::load(load).ok()?;
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let mut globals = Globals {
            dwarf,
            units,
            variables: symbols(&file),
            base,
        };
        globals.add_debug_information();
        globals
            .variables
            .sort_by_key(|variable| (variable.start, variable.kind.is_some()));
        Some(globals)
    }

    /// The name of the byte at `offset` from where the object was loaded.
    #[must_use]
    pub fn name(&self, offset: u64) -> Option<String> {
        let address = self.base + offset;
        let variable = self.holding(address)?;
        let mut name = variable.name.clone();
        let left = match variable.kind {
            Some((unit, kind)) => {
                let offset = variable.before + address - variable.start;
                self.descend(unit, kind, offset, &mut name, 0)
            }
            None => address - variable.start,
        };
        if left > 0 {
            name.push_str(&format!("+{left}"));
        }
        Some(name)
    }

    /// Where the variable begins that has the byte at `offset`.
    #[must_use]
    pub fn start(&self, offset: u64) -> Option<u64> {
        let variable = self.holding(self.base + offset)?;
        Some(variable.start - self.base)
    }

    fn holding(&self, address: u64) -> Option<&Global> {
        let after = self
            .variables
            .partition_point(|variable| variable.start <= address);
        let mut before = self.variables[..after].iter().rev();
        before.find(|variable| address - variable.start < variable.size)
    }

    fn add_debug_information(&mut self) {
        let mut found = Vec::new();
        for (number, unit) in self.units.iter().enumerate() {
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if entry.tag() == gimli::DW_TAG_variable {
                    found.extend(self.pieces(number, unit, entry).unwrap_or_default());
                }
            }
        }
        self.variables.extend(found);
    }

    /// The pieces of a variable that have addresses: most variables are one.
    fn pieces(&self, number: usize, unit: &Unit<Bytes>, entry: &Entry<'_>) -> Option<Vec<Global>> {
        let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else {
            return None;
        };
        // A declaration outside a class says the rest of what is in it.
        let declared = match entry.attr_value(gimli::DW_AT_specification) {
            Some(AttributeValue::UnitRef(offset)) => unit.entry(offset).ok(),
            _ => None,
        };
        let entry = declared.as_ref().unwrap_or(entry);
        let kind = reference(entry)?;
        let name = self.text(unit, entry)?;
        let piece = |start: u64, size: u64, before: u64| Global {
            start,
            size,
            before,
            name: name.clone(),
            kind: Some((number, kind)),
        };
        let mut found = Vec::new();
        let (mut at, mut before) = (None, 0);
        let mut operations = expression.operations(unit.encoding());
        while let Some(operation) = operations.next().ok()? {
            match operation {
                gimli::Operation::Address { address } => at = Some(address),
                gimli::Operation::AddressIndex { index } => {
                    at = Some(self.dwarf.address(unit, index).ok()?);
                }
                // One without an address is nowhere.
                gimli::Operation::Piece { size_in_bits, .. } => {
                    let size = size_in_bits / 8;
                    found.extend(at.take().map(|start| piece(start, size, before)));
                    before += size;
                }
                _ if at.is_none() => return None,
                _ => {}
            }
        }
        if let Some(start) = at {
            found.push(piece(start, self.size(unit, kind, 0)?, 0));
        }
        Some(found)
    }

    fn text(&self, unit: &Unit<Bytes>, entry: &Entry<'_>) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name)?;
        let text = self.dwarf.attr_string(unit, value).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    fn size(&self, unit: &Unit<Bytes>, kind: gimli::UnitOffset, depth: usize) -> Option<u64> {
        let entry = unit.entry(kind).ok()?;
        if let Some(size) = number(&entry, gimli::DW_AT_byte_size) {
            return Some(size);
        }
        if entry.tag() == gimli::DW_TAG_pointer_type {
            return Some(8);
        }
        let inner = self.size(
            unit,
            reference(&entry).filter(|_| depth < DEEPEST)?,
            depth + 1,
        )?;
        match entry.tag() {
            gimli::DW_TAG_array_type => {
                let elements = bounds(unit, kind)?
                    .into_iter()
                    .try_fold(1, u64::checked_mul)?;
                inner.checked_mul(elements)
            }
            _ => Some(inner),
        }
    }

    /// Appends the fields and elements that lead to `offset`; what is left of it.
    fn descend(
        &self,
        unit_number: usize,
        kind: gimli::UnitOffset,
        offset: u64,
        name: &mut String,
        depth: usize,
    ) -> u64 {
        let unit = &self.units[unit_number];
        let Some(entry) = unit.entry(kind).ok().filter(|_| depth < DEEPEST) else {
            return offset;
        };
        match entry.tag() {
            gimli::DW_TAG_array_type => {
                let element = reference(&entry);
                let size = element.and_then(|element| self.size(unit, element, 0));
                let (Some(element), Some(size @ 1..)) = (element, size) else {
                    return offset;
                };
                let bounds = bounds(unit, kind).unwrap_or_default();
                for index in indices(offset / size, &bounds) {
                    name.push_str(&format!("[{index}]"));
                }
                self.descend(unit_number, element, offset % size, name, depth + 1)
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => {
                match self.member(unit, kind, offset) {
                    Some((field, start, inner)) => {
                        if !is_reserved(&field) {
                            name.push('.');
                            name.push_str(&field);
                        }
                        self.descend(unit_number, inner, offset - start, name, depth + 1)
                    }
                    None => offset,
                }
            }
            _ => match reference(&entry) {
                // Of a pointer the variable itself is meant, not what it points to.
                Some(inner) if entry.tag() != gimli::DW_TAG_pointer_type => {
                    self.descend(unit_number, inner, offset, name, depth + 1)
                }
                _ => offset,
            },
        }
    }

    /// The field that covers `offset`: its name, start and type. Bit fields side by side are
    /// told together: who writes one of them writes them all.
    fn member(
        &self,
        unit: &Unit<Bytes>,
        kind: gimli::UnitOffset,
        offset: u64,
    ) -> Option<(String, u64, gimli::UnitOffset)> {
        let mut tree = unit.entries_tree(Some(kind)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut row = Row::default();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_member {
                continue;
            }
            if let Some((bits, inner)) = bits(entry).zip(reference(entry)) {
                if row.holds(offset) && row.bits.end != bits.start {
                    break;
                }
                row.add(bits, self.text(unit, entry).unwrap_or_default(), inner);
                continue;
            }
            let Some((start, inner)) =
                number(entry, gimli::DW_AT_data_member_location).zip(reference(entry))
            else {
                continue;
            };
            let size = self.size(unit, inner, 0).unwrap_or(0);
            if (start..start + size).contains(&offset) {
                return Some((self.text(unit, entry)?, start, inner));
            }
        }
        let of = row.of.filter(|_| row.holds(offset))?;
        Some((row.names.join("|"), offset, of))
    }
}

/// Variables that have a symbol.
fn symbols(file: &object::File<'_>) -> Vec<Global> {
    let data = file.symbols().filter(|symbol| {
        symbol.kind() == SymbolKind::Data && symbol.size() > 0 && symbol.is_definition()
    });
    data.filter_map(|symbol| {
        Some(Global {
            start: symbol.address(),
            size: symbol.size(),
            before: 0,
            name: plain(symbol.name().ok()?),
            kind: None,
        })
    })
    .collect()
}

/// Whether a name is one that C and C++ keep for their libraries (`_M_elems`): whose
/// variable it is says what its author can understand.
fn is_reserved(field: &str) -> bool {
    let mut letters = field.chars();
    letters.next() == Some('_') && letters.next().is_some_and(char::is_uppercase)
}

/// What a symbol is about. Where a global points to one block for ever, optimisation
/// makes a variable of the block, or one of each part, and calls it after the pointer. The
/// numbers of parts are the compiler's own: nobody knows which field one was.
fn plain(symbol: &str) -> String {
    match symbol.split_once(".body") {
        Some((pointer, part)) if part.is_empty() || part.starts_with('.') => {
            format!("*{pointer}")
        }
        _ => symbol.to_string(),
    }
}

/// The type that an entry refers to.
fn reference(entry: &Entry<'_>) -> Option<gimli::UnitOffset> {
    match entry.attr_value(gimli::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

fn number(entry: &Entry<'_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}

#[cfg(test)]
mod tests {
    use super::{is_reserved, plain};

    #[test]
    fn names_of_the_library_of_cpp_are_told_from_others() {
        assert!(is_reserved("_M_elems") && is_reserved("_Value"));
        // `__0` is a part of a tuple in Rust.
        let others = ["__0", "_count", "elements", "_", ""];
        assert!(!others.iter().any(|name| is_reserved(name)));
    }

    #[test]
    fn blocks_are_called_after_their_pointers_without_numbers_of_the_compiler() {
        for (symbol, name) in [
            ("total.body", "*total"),
            ("node.body.0", "*node"),
            ("node.body.1", "*node"),
            ("counter.3", "counter.3"),
            ("anti.bodyguard", "anti.bodyguard"),
        ] {
            assert_eq!(plain(symbol), name);
        }
    }
}
