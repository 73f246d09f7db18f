//! Which failure a schedule has to show: the one that the log tells of, or the one
//! that left a core.

use super::{Args, SolveError};
use crate::dump;
use crate::inspect::name::short;
use crate::outcome::Failure;
use bohr_event::ThreadPath;
use bohr_explore::likeness::{Ending, Likeness, SeenPlace};
use bohr_log::{End, Execution, Recording, execution};
use bohr_program::{Language, Program};
use bohr_solve::path;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const ABORT: i32 = 6;

/// What it looks like.
pub fn wanted(args: &Args, program: &Program, recording: &Recording) -> Result<Likeness, Failure> {
    match &args.core {
        None => of_log(program, recording),
        Some(core) => {
            let recorded = Path::new(OsStr::from_bytes(&recording.program));
            dump::likeness(core, args.program.as_deref().unwrap_or(recorded))
        }
    }
}

/// Its kind, and, of one that the program itself noticed, the function that did.
fn of_log(program: &Program, recording: &Recording) -> Result<Likeness, Failure> {
    let mut places = Vec::new();
    let ending = match &recording.end {
        End::Exit(code) => Ending::Exit(*code),
        End::Standstill | End::Endless => Ending::Hang,
        End::Signal { number, thread, .. } => {
            if *number == ABORT && recording.kind.has_paths() {
                let execution = execution(program, recording).map_err(SolveError::from)?;
                let mut threads = execution.threads.iter();
                let failed = threads.find(|one| Some(&one.thread) == thread.as_ref());
                let innermost = failed.and_then(|failed| failed.stack.last());
                let known =
                    innermost.filter(|frame| program.language(frame.function) == Language::C);
                places.extend(known.map(|frame| SeenPlace {
                    function: program.texts[program.functions[frame.function].name].to_string(),
                    line: None,
                }));
            }
            Ending::Signal(*number)
        }
    };
    Ok(Likeness {
        ending,
        places,
        callers: Vec::new(),
    })
}

/// How the run ended, for those who solve constraints, and in which thread, if in one.
pub fn ending(
    args: &Args,
    program: &Program,
    recording: &Recording,
    execution: &Execution,
) -> Result<(path::Ending, Option<ThreadPath>), Failure> {
    let of_signal = |number| match number {
        ABORT => path::Ending::Aborted,
        _ => path::Ending::Crashed,
    };
    if args.core.is_none() {
        return Ok(match &recording.end {
            End::Exit(code) => (path::Ending::Exited(*code), None),
            End::Signal { number, thread, .. } => (of_signal(*number), thread.clone()),
            _ => (path::Ending::Aborted, None),
        });
    }
    let wanted = wanted(args, program, recording)?;
    match wanted.ending {
        Ending::Exit(code) => Ok((path::Ending::Exited(code), None)),
        Ending::Hang | Ending::Check => Ok((path::Ending::Aborted, None)),
        Ending::Signal(number) => {
            let told = match &recording.end {
                End::Signal {
                    number: own,
                    thread,
                    ..
                } if *own == number => thread.clone(),
                _ => None,
            };
            let failed = told.or_else(|| ends_at(program, execution, &wanted));
            let failed = failed.ok_or_else(|| SolveError::OtherEnd {
                wanted: wanted.to_string(),
            })?;
            Ok((of_signal(number), Some(failed)))
        }
    }
}

/// The thread whose log ends on the way through the function in which one failed.
fn ends_at(program: &Program, execution: &Execution, wanted: &Likeness) -> Option<ThreadPath> {
    let place = wanted.places.first()?;
    let mut threads = execution.threads.iter();
    let ends_there = threads.find(|thread| {
        thread.stack.iter().any(|frame| {
            let linkage = &program.texts[program.functions[frame.function].name];
            place.is_in(&short(linkage))
        })
    });
    ends_there.map(|thread| thread.thread.clone())
}
