//! `bohr-lower PROGRAM DIRECTORY [--profile NAME] [--asked-for NAME] [--hook shared|all] [--plain]`: makes a
//! profile of a program that was built with bohr.
//!
//! It is a program of its own so that LLVM, which ends the process when it meets
//! something impossible, ends this one.

use bohr_event::{Diagnosis, Fault};
use bohr_instrument::profile::{HookChoice, Request, make};
use bohr_instrument::report::Report;
use rustix::process::Signal;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: bohr-lower PROGRAM DIRECTORY \
    [--profile control|path|order|alignment|production|production-count] [--asked-for NAME] \
    [--hook shared|all] [--plain]";

struct Arguments {
    program: PathBuf,
    directory: PathBuf,
    hooks: HookChoice,
    /// The name by which a shared library is asked for.
    asked_for: Option<String>,
}

fn main() -> ExitCode {
    // Nobody waits for the profile any more if the one that asked for it is gone.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("bohr-lower: {message}\n{USAGE}");
            return Fault::Input.exit_code().into();
        }
    };
    let request = Request {
        program: &arguments.program,
        directory: &arguments.directory,
        hooks: arguments.hooks,
        asked_for: arguments.asked_for.as_deref(),
    };
    match make(&request) {
        Ok(report) => {
            summarise(&report);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            if let Some(help) = error.help() {
                eprintln!("{help}");
            }
            error.fault().exit_code().into()
        }
    }
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut positional = Vec::new();
    let mut hooks = HookChoice::Shared;
    let mut asked_for = None;
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--profile" => match arguments.next().as_deref() {
                Some("control") => {}
                Some("path") => hooks = HookChoice::Paths,
                Some("order") => hooks = HookChoice::Order,
                Some("alignment") => hooks = HookChoice::Points,
                Some("production") => hooks = HookChoice::Production,
                Some("production-count") => hooks = HookChoice::CountedProduction,
                other => {
                    return Err(format!(
                        "there is no profile {other:?}; there are: control, path, order, alignment, \
                         production"
                    ));
                }
            },
            "--asked-for" => {
                let name = arguments.next().ok_or("--asked-for wants a name")?;
                asked_for = Some(name);
            }
            "--hook" => match arguments.next().as_deref() {
                Some("shared") => hooks = HookChoice::Shared,
                Some("all") => hooks = HookChoice::All,
                other => return Err(format!("--hook {other:?}: expected shared or all")),
            },
            "--plain" => hooks = HookChoice::None,
            option if option.starts_with('-') => return Err(format!("unknown option {option}")),
            _ => positional.push(PathBuf::from(argument)),
        }
    }
    let [program, directory] = <[PathBuf; 2]>::try_from(positional).map_err(|given| {
        format!(
            "expected a program and a directory, got {} paths",
            given.len()
        )
    })?;
    Ok(Arguments {
        program,
        directory,
        hooks,
        asked_for,
    })
}

/// One line if some of the program is beyond control, nothing otherwise.
fn summarise(report: &Report) {
    let parts = report.uninstrumented.len();
    if let Some(first) = report.uninstrumented.first() {
        let more = if parts > 1 {
            format!(" and {} more", parts - 1)
        } else {
            String::new()
        };
        eprintln!(
            "bohr: {parts} part{} linked without hooks: {first}{more}",
            if parts == 1 { "" } else { "s" },
        );
    }
}
