//! Globals in memory, and the values of constants.

use super::bits::{self, Bits};
use super::convert::cast;
use super::datum::Datum;
use super::machine::Machine;
use super::memory::function_address;
use super::wide::Wide;
use super::{Step, not_modelled};
use crate::constant::{ConstantExpression, ConstantValue};
use crate::ids::*;
use crate::types::Type;

/// Room for a global that another object defines: its content is not known,
/// its address is.
const FOREIGN: u64 = 256;

impl Machine<'_> {
    /// Gives every global its address, then its initial value.
    pub(super) fn place_globals(&mut self) -> Step<()> {
        let program = self.program;
        for (number, global) in &program.globals {
            let size = match global.initialiser.expand() {
                Some(_) => self.layouts[global.of].size,
                None => self.layouts[global.of].size.max(FOREIGN),
            };
            let alignment = global.alignment.max(self.layouts[global.of].alignment);
            self.globals[number] = self.memory.globals.grow(size, alignment)?;
        }
        for (number, global) in &program.globals {
            let special = program.texts[global.name].starts_with("llvm.");
            if let Some(initialiser) = global.initialiser.expand().filter(|_| !special) {
                self.place(global.of, self.globals[number], initialiser)?;
            }
        }
        self.place_streams()
    }

    /// Writes a constant to memory without making a value of a large array.
    fn place(&mut self, of: TypeNumber, address: u64, constant: ConstantNumber) -> Step<()> {
        let program = self.program;
        match (&program.constants[constant].value, &program.types[of]) {
            (ConstantValue::Zero | ConstantValue::Undefined | ConstantValue::Poison, _) => Ok(()),
            (ConstantValue::Data(bytes), _) => self.memory.write(address, bytes),
            (ConstantValue::Aggregate(parts), Type::Array { element, .. }) => {
                let stride = self.layouts[*element].size;
                (0..).zip(parts).try_for_each(|(index, part)| {
                    self.place(*element, address + index * stride, *part)
                })
            }
            (ConstantValue::Aggregate(parts), Type::Struct { fields, .. }) => {
                for (index, (part, field)) in parts.iter().zip(fields).enumerate() {
                    let offset = self.layouts[of].offsets[index];
                    self.place(*field, address + offset, *part)?;
                }
                Ok(())
            }
            _ => {
                let value = self.constant(constant)?;
                self.store(of, address, &value)
            }
        }
    }

    /// The value of a constant.
    pub(super) fn constant(&mut self, number: ConstantNumber) -> Step<Datum> {
        if let Some(known) = &self.constants[number] {
            return Ok(known.clone());
        }
        let value = self.evaluate(number)?;
        self.constants[number] = Some(value.clone());
        Ok(value)
    }

    fn evaluate(&mut self, number: ConstantNumber) -> Step<Datum> {
        let program = self.program;
        let constant = &program.constants[number];
        let of = constant.of;
        match &constant.value {
            ConstantValue::Integer(bits) | ConstantValue::Float(bits) => Ok((*bits).into()),
            ConstantValue::WideInteger(words) => match &**words {
                [low, high] => Ok(Datum::Bits(u128::from(*high) << 64 | u128::from(*low))),
                words => {
                    let wide = Wide::from_words(words, self.layouts[of].bits as u32);
                    Ok(Datum::Wide(wide.into()))
                }
            },
            ConstantValue::WideFloat(words) => Ok(Datum::Bits(
                u128::from(words[1]) << 64 | u128::from(words[0]),
            )),
            ConstantValue::Null
            | ConstantValue::Zero
            | ConstantValue::Undefined
            | ConstantValue::Poison
            | ConstantValue::Nothing => Ok(self.zero(of)),
            ConstantValue::Data(bytes) => self.data(of, bytes),
            ConstantValue::Aggregate(parts) => {
                let parts = parts.iter().map(|part| self.constant(*part));
                Ok(Datum::Parts(parts.collect::<Step<_>>()?))
            }
            ConstantValue::Splat(part) => {
                let part = self.constant(*part)?;
                let count = self.zero(of).parts().len();
                Ok(Datum::of_parts(std::iter::repeat_n(part, count)))
            }
            ConstantValue::Global(global) => Ok(self.globals[*global].into()),
            ConstantValue::Function(function) => Ok(function_address(*function).into()),
            ConstantValue::Alias(alias) => match &program.aliases[*alias] {
                alias if alias.indirect => not_modelled("indirect functions"),
                alias => self.constant(alias.target),
            },
            ConstantValue::Expression(expression) => self.expression(of, expression),
            // Distinct from null and from each other within a function.
            ConstantValue::Block(_, block) => Ok((u64::from(block.as_u32()) + 1).into()),
            ConstantValue::Assembly(_) => not_modelled("the address of inline assembly"),
            // An annotation; whoever uses it ignores it.
            ConstantValue::Opaque(_) => Ok(Datum::NOTHING),
        }
    }

    fn data(&self, of: TypeNumber, bytes: &[u8]) -> Step<Datum> {
        match &self.program.types[of] {
            Type::Array { element, .. } => {
                let size = self.layouts[*element].size.max(1) as usize;
                let part = |bytes: &[u8]| {
                    let bits = Bits::from_bytes(bytes);
                    bits::unpack(self.program, &self.layouts, *element, &bits)
                };
                Ok(Datum::of_parts(bytes.chunks(size).map(part)))
            }
            _ => {
                let bits = Bits::from_bytes(bytes);
                Ok(bits::unpack(self.program, &self.layouts, of, &bits))
            }
        }
    }

    fn expression(&mut self, of: TypeNumber, expression: &ConstantExpression) -> Step<Datum> {
        let program = self.program;
        match expression {
            ConstantExpression::ElementPointer {
                source,
                base,
                indices,
                ..
            } => {
                let base = self.constant(*base)?;
                let indices: Vec<_> = indices.iter().map(|index| (*index).into()).collect();
                match program.constant_offset(&self.layouts, *source, &indices) {
                    Some(offset) => Ok(base.word().wrapping_add_signed(offset).into()),
                    None => not_modelled("a constant address with computed indices"),
                }
            }
            ConstantExpression::Cast(operator, operand) => {
                let from = program.constants[*operand].of;
                let operand = self.constant(*operand)?;
                cast(self, *operator, from, of, &operand)
            }
            ConstantExpression::Binary(operator, left, right) => {
                let bits = self.layouts[of].bits as u32;
                let (left, right) = (self.constant(*left)?, self.constant(*right)?);
                left.zip(&right, |left, right| {
                    super::integer::binary(*operator, bits, left, right)
                })
            }
        }
    }
}
