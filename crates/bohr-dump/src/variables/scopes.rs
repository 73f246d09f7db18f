//! Which variables there are at a place, and where each is kept.

use super::{
    Information,
    types::{Entry, TypeId},
    values::Unknown,
};
use crate::{
    Frame, Memory,
    expression::{Bytes, Surroundings},
};
use gimli::{AttributeValue, Expression, Location, Piece, Unit, UnitOffset, ValueType};

/// Blocks inside blocks.
const DEEPEST: usize = 64;
/// Bytes of a variable that are read; arrays may be larger.
const MOST_BYTES: u64 = 1 << 16;

/// A variable of a function, and what is kept of it.
#[derive(Clone, Debug)]
pub struct Held {
    pub name: String,
    pub kind: TypeId,
    pub is_parameter: bool,
    /// Of how many functions inlined into each other its function is the innermost; none
    /// if it is that of the frame.
    pub inlined: usize,
    pub bytes: Result<Vec<u8>, Unknown>,
}

/// A function that is being executed.
pub struct Scope<'v, 'd> {
    information: &'v Information<'d>,
    number: usize,
    unit: &'v Unit<Bytes<'d>>,
    function: Entry<'d>,
    /// In the file.
    place: u64,
    frame: &'v Frame,
    /// Who called it.
    callers: &'v [Frame],
    memory: &'v Memory<'v>,
}

impl<'v, 'd> Scope<'v, 'd> {
    /// Of the first of these frames. `None` if nothing is known of its code.
    pub fn new(
        information: &'v Information<'d>,
        frames: &'v [Frame],
        memory: &'v Memory<'v>,
    ) -> Option<Scope<'v, 'd>> {
        let (frame, callers) = frames.split_first()?;
        let place = frame.instruction().wrapping_sub(information.bias);
        let number = information.unit_at(place)?;
        let unit = &information.units[number];
        Some(Scope {
            information,
            number,
            unit,
            function: function(information, unit, place)?,
            place,
            frame,
            callers,
            memory,
        })
    }

    /// Its variables at this place, those of inner blocks first.
    pub fn variables(&self) -> Vec<Held> {
        let base = self.frame_base();
        let mut found = Vec::new();
        if let Ok(mut tree) = self.unit.entries_tree(Some(self.function.offset()))
            && let Ok(root) = tree.root()
        {
            self.collect(root, base, [0, 0], &mut found);
        }
        found.reverse();
        found
    }

    fn covers(&self, entry: &Entry<'d>) -> bool {
        covers(self.information, self.unit, entry, self.place)
    }

