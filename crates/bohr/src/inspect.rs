//! `bohr inspect`: the model of a program at a glance, or one function of it.

mod dot;
mod facts;
mod function;
mod gather;
pub mod name;
mod text;

use crate::control::{interruption, model};
use crate::outcome::{Failure, Outcome};
use bohr_build::{Cache, Profile, ProfilePaths};
use bohr_event::{Diagnosis, Fault};
use bohr_program::{FunctionNumber, Program, Sharing};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to show of which program.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr inspect ./server
  bohr inspect ./server --sites | less
  bohr inspect ./server --function main --dot | dot -Tsvg > main.svg")]
pub struct Args {
    /// A program or shared library that was built with bohr.
    program: PathBuf,
    /// Show one function: its linkage name, its name in the source, or its id.
    #[arg(long, value_name = "FUNCTION")]
    function: Option<String>,
    /// List every site with its place in the source.
    #[arg(long, conflicts_with = "function")]
    sites: bool,
    /// List every loop.
    #[arg(long, conflicts_with = "function")]
    loops: bool,
    /// List every gate: what can be left out of an execution.
    #[arg(long, conflicts_with = "function")]
    gates: bool,
    /// Print JSON; docs/json/inspect.md says what is in it.
    #[arg(long)]
    json: bool,
    /// Print a graph for Graphviz: of the function, or of all calls.
    #[arg(long, conflicts_with_all = ["json", "sites", "loops", "gates"])]
    dot: bool,
}

/// Why a function cannot be shown.
#[derive(Debug, thiserror::Error)]
enum InspectError {
    #[error("the program has no function `{wanted}`")]
    NoFunction {
        wanted: String,
        similar: Vec<String>,
    },
    #[error("{} functions are called `{wanted}`", ids.len())]
    Ambiguous { wanted: String, ids: Vec<String> },
    #[error("the report of the profile, `{path}`, cannot be read")]
    Report {
        path: PathBuf,
        source: std::io::Error,
    },
}

impl Diagnosis for InspectError {
    fn fault(&self) -> Fault {
        match self {
            InspectError::Report { .. } => Fault::Internal,
            _ => Fault::Input,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            InspectError::NoFunction { similar, .. } if similar.is_empty() => {
                "`bohr inspect PROGRAM --json` lists all functions".to_owned()
            }
            InspectError::NoFunction { similar, .. } => {
                format!("try --function with one of: {}", similar.join(", "))
            }
            InspectError::Ambiguous { ids, .. } => {
                format!("name one by its id: --function {}", ids.join(", "))
            }
            InspectError::Report { path, .. } => {
                let folder = path.parent().unwrap_or(path).display();
                format!("remove {folder} and run the command again: bohr makes it anew")
            }
        })
    }
}

pub fn run(args: &Args) -> Outcome {
    let paths = Cache::open()?
        .interrupted_by(interruption())
        .profile(&args.program, Profile::Control)?;
    let program = model::load(&paths.model)?;
    let shown = match &args.function {
        Some(wanted) => one_function(&program, &paths, find(&program, wanted)?, args)?,
        None => whole_program(&program, &paths, args)?,
    };
    // A reader that has seen enough closes the pipe; that is no failure.
    let _ = std::io::stdout().write_all(shown.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn one_function(
    program: &Program,
    paths: &ProfilePaths,
    function: FunctionNumber,
    args: &Args,
) -> Result<String, Failure> {
    if args.dot {
        return Ok(dot::function(program, function));
    }
    let facts = function::gather(program, &sharing(program, paths), &report(paths)?, function);
    Ok(match args.json {
        true => json(&facts),
        false => function::show(program, function, &facts),
    })
}

/// The analysis of sharing: as the maker of the profile left it, or made again.
fn sharing(program: &Program, paths: &ProfilePaths) -> Sharing {
    let kept = std::fs::read(paths.model.with_file_name("sharing"));
    let kept = kept
        .ok()
        .and_then(|bytes| Sharing::from_bytes(&bytes, program));
    kept.unwrap_or_else(|| Sharing::of(program))
}

fn report(paths: &ProfilePaths) -> Result<Vec<u8>, InspectError> {
    std::fs::read(&paths.report).map_err(|source| InspectError::Report {
        path: paths.report.clone(),
        source,
    })
}

fn whole_program(program: &Program, paths: &ProfilePaths, args: &Args) -> Result<String, Failure> {
    if args.dot {
        return Ok(dot::calls(program));
    }
    let facts = gather::gather(program, &sharing(program, paths), &report(paths)?);
    Ok(match args.json {
        true => json(&facts),
        false => text::show(&facts, args.sites, args.loops, args.gates),
    })
}

fn json(facts: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(facts);
    text.expect("facts are plain data") + "\n"
}

/// The function that a user means.
fn find(program: &Program, wanted: &str) -> Result<FunctionNumber, InspectError> {
    let defined = || program.bodies().map(|(number, facts, _)| (number, facts));
    let found: Vec<FunctionNumber> = defined()
        .filter(|(_, facts)| {
            let linkage = &program.texts[facts.name];
            linkage == wanted
                || facts.id.to_string() == wanted
                || name::readable(linkage) == wanted
                || name::short(linkage) == wanted
        })
        .map(|(number, _)| number)
        .collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let names = defined().map(|(_, facts)| name::readable(&program.texts[facts.name]));
            let similar = names.filter(|name| name.contains(wanted)).take(5).collect();
            Err(InspectError::NoFunction {
                wanted: wanted.to_owned(),
                similar,
            })
        }
        many => {
            let ids = many
                .iter()
                .map(|&number| program.functions[number].id.to_string());
            Err(InspectError::Ambiguous {
                wanted: wanted.to_owned(),
                ids: ids.collect(),
            })
        }
    }
}
