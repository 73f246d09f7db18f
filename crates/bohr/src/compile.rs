//! `bohr cc` and `bohr c++`: the drop-in compilers.

use crate::outcome::Outcome;
use bohr_build::Tool;
use std::ffi::OsString;

/// Everything is clang's, `--help` included.
#[derive(clap::Args)]
pub struct Args {
    /// clang's own arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub fn run(args: &Args, compiler: Tool) -> Outcome {
    Ok(compiler.run(&args.arguments)?)
}
