//! Bytes as their type means them.

use super::{
    Information,
    types::{Member, Shape, Type, TypeId},
};
use crate::Memory;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};

/// Structures inside structures.
const DEEPEST: usize = 8;
/// Elements of an array that are told.
const MOST_ELEMENTS: u64 = 64;
/// Bytes of a text that are told.
const LONGEST_TEXT: usize = 200;

/// What a variable was.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A number below zero or not.
    Signed(i64),
    /// A number.
    Unsigned(u64),
    /// A number with a fraction.
    Float(f64),
    /// Yes or no.
    Boolean(bool),
    /// A letter.
    Character(char),
    /// The address of something.
    Pointer(u64),
    /// The address of a text.
    Text(u64, String),
    /// One of a list of names.
    Name(String),
    /// Parts with names.
    Structure(Vec<(String, Value)>),
    /// Elements, and how many there are, told or not.
    Sequence(Vec<Value>, u64),
    /// Nobody knows.
    Unknown(Unknown),
}

/// Why a value is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// The compiler has kept it nowhere at this place.
    OptimisedOut,
    /// It was in a register that the function's callees have used since, or in
    /// memory that the core does not have.
    Memory,
    /// Its type is not described, or not understood.
    Type,
    /// It lies too deep inside of another.
    Depth,
}

impl Display for Unknown {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Unknown::OptimisedOut => "optimised out",
            Unknown::Memory => "not kept",
            Unknown::Type => "of a type that is not described",
            Unknown::Depth => "…",
        })
    }
}

impl Display for Value {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Signed(number) => write!(formatter, "{number}"),
            Value::Unsigned(number) => write!(formatter, "{number}"),
            Value::Float(number) => write!(formatter, "{number}"),
            Value::Boolean(truth) => write!(formatter, "{truth}"),
            Value::Character(letter) => write!(formatter, "{letter:?}"),
            Value::Pointer(0) => formatter.write_str("null"),
            Value::Pointer(address) => write!(formatter, "{address:#x}"),
            Value::Text(_, text) => write!(formatter, "{text:?}"),
            Value::Name(name) => formatter.write_str(name),
            Value::Structure(parts) => {
                formatter.write_str("{")?;
                for (number, (name, value)) in parts.iter().enumerate() {
                    let comma = if number > 0 { ", " } else { "" };
                    write!(formatter, "{comma}{name} = {value}")?;
                }
                formatter.write_str("}")
            }
            Value::Sequence(elements, total) => {
                formatter.write_str("[")?;
                for (number, value) in elements.iter().enumerate() {
                    let comma = if number > 0 { ", " } else { "" };
                    write!(formatter, "{comma}{value}")?;
                }
                if elements.len() as u64 != *total {
                    write!(formatter, ", … {total} in all")?;
                }
                formatter.write_str("]")
            }
            Value::Unknown(reason) => write!(formatter, "<{reason}>"),
        }
    }
}

/// Reads values.
pub struct Reader<'v, 'd> {
    pub information: &'v Information<'d>,
    pub memory: &'v Memory<'v>,
}

impl Reader<'_, '_> {
    /// The value of this type in these bytes.
    pub fn value(&self, kind: TypeId, bytes: &[u8]) -> Value {
        self.inner(kind, bytes, 0)
    }

    fn inner(&self, id: TypeId, bytes: &[u8], depth: usize) -> Value {
        if depth == DEEPEST {
            return Value::Unknown(Unknown::Depth);
        }
        let Some(kind) = self.information.resolve(id) else {
            return Value::Unknown(Unknown::Type);
        };
        match &kind.shape {
            Shape::Structure(members) => self.structure(members, bytes, depth),
            Shape::Variants {
                discriminant,
                cases,
            } => {
                let case = discriminant
                    .as_ref()
                    .and_then(|member| self.number(member, bytes));
                let fits = |wanted: Option<u64>| wanted.is_none() || wanted == case;
                // The one for all other values comes last.
                let mut cases: Vec<_> = cases.iter().collect();
                cases.sort_by_key(|case| case.discriminant.is_none());
                let member = cases
                    .into_iter()
                    .find(|case| fits(case.discriminant))
                    .and_then(|case| case.member.as_ref());
                match member {
                    Some(member) => self.structure(std::slice::from_ref(member), bytes, depth),
                    None => Value::Unknown(Unknown::Type),
                }
            }
            Shape::Array { element, count } => self.sequence(*element, *count, bytes, depth),
            Shape::Pointer(target) => match number(bytes, 8) {
                Some(address) => self.pointer(address, *target),
                None => Value::Unknown(Unknown::Memory),
            },
            _ => simple(&kind, bytes),
        }
    }

