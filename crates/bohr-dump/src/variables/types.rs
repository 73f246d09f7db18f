//! What the bytes of a variable mean.

use super::Information;
use crate::expression::Bytes;
use gimli::{AttributeValue, DebuggingInformationEntry, DwAt, DwTag, Unit, UnitOffset};

pub type Entry<'d> = DebuggingInformationEntry<Bytes<'d>>;

/// Names for types in front of types; more are a circle.
const MOST_NAMES: usize = 32;
/// Members of one type.
const MOST_MEMBERS: usize = 4096;

/// Where a type is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId {
    pub unit: usize,
    pub offset: UnitOffset,
}

/// A type.
#[derive(Clone, Debug)]
pub struct Type {
    /// Where it is described, behind all of its names.
    pub id: TypeId,
    /// By the name that the source uses.
    pub name: String,
    /// In bytes.
    pub size: u64,
    pub shape: Shape,
}

/// What it is made of.
#[derive(Clone, Debug)]
pub enum Shape {
    Signed,
    Unsigned,
    Float,
    Boolean,
    Character,
    Pointer(Option<TypeId>),
    /// A structure, or a union, whose members all begin at 0.
    Structure(Vec<Member>),
    /// One of several cases, with what they have in common; as Rust's enums are.
    Variants {
        discriminant: Option<Member>,
        cases: Vec<Case>,
    },
    Enumeration(Vec<(u64, String)>),
    Array {
        element: TypeId,
        count: Option<u64>,
    },
    /// Functions, incomplete types, and what is not understood.
    Opaque,
}

/// A part of a structure.
#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    pub kind: TypeId,
    /// In bytes from the beginning.
    pub start: u64,
    /// First bit and number of bits of a bit field, from `start`.
    pub bits: Option<(u64, u64)>,
}

/// One of the cases of a variant type.
#[derive(Clone, Debug)]
pub struct Case {
    /// `None` for all other values.
    pub discriminant: Option<u64>,
    pub member: Option<Member>,
}

impl<'d> Information<'d> {
    /// The type that an entry of a unit has.
    pub(super) fn type_of(&self, unit: usize, entry: &Entry<'d>) -> Option<TypeId> {
        self.reference(unit, entry, gimli::DW_AT_type)
    }

