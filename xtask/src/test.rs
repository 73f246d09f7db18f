//! `cargo xtask test`: everything that a change has to pass, from the state of
//! a machine that has Rust and nothing else.

use crate::{Command, eval, exports, install, shell, tidy};

pub const COMMAND: Command = Command {
    name: "test",
    about: "install what is missing, then fmt, clippy, tidy, all tests, doc tests, queries on exported traces and a quick evaluation",
    run,
};

fn run(arguments: &[String]) -> Result<(), String> {
    install::for_testing()?;
    shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
    tidy::check()?;
    shell::run(shell::cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    // The tests run the programs that the workspace builds: the command line,
    // `bohr-lower` and the runtime library.
    shell::run(shell::cargo().args(["build", "--workspace"]))?;
    shell::run(
        shell::cargo()
            .args(["nextest", "run", "--workspace"])
            .args(arguments),
    )?;
    shell::run(shell::cargo().args(["test", "--workspace", "--doc", "--quiet"]))?;
    // Words choose tests, and leave out the rest.
    if !arguments.is_empty() {
        return Ok(());
    }
    exports::check()?;
    eval::quick(&shell::built("debug").join("bohr"))
}
