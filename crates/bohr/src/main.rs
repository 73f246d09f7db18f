//! The command line: one command per file, each with its arguments (`Args`)
//! and its work (`run`).
//!
//! `bohr` is started thousands of times by configure scripts, so the compilers
//! are told apart before anything else is looked at, by the name under which
//! the program was started or by its first argument; their arguments are
//! clang's business, not ours.

#![forbid(unsafe_code)]

mod breaking;
mod cargo;
mod check;
mod checked;
mod compile;
mod completions;
mod control;
mod dump;
mod explain;
mod hunt;
mod inspect;
mod link;
mod man;
mod outcome;
mod profile;
mod record;
mod reduce;
mod replay;
mod run;
mod setup;
mod shell_word;
mod simplify;
mod solve;
mod trace;

use bohr_build::Tool;
use clap::{CommandFactory, Parser, Subcommand};
use outcome::Outcome;
use std::ffi::OsString;
use std::process::ExitCode;

/// Turns Heisenbugs into Bohrbugs: builds a program so that its interleavings
/// can be controlled, catches a failing one, replays it every time.
#[derive(Parser)]
#[command(name = "bohr", version, after_help = AFTER_HELP)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "\
Exit codes: 0 done, nothing found; 1 a bug was found in the program under test;
2 bohr could not do it, and the message says whether the input was wrong, the
case is not supported, or bohr has a bug; 130 it was interrupted before it had a
result. The compilers end with the exit code of clang, of the linker or of cargo.

Where a build system wants one path instead of two words, use bohr-cc, bohr-c++
and bohr-ld, which `bohr setup DIR` makes:
  CC=\"bohr cc\" CXX=\"bohr c++\" ./configure && make
  cmake -DCMAKE_C_COMPILER=DIR/bohr-cc -DCMAKE_CXX_COMPILER=DIR/bohr-c++ ...";

// One line per command, in the order in which a user meets them.
#[derive(Subcommand)]
enum Command {
    /// Compile and link C, as clang does.
    #[command(disable_help_flag = true)]
    Cc(compile::Args),
    /// Compile and link C++, as clang++ does.
    #[command(name = "c++", alias = "cxx", disable_help_flag = true)]
    Cxx(compile::Args),
    /// Link, as the system's linker does.
    #[command(disable_help_flag = true)]
    Ld(link::Args),
    /// Run cargo so that what it builds can be controlled.
    #[command(disable_help_flag = true)]
    Cargo(cargo::Args),
    /// Show the model of a program: functions, sites, sharing, loops.
    Inspect(inspect::Args),
    /// Search for a schedule under which a program fails.
    Hunt(hunt::Args),
    /// Show a recorded failure again, every time.
    Replay(replay::Args),
    /// Leave out the threads and iterations that a failure does not need.
    Reduce(reduce::Args),
    /// Find the same failure with the fewest context switches.
    Simplify(simplify::Args),
    /// Say what a failure takes: who must not be interrupted, and by what.
    Explain(explain::Args),
    /// Find breakpoints with which a failure comes every time, with real threads.
    Break(breaking::Args),
    /// Show every event of a failing run, or export them.
    Trace(trace::Args),
    /// Read a core file: who failed, where, and what its variables were.
    Core(dump::Args),
    /// Record the ways of real, parallel threads, so cheaply that it can stay on.
    Record(record::Args),
    /// Find a schedule that fails as a recorded run did.
    Solve(solve::Args),
    /// Run a program once, under control.
    Run(run::Args),
    /// Run one schedule many times and compare every event.
    Check(check::Args),
    /// Make bohr-cc, bohr-c++ and bohr-ld for build systems that want one path.
    Setup(setup::Args),
    /// Make a profile of a program now instead of on first use.
    Profile(profile::Args),
    /// Print completions for a shell.
    Completions(completions::Args),
    /// Write manual pages.
    Man(man::Args),
}

fn main() -> ExitCode {
    bohr_report::end_with_the_reader();
    let words: Vec<OsString> = std::env::args_os().collect();
    outcome::finish(match Tool::recognise(&words) {
        Some((tool, arguments)) => tool.run(arguments).map_err(outcome::Failure::from),
        None => run(CommandLine::parse_from(words).command),
    })
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Cc(args) => compile::run(&args, Tool::Cc),
        Command::Cxx(args) => compile::run(&args, Tool::Cxx),
        Command::Ld(args) => link::run(&args),
        Command::Cargo(args) => cargo::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Hunt(args) => hunt::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Reduce(args) => reduce::run(&args),
        Command::Simplify(args) => simplify::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Break(args) => breaking::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Core(args) => dump::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Solve(args) => solve::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Setup(args) => setup::run(&args),
        Command::Profile(args) => profile::run(&args),
        Command::Completions(args) => completions::run(&args, CommandLine::command()),
        Command::Man(args) => man::run(&args, CommandLine::command()),
    }
}
