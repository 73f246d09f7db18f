//! Breakpoints on the command line: read, found in the program, told about.

use super::libraries;
use crate::explain::source;
use crate::outcome::Failure;
use bohr_event::PlaceNumber;
use bohr_event::breakpoint::{Breakpoint, Counts, MOST_BREAKPOINTS};
use bohr_event::control::LoadedObject;
use bohr_event::{Diagnosis, Fault};
use bohr_explore::native::{hooked_sites, program_symbols};
use bohr_explore::{ExploreError, Subject};
use bohr_program::Program;
use bohr_trigger::{
    Expression, Places, Side, Symbols, find_never_meeting, find_never_same, resolve,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why breakpoints cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum BreakpointError {
    /// There are too many.
    #[error("{0} breakpoints were given; at most {MOST_BREAKPOINTS} are carried out at once")]
    TooMany(usize),
    /// The strategy sees neither memory nor stacks.
    #[error("`{0}` asks for a calling context or a variable, which only `--native` can look at")]
    NativeOnly(String),
}

impl Diagnosis for BreakpointError {
    fn fault(&self) -> Fault {
        match self {
            BreakpointError::TooMany(_) => Fault::Input,
            BreakpointError::NativeOnly(_) => Fault::Unsupported,
        }
    }
}

/// What is needed to find breakpoints in a program.
pub struct Finder {
    program: Arc<Program>,
    hooked: BTreeSet<u32>,
    symbols: Symbols,
}

impl Finder {
    /// Of a program that was built with bohr.
    pub fn of(subject: &Subject) -> Result<Finder, Failure> {
        let model = subject.program_model();
        let program = model.ok_or(ExploreError::NotBuiltWithBohr)?;
        libraries::note_beyond(&subject.target, "breakpoints");
        let profile = &subject.target.executable;
        Ok(Finder {
            program: program.clone(),
            hooked: hooked_sites(profile)?,
            symbols: program_symbols(profile)?,
        })
    }

    /// Names the model whose sites are its places.
    pub fn identity(&self) -> &[u8; 32] {
        &self.program.identity
    }

    /// The places of the program.
    pub fn places(&self) -> Places<'_> {
        Places::new(&self.program, &self.hooked)
    }

    /// Folders in which the program was compiled.
    pub fn folders(&self) -> Vec<PathBuf> {
        let places = self.places();
        places
            .own_folders()
            .into_iter()
            .map(PathBuf::from)
            .collect()
    }

    /// Lines of the own source files of the program at this path, as far as they are
    /// there.
    pub fn lines(&self, program: &Path) -> usize {
        let folders = self.folders();
        let files = self.places().own_files().into_iter();
        let texts = files.filter_map(|file| source::find(program, &folders, file.as_ref()));
        texts.map(|(_, text)| text.lines().count()).sum()
    }

    /// Finds breakpoints, and refuses those whose sides can never meet.
    pub fn find(&self, expressions: &[Expression]) -> Result<Vec<Breakpoint>, Failure> {
        if expressions.len() > MOST_BREAKPOINTS {
            return Err(BreakpointError::TooMany(expressions.len()).into());
        }
        let places = self.places();
        let mut found = Vec::new();
        for expression in expressions {
            let breakpoint = resolve(expression, &places, &self.symbols)?;
            find_never_meeting(&self.program, expression, &breakpoint, &places)?;
            find_never_same(&self.program, expression, &breakpoint)?;
            found.push(breakpoint);
        }
        Ok(found)
    }
}

/// Breakpoints as the words of a command line.
pub fn expressions(words: &[String]) -> Result<Vec<Expression>, Failure> {
    let all = words.iter().map(|word| word.parse());
    Ok(all.collect::<Result<_, bohr_trigger::ExpressionError>>()?)
}

/// The same breakpoints in the numbers of a controlled process.
pub fn under_control(
    expressions: &[Expression],
    breakpoints: &[Breakpoint],
    objects: &[LoadedObject],
    program: &[u8; 32],
) -> Result<Vec<Breakpoint<PlaceNumber>>, Failure> {
    let is_it = |object: &LoadedObject| matches!(object, LoadedObject::Sites { program: one, .. } if one == program);
    let number = objects.iter().position(is_it).unwrap_or(0) as u16;
    let pairs = expressions.iter().zip(breakpoints);
    let all = pairs.map(|(expression, breakpoint)| {
        let sides = &breakpoint.sides;
        match sides
            .iter()
            .all(|side| side.within.is_empty() && side.when.is_empty())
        {
            true => Ok(breakpoint.with_sites(|site| PlaceNumber::new(number, u64::from(*site)))),
            false => Err(BreakpointError::NativeOnly(expression.to_string()).into()),
        }
    });
    all.collect()
}

/// Says on standard error what became of breakpoints.
pub fn tell<'a>(counted: impl Iterator<Item = (&'a Expression, &'a Counts)>, finder: &Finder) {
    for (expression, counts) in counted {
        eprintln!("bohr: {}", describe(expression, counts));
        for side in unvisited(expression, counts) {
            eprintln!("bohr: nobody came by `{}`", side.at);
        }
        if let Some(sentence) = describe_freed(expression, counts, finder) {
            eprintln!("bohr: {sentence}");
        }
    }
}

/// What became of a breakpoint, for people.
fn describe(expression: &Expression, counts: &Counts) -> String {
    let Counts {
        visits,
        postponed,
        hits,
        timed_out,
        first_hit,
        ..
    } = counts;
    let first = match *first_hit > 0 {
        true => format!(", first after {:.3} s", *first_hit as f64 / 1e9),
        false => String::new(),
    };
    format!(
        "breakpoint {expression}: {visits} visits, {postponed} held up, {hits} hits, \
         {timed_out} timed out{first}"
    )
}

/// The sides that no thread came by.
fn unvisited<'a>(expression: &'a Expression, counts: &Counts) -> impl Iterator<Item = &'a Side> {
    let sides = expression.sides.iter().zip(counts.side_visits);
    sides.filter_map(|(side, visits)| (visits == 0).then_some(side))
}

/// Says that what threads were held up for was freed meanwhile, so that nobody could
/// meet them at the same object, and where they could.
fn describe_freed(expression: &Expression, counts: &Counts, finder: &Finder) -> Option<String> {
    let side = expression.sides.get(counts.freed_side as usize)?;
    let place = finder.places().name(counts.freed_at?)?;
    (counts.freed > 0).then(|| {
        format!(
            "what a thread was held up for at {} was freed at {place} meanwhile; \
             `{place} -> {} if same-object` has the two meet",
            side.at, side.at
        )
    })
}

/// The same for programs.
pub fn as_json(expression: &Expression, counts: &Counts) -> Value {
    json!({
        "breakpoint": expression.to_string(),
        "visits": counts.visits,
        "visits_by_side": counts.side_visits[..expression.sides.len()],
        "postponed": counts.postponed,
        "hits": counts.hits,
        "timed_out": counts.timed_out,
        "freed": counts.freed,
        "seconds_to_first_hit": (counts.first_hit > 0).then(|| counts.first_hit as f64 / 1e9),
    })
}
