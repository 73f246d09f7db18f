//! Hooks tell the truth when they are on, and change nothing, on or off.

mod support;

use std::fs;
use std::path::Path;
use support::instrumented::{execute, instrument, runtime};
use support::{Compiled, compile};

fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name);
    fs::read_to_string(path).expect("test program")
}

/// What a hook was told, in the words of `addresses.c`.
fn events(log: &str) -> Vec<String> {
    log.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| u64::from_str_radix(fields[at], 16).expect("hexadecimal");
            match fields[0] {
                "access" => {
                    let kind = match fields[2] {
                        "4" => "read",
                        "5" => "write",
                        _ => "update",
                    };
                    format!("{kind} {:#x} {}", number(4), fields[3])
                }
                "range" => format!("range {:#x} {}", number(4), number(5)),
                "copy" => format!("copy {:#x} {}", number(4), number(6)),
                other => other.to_string(),
            }
        })
        .collect()
}

fn addresses_at(level: &str) {
    let directory = tempfile::tempdir().expect("directory");
    let part = compile(
        directory.path(),
        "addresses.c",
        &source("addresses.c"),
        &[level, "-g"],
    );
    let program = instrument(directory.path(), &[part], &[]);
    let log = directory.path().join("log");
    let runtime = runtime(directory.path());
    let variables = [("HOOK_LOG", log.to_str().expect("path"))];
    let output = execute(&program.path, Some(&runtime), &variables);
    assert!(output.status.success(), "{output:?}");
    let events = events(&fs::read_to_string(&log).expect("log"));
    let mut rest = events.iter();
    for expected in String::from_utf8(output.stdout).expect("text").lines() {
        assert!(
            rest.any(|event| event == expected),
            "{level}: {expected} is missing or out of order in\n{}",
            events.join("\n")
        );
    }
}

#[test]
fn addresses_are_those_of_the_accesses() {
    ["-O0", "-O1", "-O2", "-O3"]
        .into_iter()
        .for_each(addresses_at);
}

/// The same output natively, with hooks off, and with hooks on.
fn same_output(name: &str, text: &str, flags: &[&str], linker: &[&str]) {
    let directory = tempfile::tempdir().expect("directory");
    let part = compile(directory.path(), name, text, flags);
    let native = native(directory.path(), name, flags, linker);
    let program = instrument(directory.path(), &[part], linker);
    let runtime = runtime(directory.path());
    let expected = execute(&native, None, &[]);
    assert!(program.count.hooked > 0);
    for preload in [None, Some(runtime.as_path())] {
        let output = execute(&program.path, preload, &[]);
        assert_eq!(
            output.status.code(),
            expected.status.code(),
            "{name} {flags:?} {preload:?}"
        );
        assert_eq!(
            output.stdout, expected.stdout,
            "{name} {flags:?} {preload:?}"
        );
    }
}

fn native(directory: &Path, name: &str, flags: &[&str], linker: &[&str]) -> std::path::PathBuf {
    let output = directory.join("native");
    let mut command = std::process::Command::new(if name.ends_with(".c") {
        "clang-22"
    } else {
        "clang++-22"
    });
    support::run(
        command
            .args(flags)
            .arg(directory.join(name))
            .args(["-pthread", "-lm"])
            .args(linker)
            .arg("-o")
            .arg(&output),
    );
    output
}

#[test]
fn floating_point_vectors_and_flags_survive_a_hook() {
    let text = source("registers.c");
    // SSE only: that is what the test runtime saves.
    for flags in [&["-O0"][..], &["-O2"], &["-O3", "-fno-omit-frame-pointer"]] {
        same_output("registers.c", &text, flags, &["-lm"]);
    }
}

#[test]
fn exceptions_threads_and_odd_functions() {
    let text = source("oddities.cc");
    for level in ["-O0", "-O2"] {
        same_output(
            "oddities.cc",
            &text,
            &[level, "-std=c++20", "-mcx16", "-g"],
            &[],
        );
    }
}

#[test]
fn an_unused_hook_stays_a_nop() {
    let directory = tempfile::tempdir().expect("directory");
    let part: Compiled = compile(
        directory.path(),
        "addresses.c",
        &source("addresses.c"),
        &["-O2"],
    );
    let program = instrument(directory.path(), &[part], &[]);
    assert!(execute(&program.path, None, &[]).status.success());
}
