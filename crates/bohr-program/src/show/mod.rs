//! A function as text, close to LLVM's assembly language: for `inspect`, for
//! tests that state what they expect, and for people who debug the model.

mod constant;
mod instruction;

use crate::function::Body;
use crate::ids::*;
use crate::instruction::{Instruction, Operand, Value};
use crate::program::Program;
use crate::types::{FloatKind, Type};
use std::fmt::{self, Display, Formatter};

/// Shows something of a program; made by the `show_` methods of [`Program`].
struct Shown<'a, T> {
    program: &'a Program,
    what: T,
}

impl Program {
    /// A type as text.
    pub fn show_type(&self, of: TypeNumber) -> impl Display + '_ {
        Shown {
            program: self,
            what: of,
        }
    }

    /// A constant as text.
    pub fn show_constant(&self, constant: ConstantNumber) -> impl Display + '_ {
        Shown {
            program: self,
            what: constant,
        }
    }

    /// An operand as text.
    pub fn show_value(&self, value: Value) -> impl Display + '_ {
        Shown {
            program: self,
            what: value,
        }
    }

    /// An instruction as text, without its number.
    pub fn show_instruction<'a>(
        &'a self,
        body: &'a Body,
        instruction: &'a Instruction,
    ) -> impl Display + 'a {
        Shown {
            program: self,
            what: (body, instruction),
        }
    }

    /// A function as text, all its instructions included.
    pub fn show_function(&self, function: FunctionNumber) -> impl Display + '_ {
        Shown {
            program: self,
            what: function,
        }
    }
}

/// Items with commas between them.
fn commas<T: Display>(out: &mut Formatter<'_>, items: impl IntoIterator<Item = T>) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.write_str(", ")?;
        }
        write!(out, "{item}")?;
    }
    Ok(())
}

impl Display for Shown<'_, TypeNumber> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let program = self.program;
        let show = |of: &TypeNumber| program.show_type(*of);
        match &program.types[self.what] {
            Type::Void => out.write_str("void"),
            Type::Integer(bits) => write!(out, "i{bits}"),
            Type::Float(kind) => out.write_str(match kind {
                FloatKind::Half => "half",
                FloatKind::Brain => "bfloat",
                FloatKind::Single => "float",
                FloatKind::Double => "double",
                FloatKind::X87 => "x86_fp80",
                FloatKind::Quad => "fp128",
                FloatKind::PairOfDoubles => "ppc_fp128",
            }),
            Type::Pointer(0) => out.write_str("ptr"),
            Type::Pointer(space) => write!(out, "ptr addrspace({space})"),
            Type::Vector {
                element,
                count,
                scalable,
            } => {
                let scale = if *scalable { "vscale x " } else { "" };
                write!(out, "<{scale}{count} x {}>", show(element))
            }
            Type::Array { element, count } => write!(out, "[{count} x {}]", show(element)),
            Type::Struct {
                name: Some(name), ..
            }
            | Type::OpaqueStruct(name) => {
                write!(out, "%{}", &program.texts[*name])
            }
            Type::Struct { fields, packed, .. } => {
                out.write_str(if *packed { "<{" } else { "{" })?;
                commas(out, fields.iter().map(show))?;
                out.write_str(if *packed { "}>" } else { "}" })
            }
            Type::Function {
                result,
                parameters,
                variadic,
            } => {
                write!(out, "{} (", show(result))?;
                commas(out, parameters.iter().map(show))?;
                out.write_str(match (variadic, parameters.is_empty()) {
                    (true, true) => "...)",
                    (true, false) => ", ...)",
                    (false, _) => ")",
                })
            }
            Type::Label => out.write_str("label"),
            Type::Metadata => out.write_str("metadata"),
            Type::Token => out.write_str("token"),
            Type::Target(name) => out.write_str(&program.texts[*name]),
        }
    }
}

impl Display for Shown<'_, Value> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.what.operand() {
            Operand::Instruction(number) => write!(out, "{number}"),
            Operand::Argument(number) => write!(out, "{number}"),
            Operand::Constant(number) => self.program.show_constant(number).fmt(out),
        }
    }
}

impl Display for Shown<'_, FunctionNumber> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let program = self.program;
        let function = &program.functions[self.what];
        let signature = program.show_type(function.signature);
        write!(out, "{} {signature}", &program.texts[function.symbol])?;
        let Some(body) = &function.body else {
            return out.write_str(" declared\n");
        };
        out.write_str("\n")?;
        for block in body.blocks.keys() {
            writeln!(out, "{block}:")?;
            for (number, instruction) in body.block(block) {
                let shown = program.show_instruction(body, instruction);
                match program.types[instruction.result] {
                    Type::Void => writeln!(out, "  {shown}")?,
                    _ => writeln!(out, "  {number} = {shown}")?,
                }
            }
        }
        Ok(())
    }
}
