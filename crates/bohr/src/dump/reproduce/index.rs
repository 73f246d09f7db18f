//! An index, for people: one line per entry, with lines of the source.

use bohr_dump::loaded::readable;
use bohr_event::ThreadPath;
use bohr_program::graph::Edge;
use bohr_program::index::{Entry, Index, Level};
use bohr_program::{BlockNumber, Body, FunctionFlow, Program};

/// The entries from the thread's start inwards, and the place itself.
pub fn lines(program: &Program, thread: &ThreadPath, index: &Index) -> Vec<String> {
    let mut lines = vec![format!("thread {thread}")];
    let mut outer: Option<&Level> = None;
    for level in &index.levels {
        let function = level.place.function;
        let name = readable(&program.texts[program.functions[function].name]);
        let Some(body) = &program.functions[function].body else {
            continue;
        };
        let call = outer.and_then(|outer| call_line(program, outer));
        lines.push(match call {
            Some(line) => format!("{name}, called at {line}"),
            None => name,
        });
        let flow = FunctionFlow::new(program, function);
        for entry in &level.entries {
            lines.extend(
                flow.as_ref()
                    .and_then(|flow| told(program, body, flow, entry)),
            );
        }
        outer = Some(level);
    }
    if let Some(last) = outer
        && let Some(body) = &program.functions[last.place.function].body
    {
        let call = call_line(program, last);
        let line = call.or_else(|| block_line(program, body, last.place.block));
        lines.push(format!("at {}", line.unwrap_or_else(unknown)));
    }
    lines
}

fn unknown() -> String {
    String::from("an unknown line")
}

fn call_line(program: &Program, level: &Level) -> Option<String> {
    let body = program.functions[level.place.function].body.as_ref()?;
    let call = &body.instructions[level.place.call?];
    Some(program.line(call.location.expand()?))
}

fn block_line(program: &Program, body: &Body, block: BlockNumber) -> Option<String> {
    body.location_of_block(block)
        .map(|location| program.line(location))
}

fn told(program: &Program, body: &Body, flow: &FunctionFlow, entry: &Entry) -> Option<String> {
    match entry {
        Entry::Method { .. } => None,
        Entry::Iteration { number, count, .. } => {
            let header = flow.loops.get(*number).header;
            let line = block_line(program, body, header).unwrap_or_else(unknown);
            Some(match count {
                Some(count) => format!("iteration {count} of the loop at {line}"),
                None => format!("some iteration of the loop at {line}"),
            })
        }
        Entry::Branch { edges, skips } => {
            let one = |edge: &Edge| {
                let location = body.terminator(edge.from).location.expand();
                let line = location.map_or_else(unknown, |location| program.line(location));
                let to = block_line(program, body, flow.graph.target(*edge));
                match to {
                    Some(to) => format!("{line} to {to}"),
                    None => line,
                }
            };
            let ways: Vec<String> = edges.iter().map(one).collect();
            let loosely = if *skips { ", and other branches" } else { "" };
            Some(format!("branch at {}{loosely}", ways.join(" or ")))
        }
    }
}
