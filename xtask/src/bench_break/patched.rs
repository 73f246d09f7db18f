//! Whether an emitted patch outlives the next commit: it is applied to a source
//! that has other line numbers and a thread more, compiled without bohr, and run.

use crate::shell;
use bohr_museum::{Exhibit, Language};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs of the patched program.
pub const RUNS: u32 = 20;

/// Seconds after which a run is stuck.
const PATIENCE: &str = "10";

/// What somebody wrote since: it shifts every line and starts a thread that has
/// nothing to do with the others.
const UNRELATED: &str = "\
#include <pthread.h>
#include <unistd.h>

static void *tick(void *unused) {
    for (int times = 0; times < 3; times++)
        usleep(200);
    return unused;
}

__attribute__((constructor)) static void start_ticking(void) {
    pthread_t ticker;
    if (pthread_create(&ticker, 0, tick, 0) == 0)
        pthread_detach(ticker);
}

";

/// How many runs of the changed and patched program fail; `None` for a language
/// whose patches need a package around them.
pub fn failures(exhibit: &Exhibit, patch: &Path, arguments: &[u64]) -> Result<Option<u32>, String> {
    let (compiler, standard) = match exhibit.manifest.language {
        Language::C => ("clang-22", "-std=gnu17"),
        Language::Cpp => ("clang++-22", "-std=c++20"),
        Language::Rust => return Ok(None),
    };
    let folder = shell::built("bench-break").join(&exhibit.manifest.name);
    let source = changed(exhibit, &folder)?;
    let mut command = Command::new("patch");
    command
        .args(["--silent", "--strip=1", "--input"])
        .arg(patch);
    shell::output(command.current_dir(&folder))?;
    let program = folder.join("patched");
    let mut command = Command::new(compiler);
    command.args([standard, "-O2", "-g", "-pthread", "-DBOHR_BREAK=1", "-I"]);
    command.arg(shell::root().join("include")).arg(source);
    shell::output(command.arg("-o").arg(&program))?;
    let fails = |_: &u32| {
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", PATIENCE]).arg(&program);
        command.args(arguments.iter().map(u64::to_string));
        // Freed memory is overwritten, so that its use is seen.
        command
            .env("BOHR_BREAK", "all")
            .env("MALLOC_PERTURB_", "165");
        command
            .output()
            .is_ok_and(|output| !output.status.success())
    };
    Ok(Some((0..RUNS).filter(fails).count() as u32))
}

/// Writes the changed source where the patch looks for it.
fn changed(exhibit: &Exhibit, folder: &Path) -> Result<PathBuf, String> {
    let source = exhibit.source_path();
    let told = |error: std::io::Error| format!("{}: {error}", source.display());
    let text = std::fs::read_to_string(&source).map_err(told)?;
    let name = source.strip_prefix(shell::root()).unwrap_or(&source);
    let copy = folder.join(name);
    std::fs::create_dir_all(copy.parent().unwrap_or(folder)).map_err(told)?;
    std::fs::write(&copy, format!("{UNRELATED}{text}")).map_err(told)?;
    Ok(copy)
}
