//! Sizes, alignments and offsets: LLVM's data layout, read from its string.

use crate::ids::TypeNumber;
use crate::types::{FloatKind, Type};
use cranelift_entity::PrimaryMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What the target says about sizes and alignments.
///
/// ```
/// let layout: bohr_program::DataLayout = "e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128".parse()?;
/// assert_eq!(layout.integer_alignment(128), 16);
/// assert_eq!(layout.integer_alignment(24), 4);
/// # Ok::<(), bohr_program::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataLayout {
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
    /// Per address space: bits, and alignment in bytes. Space 0 comes first.
    pointers: Vec<(u32, u32, u64)>,
    /// Bits and alignment in bytes, by bits.
    integers: Vec<(u32, u64)>,
    floats: Vec<(u32, u64)>,
    vectors: Vec<(u32, u64)>,
    /// Least alignment of an aggregate, in bytes.
    aggregate: u64,
}

/// A data layout that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the data layout says {item:?}, which is not kind:number… as LLVM writes it (bohr's fault: report it with the program)"
)]
pub struct LayoutError {
    /// The part that was not understood.
    pub item: String,
}

impl Default for DataLayout {
    fn default() -> DataLayout {
        DataLayout {
            big_endian: false,
            pointers: vec![(0, 64, 8)],
            integers: vec![(1, 1), (8, 1), (16, 2), (32, 4), (64, 4)],
            floats: vec![(16, 2), (32, 4), (64, 8), (128, 16)],
            vectors: vec![(64, 8), (128, 16)],
            aggregate: 1,
        }
    }
}

impl std::str::FromStr for DataLayout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<DataLayout, LayoutError> {
        let mut layout = DataLayout::default();
        for item in text.split('-').filter(|item| !item.is_empty()) {
            layout.read(item).ok_or_else(|| LayoutError {
                item: item.to_string(),
            })?;
        }
        Ok(layout)
    }
}

impl DataLayout {
    fn read(&mut self, item: &str) -> Option<()> {
        let (kind, rest) = item.split_at_checked(1)?;
        let mut numbers = rest.split(':').map(|part| part.parse::<u32>().ok());
        match kind {
            "e" => self.big_endian = false,
            "E" => self.big_endian = true,
            "i" | "f" | "v" => {
                let table = match kind {
                    "i" => &mut self.integers,
                    "f" => &mut self.floats,
                    _ => &mut self.vectors,
                };
                put(
                    table,
                    numbers.next()??,
                    u64::from(numbers.next()?? / 8).max(1),
                );
            }
            "a" => self.aggregate = u64::from(numbers.nth(1)?? / 8).max(1),
            "p" => {
                let space = match rest.split(':').next() {
                    Some("") => 0,
                    _ => numbers.clone().next()??,
                };
                let (bits, alignment) = (numbers.nth(1)??, numbers.next()??);
                self.pointers.retain(|pointer| pointer.0 != space);
                self.pointers
                    .push((space, bits, u64::from(alignment / 8).max(1)));
                self.pointers.sort_unstable();
            }
            // Mangling, native widths, stack alignment, program address space
            // and the like decide nothing here.
            _ => {}
        }
        Some(())
    }

    /// Bits of an address.
    #[must_use]
    pub fn pointer_bits(&self, space: u32) -> u32 {
        self.pointer(space).1
    }

    fn pointer(&self, space: u32) -> (u32, u32, u64) {
        let found = self.pointers.iter().find(|pointer| pointer.0 == space);
        *found.or(self.pointers.first()).unwrap_or(&(0, 64, 8))
    }

    /// Bytes that an integer's address is a multiple of: that of the next
    /// larger width with a rule, or of the largest.
    #[must_use]
    pub fn integer_alignment(&self, bits: u32) -> u64 {
        let larger = self.integers.iter().find(|rule| rule.0 >= bits);
        larger.or(self.integers.last()).map_or(1, |rule| rule.1)
    }

    fn float_alignment(&self, kind: FloatKind) -> u64 {
        let exact = self.floats.iter().find(|rule| rule.0 == kind.bits());
        exact.map_or(u64::from(kind.bits() / 8).next_power_of_two(), |rule| {
            rule.1
        })
    }

