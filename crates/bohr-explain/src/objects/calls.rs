//! The calls of functions outside a program, by the lines that they were written
//! on: where the runtime saw one, the code's own line table says no more.

use bohr_program::{
    ConstantValue, FunctionNumber, InstructionNumber, LocationNumber, Program, Value,
};
use std::collections::HashMap;

/// See the module.
pub struct Calls(HashMap<Vec<String>, Vec<(FunctionNumber, InstructionNumber)>>);

impl Calls {
    /// All of a program.
    pub fn of(program: &Program) -> Calls {
        let mut calls = Calls(HashMap::new());
        for (function, _, body) in program.bodies() {
            for (number, instruction) in &body.instructions {
                let Some(call) = body.call_at(number) else {
                    continue;
                };
                if let Some(location) = instruction.location.expand()
                    && is_outside(program, call.callee)
                {
                    let lines = lines(program, location);
                    calls.0.entry(lines).or_default().push((function, number));
                }
            }
        }
        calls
    }

    /// Those on this line, put inline at these.
    pub fn at(
        &self,
        lines: &[String],
    ) -> impl Iterator<Item = (FunctionNumber, InstructionNumber)> + '_ {
        let short: Vec<String> = lines.iter().map(|line| short(line)).collect();
        self.0.get(&short).into_iter().flatten().copied()
    }
}

fn is_outside(program: &Program, callee: Value) -> bool {
    let constant = callee
        .constant()
        .map(|number| &program.constants[number].value);
    let Some(ConstantValue::Function(function)) = constant else {
        return false;
    };
    program.functions[*function].body.is_none()
}

/// The line of a place and those that it was put inline at, innermost first.
fn lines(program: &Program, location: LocationNumber) -> Vec<String> {
    let mut lines = Vec::new();
    let mut next = Some(location);
    while let Some(number) = next {
        let location = &program.locations[number];
        let file = program.scopes[location.scope].file.expand();
        let path = file.map_or("", |file| &program.texts[program.files[file].path]);
        lines.push(short(&format!("{path}:{}", location.line)));
        next = location.inlined_at.expand();
    }
    lines
}

/// Folders are written in many ways; the name of the file has to do.
fn short(line: &str) -> String {
    line.rsplit('/').next().unwrap_or(line).to_string()
}
