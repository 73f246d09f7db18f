//! Variables that are there from the beginning to the end.

use super::{
    Information,
    types::{Entry, TypeId},
};
use gimli::{AttributeValue, Operation};
use std::collections::BTreeMap;

/// A global or static variable.
#[derive(Clone, Debug)]
pub struct Global {
    pub name: String,
    pub kind: TypeId,
    /// In the file.
    pub address: u64,
}

impl<'d> Information<'d> {
    /// All of them, by address: one of each that lies at the same place.
    pub(super) fn globals(&self) -> Vec<Global> {
        let mut globals = BTreeMap::new();
        for (number, unit) in self.units.iter().enumerate() {
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if entry.tag() == gimli::DW_TAG_variable
                    && let Some(global) = self.global(number, entry)
                {
                    globals.entry(global.address).or_insert(global);
                }
            }
        }
        globals.into_values().collect()
    }

    fn global(&self, number: usize, entry: &Entry<'d>) -> Option<Global> {
        let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else {
            return None;
        };
        let unit = self.units.get(number)?;
        let mut operations = expression.operations(unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => self.dwarf.address(unit, index).ok()?,
            _ => return None,
        };
        // More would make it something else than the variable's place.
        if !matches!(operations.next(), Ok(None)) {
            return None;
        }
        // A definition outside of its class leaves the rest to the declaration.
        let declared = self
            .reference(number, entry, gimli::DW_AT_specification)
            .and_then(|id| Some((id.unit, self.entry(id)?)));
        let (unit, described) = declared.unwrap_or_else(|| (number, entry.clone()));
        Some(Global {
            name: self.name_of(unit, &described)?,
            kind: self.type_of(unit, &described)?,
            address,
        })
    }
}
