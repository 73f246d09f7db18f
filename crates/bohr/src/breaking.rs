//! `bohr break`: breakpoints that reproduce a failure with real threads.

mod artefacts;
mod choices;
mod conflicts;
mod from;
mod laboratory;
mod library;
mod measured;
mod proof;
mod report;
mod sanitizer;
mod search;
mod thrift;
mod tune;
mod verified;

use crate::outcome::Outcome;

/// What to make breakpoints from.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr break from cache.bohr
  bohr break tsan report.txt -- ./server
  bohr break conflicts -- ./appender 2 10
  bohr break library vendor/bohr

Exit codes are those of each: `bohr break from --help` tells them.")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// From a bug: the fewest breakpoints with which it comes every time.
    From(from::Args),
    /// From a report of ThreadSanitizer: the lines of a data race meet every time.
    Tsan(sanitizer::Args),
    /// From nothing but the program: which conflict between threads is to blame.
    Conflicts(conflicts::Args),
    /// Writes the library that patches need: C and C++ headers, a Rust crate, a Java class.
    Library(library::Args),
}

pub fn run(args: &Args) -> Outcome {
    match &args.command {
        Command::From(args) => from::run(args),
        Command::Tsan(args) => sanitizer::run(args),
        Command::Conflicts(args) => conflicts::run(args),
        Command::Library(args) => library::run(args),
    }
}
