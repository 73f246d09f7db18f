//! Builds programs with the real compilers: an executable to run, bitcode to
//! lower.

use bohr_instrument::inkwell::context::Context;
use bohr_instrument::lower::lower;
use bohr_instrument::merge::{Part, merge};
use bohr_instrument::sites::ModuleSites;
use bohr_program::Program;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a native program ended.
#[derive(Clone, PartialEq, Eq)]
pub struct Native {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to its standard output.
    pub output: Vec<u8>,
}

impl std::fmt::Debug for Native {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{:?} with {:?}",
            self.code,
            String::from_utf8_lossy(&self.output)
        )
    }
}

fn compile(compiler: &str, output: &Path, flags: &[&str]) {
    let mut command = Command::new(compiler);
    command.args(flags).arg("-o").arg(output);
    let result = command.output().expect("the compiler runs");
    let said = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{command:?}: {said}");
}

/// Builds an executable.
pub fn build(compiler: &str, directory: &Path, flags: &[&str]) -> PathBuf {
    let executable = directory.join("native");
    compile(compiler, &executable, &[flags, &["-lm"]].concat());
    executable
}

/// Builds bitcode.
pub fn bitcode(compiler: &str, directory: &Path, flags: &[&str]) -> Vec<u8> {
    let output = directory.join("program.bc");
    compile(compiler, &output, &[&["-c", "-emit-llvm"], flags].concat());
    std::fs::read(output).expect("the compiler wrote it")
}

/// Runs an executable for at most so many seconds; `None` if it takes longer.
pub fn run(executable: &Path, seconds: u32) -> Option<Native> {
    const TIMED_OUT: i32 = 124;
    let mut command = Command::new("timeout");
    let result = command.arg(seconds.to_string()).arg(executable).output();
    let result = result.expect("timeout, of coreutils, runs");
    let code = result.status.code().filter(|code| *code < 128);
    (code != Some(TIMED_OUT)).then_some(Native {
        code,
        output: result.stdout,
    })
}

/// Merges and lowers bitcode.
pub fn lowered(parts: &[Vec<u8>]) -> Program {
    let parts: Vec<Part<'_>> = parts
        .iter()
        .map(|bitcode| Part {
            name: "part",
            bitcode,
            language: None,
        })
        .collect();
    let context = Context::create();
    let merged = merge(&context, &parts, &|name| name == "main").expect("whole bitcode");
    let sites = ModuleSites::of(&merged.module);
    let lowered = lower(&merged.module, &sites, [0; 32]).expect("a data layout");
    assert!(lowered.opaque.is_empty(), "{:?}", lowered.opaque);
    lowered.program
}
