//! How far into an array pointers point: containers keep their size as the distance of
//! two pointers, and rings where they read and write. Addresses differ from process to
//! process, distances do not, where pointers lead into one array.
//!
//! That they do is not written anywhere. Three members of one type are taken to do so if
//! the same ones are the lowest and the highest in both states, and all are whole
//! elements apart; the neighbours of a node in a tree hardly ever are.

use super::types::{Member, TypeId};

/// Members of one type below which nothing tells an array from single objects.
const FEWEST: usize = 3;
/// Bytes of an array.
const LONGEST: u64 = 1 << 32;

/// Two pointers that are not as far apart in one state as in the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Apart {
    /// The higher one and the lowest, by position.
    pub pointer: usize,
    pub lowest: usize,
    /// How many elements are between them in each state.
    pub elements: [u64; 2],
}

/// Members of a structure that may lead into one array, by their type.
pub(super) fn groups(members: &[Member]) -> Vec<(TypeId, Vec<&Member>)> {
    let mut groups: Vec<(TypeId, Vec<&Member>)> = Vec::new();
    for member in members.iter().filter(|member| member.bits.is_none()) {
        match groups.iter_mut().find(|group| group.0 == member.kind) {
            Some(group) => group.1.push(member),
            None => groups.push((member.kind, vec![member])),
        }
    }
    groups.retain(|group| group.1.len() >= FEWEST);
    groups
}

/// What is not as far from the beginning of the array as in the other state, of pointers
/// to elements of this size. Functions have none: tables of them are no arrays.
pub(super) fn apart(pointers: &[[u64; 2]], size: u64) -> Vec<Apart> {
    if size == 0 {
        return Vec::new();
    }
    let of = |side: usize| pointers.iter().map(move |both| both[side]);
    let ends = [0, 1].map(|side| (of(side).min().unwrap_or(0), of(side).max().unwrap_or(0)));
    let is_lowest = |both: &[u64; 2]| [0, 1].iter().all(|&side| both[side] == ends[side].0);
    let is_highest = |both: &[u64; 2]| [0, 1].iter().all(|&side| both[side] == ends[side].1);
    let Some(lowest) = pointers.iter().position(is_lowest) else {
        return Vec::new();
    };
    let distance = |both: &[u64; 2]| [0, 1].map(|side| both[side] - ends[side].0);
    let whole = |both: &[u64; 2]| distance(both).iter().all(|bytes| bytes % size == 0);
    let near = |end: &(u64, u64)| end.0 > 0 && end.1 - end.0 < LONGEST;
    let is_array = pointers.len() >= FEWEST
        && pointers.iter().any(is_highest)
        && pointers.iter().all(whole)
        && ends.iter().all(near);
    if !is_array {
        return Vec::new();
    }
    let elements = pointers
        .iter()
        .map(|both| distance(both).map(|bytes| bytes / size));
    let apart = elements.enumerate().map(|(pointer, elements)| Apart {
        pointer,
        lowest,
        elements,
    });
    apart
        .filter(|apart| apart.elements[0] != apart.elements[1])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beginning, end and end of the room of a vector of elements of 16 bytes.
    #[test]
    fn the_size_of_a_vector() {
        let vector = |size: u64, room: u64, at: u64| [at, at + 16 * size, at + 16 * room];
        let both = |one: [u64; 3], other: [u64; 3]| -> Vec<[u64; 2]> {
            one.into_iter()
                .zip(other)
                .map(|(one, other)| [one, other])
                .collect()
        };
        let compared = |one, other| apart(&both(one, other), 16);
        assert_eq!(compared(vector(3, 8, 0x7000), vector(3, 8, 0x2000)), []);
        let shorter = Apart {
            pointer: 1,
            lowest: 0,
            elements: [0, 8],
        };
        assert_eq!(
            compared(vector(0, 8, 0x7000), vector(8, 8, 0x2000)),
            [shorter]
        );
        let grown = compared(vector(3, 16, 0x7000), vector(3, 8, 0x2000));
        assert_eq!(grown.iter().map(|one| one.pointer).collect::<Vec<_>>(), [2]);
        // One that has no memory yet.
        assert_eq!(compared([0, 0, 0], vector(3, 8, 0x2000)), []);
    }

    /// The neighbours of a node lie anywhere.
    #[test]
    fn pointers_to_single_objects() {
        let tree = [[0x7000, 0x2030], [0x7040, 0x2010], [0x7020, 0x2000]];
        assert_eq!(apart(&tree, 16), []);
        let odd = [[0x7000, 0x2000], [0x7028, 0x2010], [0x7040, 0x2020]];
        assert_eq!(apart(&odd, 16), []);
        let functions = [[0x7000, 0x2000], [0x7010, 0x2010], [0x7040, 0x2020]];
        assert_eq!(apart(&functions, 0), []);
        let two = [[0x7000, 0x2000], [0x7020, 0x2010]];
        assert_eq!(apart(&two, 16), []);
        let far = [
            [0x7000, 0x2000],
            [0x7010, 0x2010],
            [0x7000_0000_0000, 0x2020],
        ];
        assert_eq!(apart(&far, 16), []);
    }
}
