//! Instruments and links a program without a bundle, and runs it with the test
//! runtime, which switches every hook on.

use super::{Compiled, run};
use bohr_event::abi::Vectors;
use bohr_instrument::diagnostics::Diagnostics;
use bohr_instrument::gates::{self, Numbered, ReportedGate};
use bohr_instrument::hooks::{HookCount, insert};
use bohr_instrument::inkwell::context::Context;
use bohr_instrument::inkwell::targets::RelocMode;
use bohr_instrument::level::Level;
use bohr_instrument::lower::lower;
use bohr_instrument::merge::{merge, target_machine};
use bohr_instrument::relink::complete_stubs;
use bohr_instrument::sites::ModuleSites;
use bohr_instrument::tables::{Tables, assembly};
use bohr_instrument::{emit, generate};
use bohr_program::{Gates, skippable_calls};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An instrumented program in a directory.
pub struct Instrumented {
    pub path: PathBuf,
    pub count: HookCount,
    pub gates: Vec<ReportedGate>,
    pub calls: Vec<ReportedGate>,
}

/// Merges, hooks every site, compiles and links.
pub fn instrument(directory: &Path, parts: &[Compiled], linker: &[&str]) -> Instrumented {
    let context = Context::create();
    let given: Vec<_> = parts.iter().map(Compiled::part).collect();
    let merged = merge(&context, &given, &|name| name == "main").expect("merges");
    let sites = ModuleSites::of(&merged.module);
    let model = lower(&merged.module, &sites, [7; 32])
        .expect("lowers")
        .program;
    let numbered = Numbered::of(&sites);
    let count = insert(&context, &sites, &|_| None);
    let gates = Gates::noticing(&model, &|_| true);
    let calls = skippable_calls(&model);
    gates::insert(&context, &merged.module, numbered, &gates, &calls).expect("gates");
    merged.module.verify().expect("valid with hooks and gates");
    let tables = Tables {
        program: [7; 32],
        sites: sites.infos().collect(),
        gates: gates.gates.len() as u32,
        vectors: Vectors::Sse,
        profile: bohr_event::abi::Profile::Control,
    };
    let machine = target_machine(RelocMode::Static, Level::Default).expect("x86-64");
    let diagnostics = Diagnostics::collect(&context);
    let code = generate::object(&merged.module, RelocMode::Static, &diagnostics).expect("compiles");
    let module = context.create_module("tables");
    module.set_inline_assembly(&assembly(&tables));
    let described = emit::object(&module, &machine, &diagnostics).expect("assembles");
    let path = directory.join("instrumented");
    link(directory, &[&code, &described], linker, &path);
    complete_stubs(&path).expect("sound stubs");
    let (gates, _) = gates::reported(&model, &gates);
    let calls = gates::reported_calls(&model, &calls);
    Instrumented {
        path,
        count,
        gates,
        calls,
    }
}

fn link(directory: &Path, objects: &[&Vec<u8>], linker: &[&str], output: &Path) {
    let mut command = Command::new("clang++-22");
    command.args([
        "-fuse-ld=lld",
        "-no-pie",
        "-pthread",
        "-Wl,-z,dynamic-undefined-weak",
    ]);
    for (number, object) in objects.iter().enumerate() {
        let path = directory.join(format!("object{number}.o"));
        fs::write(&path, object).expect("object");
        command.arg(path);
    }
    run(command.args(linker).arg("-o").arg(output));
}

/// Runs a program, with the test runtime if `log` says where to write.
pub fn execute(program: &Path, runtime: Option<&Path>, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    if let Some(runtime) = runtime {
        command.env("LD_PRELOAD", runtime);
    }
    command.envs(variables.iter().copied());
    command.output().expect("runs")
}

/// Builds the test runtime.
pub fn runtime(directory: &Path) -> PathBuf {
    let output = directory.join("runtime.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/runtime.c");
    run(Command::new("clang-22")
        .args(["-O1", "-w", "-shared", "-fPIC"])
        .arg(source)
        .arg("-o")
        .arg(&output));
    output
}