    fn structure(&self, members: &[Member], bytes: &[u8], depth: usize) -> Value {
        let part = |member: &Member| {
            let value = match member.bits {
                Some(_) => self
                    .number(member, bytes)
                    .map_or(Value::Unknown(Unknown::Memory), Value::Unsigned),
                None => {
                    let start = usize::try_from(member.start).unwrap_or(usize::MAX);
                    let bytes = bytes.get(start..).unwrap_or_default();
                    self.inner(member.kind, bytes, depth + 1)
                }
            };
            (member.name.clone(), value)
        };
        Value::Structure(members.iter().map(part).collect())
    }

    /// A member as a number without a sign.
    pub fn number(&self, member: &Member, bytes: &[u8]) -> Option<u64> {
        let (first, count) = match member.bits {
            Some(bits) => bits,
            None => (
                0,
                self.information.resolve(member.kind)?.size.checked_mul(8)?,
            ),
        };
        let start = member.start.checked_add(first / 8)?;
        let bytes = bytes.get(usize::try_from(start).ok()?..)?;
        let mut word = [0; 8];
        let length = bytes.len().min(8);
        word[..length].copy_from_slice(&bytes[..length]);
        let shifted = u64::from_le_bytes(word) >> (first % 8);
        Some(match count {
            0..64 => shifted & ((1 << count) - 1),
            _ => shifted,
        })
    }

    fn sequence(&self, element: TypeId, count: Option<u64>, bytes: &[u8], depth: usize) -> Value {
        let size = self
            .information
            .resolve(element)
            .map_or(0, |kind| kind.size);
        let Some(size) = usize::try_from(size).ok().filter(|&size| size > 0) else {
            return Value::Unknown(Unknown::Type);
        };
        let count = count.unwrap_or((bytes.len() / size) as u64);
        let told = bytes
            .chunks_exact(size)
            .take(count.min(MOST_ELEMENTS) as usize);
        let elements = told.map(|bytes| self.inner(element, bytes, depth + 1));
        Value::Sequence(elements.collect(), count)
    }

    fn pointer(&self, address: u64, target: Option<TypeId>) -> Value {
        let target = target.and_then(|target| self.information.resolve(target));
        let is_letter = |kind: &Type| matches!(kind.shape, Shape::Character) && kind.size == 1;
        let text = target.filter(is_letter).and_then(|_| {
            let bytes = self.memory.from(address, LONGEST_TEXT);
            let end = bytes.iter().position(|&byte| byte == 0)?;
            String::from_utf8(bytes[..end].to_vec()).ok()
        });
        match text {
            Some(text) => Value::Text(address, text),
            None => Value::Pointer(address),
        }
    }
}

fn number(bytes: &[u8], size: u64) -> Option<u64> {
    let size = usize::try_from(size).ok()?;
    let mut word = [0; 8];
    word.get_mut(..size)?.copy_from_slice(bytes.get(..size)?);
    Some(u64::from_le_bytes(word))
}

/// A value without parts.
fn simple(kind: &Type, bytes: &[u8]) -> Value {
    let unsigned = number(bytes, kind.size).filter(|_| kind.size > 0);
    let Some(unsigned) = unsigned else {
        let reason = match kind.size {
            1..=8 => Unknown::Memory,
            _ => Unknown::Type,
        };
        return Value::Unknown(reason);
    };
    let shift = 64 - 8 * kind.size as u32;
    let signed = (unsigned << shift).cast_signed() >> shift;
    match &kind.shape {
        Shape::Signed => Value::Signed(signed),
        Shape::Float if kind.size == 4 => Value::Float(f32::from_bits(unsigned as u32).into()),
        Shape::Float => Value::Float(f64::from_bits(unsigned)),
        Shape::Boolean => Value::Boolean(unsigned != 0),
        Shape::Character => match u32::try_from(unsigned).ok().and_then(char::from_u32) {
            Some(letter) => Value::Character(letter),
            None => Value::Unsigned(unsigned),
        },
        Shape::Enumeration(names) => {
            let named = names
                .iter()
                .find(|&&(value, _)| value == unsigned || value == signed.cast_unsigned());
            named.map_or(Value::Signed(signed), |(_, name)| Value::Name(name.clone()))
        }
        _ => Value::Unsigned(unsigned),
    }
}