    /// What an expression was when this function was called, by the word of its
    /// caller (DWARF 5, section 3.4).
    fn at_entry(&self, expression: &Expression<Bytes<'d>>) -> Option<u64> {
        let caller = Scope::new(self.information, self.callers, self.memory)?;
        let site = caller.call_site()?;
        let parameters = self.information.below(TypeId {
            unit: caller.number,
            offset: site,
        });
        let is_meant = |entry: &Entry<'d>| match entry.attr_value(gimli::DW_AT_location) {
            Some(AttributeValue::Exprloc(location)) => location.0 == expression.0,
            _ => false,
        };
        let (_, parameter) = parameters.iter().find(|(_, entry)| is_meant(entry))?;
        let value = [gimli::DW_AT_call_value, gimli::DW_AT_GNU_call_site_value]
            .into_iter()
            .find_map(|name| parameter.attr_value(name))?;
        let AttributeValue::Exprloc(value) = value else {
            return None;
        };
        let base = caller.frame_base();
        caller.with_surroundings(base, |surroundings| {
            surroundings.number(value, caller.unit.encoding(), None)
        })
    }

    /// The description of the call that this function is in.
    fn call_site(&self) -> Option<UnitOffset> {
        let behind = self.frame.place().wrapping_sub(self.information.bias);
        let mut waiting = vec![self.function.offset()];
        while let Some(offset) = waiting.pop() {
            let unit = self.number;
            for (offset, entry) in self.information.below(TypeId { unit, offset }) {
                let address = match entry.tag() {
                    gimli::DW_TAG_call_site => entry.attr_value(gimli::DW_AT_call_return_pc),
                    gimli::DW_TAG_GNU_call_site => entry.attr_value(gimli::DW_AT_low_pc),
                    gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                        waiting.push(offset);
                        None
                    }
                    _ => None,
                };
                let dwarf = &self.information.dwarf;
                let address = address.map(|value| dwarf.attr_address(self.unit, value));
                if matches!(address, Some(Ok(Some(address))) if address == behind) {
                    return Some(offset);
                }
            }
        }
        None
    }

    fn frame_base(&self) -> Option<u64> {
        let base = self.function.attr_value(gimli::DW_AT_frame_base)?;
        let AttributeValue::Exprloc(expression) = base else {
            return None;
        };
        self.with_surroundings(None, |surroundings| {
            surroundings.number(expression, self.unit.encoding(), None)
        })
    }

    fn with_surroundings<R>(
        &self,
        frame_base: Option<u64>,
        action: impl FnOnce(&Surroundings<'_, 'd>) -> R,
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
            at_entry: &|expression| self.at_entry(&expression),
            base_type: &base_type,
        })
    }

    /// Outer blocks first; how many blocks this one is in, and how many of them are
    /// inlined functions.
    fn collect(
        &self,
        node: gimli::EntriesTreeNode<'_, '_, Bytes<'d>>,
        base: Option<u64>,
        [depth, inlined]: [usize; 2],
        found: &mut Vec<Held>,
    ) {
        let mut children = node.children();
        let mut inner = Vec::new();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable => {
                    found.extend(self.variable(entry, base, inlined));
                }
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine
                    if depth < DEEPEST && self.covers(entry) =>
                {
                    let is_inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
                    inner.push((entry.offset(), inlined + usize::from(is_inlined)));
                }
                _ => {}
            }
        }
        for (offset, inlined) in inner {
            let Ok(mut tree) = self.unit.entries_tree(Some(offset)) else {
                continue;
            };
            if let Ok(root) = tree.root() {
                self.collect(root, base, [depth + 1, inlined], found);
            }
        }
    }

    fn variable(&self, entry: &Entry<'d>, base: Option<u64>, inlined: usize) -> Option<Held> {
        // What was inlined says its name elsewhere.
        let origin = self
            .information
            .reference(self.number, entry, gimli::DW_AT_abstract_origin)
            .and_then(|id| Some((id.unit, self.information.entry(id)?)));
        let (unit, described) = origin.unwrap_or_else(|| (self.number, entry.clone()));
        let name = self.information.name_of(unit, &described)?;
        let kind = self.information.type_of(unit, &described)?;
        Some(Held {
            name,
            is_parameter: entry.tag() == gimli::DW_TAG_formal_parameter,
            inlined,
            bytes: self.content(entry, kind, base),
            kind,
        })
    }

    fn content(
        &self,
        entry: &Entry<'d>,
        kind: TypeId,
        base: Option<u64>,
    ) -> Result<Vec<u8>, Unknown> {
        let kind = self.information.resolve(kind).ok_or(Unknown::Type)?;
        if let Some(constant) = super::types::number(entry, gimli::DW_AT_const_value) {
            return Ok(constant.to_le_bytes().to_vec());
        }
        let expression = self.expression(entry).ok_or(Unknown::OptimisedOut)?;
        let bytes = self.bytes(expression, kind.size.min(MOST_BYTES), base);
        bytes.ok_or(Unknown::Memory)
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

/// The function whose code is at this place of the file.
fn function<'d>(
    information: &Information<'d>,
    unit: &Unit<Bytes<'d>>,
    place: u64,
) -> Option<Entry<'d>> {
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() == gimli::DW_TAG_subprogram && covers(information, unit, entry, place) {
            return Some(entry.clone());
        }
    }
    None
}

fn covers<'d>(
    information: &Information<'d>,
    unit: &Unit<Bytes<'d>>,
    entry: &Entry<'d>,
    place: u64,
) -> bool {
    let Ok(mut ranges) = information.dwarf.die_ranges(unit, entry) else {
        return false;
    };
    while let Ok(Some(range)) = ranges.next() {
        if (range.begin..range.end).contains(&place) {
            return true;
        }
    }
    false
}
