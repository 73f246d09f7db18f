//! The project's own commands, run as `cargo xtask COMMAND`. One file per
//! command; what a fresh Debian machine lacks is installed by [`install`],
//! which says so.

mod bench;
mod bench_break;
mod bench_build;
mod bench_control;
mod bench_explain;
mod bench_record;
mod bench_reduce;
mod bench_simplify;
mod bench_trace;
mod bugs;
mod csmith;
mod demo;
mod eval;
mod exports;
mod install;
mod museum;
mod paper_size;
mod plot;
mod shell;
mod subjects;
mod test;
mod tidy;

use std::process::ExitCode;

/// One command: its name, what `cargo xtask` without arguments says of it, and
/// what it does. An error is a sentence for the person at the terminal.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const COMMANDS: &[Command] = &[
    bench::COMMAND,
    bugs::COMMAND,
    csmith::COMMAND,
    demo::COMMAND,
    eval::COMMAND,
    exports::COMMAND,
    museum::COMMAND,
    subjects::COMMAND,
    test::COMMAND,
    tidy::COMMAND,
];

fn main() -> ExitCode {
    bohr_report::end_with_the_reader();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        usage();
        return ExitCode::from(2);
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("xtask: there is no command `{name}`");
        usage();
        return ExitCode::from(2);
    };
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage() {
    eprintln!("usage: cargo xtask COMMAND\n");
    for command in COMMANDS {
        eprintln!("  {:10} {}", command.name, command.about);
    }
}
