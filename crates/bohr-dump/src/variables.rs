//! Variables by name, with their types and values, from debug information.

mod comparison;
mod distances;
mod globals;
mod places;
mod scopes;
mod types;
mod values;

pub use comparison::{Comparison, Difference, Side};
pub use places::Call;
pub use values::{Unknown, Value};

use crate::{Frame, Loaded, Memory, expression::Bytes};
use gimli::{Dwarf, DwarfSections, LittleEndian, Unit};
use object::{Object, ObjectSection};
use scopes::{Held, Scope};
use serde::Serialize;
use std::borrow::Cow;
use std::ops::Range;
use values::Reader;

/// A variable of a function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The name of its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it is a parameter.
    pub is_parameter: bool,
    /// What it was.
    pub value: Value,
}

/// The sections of an object's debug information, unpacked where they were packed.
pub struct Sections<'a>(DwarfSections<Cow<'a, [u8]>>);

impl<'a> Sections<'a> {
    /// Of this object; empty ones where it has none.
    #[must_use]
    pub fn of(loaded: &Loaded<'a>) -> Sections<'a> {
        let read = |id: gimli::SectionId| {
            let section = loaded.debug.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok());
            Ok::<_, std::convert::Infallible>(data.unwrap_or_default())
        };
        match DwarfSections::load(read) {
            Ok(sections) => Sections(sections),
            Err(never) => match never {},
        }
    }

    fn dwarf(&self) -> Dwarf<Bytes<'_>> {
        self.0.borrow(|section| Bytes::new(section, LittleEndian))
    }
}

/// The debug information of one object.
pub struct Information<'d> {
    dwarf: Dwarf<Bytes<'d>>,
    units: Vec<Unit<Bytes<'d>>>,
    /// Which unit has the code at these addresses of the file, ascending.
    ranges: Vec<(Range<u64>, usize)>,
    lines: Option<addr2line::Context<Bytes<'d>>>,
    bias: u64,
}

impl<'d> Information<'d> {
    /// Of the object that these sections are from.
    #[must_use]
    pub fn read(sections: &'d Sections<'_>, bias: u64) -> Information<'d> {
        let dwarf = sections.dwarf();
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            units.extend(dwarf.unit(header));
        }
        let mut ranges = Vec::new();
        for (number, unit) in units.iter().enumerate() {
            let Ok(mut own) = dwarf.unit_ranges(unit) else {
                continue;
            };
            while let Ok(Some(range)) = own.next() {
                ranges.push((range.begin..range.end, number));
            }
        }
        ranges.sort_by_key(|(range, _)| range.start);
        Information {
            lines: addr2line::Context::from_dwarf(sections.dwarf()).ok(),
            dwarf,
            units,
            ranges,
            bias,
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The unit with the code at this address of the file.
    fn unit_at(&self, address: u64) -> Option<usize> {
        let after = self
            .ranges
            .partition_point(|(range, _)| range.start <= address);
        let before = self.ranges[..after].iter().rev();
        // Ranges do not overlap, but empty ones may begin at the same address.
        let mut near = before.take(16);
        near.find(|(range, _)| range.contains(&address))
            .map(|&(_, unit)| unit)
    }

    /// The functions that a frame is in, inlined ones first.
    #[must_use]
    pub fn calls(&self, frame: &Frame) -> Vec<Call> {
        let address = frame.instruction().wrapping_sub(self.bias);
        self.lines
            .as_ref()
            .map_or_else(Vec::new, |lines| places::calls(lines, address))
    }

    /// The variables that the function of the first of these frames has at its place,
    /// those of inner blocks first. The others are its callers, who may know what
    /// they have called it with.
    #[must_use]
    pub fn variables(&self, frames: &[Frame], memory: &Memory<'d>) -> Vec<Variable> {
        let reader = Reader {
            information: self,
            memory,
        };
        let variable = |held: Held| Variable {
            value: match &held.bytes {
                Ok(bytes) => reader.value(held.kind, bytes),
                Err(reason) => Value::Unknown(*reason),
            },
            kind: self
                .resolve(held.kind)
                .map_or_else(|| String::from("?"), |kind| kind.name),
            name: held.name,
            is_parameter: held.is_parameter,
        };
        self.held(frames, memory)
            .into_iter()
            .map(variable)
            .collect()
    }

    fn held(&self, frames: &[Frame], memory: &Memory<'_>) -> Vec<Held> {
        let scope = Scope::new(self, frames, memory);
        scope.map_or_else(Vec::new, |scope| scope.variables())
    }
}
