//! `--bug 'CONDITION@FILE:LINE'`: a failure that the recorded run did not have, or did
//! not notice. The program is built again with a check there, and its threads keep to
//! the ways that were recorded of the one without; what the check itself looks at is on
//! nobody's way.

use super::counterparts::{Insertion, counterparts};
use super::{Args, SolveError};
use crate::checked::{At, Checked, checked, paths};
use crate::outcome::Failure;
use bohr_explore::Subject;
use bohr_explore::likeness::{Ending, Likeness, SeenPlace};
use bohr_log::{LogKind, Recording};
use bohr_program::{Program, SiteNumber};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// What is asked for, of a program that was made from the recorded one.
pub struct Asked {
    /// The program that was recorded.
    pub recorded: Arc<Program>,
    /// Its sites in the one with the check.
    pub sites: HashMap<SiteNumber, SiteNumber>,
    /// What a run has to show.
    pub wanted: Likeness,
}

/// The program with the check, if one is asked for, as it is run under control.
pub fn prepare(
    args: &Args,
    recording: &Recording,
    subject: Subject,
    output: &Path,
) -> Result<(Subject, Option<Asked>), Failure> {
    let Some(at) = &args.bug else {
        return Ok((subject, None));
    };
    if recording.kind == LogKind::Order {
        return Err(SolveError::OneOrder.into());
    }
    let recorded = Arc::clone(&subject.models[0]);
    if recorded.identity != recording.bundle {
        let (recorded, found) = (recording.bundle, recorded.identity);
        let other = bohr_log::DecodeError::OtherProgram { recorded, found };
        return Err(SolveError::from(other).into());
    }
    let made = checked(at, &super::program(args, recording), &recorded, output)?;
    // No name that is looked for among the system's programs.
    let program = Path::new(".").join(&made.program);
    let subject = super::subject(args, recording, &program)?;
    let sites = counterparts(
        &recorded,
        &subject.models[0],
        &insertion(at, &made, &recorded),
    );
    let asked = Asked {
        recorded,
        sites,
        wanted: Likeness {
            ending: Ending::Check,
            places: vec![SeenPlace {
                function: String::new(),
                line: Some(at.place()),
            }],
            callers: Vec::new(),
        },
    };
    Ok((subject, Some(asked)))
}

fn insertion(at: &At, made: &Checked, recorded: &Program) -> Insertion {
    let is_it = |path: &Path| path.canonicalize().is_ok_and(|path| path == made.source);
    let files = paths(recorded).filter(|(_, path)| is_it(path));
    Insertion {
        files: files.map(|(number, _)| number).collect(),
        line: at.line() as u32,
        columns: u16::try_from(made.columns).unwrap_or(u16::MAX),
    }
}
