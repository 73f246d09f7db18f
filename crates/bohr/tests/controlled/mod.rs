//! Compiles a program in a folder of its own and runs bohr on it.

#![allow(dead_code, reason = "every test file uses a part of it")]

use bohr_bundle::Bundle;
use bohr_explore::{Subject, bug_file::Invocation, inspect};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder with a program; it goes away with all that bohr wrote there.
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    /// With nothing in it.
    pub fn empty() -> Folder {
        Folder {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// Compiles `NAME.c` with clang as it is.
    pub fn with(name: &str, flags: &[&str]) -> Folder {
        let folder = Folder::empty();
        folder.compile(name, flags);
        folder
    }

    /// Compiles `NAME.c` to `program` with bohr.
    pub fn build(&self, name: &str, flags: &[&str]) {
        let source = source(name);
        let common = ["cc", "-g", "-O1", "-pthread", "-o", "program"];
        let words = [&common, flags, &[source.to_str().expect("a plain path")]].concat();
        self.bohr(&words).expect(0);
    }

    /// Compiles `NAME.cpp` to `program` with bohr.
    pub fn build_cpp(&self, name: &str) {
        let source = file(&format!("{name}.cpp"));
        let source = source.to_str().expect("a plain path");
        let words = [
            "-std=c++20",
            "-g",
            "-O1",
            "-pthread",
            "-o",
            "program",
            source,
        ];
        self.bohr(&[&["c++"], &words[..]].concat()).expect(0);
    }

    /// Makes a package of one source and builds it as `target/release/NAME`.
    pub fn build_rust(&self, name: &str, source: &str) {
        std::fs::create_dir(self.path("src")).expect("a folder");
        std::fs::write(self.path("src/main.rs"), source).expect("a source");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n\n[profile.release]\ndebug = 2\n"
        );
        std::fs::write(self.path("Cargo.toml"), manifest).expect("a manifest");
        self.bohr(&["cargo", "build", "--release", "--offline", "--quiet"])
            .expect(0);
    }

    /// Compiles `NAME.c` to `program`.
    pub fn compile(&self, name: &str, flags: &[&str]) {
        let source = source(name);
        let mut compiler = Command::new("clang-22");
        compiler
            .args(["-g", "-O1", "-pthread"])
            .args(flags)
            .arg(source);
        let status = compiler.arg("-o").arg(self.path("program")).status();
        assert!(status.expect("clang-22 is installed").success());
    }

    /// `program`, which was built with bohr, as a hunt with this argument has it, but
    /// without its model.
    pub fn subject(&self, argument: &str) -> Subject {
        let program = self.path("program");
        let profile = self.bohr(&["profile", "program"]).expect(0).text();
        let bytes = std::fs::read(&program).expect("a program");
        let bundle = Bundle::in_program(&bytes).expect("built with bohr");
        let profile = (PathBuf::from(profile.trim_end()), bundle.hash().0);
        let target = inspect(&program, Some(profile)).expect("a program");
        let invocation = Invocation {
            arguments: vec![argument.as_bytes().to_vec()],
            environment: Vec::new(),
            input: Vec::new(),
            given: Vec::new(),
        };
        Subject::new(target, invocation)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// A call of bohr in the folder.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bohr"));
        command.args(words).current_dir(self.folder.path());
        command.env("BOHR_CACHE", self.folder.path().join("cache"));
        command.env_remove("CARGO_INCREMENTAL");
        command
    }

    /// Exports the trace of `program.bohr` in this format.
    pub fn export(&self, format: &str, to: &str) {
        let words = ["trace", "program.bohr", "--export", format, "-o", to];
        self.bohr(&words).expect(0);
    }

    pub fn bohr(&self, words: &[&str]) -> Ended {
        let output = self.command(words).output().expect("bohr starts");
        Ended { output }
    }
}

/// Processes whose program is one of these.
pub fn processes(is_it: impl Fn(&Path) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("a /proc").flatten();
    let runs_it = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| is_it(&exe))
    };
    let found = entries.filter(runs_it).map(|entry| entry.file_name());
    found
        .map(|name| name.to_string_lossy().into_owned())
        .collect()
}

/// The text of `NAME.c`.
pub fn read_source(name: &str) -> String {
    read_file(&format!("{name}.c"))
}

/// Where `NAME.c` says `marker: MARKER`, as messages name lines.
pub fn marker(name: &str, marker: &str) -> String {
    marker_in(&format!("{name}.c"), marker)
}

/// The same of a file beside them, which is told without its folder.
pub fn marker_in(name: &str, marker: &str) -> String {
    let marker = format!("marker: {marker}");
    let source = read_file(name);
    let number = source.lines().position(|line| line.contains(&marker));
    let (_, name) = name.rsplit_once('/').unwrap_or(("", name));
    format!("{name}:{}", 1 + number.expect("a line of the program"))
}

/// The text of a file beside them.
pub fn read_file(name: &str) -> String {
    std::fs::read_to_string(file(name)).expect("a source of the tests")
}

fn source(name: &str) -> PathBuf {
    file(&format!("{name}.c"))
}

/// Where a file among the programs of the tests is.
pub fn file(name: &str) -> PathBuf {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controlled/programs");
    programs.join(name)
}

/// What a call of bohr came to.
pub struct Ended {
    pub output: Output,
}

impl Ended {
    pub fn code(&self) -> i32 {
        self.output
            .status
            .code()
            .unwrap_or_else(|| panic!("bohr was killed: {self}"))
    }

    /// Asserts the exit code, and shows everything if it is another.
    pub fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code(), code, "{self}");
        self
    }

    pub fn json(&self) -> Value {
        let parsed = serde_json::from_slice(&self.output.stdout);
        parsed.unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub fn messages(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{}\n{}\n{}",
            self.output.status,
            self.text(),
            self.messages()
        )
    }
}
