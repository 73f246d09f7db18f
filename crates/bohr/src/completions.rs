//! `bohr completions`: what a shell needs to complete bohr's commands.

use crate::outcome::Outcome;
use clap_complete::Shell;
use std::process::ExitCode;

/// For which shell.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr completions bash > ~/.local/share/bash-completion/completions/bohr
  bohr completions zsh > \"${fpath[1]}/_bohr\"
  bohr completions fish > ~/.config/fish/completions/bohr.fish")]
pub struct Args {
    /// The shell.
    shell: Shell,
}

pub fn run(args: &Args, mut command: clap::Command) -> Outcome {
    clap_complete::generate(args.shell, &mut command, "bohr", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}
