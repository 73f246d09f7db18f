//! Compiles a source with the real compiler and lowers its bitcode.

use bohr_instrument::inkwell::context::Context;
use bohr_instrument::lower::{Lowered, lower as lower_module};
use bohr_instrument::merge::{Part, merge};
use bohr_instrument::sites::ModuleSites;
use std::process::Command;

/// A source text, its language and its flags.
pub struct Source<'a> {
    compiler: &'static [&'static str],
    extension: &'static str,
    text: &'a str,
    flags: &'a [&'a str],
}

impl<'a> Source<'a> {
    fn new(
        compiler: &'static [&'static str],
        extension: &'static str,
        text: &'a str,
    ) -> Source<'a> {
        Source {
            compiler,
            extension,
            text,
            flags: &[],
        }
    }

    /// A C source.
    pub fn c(text: &'a str) -> Source<'a> {
        Source::new(&["clang-22", "-c", "-emit-llvm"], "c", text)
    }

    /// A C++ source.
    pub fn cpp(text: &'a str) -> Source<'a> {
        Source::new(&["clang++-22", "-g", "-c", "-emit-llvm"], "cpp", text)
    }

    /// A Rust source.
    pub fn rust(text: &'a str) -> Source<'a> {
        let compiler = &[
            "rustc",
            "--emit=llvm-bc",
            "--crate-type=lib",
            "--edition=2024",
            "-Ccodegen-units=1",
        ];
        Source::new(compiler, "rs", text)
    }

    /// With these flags.
    pub fn with(self, flags: &'a [&'a str]) -> Source<'a> {
        Source { flags, ..self }
    }

    /// Its bitcode.
    pub fn compile(&self) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join(format!("source.{}", self.extension));
        let output = directory.path().join("source.bc");
        std::fs::write(&source, self.text).unwrap();
        let mut command = Command::new(self.compiler[0]);
        command
            .args(&self.compiler[1..])
            .args(self.flags)
            .arg(&source)
            .arg("-o")
            .arg(&output);
        let result = command.output().unwrap();
        let said = String::from_utf8_lossy(&result.stderr);
        assert!(result.status.success(), "{command:?}: {said}");
        std::fs::read(output).unwrap()
    }
}

/// Merges and lowers sources; everything stays exported.
pub fn lower(sources: &[Source<'_>]) -> Lowered {
    let bitcode: Vec<Vec<u8>> = sources.iter().map(Source::compile).collect();
    let parts: Vec<Part<'_>> = bitcode
        .iter()
        .map(|bitcode| Part {
            name: "source",
            bitcode,
            language: None,
        })
        .collect();
    let context = Context::create();
    let merged = merge(&context, &parts, &|_| true).unwrap();
    let sites = ModuleSites::of(&merged.module);
    lower_module(&merged.module, &sites, [0; 32]).unwrap()
}
