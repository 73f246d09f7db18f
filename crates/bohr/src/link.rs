//! `bohr ld`: the drop-in linker.

use crate::outcome::Outcome;
use bohr_build::Tool;
use std::ffi::OsString;

/// Everything is the linker's.
#[derive(clap::Args)]
pub struct Args {
    /// The linker's own arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub fn run(args: &Args) -> Outcome {
    Ok(Tool::Ld.run(&args.arguments)?)
}
