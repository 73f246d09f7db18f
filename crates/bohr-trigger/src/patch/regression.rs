//! A regression test that keeps a bug from coming back: it runs the program with
//! its breakpoints armed, and fails as long as the program does.

use super::Language;
use std::fmt::Write;

/// What is tested.
#[derive(Clone, Debug)]
pub struct TestCase<'a> {
    /// What the breakpoints are called.
    pub name: &'a str,
    /// What the program is written in.
    pub language: Language,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The exit code of a good run.
    pub exit_code: i32,
    /// Seconds after which a run counts as stuck.
    pub patience: u64,
    /// Whether freed memory is overwritten, so that its use shows.
    pub perturb: bool,
}

/// Runs of the program per test: the breakpoints make one enough.
const RUNS: u32 = 10;

/// The text of the test: a shell script for C and C++, a file under `tests/` for
/// Rust.
#[must_use]
pub fn regression_test(case: &TestCase<'_>) -> String {
    match case.language {
        Language::C | Language::Cpp => in_shell(case),
        Language::Rust => in_rust(case),
    }
}

fn in_shell(case: &TestCase<'_>) -> String {
    let mut arguments = String::new();
    for argument in &case.arguments {
        let _ = write!(arguments, " '{}'", argument.replace('\'', "'\\''"));
    }
    let perturb = if case.perturb {
        " MALLOC_PERTURB_=165"
    } else {
        ""
    };
    format!(
        "#!/bin/sh\n\
         # Fails as long as the interleaving of {name} makes the program fail.\n\
         #\n\
         # Build the program with the patch applied, -DBOHR_BREAK=1 and the folder of\n\
         # bohr_break.h as -I, and pass it as the argument. With CMake:\n\
         #\n\
         #   add_test(NAME {name} COMMAND sh ${{CMAKE_SOURCE_DIR}}/{name}.sh $<TARGET_FILE:PROGRAM>)\n\
         program=${{1:?usage: $0 PROGRAM}}\n\
         export BOHR_BREAK=all{perturb}\n\
         run=0\n\
         while [ $run -lt {RUNS} ]; do\n    \
             run=$((run + 1))\n    \
             timeout {patience} \"$program\"{arguments} >/dev/null 2>&1\n    \
             code=$?\n    \
             if [ $code -ne {code} ]; then\n        \
                 echo \"{name}: run $run ended with $code, expected {code}\" >&2\n        \
                 exit 1\n    \
             fi\n\
         done\n",
        name = case.name,
        patience = case.patience,
        code = case.exit_code,
    )
}

fn in_rust(case: &TestCase<'_>) -> String {
    let arguments = format!("{:?}", case.arguments);
    let perturb = match case.perturb {
        true => "\n            .env(\"MALLOC_PERTURB_\", \"165\")",
        false => "",
    };
    format!(
        "//! Fails as long as the interleaving of {name} makes the program fail. Needs the\n\
         //! patch applied and the crate `bohr-break` with its feature `armed`.\n\n\
         use std::process::{{Command, Stdio}};\n\
         use std::time::{{Duration, Instant}};\n\n\
         #[test]\n\
         fn the_interleaving_does_no_harm() {{\n    \
             let arguments: &[&str] = &{arguments};\n    \
             for run in 1..={RUNS} {{\n        \
                 let mut child = Command::new(env!(\"CARGO_BIN_EXE_{program}\"))\n            \
                     .args(arguments)\n            \
                     .env(\"BOHR_BREAK\", \"all\"){perturb}\n            \
                     .stdout(Stdio::null())\n            \
                     .stderr(Stdio::null())\n            \
                     .spawn()\n            \
                     .unwrap();\n        \
                 let start = Instant::now();\n        \
                 let status = loop {{\n            \
                     if let Some(status) = child.try_wait().unwrap() {{\n                \
                         break status;\n            \
                     }}\n            \
                     if start.elapsed() > Duration::from_secs({patience}) {{\n                \
                         child.kill().unwrap();\n                \
                         child.wait().unwrap();\n                \
                         panic!(\"run {{run}} is stuck\");\n            \
                     }}\n            \
                     std::thread::sleep(Duration::from_millis(5));\n        \
                 }};\n        \
                 assert_eq!(status.code(), Some({code}), \"run {{run}}\");\n    \
             }}\n\
         }}\n",
        name = case.name,
        program = case.name,
        patience = case.patience,
        code = case.exit_code,
    )
}