    /// The entry that an attribute refers to, in this unit or another.
    pub(super) fn reference(
        &self,
        unit: usize,
        entry: &Entry<'d>,
        attribute: DwAt,
    ) -> Option<TypeId> {
        match entry.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => Some(TypeId { unit, offset }),
            AttributeValue::DebugInfoRef(offset) => {
                let find = |(number, unit): (usize, &Unit<Bytes<'d>>)| {
                    let offset = offset.to_unit_offset(&unit.header)?;
                    Some(TypeId {
                        unit: number,
                        offset,
                    })
                };
                self.units.iter().enumerate().find_map(find)
            }
            _ => None,
        }
    }

    pub(super) fn entry(&self, id: TypeId) -> Option<Entry<'d>> {
        self.units.get(id.unit)?.entry(id.offset).ok()
    }

    pub(super) fn name_of(&self, unit: usize, entry: &Entry<'d>) -> Option<String> {
        let value = entry.attr_value(gimli::DW_AT_name)?;
        let text = self.dwarf.attr_string(self.units.get(unit)?, value).ok()?;
        Some(text.to_string_lossy().into_owned())
    }

    /// The name of a type with what it points to, as in `line**`: pointers have none.
    pub(super) fn spelled(&self, mut id: TypeId) -> String {
        let mut pointers = String::new();
        for _ in 0..MOST_NAMES {
            let Some(kind) = self.resolve(id) else {
                break;
            };
            match kind.shape {
                Shape::Pointer(Some(target)) => id = target,
                _ => return kind.name + &pointers,
            }
            pointers.push('*');
        }
        pointers
    }

    /// What a type is, behind all of its names.
    pub(super) fn resolve(&self, mut id: TypeId) -> Option<Type> {
        let mut name = None;
        for _ in 0..MOST_NAMES {
            let entry = self.entry(id)?;
            name = name.or_else(|| self.name_of(id.unit, &entry));
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => id = self.type_of(id.unit, &entry)?,
                _ => {
                    let (size, shape) = self.shape(id, &entry)?;
                    let name = name.unwrap_or_else(|| String::from(word_for(entry.tag())));
                    return Some(Type {
                        id,
                        name,
                        size,
                        shape,
                    });
                }
            }
        }
        None
    }

    fn shape(&self, id: TypeId, entry: &Entry<'d>) -> Option<(u64, Shape)> {
        let size = number(entry, gimli::DW_AT_byte_size);
        let shape = match entry.tag() {
            gimli::DW_TAG_base_type => base(entry),
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                let target = self.type_of(id.unit, entry);
                return Some((size.unwrap_or(8), Shape::Pointer(target)));
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                self.structure(id)?
            }
            gimli::DW_TAG_enumeration_type => self.enumeration(id)?,
            gimli::DW_TAG_array_type => {
                let element = self.type_of(id.unit, entry)?;
                let count = self.count(id);
                let each = self.resolve(element)?.size;
                let whole = count.and_then(|count| count.checked_mul(each));
                let size = size.or(whole).unwrap_or(0);
                return Some((size, Shape::Array { element, count }));
            }
            _ => Shape::Opaque,
        };
        Some((size.unwrap_or(0), shape))
    }

    /// The entries directly below this one.
    pub(super) fn below(&self, id: TypeId) -> Vec<(UnitOffset, Entry<'d>)> {
        let mut children = Vec::new();
        let Some(unit) = self.units.get(id.unit) else {
            return children;
        };
        let Ok(mut tree) = unit.entries_tree(Some(id.offset)) else {
            return children;
        };
        let Ok(root) = tree.root() else {
            return children;
        };
        let mut nodes = root.children();
        while let Ok(Some(node)) = nodes.next() {
            if children.len() == MOST_MEMBERS {
                break;
            }
            children.push((node.entry().offset(), node.entry().clone()));
        }
        children
    }

    fn structure(&self, id: TypeId) -> Option<Shape> {
        let mut members = Vec::new();
        for (offset, child) in self.below(id) {
            match child.tag() {
                gimli::DW_TAG_member | gimli::DW_TAG_inheritance => {
                    members.extend(self.member(id.unit, &child));
                }
                gimli::DW_TAG_variant_part => {
                    return self.variants(TypeId { offset, ..id }, &child);
                }
                _ => {}
            }
        }
        Some(Shape::Structure(members))
    }

    fn member(&self, unit: usize, entry: &Entry<'d>) -> Option<Member> {
        // A static member lies elsewhere.
        if entry.attr_value(gimli::DW_AT_external).is_some() {
            return None;
        }
        let base = || String::from("base");
        let start = number(entry, gimli::DW_AT_data_member_location).unwrap_or(0);
        let bits = number(entry, gimli::DW_AT_bit_size).map(|count| {
            let first = number(entry, gimli::DW_AT_data_bit_offset).unwrap_or(0);
            (first, count)
        });
        Some(Member {
            name: self.name_of(unit, entry).unwrap_or_else(base),
            kind: self.type_of(unit, entry)?,
            start,
            bits,
        })
    }

    fn variants(&self, id: TypeId, entry: &Entry<'d>) -> Option<Shape> {
        let discriminant = self
            .reference(id.unit, entry, gimli::DW_AT_discr)
            .and_then(|id| self.member(id.unit, &self.entry(id)?));
        let mut cases = Vec::new();
        for (offset, child) in self.below(id) {
            if child.tag() == gimli::DW_TAG_variant {
                let parts = self.below(TypeId { offset, ..id });
                let member = parts
                    .iter()
                    .find(|(_, part)| part.tag() == gimli::DW_TAG_member);
                cases.push(Case {
                    discriminant: number(&child, gimli::DW_AT_discr_value),
                    member: member.and_then(|(_, part)| self.member(id.unit, part)),
                });
            }
        }
        Some(Shape::Variants {
            discriminant,
            cases,
        })
    }

    fn enumeration(&self, id: TypeId) -> Option<Shape> {
        let mut names = Vec::new();
        for (_, child) in self.below(id) {
            if child.tag() == gimli::DW_TAG_enumerator {
                let value = number(&child, gimli::DW_AT_const_value)?;
                names.push((value, self.name_of(id.unit, &child)?));
            }
        }
        Some(Shape::Enumeration(names))
    }

    /// The number of elements of an array, over all of its dimensions.
    fn count(&self, id: TypeId) -> Option<u64> {
        let children = self.below(id);
        let dimensions = children
            .iter()
            .filter(|(_, child)| child.tag() == gimli::DW_TAG_subrange_type);
        let mut count: u64 = 1;
        for (_, dimension) in dimensions {
            let length = number(dimension, gimli::DW_AT_count);
            let upper = || number(dimension, gimli::DW_AT_upper_bound)?.checked_add(1);
            count = count.checked_mul(length.or_else(upper)?)?;
        }
        Some(count)
    }
}

fn base(entry: &Entry<'_>) -> Shape {
    match entry.attr_value(gimli::DW_AT_encoding) {
        Some(AttributeValue::Encoding(encoding)) => match encoding {
            gimli::DW_ATE_signed => Shape::Signed,
            gimli::DW_ATE_unsigned | gimli::DW_ATE_address => Shape::Unsigned,
            gimli::DW_ATE_float => Shape::Float,
            gimli::DW_ATE_boolean => Shape::Boolean,
            gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF => {
                Shape::Character
            }
            _ => Shape::Opaque,
        },
        _ => Shape::Opaque,
    }
}

/// A constant attribute. Negative ones are told in two's complement.
pub fn number(entry: &Entry<'_>, attribute: DwAt) -> Option<u64> {
    let value = entry.attr_value(attribute)?;
    value
        .udata_value()
        .or_else(|| value.sdata_value().map(i64::cast_unsigned))
}

fn word_for(tag: DwTag) -> &'static str {
    match tag {
        gimli::DW_TAG_pointer_type => "pointer",
        gimli::DW_TAG_array_type => "array",
        gimli::DW_TAG_subroutine_type => "function",
        gimli::DW_TAG_union_type => "union",
        gimli::DW_TAG_enumeration_type => "enum",
        _ => "struct",
    }
}
