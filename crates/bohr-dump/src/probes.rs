//! From addresses of a production build to blocks of its model: the section
//! `.pseudo_probe`, as LLVM writes it.
//!
//! ```text
//!   function   id: 8 bytes, probes: ULEB128, inlined functions: ULEB128 (none here)
//!   probe      index: ULEB128, kind and flags: 1 byte, distance from the last: SLEB128
//!   sentinel   flag 0x20 without 0x80: 8 bytes in place of the distance; the next
//!              distance counts from the beginning of the function
//! ```
//!
//! A probe stands where its block's code begins. What follows belongs to the block
//! up to the next probe; probes at one address are those of blocks that were merged,
//! or of which the first are empty.

use std::collections::HashMap;

/// The function that a probe is of, by its id in the model.
pub type ProbedFunction = u64;

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probe {
    /// In the file.
    pub address: u64,
    /// Which of its function's.
    pub index: u64,
}

/// The probes of one function, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probes {
    by_function: HashMap<ProbedFunction, Vec<Probe>>,
}

/// A delta: the address follows as a distance.
const DELTA: u8 = 0x80;
/// In place of an address stands a number that says nothing here.
const SENTINEL: u8 = 0x20;
/// A discriminator follows.
const DISCRIMINATOR: u8 = 0x40;

impl Probes {
    /// Reads the section. `start` tells where the function with this id begins.
    /// What cannot be read is left out.
    #[must_use]
    pub fn read(section: &[u8], start: impl Fn(ProbedFunction) -> Option<u64>) -> Probes {
        let mut probes = Probes::default();
        let mut rest = section;
        while let Some(()) = function(&mut rest, &start, &mut probes) {}
        for list in probes.by_function.values_mut() {
            list.sort_unstable();
            list.dedup();
        }
        probes
    }

    /// The probes that hold at an address of a function: the last ones before it,
    /// all that share their address, in the order of their index. Only those count
    /// that `matters` lets pass.
    #[must_use]
    pub fn at(
        &self,
        function: ProbedFunction,
        address: u64,
        matters: impl Fn(u64) -> bool,
    ) -> Vec<u64> {
        let Some(list) = self.by_function.get(&function) else {
            return Vec::new();
        };
        let before = list.iter().rev();
        let mut before = before
            .filter(|probe| probe.address <= address && matters(probe.index))
            .peekable();
        let Some(nearest) = before.peek().map(|probe| probe.address) else {
            return Vec::new();
        };
        let here = before.take_while(|probe| probe.address == nearest);
        let mut indices: Vec<u64> = here.map(|probe| probe.index).collect();
        indices.reverse();
        indices
    }
}

fn function(
    rest: &mut &[u8],
    start: &impl Fn(ProbedFunction) -> Option<u64>,
    probes: &mut Probes,
) -> Option<()> {
    let id = word(rest)?;
    let count = number(rest)?;
    let inlined = number(rest)?;
    let begins = start(id);
    let mut address = begins.unwrap_or(0);
    for _ in 0..count {
        let index = number(rest)?;
        let flags = byte(rest)?;
        match flags & DELTA {
            0 if flags & SENTINEL != 0 => {
                word(rest)?;
                continue;
            }
            0 => address = word(rest)?,
            _ => address = address.wrapping_add_signed(signed(rest)?),
        }
        if flags & DISCRIMINATOR != 0 {
            number(rest)?;
        }
        if begins.is_some() {
            let list = probes.by_function.entry(id).or_default();
            list.push(Probe { address, index });
        }
    }
    // A build of ours has none, since its probes know no inlining.
    (inlined == 0).then_some(())
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (&first, others) = rest.split_first()?;
    *rest = others;
    Some(first)
}

fn word(rest: &mut &[u8]) -> Option<u64> {
    let (first, others) = rest.split_first_chunk::<8>()?;
    *rest = others;
    Some(u64::from_le_bytes(*first))
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    gimli::leb128::read::unsigned(&mut gimli::EndianSlice::new(rest, gimli::LittleEndian))
        .ok()
        .inspect(|_| skip(rest))
}

fn signed(rest: &mut &[u8]) -> Option<i64> {
    gimli::leb128::read::signed(&mut gimli::EndianSlice::new(rest, gimli::LittleEndian))
        .ok()
        .inspect(|_| skip(rest))
}

/// Goes behind a number of the kind whose last byte has its highest bit clear.
fn skip(rest: &mut &[u8]) {
    let length = rest.iter().position(|byte| byte & 0x80 == 0);
    *rest = &rest[length.map_or(rest.len(), |length| length + 1)..];
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two functions as LLVM 22 wrote them: one with a block at its start, one
    /// with three, the second of them copied behind the third.
    const SECTION: &[u8] = &[
        0xe7, 0xb7, 0xb2, 0x4c, 0x19, 0xf4, 0xad, 0xcd, 2, 0, 0, 0x20, 0x8f, 0xa1, 0x4c, 0xdd,
        0x75, 0x4f, 0x91, 0xcc, 1, 0x80, 0, //
        7, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0x20, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0x80, 0, 2, 0x80, 0x13,
        3, 0x80, 0x15, 2, 0x80, 0x08,
    ];

    fn read() -> Probes {
        Probes::read(SECTION, |id| (id == 7).then_some(0x1000))
    }

    #[test]
    fn an_address_belongs_to_the_last_probe_before_it() {
        let probes = read();
        let at = |address| probes.at(7, address, |_| true);
        assert_eq!(at(0xfff), []);
        assert_eq!(at(0x1000), [1]);
        assert_eq!(at(0x1012), [1]);
        assert_eq!(at(0x1013), [2]);
        assert_eq!(at(0x1028), [3]);
        assert_eq!(at(0x1030), [2]);
        assert_eq!(probes.at(7, 0x1030, |index| index == 1), [1]);
        // Nobody knows where the other function begins.
        assert_eq!(probes.at(0xcdad_f419_4cb2_b7e7, 0x2000, |_| true), []);
    }

    proptest! {
        #[test]
        fn any_bytes_are_some_probes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(Probes::read(&bytes, |_| Some(0)));
        }

        #[test]
        fn a_section_that_was_cut_is_read_as_far_as_it_goes(length in 0..SECTION.len()) {
            let cut = Probes::read(&SECTION[..length], |id| (id == 7).then_some(0x1000));
            let whole = read();
            for list in cut.by_function.values() {
                prop_assert!(list.iter().all(|probe| whole.by_function[&7].contains(probe)));
            }
        }
    }
}
