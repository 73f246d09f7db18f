//! Blocks that the user names by lines of the source, without building anew: the
//! loops, marked blocks and calls in them that can be left out go together.

use bohr_event::abi::CALL_GATE;
use bohr_event::control::GateReference;
use bohr_program::{Gates, LocationNumber, Program, Sharing, skippable_calls};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// `FILE:FROM-TO`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    file: String,
    first: u32,
    last: u32,
}

impl FromStr for Lines {
    type Err = String;

    fn from_str(text: &str) -> Result<Lines, String> {
        let form = "expected FILE:FROM-TO, such as server.c:40-52";
        let (file, lines) = text.rsplit_once(':').ok_or(form)?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let number = |word: &str| word.trim().parse::<u32>().map_err(|_| form.to_owned());
        let (first, last) = (number(first)?, number(last)?);
        if file.is_empty() || first == 0 || last < first {
            return Err(form.to_owned());
        }
        Ok(Lines {
            file: file.to_owned(),
            first,
            last,
        })
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}-{}", self.file, self.first, self.last)
    }
}

impl Lines {
    /// The gates of a program in these lines.
    pub fn gates(&self, program: &Program) -> Vec<GateReference> {
        let gates = Gates::of(program, &Sharing::of(program)).gates;
        let repeated = gates.iter().filter_map(|(number, gate)| {
            let location = gate.location(program)?;
            self.has(program, location).then_some(number.as_u32())
        });
        let calls = skippable_calls(program);
        let calls = (0u32..).zip(&calls).filter_map(|(number, call)| {
            let body = program.functions[call.function].body.as_ref()?;
            let location = body.instructions[call.call].location.expand()?;
            self.has(program, location).then_some(CALL_GATE | number)
        });
        let reference = |number| GateReference {
            program: program.identity,
            number,
        };
        repeated.chain(calls).map(reference).collect()
    }

    /// Whether a place is in them, or in a function that was inlined there.
    fn has(&self, program: &Program, location: LocationNumber) -> bool {
        let outwards = std::iter::successors(Some(location), |number| {
            program.locations[*number].inlined_at.expand()
        });
        let mut places = outwards.map(|number| &program.locations[number]);
        places.any(|place| {
            let file = program.scopes[place.scope].file.expand();
            let file = file.map(|file| &program.texts[program.files[file].path]);
            file.is_some_and(|file| Path::new(file).ends_with(&self.file))
                && (self.first..=self.last).contains(&place.line)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_file_and_a_range() {
        let lines: Lines = "src/server.c:40-52".parse().unwrap();
        assert_eq!((lines.first, lines.last), (40, 52));
        assert_eq!(lines.to_string(), "src/server.c:40-52");
        assert_eq!("a.c:7".parse::<Lines>().unwrap().last, 7);
        for wrong in ["server.c", ":1-2", "a.c:0-3", "a.c:9-3", "a.c:x-3"] {
            assert!(wrong.parse::<Lines>().is_err(), "{wrong}");
        }
    }
}