    fn vector_alignment(&self, bits: u64) -> u64 {
        let exact = self.vectors.iter().find(|rule| u64::from(rule.0) == bits);
        exact.map_or(power_above(bits.div_ceil(8)), |rule| rule.1)
    }
}

fn put(table: &mut Vec<(u32, u64)>, bits: u32, alignment: u64) {
    table.retain(|rule| rule.0 != bits);
    table.push((bits, alignment));
    table.sort_unstable();
}

fn power_above(bytes: u64) -> u64 {
    bytes.max(1).checked_next_power_of_two().unwrap_or(1 << 63)
}

/// The layout of one type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeLayout {
    /// Bits of a value.
    pub bits: u64,
    /// Bytes from one array element to the next; 0 of types without a size.
    pub size: u64,
    /// Bytes that the address is a multiple of.
    pub alignment: u64,
    /// Offsets of the fields of a structure, in bytes.
    pub offsets: Box<[u64]>,
}

impl TypeLayout {
    /// Bytes that a load or store touches.
    #[must_use]
    pub fn stored(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    fn scalar(bits: u64, alignment: u64) -> TypeLayout {
        TypeLayout {
            bits,
            size: round_up(bits.div_ceil(8), alignment),
            alignment,
            offsets: Box::default(),
        }
    }
}

fn round_up(bytes: u64, alignment: u64) -> u64 {
    bytes
        .checked_next_multiple_of(alignment)
        .unwrap_or(u64::MAX)
}

/// The layouts of all types of a program, by [`Program::layouts`](crate::Program::layouts).
#[derive(Clone, Debug, Default)]
pub struct Layouts {
    all: PrimaryMap<TypeNumber, TypeLayout>,
}

impl std::ops::Index<TypeNumber> for Layouts {
    type Output = TypeLayout;

    fn index(&self, number: TypeNumber) -> &TypeLayout {
        &self.all[number]
    }
}

impl Layouts {
    /// Lays out every type. Parts come before what is made of them, so one
    /// pass is enough.
    #[must_use]
    pub fn new(data: &DataLayout, types: &PrimaryMap<TypeNumber, Type>) -> Layouts {
        let mut layouts = Layouts::default();
        for of in types.values() {
            let layout = layouts.lay_out(data, of);
            layouts.all.push(layout);
        }
        layouts
    }

    fn lay_out(&self, data: &DataLayout, of: &Type) -> TypeLayout {
        match of {
            Type::Integer(bits) => {
                TypeLayout::scalar(u64::from(*bits), data.integer_alignment(*bits))
            }
            Type::Float(kind) => {
                TypeLayout::scalar(u64::from(kind.bits()), data.float_alignment(*kind))
            }
            Type::Pointer(space) => {
                let (_, bits, alignment) = data.pointer(*space);
                TypeLayout::scalar(u64::from(bits), alignment)
            }
            Type::Vector { element, count, .. } => {
                let bits = self[*element].bits.saturating_mul(u64::from(*count));
                TypeLayout::scalar(bits, data.vector_alignment(bits))
            }
            Type::Array { element, count } => {
                let size = self[*element].size.saturating_mul(*count);
                TypeLayout {
                    bits: size.saturating_mul(8),
                    size,
                    alignment: self[*element].alignment,
                    offsets: Box::default(),
                }
            }
            Type::Struct { fields, packed, .. } => self.lay_out_struct(data, fields, *packed),
            _ => TypeLayout {
                alignment: 1,
                ..TypeLayout::default()
            },
        }
    }

    fn lay_out_struct(&self, data: &DataLayout, fields: &[TypeNumber], packed: bool) -> TypeLayout {
        let (mut end, mut alignment) = (0u64, if packed { 1 } else { data.aggregate });
        let offsets = fields.iter().map(|field| {
            let field = &self[*field];
            if !packed {
                end = round_up(end, field.alignment);
                alignment = alignment.max(field.alignment);
            }
            let offset = end;
            end = end.saturating_add(field.size);
            offset
        });
        let offsets = offsets.collect();
        let size = round_up(end, alignment);
        TypeLayout {
            bits: size.saturating_mul(8),
            size,
            alignment,
            offsets,
        }
    }
}
