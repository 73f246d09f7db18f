//! `bohr man`: a manual page for bohr and one for each of its commands, made
//! from the same text as the help.

use crate::outcome::Outcome;
use bohr_event::{Diagnosis, Fault};
use std::path::PathBuf;
use std::process::ExitCode;

/// Where the pages go.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  bohr man ~/.local/share/man/man1 && man bohr-hunt")]
pub struct Args {
    /// A directory; it is made if it is not there.
    directory: PathBuf,
}

/// Why the pages cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("the manual pages cannot be written to `{directory}`")]
struct ManError {
    directory: PathBuf,
    source: std::io::Error,
}

impl Diagnosis for ManError {
    fn fault(&self) -> Fault {
        Fault::Input
    }
}

pub fn run(args: &Args, command: clap::Command) -> Outcome {
    let written = std::fs::create_dir_all(&args.directory)
        .and_then(|()| clap_mangen::generate_to(command, &args.directory));
    written.map_err(|source| ManError {
        directory: args.directory.clone(),
        source,
    })?;
    Ok(ExitCode::SUCCESS)
}
