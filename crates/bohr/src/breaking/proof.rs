//! What a patch does: the program is built again with it, from sources whose lines
//! have moved and which start a thread more, and run. A patch that does not bring
//! the failure about is no use to anybody; one that could not be tried is told so.

use super::artefacts::{Draft, test_file};
use super::laboratory::Laboratory;
use super::library::{CRATE, HEADERS, OPTIONS};
use crate::outcome::Failure;
use bohr_build::{Changes, Making, rebuild};
use bohr_explore::Voice;
use bohr_trigger::patch::{Language, unrelated};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs of the patched program.
const RUNS: u32 = 20;

/// The share of them that has to fail.
const ENOUGH: f64 = 0.9;

/// What came of it.
#[derive(Clone, Debug)]
pub enum Proof {
    /// So many of these runs failed as they should, and the regression test, too.
    Reproduces { runs: u32, failures: u32 },
    /// So many of these runs failed, too few.
    DoesNot { runs: u32, failures: u32 },
    /// The runs failed, and the regression test passed.
    TestPasses,
    /// There is no patch, for this reason.
    NoPatch(String),
    /// It could not be tried, for this reason.
    Untried(String),
}

impl Proof {
    /// Whether the patch can be handed out.
    pub fn is_good(&self) -> bool {
        matches!(self, Proof::Reproduces { .. } | Proof::Untried(_))
    }

    /// In a sentence.
    pub fn describe(&self) -> String {
        match self {
            Proof::Reproduces { runs, failures } => format!(
                "the patched program, with other lines changed and a thread added, fails in \
                 {failures} of {runs} runs, and the regression test with it"
            ),
            Proof::DoesNot { runs, failures } => format!(
                "no patch: with it, the program fails in {failures} of {runs} runs; what the \
                 breakpoints tell apart (one of several copies or parts of a line, an object, the \
                 end of a statement), a call before the statement does not"
            ),
            Proof::TestPasses => {
                "no patch: the program fails with it, but the regression test does not notice"
                    .into()
            }
            Proof::NoPatch(why) => format!("no patch: {why}"),
            Proof::Untried(why) => format!("the patch could not be tried: {why}"),
        }
    }
}

/// Tries a patch.
pub fn prove(
    draft: &Draft,
    program: &Path,
    laboratory: &Laboratory<'_, '_>,
) -> Result<Proof, Failure> {
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => return Ok(Proof::Untried(error.to_string())),
    };
    let mut texts = draft.texts.clone();
    for (number, (path, text)) in texts.iter_mut().enumerate() {
        let language = Language::of(&path.to_string_lossy()).unwrap_or(draft.language);
        *text = unrelated(text, language, number == 0);
    }
    let changes = Changes {
        texts: &texts,
        headers: &HEADERS,
        options: &OPTIONS,
        library: Some(CRATE),
        making: Making::Plain,
    };
    let patched = match rebuild(program, changes, folder.path()) {
        Ok(patched) => patched,
        Err(error) => return Ok(Proof::Untried(error.to_string())),
    };
    if !holds_text(&patched, &draft.mark) {
        let why = "its lines are not compiled into the program by the command that builds it";
        return Ok(Proof::Untried(why.to_string()));
    }
    let mut failures = 0;
    for _ in 0..RUNS {
        let run = laboratory
            .native
            .run_built(&patched, Voice::Muted, laboratory.limit)?;
        failures += u32::from(laboratory.shows_patched(&run));
    }
    if f64::from(failures) < ENOUGH * f64::from(RUNS) {
        return Ok(Proof::DoesNot {
            runs: RUNS,
            failures,
        });
    }
    // Of a race that does no harm, a test has nothing to notice.
    match laboratory.is_harmless() || test_fails(draft, &patched, folder.path()) {
        true => Ok(Proof::Reproduces {
            runs: RUNS,
            failures,
        }),
        false => Ok(Proof::TestPasses),
    }
}

/// Whether a file has a text in it.
fn holds_text(file: &Path, text: &str) -> bool {
    let bytes = std::fs::read(file).unwrap_or_default();
    let mut windows = bytes.windows(text.len());
    windows.any(|window| window == text.as_bytes())
}

/// Whether the regression test fails, as it should while the bug is there.
fn test_fails(draft: &Draft, patched: &Path, folder: &Path) -> bool {
    let file = folder.join(test_file(draft));
    let written = std::fs::write(&file, &draft.test).is_ok();
    let mut command = match draft.language {
        Language::C | Language::Cpp => {
            let mut shell = Command::new("sh");
            shell.arg(&file).arg(patched);
            shell
        }
        Language::Rust => match compiled_test(draft, &file, patched, folder) {
            Some(test) => Command::new(test),
            None => return false,
        },
    };
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    written && status.is_ok_and(|status| !status.success())
}

/// The test as cargo compiles it.
fn compiled_test(draft: &Draft, file: &Path, patched: &Path, folder: &Path) -> Option<PathBuf> {
    let test = folder.join("test");
    let mut rustc = Command::new("rustc");
    rustc
        .args(["--test", "--edition", "2021", "--cap-lints", "allow"])
        .env(format!("CARGO_BIN_EXE_{}", draft.name), patched)
        .arg(file)
        .arg("-o")
        .arg(&test);
    let output = rustc.stdin(Stdio::null()).output().ok()?;
    output.status.success().then_some(test)
}
