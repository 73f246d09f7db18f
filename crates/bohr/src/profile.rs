//! `bohr profile`: makes a profile of a program now.

use crate::control::interruption;
use crate::outcome::Outcome;
use bohr_build::{Cache, Profile};
use std::path::PathBuf;
use std::process::ExitCode;

/// Which profile of which program.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr profile ./server
  bohr profile ./server -o server-with-hooks")]
pub struct Args {
    /// A program or shared library that was built with bohr.
    program: PathBuf,
    /// Which set of hooks.
    #[arg(long, default_value = "control")]
    profile: Profile,
    /// Copy the instrumented program here; without this its place in the cache is printed.
    #[arg(short, long)]
    output: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let cache = Cache::open()?.interrupted_by(interruption());
    let paths = cache.profile(&args.program, args.profile)?;
    match &args.output {
        Some(output) => bohr_build::copy_program(&paths.executable, output)?,
        None => println!("{}", paths.executable.display()),
    }
    Ok(ExitCode::SUCCESS)
}
