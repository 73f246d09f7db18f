//! What an element pointer computes: a constant number of bytes and values
//! times a number of bytes, added to its base.

use crate::constant::ConstantValue;
use crate::ids::{ConstantNumber, TypeNumber};
use crate::instruction::Value;
use crate::layout::Layouts;
use crate::program::Program;
use crate::types::Type;

/// One index of an element pointer, as an offset in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many bytes.
    Constant(i64),
    /// A signed value times so many bytes.
    Scaled(Value, i64),
}

impl Program {
    /// The steps of an element pointer, one for each index. `None` if an index
    /// does not fit the type, which no compiler emits.
    #[must_use]
    pub fn steps(
        &self,
        layouts: &Layouts,
        source: TypeNumber,
        indices: &[Value],
    ) -> Option<Vec<Step>> {
        let mut current = source;
        let mut steps = Vec::with_capacity(indices.len());
        for (depth, index) in indices.iter().enumerate() {
            let constant = index.constant().and_then(|number| self.signed(number));
            let (stride, next) = if depth == 0 {
                (layouts[current].size, current)
            } else {
                match &self.types[current] {
                    Type::Struct { fields, .. } => {
                        let field = self.field(*index)?;
                        steps.push(Step::Constant(*layouts[current].offsets.get(field)? as i64));
                        current = *fields.get(field)?;
                        continue;
                    }
                    Type::Array { element, .. } => (layouts[*element].size, *element),
                    Type::Vector { element, .. } => (layouts[*element].stored(), *element),
                    _ => return None,
                }
            };
            current = next;
            steps.push(match constant {
                Some(number) => Step::Constant(number.wrapping_mul(stride as i64)),
                None => Step::Scaled(*index, stride as i64),
            });
        }
        Some(steps)
    }

    /// The offset of an element pointer in bytes, if all its indices are constant.
    #[must_use]
    pub fn constant_offset(
        &self,
        layouts: &Layouts,
        source: TypeNumber,
        indices: &[Value],
    ) -> Option<i64> {
        let steps = self.steps(layouts, source, indices)?;
        steps.iter().try_fold(0i64, |sum, step| match step {
            Step::Constant(bytes) => Some(sum.wrapping_add(*bytes)),
            Step::Scaled(..) => None,
        })
    }

    /// The field that a constant index names; of a vector index, its element.
    fn field(&self, index: Value) -> Option<usize> {
        match &self.constants[index.constant()?].value {
            ConstantValue::Integer(field) => usize::try_from(*field).ok(),
            ConstantValue::Splat(part) => self.field((*part).into()),
            ConstantValue::Zero => Some(0),
            _ => None,
        }
    }

    /// The value of an integer constant of up to 64 bits, as a signed number.
    #[must_use]
    pub fn signed(&self, number: ConstantNumber) -> Option<i64> {
        let constant = &self.constants[number];
        let bits = self.types[constant.of].integer_bits()?;
        match constant.value {
            ConstantValue::Integer(value) if (1..=64).contains(&bits) => {
                let unused = 64 - bits;
                Some((value << unused) as i64 >> unused)
            }
            _ => None,
        }
    }
}
