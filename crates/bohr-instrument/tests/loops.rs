//! Which loops count and which can leave out an iteration, on real code: at the
//! end of the line where a loop decides about another iteration, `//~` and what
//! is expected of it.
//!
//! Each file in `tests/loops` names its compiler flags in the first line.
//! `BOHR_BLESS=1` rewrites the expectations.

mod support;

use bohr_program::graph::Loop;
use bohr_program::{BlockNumber, Body, FunctionFlow, Program, Repetition, repetitions};
use std::collections::BTreeMap;
use std::path::Path;

/// The line of a block: of its end, or else of anything in it; of inlined code,
/// where it was called.
fn line_of(program: &Program, body: &Body, block: BlockNumber) -> Option<u32> {
    let mut instructions = body.block(block).rev();
    let location = instructions.find_map(|(_, one)| one.location.expand())?;
    let mut location = &program.locations[location];
    while let Some(caller) = location.inlined_at.expand() {
        location = &program.locations[caller];
    }
    Some(location.line)
}

/// The line of a loop, and what is known of it.
fn describe(
    program: &Program,
    body: &Body,
    flow: &FunctionFlow,
    shape: &Loop,
    predicate: BlockNumber,
    repetition: &Repetition,
) -> (u32, String) {
    let counter = match &repetition.counter {
        Ok(counter) => {
            let when = if counter.after_change {
                "after"
            } else {
                "before"
            };
            format!(
                "counts by {:?}, compared {when} the change",
                counter.variable.step
            )
        }
        Err(why) => format!("does not count: {why}"),
    };
    let gate = match &repetition.shortcut {
        Ok(gate) => {
            let kept = gate
                .phis
                .iter()
                .filter(|(phi, value)| *value == (*phi).into())
                .count();
            format!(
                "skips with the test {:?}, {} again, {} of {} phis kept, {} after",
                gate.test,
                gate.again.len(),
                kept,
                gate.phis.len(),
                gate.after.len()
            )
        }
        Err(why) => format!("cannot skip: {why}"),
    };
    let line = line_of(program, body, predicate).or(line_of(program, body, shape.header));
    let depth = flow
        .loops
        .innermost(shape.header)
        .map_or(0, |number| flow.loops.get(number).depth);
    (
        line.unwrap_or(0),
        format!("depth {depth}; {counter}; {gate}"),
    )
}

fn found(program: &Program) -> BTreeMap<u32, Vec<String>> {
    let layouts = program.layouts();
    let mut lines: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (function, _, body) in program.bodies() {
        let flow = FunctionFlow::new(program, function).unwrap();
        let repetitions = repetitions(program, &layouts, function, &flow);
        for (number, shape) in flow.loops.iter() {
            let predicate = flow.loops.predicate(number, &flow.graph, &flow.dominators);
            let (line, text) =
                describe(program, body, &flow, shape, predicate, &repetitions[number]);
            lines.entry(line).or_default().push(text);
        }
    }
    lines
}

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/loops")
        .join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let found = found(&support::program(name, &text));
    assert!(!found.is_empty(), "{name} has no loop");
    let mut result = String::new();
    for (number, line) in (1u32..).zip(text.lines()) {
        let code = line.split("//~").next().unwrap_or_default().trim_end();
        match found.get(&number) {
            Some(loops) => result += &format!("{code} //~ {}\n", loops.join(" | ")),
            None => result += &format!("{code}\n"),
        }
    }
    if std::env::var_os("BOHR_BLESS").is_some() {
        std::fs::write(&path, &result).unwrap();
    } else {
        assert_eq!(text, result, "{name}: BOHR_BLESS=1 writes what was found");
    }
}

macro_rules! programs {
    ($($test:ident: $file:literal,)*) => { $(#[test] fn $test() { check($file); })* };
}

programs! {
    as_written: "as_written.c",
    optimised: "optimised.c",
    exceptions: "exceptions.cpp",
    rust_loops: "ranges.rs",
}
