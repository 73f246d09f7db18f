//! `bohr cargo`: cargo, with bohr behind rustc, the linker and the C compiler.

use crate::outcome::Outcome;
use bohr_build::Tool;
use std::ffi::OsString;

/// Everything is cargo's.
#[derive(clap::Args)]
pub struct Args {
    /// cargo's own arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub fn run(args: &Args) -> Outcome {
    Ok(Tool::Cargo.run(&args.arguments)?)
}
