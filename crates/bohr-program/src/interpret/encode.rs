//! Values in and out of memory.

use super::bits::{self, Bits};
use super::datum::Datum;
use super::machine::Machine;
use super::wide::Wide;
use super::{Step, not_modelled};
use crate::ids::TypeNumber;
use crate::types::Type;

/// The widest integer that is not a wide one.
pub(super) const PLAIN: u64 = 128;

impl Machine<'_> {
    /// Reads a value of a type.
    pub(super) fn load(&self, of: TypeNumber, address: u64) -> Step<Datum> {
        let layout = &self.layouts[of];
        match &self.program.types[of] {
            Type::Integer(_) | Type::Float(_) | Type::Pointer(_) => {
                let bytes = self.memory.read(address, layout.stored())?;
                if layout.bits > PLAIN {
                    let wide = Wide::from_bytes(bytes, layout.bits as u32);
                    return Ok(Datum::Wide(wide.into()));
                }
                let bits = bytes
                    .iter()
                    .rev()
                    .fold(0, |bits, byte| bits << 8 | u128::from(*byte));
                Ok(Datum::Bits(bits & ones(layout.bits)))
            }
            Type::Vector { .. } => {
                let bytes = self.memory.read(address, layout.stored())?;
                let bits = Bits::from_bytes(bytes);
                Ok(bits::unpack(self.program, &self.layouts, of, &bits))
            }
            Type::Array { element, count } => {
                let stride = self.layouts[*element].size;
                let parts = (0..*count).map(|index| self.load(*element, address + index * stride));
                Ok(Datum::Parts(parts.collect::<Step<_>>()?))
            }
            Type::Struct { fields, .. } => {
                let parts = fields.iter().zip(&layout.offsets);
                let parts = parts.map(|(field, offset)| self.load(*field, address + offset));
                Ok(Datum::Parts(parts.collect::<Step<_>>()?))
            }
            _ => not_modelled(format!("a load of {}", self.program.show_type(of))),
        }
    }

    /// Writes a value of a type.
    pub(super) fn store(&mut self, of: TypeNumber, address: u64, datum: &Datum) -> Step<()> {
        let program = self.program;
        let stored = self.layouts[of].stored();
        match &program.types[of] {
            Type::Integer(_) | Type::Float(_) | Type::Pointer(_) => {
                let bytes = match datum {
                    Datum::Wide(wide) => wide.to_bytes(),
                    _ => datum.bits().to_le_bytes().to_vec(),
                };
                self.memory.write(address, &bytes[..stored as usize])
            }
            Type::Vector { .. } => {
                let bits = bits::pack(program, &self.layouts, of, datum);
                self.memory.write(address, &bits.into_bytes())
            }
            Type::Array { element, .. } => {
                let stride = self.layouts[*element].size;
                for (index, part) in (0..).zip(datum.parts()) {
                    self.store(*element, address + index * stride, part)?;
                }
                Ok(())
            }
            Type::Struct { fields, .. } => {
                for (index, field) in fields.iter().enumerate() {
                    let offset = self.layouts[of].offsets[index];
                    let part = datum.parts().get(index).unwrap_or(&Datum::NOTHING);
                    self.store(*field, address + offset, part)?;
                }
                Ok(())
            }
            _ => not_modelled(format!("a store of {}", program.show_type(of))),
        }
    }

    /// A value with all bits zero.
    pub(super) fn zero(&self, of: TypeNumber) -> Datum {
        match &self.program.types[of] {
            Type::Vector { element, count, .. } => {
                let lane = self.zero(*element);
                Datum::of_parts(std::iter::repeat_n(lane, *count as usize))
            }
            Type::Array { element, count } => {
                let part = self.zero(*element);
                Datum::of_parts(std::iter::repeat_n(part, *count as usize))
            }
            Type::Struct { fields, .. } => {
                Datum::of_parts(fields.iter().map(|field| self.zero(*field)))
            }
            _ if self.layouts[of].bits > PLAIN => {
                let wide = Wide::widen(0, self.layouts[of].bits as u32);
                Datum::Wide(wide.into())
            }
            _ => Datum::Bits(0),
        }
    }
}

/// So many ones.
pub(super) fn ones(bits: u64) -> u128 {
    match bits {
        0 => 0,
        128.. => u128::MAX,
        _ => (1 << bits) - 1,
    }
}
