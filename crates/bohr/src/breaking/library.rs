//! The library that patches need, as it stands in the project: for C and C++ its
//! headers, for Rust its crate, for Java its class. `bohr break library` writes it
//! into a folder; what checks a patch compiles it with the patched program.

use crate::outcome::{Failure, Outcome};
use bohr_build::Library;
use bohr_explore::{ExploreError, write_whole};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Names and texts of the headers.
pub const HEADERS: [(&str, &str); 4] = [
    (
        "bohr_break.h",
        include_str!("../../../../include/bohr_break.h"),
    ),
    (
        "bohr_break.hpp",
        include_str!("../../../../include/bohr_break.hpp"),
    ),
    (
        "bohr_break_meeting.h",
        include_str!("../../../../include/bohr_break_meeting.h"),
    ),
    (
        "bohr_break_roll.h",
        include_str!("../../../../include/bohr_break_roll.h"),
    ),
];

/// What C and C++ are compiled with to have breakpoints.
pub const OPTIONS: [&str; 2] = ["-DBOHR_BREAK=1", "-pthread"];

/// The crate.
pub const CRATE: Library<'static> = Library {
    name: "bohr_break",
    feature: "armed",
    files: &[
        ("lib.rs", include_str!("../../../bohr-break/src/lib.rs")),
        (
            "breakpoint.rs",
            include_str!("../../../bohr-break/src/breakpoint.rs"),
        ),
        (
            "condition.rs",
            include_str!("../../../bohr-break/src/condition.rs"),
        ),
        (
            "figures.rs",
            include_str!("../../../bohr-break/src/figures.rs"),
        ),
        (
            "meeting.rs",
            include_str!("../../../bohr-break/src/meeting.rs"),
        ),
        (
            "namesakes.rs",
            include_str!("../../../bohr-break/src/namesakes.rs"),
        ),
        (
            "narrowed.rs",
            include_str!("../../../bohr-break/src/narrowed.rs"),
        ),
        (
            "progress.rs",
            include_str!("../../../bohr-break/src/progress.rs"),
        ),
        ("roll.rs", include_str!("../../../bohr-break/src/roll.rs")),
        ("scope.rs", include_str!("../../../bohr-break/src/scope.rs")),
        (
            "settings.rs",
            include_str!("../../../bohr-break/src/settings.rs"),
        ),
        (
            "statistics.rs",
            include_str!("../../../bohr-break/src/statistics.rs"),
        ),
        (
            "unarmed.rs",
            include_str!("../../../bohr-break/src/unarmed.rs"),
        ),
    ],
};

const JAVA: &str = include_str!("../../../bohr-break/java/bohr/Breakpoint.java");

/// Where to.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr break library vendor/bohr
  cc -DBOHR_BREAK=1 -Ivendor/bohr/include -pthread main.c
  cargo add --path vendor/bohr/bohr-break --features armed

Without -DBOHR_BREAK=1, or the feature `armed`, breakpoints compile to nothing.")]
pub struct Args {
    /// The folder.
    folder: PathBuf,
}

pub fn run(args: &Args) -> Outcome {
    let put = |path: PathBuf, text: &str| write(&args.folder.join(path), text);
    for (name, text) in HEADERS {
        put(Path::new("include").join(name), text)?;
    }
    put("bohr-break/Cargo.toml".into(), &manifest())?;
    for (name, text) in CRATE.files {
        put(Path::new("bohr-break/src").join(name), text)?;
    }
    put("java/bohr/Breakpoint.java".into(), JAVA)?;
    println!("written to {}", args.folder.display());
    Ok(ExitCode::SUCCESS)
}

/// Of the crate by itself.
fn manifest() -> String {
    format!(
        "[package]\nname = \"bohr-break\"\nversion = \"{}\"\nedition = \"2024\"\n\n\
         [features]\n# Without it every call compiles to nothing.\narmed = []\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    };
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    write_whole(path, text.as_bytes()).map_err(failed)?;
    Ok(())
}
