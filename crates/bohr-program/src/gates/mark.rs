//! Marked blocks: `BOHR_RCB_BEGIN` (C, C++) and `bohr_mark::block!` (Rust).
//!
//! A mark is assembly without instructions that gives a one which the compiler
//! cannot look through, so it survives every optimisation. Its text says where
//! it stands in the source.

use crate::constant::ConstantValue;
use crate::function::Body;
use crate::ids::InstructionNumber;
use crate::program::Program;

/// The comment that makes assembly a mark.
pub const MARK: &str = "bohr.rcb";

/// The marks of a function, with their texts.
pub(super) fn marks<'a>(
    program: &'a Program,
    body: &'a Body,
) -> impl Iterator<Item = (InstructionNumber, &'a str)> {
    body.instructions.keys().filter_map(|number| {
        let text = assembly(program, body, number)?;
        text.contains(MARK).then_some((number, text))
    })
}

/// The text of the assembly that an instruction calls.
pub(super) fn assembly<'a>(
    program: &'a Program,
    body: &Body,
    instruction: InstructionNumber,
) -> Option<&'a str> {
    let callee = body.call_at(instruction)?.callee.constant()?;
    match program.constants[callee].value {
        ConstantValue::Assembly(number) => Some(&program.texts[program.assembly[number].text]),
        _ => None,
    }
}
