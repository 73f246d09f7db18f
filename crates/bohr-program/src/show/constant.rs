//! Constants as text.

use super::{Shown, commas};
use crate::constant::{ConstantExpression, ConstantValue};
use crate::ids::ConstantNumber;
use crate::types::{FloatKind, Type};
use std::fmt::{self, Display, Formatter};

impl Display for Shown<'_, ConstantNumber> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        use ConstantValue::*;
        let program = self.program;
        let constant = &program.constants[self.what];
        let show = |constant: &ConstantNumber| program.show_constant(*constant);
        match &constant.value {
            Integer(value) => match program.signed(self.what) {
                Some(signed) => write!(out, "{signed}"),
                None => write!(out, "{value}"),
            },
            WideInteger(words) => {
                out.write_str("0x")?;
                words
                    .iter()
                    .rev()
                    .try_for_each(|word| write!(out, "{word:016x}"))
            }
            Float(bits) => match &program.types[constant.of] {
                Type::Float(FloatKind::Double) => write!(out, "{:?}", f64::from_bits(*bits)),
                Type::Float(FloatKind::Single) => write!(out, "{:?}", f32::from_bits(*bits as u32)),
                _ => write!(out, "0x{bits:04x}"),
            },
            WideFloat(words) => write!(out, "0x{:016x}{:016x}", words[1], words[0]),
            Null => out.write_str("null"),
            Zero => out.write_str("zero"),
            Undefined => out.write_str("undef"),
            Poison => out.write_str("poison"),
            Data(bytes) => write!(out, "c\"{}\"", bytes.escape_ascii()),
            Aggregate(parts) => {
                out.write_str("{")?;
                commas(out, parts.iter().map(show))?;
                out.write_str("}")
            }
            Splat(part) => write!(out, "splat({})", show(part)),
            Global(global) => write!(out, "@{}", &program.texts[program.globals[*global].name]),
            Function(function) => {
                write!(
                    out,
                    "@{}",
                    &program.texts[program.functions[*function].symbol]
                )
            }
            Alias(alias) => write!(out, "@{}", &program.texts[program.aliases[*alias].name]),
            Block(function, block) => {
                let symbol = &program.texts[program.functions[*function].symbol];
                write!(out, "@{symbol}:{block}")
            }
            Assembly(assembly) => {
                let text = &program.texts[program.assembly[*assembly].text];
                write!(out, "asm {text:?}")
            }
            Expression(ConstantExpression::ElementPointer {
                source,
                base,
                indices,
                ..
            }) => {
                write!(out, "({}, {}, ", program.show_type(*source), show(base))?;
                commas(out, indices.iter().map(show))?;
                out.write_str(")")
            }
            Expression(ConstantExpression::Cast(operator, operand)) => {
                let to = program.show_type(constant.of);
                write!(out, "({operator} {} to {to})", show(operand))
            }
            Expression(ConstantExpression::Binary(operator, left, right)) => {
                write!(out, "({operator} {}, {})", show(left), show(right))
            }
            Nothing => out.write_str("none"),
            Opaque(text) => write!(out, "<{}>", &program.texts[*text]),
        }
    }
}
