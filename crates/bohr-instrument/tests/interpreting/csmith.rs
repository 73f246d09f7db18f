//! Random C programs by csmith: native against interpreted, and against the
//! same program with hooks and gates in it that are switched off.

use crate::native::{Native, bitcode, build, lowered, run};
use crate::support::{self, instrumented::instrument};
use bohr_program::interpret::{Settings, Status, Stop, interpret};
use std::path::Path;
use std::process::Command;

/// What came of one program at one level of optimisation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same output and exit code.
    Same,
    /// The native program did not end in time, so there is nothing to compare.
    NativeTooSlow,
    /// The other did not end in time, or within its steps.
    OtherTooSlow,
    /// A signal ended the native program, and the interpreter says that its
    /// behaviour is undefined, or the other program did something else: clang may
    /// drop all that follows an endless loop.
    Undefined,
    /// The interpreter refused.
    Refused(String),
    /// Different output or exit code.
    Different(String),
}

/// Seconds for the native program, and steps for the interpreter.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub seconds: u32,
    pub steps: u64,
}

/// Where Debian puts csmith's headers.
const HEADERS: &str = "-I/usr/include/csmith";

/// Writes the program of a seed.
pub fn generate(directory: &Path, seed: u64, options: &[&str]) -> String {
    // csmith leaves a file where it runs.
    let output = Command::new("csmith")
        .current_dir(directory)
        .arg("--seed")
        .arg(seed.to_string())
        .args(options)
        .output()
        .expect("csmith runs (Debian: apt-get install csmith libcsmith-dev)");
    assert!(output.status.success(), "csmith failed for seed {seed}");
    let source = directory.join("random.c");
    std::fs::write(&source, output.stdout).expect("a file in a temporary directory");
    source.display().to_string()
}

/// What a native program is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// The model, interpreted.
    Interpreted,
    /// The program with hooks at all sites and gates at all loops that can have
    /// one, all of them switched off.
    Instrumented,
}

/// Compares the native program with another.
pub fn compare(
    other: Other,
    directory: &Path,
    source: &str,
    level: &str,
    limits: Limits,
) -> Verdict {
    match other {
        Other::Interpreted => interpreted(directory, source, level, limits),
        Other::Instrumented => instrumented(directory, source, level, limits),
    }
}

/// Slower than the native program by so much is too slow.
const PATIENCE: u32 = 4;

fn instrumented(directory: &Path, source: &str, level: &str, limits: Limits) -> Verdict {
    let flags = [level, "-w", HEADERS];
    let executable = build("clang-22", directory, &[&flags[..], &[source]].concat());
    let Some(native) = run(&executable, limits.seconds) else {
        return Verdict::NativeTooSlow;
    };
    let text = std::fs::read_to_string(source).expect("the source");
    let part = support::compile(directory, "random.c", &text, &flags);
    let program = instrument(directory, &[part], &["-lm"]);
    match run(&program.path, limits.seconds * PATIENCE) {
        None => Verdict::OtherTooSlow,
        Some(other) if other == native => Verdict::Same,
        Some(_) if native.code.is_none() => Verdict::Undefined,
        Some(other) => Verdict::Different(format!("{native:?} natively, {other:?} with hooks")),
    }
}

fn interpreted(directory: &Path, source: &str, level: &str, limits: Limits) -> Verdict {
    let flags = [level, "-w", HEADERS, source];
    let executable = build("clang-22", directory, &flags);
    let native = match run(&executable, limits.seconds) {
        Some(native) => native,
        None => return Verdict::NativeTooSlow,
    };
    let program = lowered(&[bitcode("clang-22", directory, &flags)]);
    let settings = Settings {
        steps: limits.steps,
        ..Settings::default()
    };
    match interpret(&program, &settings) {
        Ok(finished) => {
            let code = match finished.status {
                Status::Exited(code) => Some(code),
                Status::Aborted => None,
            };
            let interpreted = Native {
                code,
                output: finished.output,
            };
            match native == interpreted {
                true => Verdict::Same,
                false => {
                    Verdict::Different(format!("{native:?} natively, {interpreted:?} interpreted"))
                }
            }
        }
        Err(Stop::Steps { .. }) => Verdict::OtherTooSlow,
        Err(Stop::Undefined { .. }) if native.code.is_none() => Verdict::Undefined,
        Err(refusal @ Stop::NotModelled { .. }) => Verdict::Refused(refusal.to_string()),
        Err(other) => Verdict::Different(other.to_string()),
    }
}
