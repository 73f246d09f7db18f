//! `cargo xtask demo`: the main job from beginning to end, on a small program
//! with a real bug, from the state of a machine that has Rust and nothing else.

use crate::{Command, install, shell};

pub const COMMAND: Command = Command {
    name: "demo",
    about: "install what is missing, build bohr, and walk one buggy program through it",
    run,
};

fn run(_: &[String]) -> Result<(), String> {
    install::for_building()?;
    shell::run(shell::cargo().args(["build", "--release", "--workspace"]))
}
