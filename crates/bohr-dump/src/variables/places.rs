//! Names and lines of code.

use crate::expression::Bytes;
use serde::Serialize;

/// Bytes of code within which a line is looked for.
const NEAR: u64 = 64;

/// A function that is being executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Call {
    /// As people write it.
    pub function: Option<String>,
    /// The source file.
    pub file: Option<String>,
    /// The line, from 1 on.
    pub line: Option<u32>,
    /// The column, from 1 on.
    #[serde(skip)]
    pub column: Option<u32>,
    /// It has no frame of its own: it was inlined into the next one.
    pub inlined: bool,
}

/// The functions at an address of the file, inlined ones first.
pub fn calls(lines: &addr2line::Context<Bytes<'_>>, address: u64) -> Vec<Call> {
    let mut calls = Vec::new();
    let Ok(mut frames) = lines.find_frames(address).skip_all_loads() else {
        return calls;
    };
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref();
        let name = name.and_then(|name| name.demangle().ok().map(|name| name.into_owned()));
        let location = frame.location;
        calls.push(Call {
            function: name,
            file: location.as_ref().and_then(|at| at.file).map(String::from),
            line: location.as_ref().and_then(|at| at.line),
            column: location.and_then(|at| at.column),
            inlined: true,
        });
    }
    if let Some(first) = calls.first_mut() {
        first.line = first.line.or_else(|| line_before(lines, address));
    }
    if let Some(last) = calls.last_mut() {
        last.inlined = false;
    }
    calls
}

/// The line of the code before, where an instruction belongs to none: compilers
/// merge what came from two lines.
fn line_before(lines: &addr2line::Context<Bytes<'_>>, address: u64) -> Option<u32> {
    let before = (1..=NEAR).filter_map(|distance| address.checked_sub(distance));
    let mut told = before.filter_map(|address| lines.find_location(address).ok().flatten()?.line);
    told.next()
}
