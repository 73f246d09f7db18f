//! Parts of variables that have no address of their own in debug information: bit fields,
//! and elements of arrays with several dimensions.

use super::{Bytes, Entry, number};
use gimli::Unit;
use std::ops::Range;

/// Bit fields side by side.
#[derive(Default)]
pub struct Row {
    pub bits: Range<u64>,
    pub names: Vec<String>,
    /// The type of the last one.
    pub of: Option<gimli::UnitOffset>,
}

impl Row {
    /// Whether one of them has a bit of this byte.
    pub fn holds(&self, offset: u64) -> bool {
        let byte = offset.saturating_mul(8);
        self.bits.start < byte.saturating_add(8) && byte < self.bits.end
    }

    /// Adds the next one, or begins anew with it.
    pub fn add(&mut self, bits: Range<u64>, name: String, of: gimli::UnitOffset) {
        if self.bits.end != bits.start {
            *self = Row {
                bits: bits.start..bits.start,
                ..Row::default()
            };
        }
        self.bits.end = bits.end;
        self.names.push(name);
        self.of = Some(of);
    }
}

/// The bits of its structure that a bit field has.
pub fn bits(entry: &Entry<'_>) -> Option<Range<u64>> {
    let size = number(entry, gimli::DW_AT_bit_size)?;
    let first = number(entry, gimli::DW_AT_data_bit_offset)?;
    Some(first..first.checked_add(size)?)
}

/// How many elements an array has, of each of its dimensions.
pub fn bounds(unit: &Unit<Bytes>, array: gimli::UnitOffset) -> Option<Vec<u64>> {
    let mut tree = unit.entries_tree(Some(array)).ok()?;
    let mut children = tree.root().ok()?.children();
    let mut found = Vec::new();
    while let Ok(Some(child)) = children.next() {
        let entry = child.entry();
        let count = number(entry, gimli::DW_AT_count);
        let bound = number(entry, gimli::DW_AT_upper_bound).map(|bound| bound.wrapping_add(1));
        found.push(count.or(bound)?);
    }
    Some(found)
}

/// The indices of an element, of which so many come before.
pub fn indices(before: u64, bounds: &[u64]) -> Vec<u64> {
    let mut left = before;
    let mut found = Vec::new();
    for bound in bounds.iter().skip(1).rev() {
        found.push(left % bound.max(&1));
        left /= bound.max(&1);
    }
    found.push(left);
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::{Row, indices};

    #[test]
    fn bit_fields_side_by_side_are_one() {
        let of = gimli::UnitOffset(1);
        let mut row = Row::default();
        row.add(32..35, "ready".to_string(), of);
        row.add(35..48, "done".to_string(), of);
        assert_eq!(row.names, ["ready", "done"]);
        assert_eq!(
            [3, 4, 5, 6].map(|byte| row.holds(byte)),
            [false, true, true, false]
        );
        row.add(64..65, "apart".to_string(), of);
        assert_eq!(row.names, ["apart"]);
        assert_eq!([5, 7, 8].map(|byte| row.holds(byte)), [false, false, true]);
    }

    #[test]
    fn elements_are_told_by_all_their_indices() {
        assert_eq!(indices(6, &[3, 4]), [1, 2]);
        assert_eq!(indices(23, &[2, 3, 4]), [1, 2, 3]);
        assert_eq!(indices(6, &[7]), [6]);
        assert_eq!(indices(6, &[]), [6]);
        assert_eq!(indices(6, &[0, 0]), [6, 0]);
    }
}
