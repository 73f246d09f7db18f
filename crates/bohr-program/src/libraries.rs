//! Which sources belong to the languages and the system, or to packages that others
//! have published, and not to whoever wrote a program.

use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};

/// Whose a source file is, as far as its place tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Owner {
    /// Whoever wrote the program.
    Program,
    /// A package that cargo has fetched: a library to some, to others where the bug is.
    Fetched,
    /// The language, or the system.
    Library,
}

impl Owner {
    /// The owner of a source file, as debug information names it.
    #[must_use]
    pub fn of_file(file: &str) -> Owner {
        match (is_library_file(file), is_fetched(file)) {
            (true, _) => Owner::Library,
            (false, true) => Owner::Fetched,
            (false, false) => Owner::Program,
        }
    }
}

/// What counts as a library, whose lines and variables say nothing to its user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Libraries {
    /// Those of the languages and the system. Packages may be where a bug is.
    #[default]
    System,
    /// Packages that cargo has fetched as well.
    Packages,
}

impl Libraries {
    /// Whether what this owner has belongs to a library.
    #[must_use]
    pub fn include(self, owner: Owner) -> bool {
        match owner {
            Owner::Program => false,
            Owner::Fetched => self == Libraries::Packages,
            Owner::Library => true,
        }
    }
}

/// Where cargo keeps what it has fetched, below its own folder.
const FETCHED: [&str; 2] = ["/registry/src/", "/git/checkouts/"];

fn is_fetched(path: &str) -> bool {
    FETCHED.iter().any(|folder| path.contains(folder))
}

/// Where libraries lie. `/usr/src` is not among them: containers keep programs there.
const FOLDERS: [&str; 8] = [
    "/rustc",
    // The Rust library's own dependencies.
    "/rust/deps",
    "/usr/include",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/include",
    "/usr/local/lib",
];

/// The parts of Rust's library, as its own debug information calls them. A program may
/// have a folder `library`, too.
const RUST_FOLDER: &str = "library";
const RUST_PARTS: [&str; 12] = [
    "alloc",
    "backtrace",
    "compiler-builtins",
    "core",
    "panic_abort",
    "panic_unwind",
    "portable-simd",
    "proc_macro",
    "std",
    "stdarch",
    "test",
    "unwind",
];

/// Whether a source file, as debug information names it, belongs to the library of its
/// language or of the system.
#[must_use]
pub fn is_library_file(file: &str) -> bool {
    // Compilers find their headers by way of themselves: /usr/bin/../include/c++.
    let path = straight(Path::new(file));
    if FOLDERS.iter().any(|folder| path.starts_with(folder)) {
        return true;
    }
    let words = path.components().map(|part| part.as_os_str().to_str());
    let mut words = words.map(Option::unwrap_or_default);
    let is_rust = |folder: &str, part: &str| folder == RUST_FOLDER && RUST_PARTS.contains(&part);
    match (words.next(), words.next()) {
        (Some(folder), Some(part)) if is_rust(folder, part) => true,
        // Where the sources of the toolchain are installed, it may name those.
        _ => file.contains("/rustlib/src/"),
    }
}

/// Whether what is compiled in this folder is not part of the program's own build: names
/// of sources that are relative to it would pass for some of the program's.
#[must_use]
pub fn is_folder_elsewhere(folder: &str) -> bool {
    folder.starts_with("/rust/deps/") || is_fetched(folder)
}

/// A path without detours.
fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if straight.parent().is_some() => {
                straight.pop();
            }
            part => straight.push(part),
        }
    }
    straight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_lie_where_systems_and_compilers_put_them() {
        for file in [
            "/rustc/59807616e1fa2540724bfbac14d7976d7e4a3860/library/core/src/option.rs",
            "/rust/deps/hashbrown-0.16.1/src/raw/mod.rs",
            "library/std/src/sync/poison/mutex.rs",
            "library/core/src/ops/function.rs:253",
            "/usr/include/pthread.h",
            "/usr/bin/../lib/gcc/x86_64-linux-gnu/14/../../../../include/c++/14/bits/stl_map.h",
            "/usr/lib/llvm-22/lib/clang/22/include/stdatomic.h",
            "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/std/src/thread/mod.rs",
        ] {
            assert!(is_library_file(file), "{file}");
        }
    }

    #[test]
    fn programs_lie_anywhere_else() {
        for file in [
            "src/main.rs",
            "/usr/src/app/src/main.rs",
            "/usr/local/src/server.c",
            "/usr/libexec.c",
            "library/ssl.c",
            "library/stdio.c:12",
            "../library/cache.c",
            "../../usr/include/own.h",
            "/rustc_program/main.c",
            "",
        ] {
            assert!(!is_library_file(file), "{file}");
        }
    }

    #[test]
    fn what_cargo_has_fetched_is_compiled_elsewhere() {
        let fetched = "/home/me/.cargo/registry/src/mirror-1f2e3d4c/lock_api-0.4.14";
        let checked_out = "/home/me/.cargo/git/checkouts/tool-1f2e/9a8b7c6";
        for folder in ["/rust/deps/hashbrown-0.16.1", fetched, checked_out] {
            assert!(is_folder_elsewhere(folder), "{folder}");
        }
        for folder in ["", "/home/me/registry", "/home/me/program/src"] {
            assert!(!is_folder_elsewhere(folder), "{folder}");
        }
        let owner = |folder: &str| Owner::of_file(&format!("{folder}/src/lib.rs"));
        assert_eq!(owner(fetched), Owner::Fetched);
        assert_eq!(owner(checked_out), Owner::Fetched);
        assert_eq!(owner("/home/me/program"), Owner::Program);
        assert_eq!(owner("/rust/deps/hashbrown-0.16.1"), Owner::Library);
    }
}
