//! Which variables there are at a place, and where each is kept.

use super::{
    Information, Value,
    types::{Entry, TypeId},
    values::{Reader, Unknown},
};
use crate::{
    Frame, Memory,
    expression::{Bytes, Surroundings},
};
use gimli::{AttributeValue, Expression, Location, Piece, Unit, UnitOffset, ValueType};
use serde::Serialize;

/// Blocks inside blocks.
const DEEPEST: usize = 64;
/// Bytes of a variable that are read; arrays may be larger.
const MOST_BYTES: u64 = 1 << 16;

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

/// The variables of the function at the frame's place, those of inner blocks first.
pub fn variables(
    information: &Information<'_>,
    frame: &Frame,
    memory: &Memory<'_>,
) -> Option<Vec<Variable>> {
    let place = frame.instruction().wrapping_sub(information.bias);
    let number = information.unit_at(place)?;
    let unit = &information.units[number];
    let scope = Scope {
        information,
        number,
        unit,
        place,
        frame,
        memory,
    };
    let function = scope.function()?;
    let base = scope.frame_base(&function);
    let mut found = Vec::new();
    let mut tree = unit.entries_tree(Some(function.offset())).ok()?;
    scope.collect(tree.root().ok()?, base, 0, &mut found);
    found.reverse();
    Some(found)
}

struct Scope<'v, 'd> {
    information: &'v Information<'d>,
    number: usize,
    unit: &'v Unit<Bytes<'d>>,
    /// In the file.
    place: u64,
    frame: &'v Frame,
    memory: &'v Memory<'v>,
}

impl<'d> Scope<'_, 'd> {
    fn covers(&self, entry: &Entry<'d>) -> bool {
        let Ok(mut ranges) = self.information.dwarf.die_ranges(self.unit, entry) else {
            return false;
        };
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&self.place) {
                return true;
            }
        }
        false
    }

    /// The function whose code is here.
    fn function(&self) -> Option<Entry<'d>> {
        let mut entries = self.unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() == gimli::DW_TAG_subprogram && self.covers(entry) {
                return Some(entry.clone());
            }
        }
        None
    }

    fn frame_base(&self, function: &Entry<'d>) -> Option<u64> {
        let AttributeValue::Exprloc(expression) = function.attr_value(gimli::DW_AT_frame_base)?
        else {
            return None;
        };
        self.with_surroundings(None, |surroundings| {
            surroundings.number(expression, self.unit.encoding(), None)
        })
    }

    fn with_surroundings<R>(
        &self,
        frame_base: Option<u64>,
        action: impl FnOnce(&Surroundings<'_, '_>) -> R,
    ) -> R {
        let base_type = |offset: UnitOffset| {
            let entry = self.unit.entry(offset).ok()?;
            ValueType::from_entry(&entry).ok()?
        };
        action(&Surroundings {
            registers: &self.frame.registers,
            memory: self.memory,
            frame: self.frame.address,
            frame_base,
            bias: self.information.bias,
            thread_local: None,
            addresses: Some((&self.information.dwarf.debug_addr, self.unit.addr_base)),
            base_type: &base_type,
        })
    }

    /// Outer blocks first.
    fn collect(
        &self,
        node: gimli::EntriesTreeNode<'_, '_, Bytes<'d>>,
        base: Option<u64>,
        depth: usize,
        found: &mut Vec<Variable>,
    ) {
        let mut children = node.children();
        let mut inner = Vec::new();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable => {
                    found.extend(self.variable(entry, base));
                }
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine
                    if depth < DEEPEST && self.covers(entry) =>
                {
                    inner.push(entry.offset());
                }
                _ => {}
            }
        }
        for offset in inner {
            let Ok(mut tree) = self.unit.entries_tree(Some(offset)) else {
                continue;
            };
            if let Ok(root) = tree.root() {
                self.collect(root, base, depth + 1, found);
            }
        }
    }

    fn variable(&self, entry: &Entry<'d>, base: Option<u64>) -> Option<Variable> {
        // What was inlined says its name elsewhere.
        let origin = self
            .information
            .reference(self.number, entry, gimli::DW_AT_abstract_origin)
            .and_then(|id| Some((id.unit, self.information.entry(id)?)));
        let (unit, described) = origin.unwrap_or_else(|| (self.number, entry.clone()));
        let name = self.information.name_of(unit, &described)?;
        let id = self.information.type_of(unit, &described)?;
        let kind = self.information.resolve(id);
        Some(Variable {
            name,
            is_parameter: entry.tag() == gimli::DW_TAG_formal_parameter,
            value: self.value(entry, id, base),
            kind: kind.map_or_else(|| String::from("?"), |kind| kind.name),
        })
    }

    fn value(&self, entry: &Entry<'d>, kind: TypeId, base: Option<u64>) -> Value {
        let reader = Reader {
            information: self.information,
            memory: self.memory,
        };
        let Some(size) = self.information.resolve(kind).map(|kind| kind.size) else {
            return Value::Unknown(Unknown::Type);
        };
        if let Some(constant) = super::types::number(entry, gimli::DW_AT_const_value) {
            return reader.value(kind, &constant.to_le_bytes());
        }
        let size = size.min(MOST_BYTES);
        match self
            .expression(entry)
            .map(|found| self.bytes(found, size, base))
        {
            Some(Some(bytes)) => reader.value(kind, &bytes),
            Some(None) => Value::Unknown(Unknown::Memory),
            None => Value::Unknown(Unknown::OptimisedOut),
        }
    }

    /// Where the variable is while the thread is here.
    fn expression(&self, entry: &Entry<'d>) -> Option<Expression<Bytes<'d>>> {
        let value = entry.attr_value(gimli::DW_AT_location)?;
        if let AttributeValue::Exprloc(expression) = value {
            return Some(expression);
        }
        let dwarf = &self.information.dwarf;
        let mut list = dwarf.attr_locations(self.unit, value).ok()??;
        while let Ok(Some(item)) = list.next() {
            if (item.range.begin..item.range.end).contains(&self.place) {
                return Some(item.data);
            }
        }
        None
    }

    fn bytes(
        &self,
        expression: Expression<Bytes<'d>>,
        size: u64,
        base: Option<u64>,
    ) -> Option<Vec<u8>> {
        self.with_surroundings(base, |surroundings| {
            let pieces = surroundings.locate(expression, self.unit.encoding())?;
            let mut bytes = Vec::new();
            for piece in &pieces {
                let length = piece.size_in_bits.map_or(size, |bits| bits.div_ceil(8));
                bytes.extend(self.piece(piece, usize::try_from(length.min(MOST_BYTES)).ok()?)?);
            }
            Some(bytes)
        })
    }

    fn piece(&self, piece: &Piece<Bytes<'_>>, length: usize) -> Option<Vec<u8>> {
        let word = |word: u64| {
            let mut bytes = word.to_le_bytes().to_vec();
            bytes.resize(length, 0);
            bytes
        };
        match &piece.location {
            Location::Address { address } => self.memory.read(*address, length),
            Location::Register { register } => self.frame.registers.get(register.0).map(word),
            Location::Value { value } => value.to_u64(u64::MAX).ok().map(word),
            Location::Bytes { value } => Some(value.slice().to_vec()),
            Location::Empty | Location::ImplicitPointer { .. } => None,
        }
    }
}
