//! Lowers bitcode files and prints what came of it: how long it took, how big
//! the model is, and what it does not know.
//!
//! ```text
//! clang-22 -O2 -g -c -emit-llvm program.c
//! cargo run --release -p bohr-instrument --example lower -- program.bc
//! ```

use bohr_instrument::inkwell::context::Context;
use bohr_instrument::lower::lower;
use bohr_instrument::merge::{Part, merge};
use bohr_instrument::sites::ModuleSites;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let files: Vec<Vec<u8>> = names.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    let parts: Vec<Part<'_>> = names
        .iter()
        .zip(&files)
        .map(|(name, bitcode)| Part {
            name,
            bitcode,
            language: None,
        })
        .collect();
    let context = Context::create();
    let start = Instant::now();
    let merged = merge(&context, &parts, &|_| true)?;
    let merging = start.elapsed();
    let start = Instant::now();
    let sites = ModuleSites::of(&merged.module);
    let enumerating = start.elapsed();
    let start = Instant::now();
    let lowered = lower(&merged.module, &sites, [0; 32])?;
    let lowering = start.elapsed();
    let program = &lowered.program;
    let instructions = program.instruction_count();
    println!("functions     {}", program.bodies().count());
    println!(
        "declarations  {}",
        program.functions.len() - program.bodies().count()
    );
    println!("instructions  {instructions}");
    println!("sites         {}", program.sites.len());
    println!("locations     {}", program.locations.len());
    println!("memory        {} bytes", program.memory());
    println!(
        "per instruction {:.1} bytes",
        program.memory() as f64 / instructions.max(1) as f64
    );
    println!("merging {merging:.1?}, sites {enumerating:.1?}, lowering {lowering:.1?}");
    let known = |name: &str| bohr_program::external::find(name).is_some();
    let declared = program
        .functions
        .values()
        .filter(|function| function.body.is_none());
    let names = declared.map(|function| &program.texts[function.name]);
    let unknown: Vec<&str> = names.filter(|name| !known(name)).collect();
    println!("not in the table of external functions: {unknown:?}");
    println!("opaque        {:?}", lowered.opaque);
    Ok(())
}
