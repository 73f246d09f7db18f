//! `bohr setup`: the names bohr-cc, bohr-c++ and bohr-ld in a directory of the
//! user's choice.

use crate::outcome::Outcome;
use std::path::PathBuf;
use std::process::ExitCode;

/// Where the links go.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  bohr setup ~/bohr && cmake -B build -DCMAKE_C_COMPILER=$HOME/bohr/bohr-cc")]
pub struct Args {
    /// A directory; it is made if it is not there.
    directory: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    for link in bohr_build::install_links(&args.directory)? {
        println!("{}", link.display());
    }
    Ok(ExitCode::SUCCESS)
}
