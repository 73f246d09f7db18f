//! An index, for people: one line per entry, with lines of the source.

use bohr_dump::loaded::readable;
use bohr_event::ThreadPath;
use bohr_program::graph::Edge;
use bohr_program::index::{Entry, Index, Level};
use bohr_program::{
    BlockNumber, Body, FunctionFlow, Location, LocationNumber, Program, is_library_file,
};

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

/// A place as `file:line` in what the program's author wrote, where functions were put
/// into each other: the innermost such place. Of what is a library's all through, the
/// outermost.
fn own_line(program: &Program, place: LocationNumber) -> String {
    let inlined = std::iter::successors(Some(place), |&inner| {
        program.locations[inner].inlined_at.expand()
    });
    let told = inlined.map(|place| {
        let Location { scope, line, .. } = program.locations[place];
        let file = program.scopes[scope].file.expand();
        let file = file.map_or("?", |file| &program.texts[program.files[file].path]);
        (file, format!("{file}:{line}"))
    });
    let mut outermost = None;
    for (file, line) in told {
        if !is_library_file(file) {
            return line;
        }
        outermost = Some(line);
    }
    outermost.unwrap_or_else(unknown)
}

fn unknown() -> String {
    String::from("an unknown line")
}

fn call_line(program: &Program, level: &Level) -> Option<String> {
    let body = program.functions[level.place.function].body.as_ref()?;
    let call = &body.instructions[level.place.call?];
    Some(own_line(program, call.location.expand()?))
}

fn block_line(program: &Program, body: &Body, block: BlockNumber) -> Option<String> {
    body.location_of_block(block)
        .map(|location| own_line(program, location))
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
                let line = location.map_or_else(unknown, |location| own_line(program, location));
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

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_program::{ProgramBuilder, Scope, SourceFile};

    /// A program with a function of each of these files, inlined into that of the next
    /// one, at lines 1, 2, 3; the innermost of these places.
    fn inlined(files: &[&str]) -> (Program, LocationNumber) {
        let mut builder = ProgramBuilder::new("");
        let mut place = None;
        for (position, path) in files.iter().enumerate().rev() {
            let path = builder.text(path);
            let file = builder.file(SourceFile {
                path,
                directory: path,
            });
            let scope = builder.scope(Scope {
                name: path,
                linkage_name: path,
                file: Some(file).into(),
                line: 1,
            });
            place = Some(builder.location(Location {
                scope,
                line: position as u32 + 1,
                column: 1,
                inlined_at: place.into(),
            }));
        }
        (builder.finish(), place.expect("a place"))
    }

    #[test]
    fn what_calls_a_library_and_what_a_library_calls_is_told_at_the_authors_line() {
        let library = "/usr/include/c++/12/bits/std_thread.h";
        let (program, place) = inlined(&[library, "src/pool.cpp", "src/jobs.h", library]);
        assert_eq!(own_line(&program, place), "src/pool.cpp:2");
        let (program, place) = inlined(&[library, library]);
        assert_eq!(own_line(&program, place), format!("{library}:2"));
    }
}
