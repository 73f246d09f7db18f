//! `cargo xtask csmith`: random C programs by csmith, run natively and compared
//! at -O0 and -O2 with their model interpreted, or (`--profile`) with the same
//! program with hooks and gates that are switched off. The tests take a sample;
//! this is the long run.

use crate::{Command, install, shell};

pub const COMMAND: Command = Command {
    name: "csmith",
    about: "[--profile] [--count N] [--first SEED]: compare N random programs, native and interpreted or with hooks (default: 500)",
    run,
};

/// What to compare.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    other: &'static str,
    count: u64,
    first: u64,
}

fn parse(arguments: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted {
        other: "interpreted",
        count: 500,
        first: 1,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || {
            let given = words.next().and_then(|word| word.parse().ok());
            given.ok_or_else(|| format!("{word} needs a number"))
        };
        match word.as_str() {
            "--profile" => wanted.other = "instrumented",
            "--count" => wanted.count = number()?,
            "--first" => wanted.first = number()?,
            _ => {
                return Err(format!(
                    "expected --profile, --count N or --first SEED, not `{word}`"
                ));
            }
        }
    }
    Ok(wanted)
}

fn run(arguments: &[String]) -> Result<(), String> {
    let wanted = parse(arguments)?;
    install::for_testing()?;
    let mut cargo = shell::cargo();
    cargo.args(["run", "--release", "-p", "bohr-instrument"]);
    cargo.args(["--example", "csmith", "--", wanted.other]);
    shell::run(cargo.args([wanted.count.to_string(), wanted.first.to_string()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_any_order() {
        let of = |text: &str| {
            let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            parse(&words)
        };
        assert_eq!(of("").map(|wanted| wanted.count), Ok(500));
        let wanted = of("--count 3 --profile --first 9").unwrap();
        assert_eq!(
            (wanted.other, wanted.count, wanted.first),
            ("instrumented", 3, 9)
        );
        assert!(of("--count").is_err() && of("--count x").is_err() && of("--all").is_err());
    }
}
