//! Vectors as strings of bits: how they lie in memory when their elements are
//! not whole bytes, and what a bitcast sees.

use super::datum::Datum;
use super::encode::PLAIN;
use super::wide::Wide;
use crate::ids::TypeNumber;
use crate::layout::Layouts;
use crate::program::Program;
use crate::types::Type;

/// Bits in order, the first in the lowest place of the first byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    length: usize,
}

impl Bits {
    pub(super) fn from_bytes(bytes: &[u8]) -> Bits {
        Bits {
            bytes: bytes.to_vec(),
            length: bytes.len() * 8,
        }
    }

    /// The bytes, the last one filled up with zeros.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn push(&mut self, value: u128, count: usize) {
        for place in 0..count {
            if self.length.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let bit = (value >> place & 1) as u8;
            self.bytes[self.length / 8] |= bit << (self.length % 8);
            self.length += 1;
        }
    }

    fn get(&self, start: usize, count: usize) -> u128 {
        (0..count)
            .map(|place| {
                let byte = self.bytes.get((start + place) / 8).copied().unwrap_or(0);
                u128::from(byte >> ((start + place) % 8) & 1) << place
            })
            .fold(0, |all, bit| all | bit)
    }
}

/// A scalar or vector as bits.
pub(super) fn pack(program: &Program, layouts: &Layouts, of: TypeNumber, datum: &Datum) -> Bits {
    let mut bits = Bits::default();
    match &program.types[of] {
        Type::Vector { element, .. } => {
            let width = layouts[*element].bits as usize;
            for part in datum.parts() {
                bits.push(part.bits(), width);
            }
        }
        _ => match datum {
            Datum::Wide(wide) => return Bits::from_bytes(&wide.to_bytes()),
            _ => bits.push(datum.bits(), layouts[of].bits as usize),
        },
    }
    bits
}

/// A scalar or vector from bits.
pub(super) fn unpack(program: &Program, layouts: &Layouts, of: TypeNumber, bits: &Bits) -> Datum {
    match &program.types[of] {
        Type::Vector { element, count, .. } => {
            let width = layouts[*element].bits as usize;
            let lane = |index: usize| Datum::Bits(bits.get(index * width, width));
            Datum::of_parts((0..*count as usize).map(lane))
        }
        _ if layouts[of].bits > PLAIN => {
            Datum::Wide(Wide::from_bytes(&bits.bytes, layouts[of].bits as u32).into())
        }
        _ => Datum::Bits(bits.get(0, layouts[of].bits as usize)),
    }
}
