//! Runs bitcode files in the interpreter:
//! `cargo run --release -p bohr-instrument --example interpret -- FILE.bc…`.

use bohr_instrument::inkwell::context::Context;
use bohr_instrument::lower::lower;
use bohr_instrument::merge::{Part, merge};
use bohr_instrument::sites::ModuleSites;
use bohr_program::interpret::{Settings, Status, interpret};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names = std::env::args().skip(1);
    let parts: Vec<Vec<u8>> = names.map(std::fs::read).collect::<Result<_, _>>()?;
    let parts: Vec<Part<'_>> = parts
        .iter()
        .map(|bitcode| Part {
            name: "part",
            bitcode,
            language: None,
        })
        .collect();
    let context = Context::create();
    let merged = merge(&context, &parts, &|name| name == "main")?;
    let sites = ModuleSites::of(&merged.module);
    let program = lower(&merged.module, &sites, [0; 32])?.program;
    let finished = interpret(&program, &Settings::default())?;
    std::io::stdout().write_all(&finished.output)?;
    std::io::stderr().write_all(&finished.errors)?;
    eprintln!(
        "{:?} after {} instructions",
        finished.status, finished.steps
    );
    std::process::exit(match finished.status {
        Status::Exited(code) => code,
        Status::Aborted => 134,
    })
}
