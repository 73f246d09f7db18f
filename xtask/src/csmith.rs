//! `cargo xtask csmith`: random C programs by csmith, interpreted on the model
//! and run natively, at -O0 and -O2. The tests take a sample of ten; this is
//! the long run.

use crate::{Command, install, shell};

pub const COMMAND: Command = Command {
    name: "csmith",
    about: "[--count N] [--first SEED]: compare N random programs, interpreted and native (default: 500)",
    run,
};

/// Programs, unless `--count` says otherwise.
const COUNT: u64 = 500;

fn run(arguments: &[String]) -> Result<(), String> {
    let (mut count, mut first) = (COUNT, 1);
    for option in arguments.chunks(2) {
        let number = option.get(1).and_then(|word| word.parse().ok());
        match (option[0].as_str(), number) {
            ("--count", Some(number)) => count = number,
            ("--first", Some(number)) => first = number,
            _ => {
                return Err(format!(
                    "expected --count N or --first SEED, not `{}`",
                    option.join(" ")
                ));
            }
        }
    }
    install::for_testing()?;
    let mut cargo = shell::cargo();
    cargo.args([
        "run",
        "--release",
        "-p",
        "bohr-instrument",
        "--example",
        "csmith",
        "--",
    ]);
    shell::run(cargo.args([count.to_string(), first.to_string()]))
}
