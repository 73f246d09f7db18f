//! The interpreter against the native program: the same output, the same exit
//! code. Proves the lowering, instruction by instruction that a program needs.

mod csmith;
mod native;
mod rust;
#[path = "../support/mod.rs"]
mod support;

use bohr_program::Program;
use bohr_program::interpret::{Settings, Status, Stop, interpret};
use csmith::{Limits, Other, Verdict};
use native::{Native, bitcode, build, lowered, run};
use std::path::Path;

fn interpreted(program: &Program) -> Native {
    let finished = interpret(program, &Settings::default()).unwrap();
    let code = match finished.status {
        Status::Exited(code) => Some(code),
        Status::Aborted => None,
    };
    Native {
        code,
        output: finished.output,
    }
}

/// The path of a program of these tests.
fn path(name: &str) -> String {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interpreting/programs");
    programs.join(name).display().to_string()
}

fn compare(compiler: &str, name: &str) {
    for level in ["-O0", "-O2"] {
        let directory = tempfile::tempdir().unwrap();
        let flags = [level, "-w", &path(name)];
        let native = run(&build(compiler, directory.path(), &flags), 10).unwrap();
        let program = lowered(&[bitcode(compiler, directory.path(), &flags)]);
        assert_eq!(interpreted(&program), native, "{name} at {level}");
    }
}

#[test]
fn c_with_its_library() {
    compare("clang-22", "language.c");
}

#[test]
fn cpp_with_exceptions() {
    compare("clang++-22", "exceptions.cpp");
}

#[test]
fn rust_with_its_standard_library() {
    let std = rust::standard_library();
    for level in ["0", "2"] {
        let directory = tempfile::tempdir().unwrap();
        let built = rust::build(directory.path(), &path("standard_library.rs"), level);
        let native = run(&built.executable, 10).unwrap();
        let mut parts = std.clone();
        parts.push(built.bitcode);
        assert_eq!(interpreted(&lowered(&parts)), native, "at {level}");
    }
}

/// Compares the first random programs, each at two levels; most must end in time.
fn random_programs(other: Other, seeds: u64) {
    let limits = Limits {
        seconds: 5,
        steps: 50_000_000,
    };
    let mut same = 0;
    for seed in 1..=seeds {
        let directory = tempfile::tempdir().unwrap();
        let source = csmith::generate(directory.path(), seed, &["--max-funcs", "5"]);
        for level in ["-O0", "-O2"] {
            match csmith::compare(other, directory.path(), &source, level, limits) {
                Verdict::Same => same += 1,
                // What takes too long says nothing, for or against.
                Verdict::NativeTooSlow | Verdict::OtherTooSlow | Verdict::Undefined => {}
                other => panic!("seed {seed} at {level}: {other:?}"),
            }
        }
    }
    let all = 2 * seeds;
    assert!(
        same * 10 >= all * 7,
        "only {same} of {all} programs ended in time"
    );
}

#[test]
fn random_programs_interpreted() {
    random_programs(Other::Interpreted, 10);
}

#[test]
fn random_programs_with_hooks_and_gates() {
    random_programs(Other::Instrumented, 5);
}

#[test]
fn what_is_not_modelled_is_named() {
    let refusal = |source: &str| {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("source.c");
        std::fs::write(&file, source).unwrap();
        let flags = ["-O0", "-w", &file.display().to_string()];
        let program = lowered(&[bitcode("clang-22", directory.path(), &flags)]);
        interpret(&program, &Settings::default()).unwrap_err()
    };
    let not_modelled = |what: &str| Stop::NotModelled {
        what: what.to_string(),
        function: "main".to_string(),
    };
    assert_eq!(
        refusal("int fork(void); int main(void) { return fork(); }"),
        not_modelled("the function fork")
    );
    assert_eq!(
        refusal(
            "int main(void) { int a; __asm__(\"cpuid\" : \"=a\"(a) :: \"ebx\", \"ecx\", \"edx\"); return a; }"
        ),
        not_modelled("inline assembly \"cpuid\"")
    );
    let null = refusal("int main(void) { return *(volatile int *)16; }");
    assert!(
        matches!(
            null,
            Stop::Fault {
                address: 16,
                length: 4,
                ..
            }
        ),
        "{null}"
    );
}
