//! A directory of its own for each test, with a project in it, in which real
//! tools run with bohr in place of the compilers.
#![allow(dead_code, reason = "each test binary uses its own share")]

use bohr_bundle::{Bundle, Content, NativeReason};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const BOHR: &str = env!("CARGO_BIN_EXE_bohr");

pub struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    /// An empty directory.
    pub fn empty() -> Project {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("work")).unwrap();
        Project { directory }
    }

    /// A copy of one of the projects beside this file.
    pub fn copy_of(name: &str) -> Project {
        let project = Project::empty();
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/projects")
            .join(name);
        copy(&source, &project.path(""));
        project
    }

    /// A project of these files.
    pub fn of(files: &[(&str, &str)]) -> Project {
        let project = Project::empty();
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("work").join(name)
    }

    /// bohr-cc and its like, for build systems that want one path.
    pub fn compiler(&self, name: &str) -> String {
        let directory = self.directory.path().join("bin");
        let output = self.output(BOHR, &["setup", directory.to_str().unwrap()]);
        assert!(output.status.success());
        directory.join(name).to_str().unwrap().to_owned()
    }

    /// A command that runs in the project and leaves nothing outside of it.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path(""))
            .env("BOHR_CACHE", self.directory.path().join("cache"))
            .env("CC", format!("{BOHR} cc"))
            .env("CXX", format!("{BOHR} c++"));
        for variable in [
            "CARGO_INCREMENTAL",
            "CARGO_TARGET_DIR",
            "RUSTFLAGS",
            "RUSTC_WRAPPER",
            "CARGO",
            "MAKEFLAGS",
        ] {
            command.env_remove(variable);
        }
        command
    }

    pub fn output(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(program, arguments).output().unwrap()
    }

    /// Runs a command that should succeed; gives its standard output.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        expect_success(self.command(program, arguments))
    }

    pub fn bohr(&self, line: &str) -> String {
        self.run(BOHR, &words(line))
    }

    pub fn bohr_output(&self, line: &str) -> Output {
        self.output(BOHR, &words(line))
    }

    /// The parts of a built program: its own ones with bitcode, and the others.
    pub fn parts(&self, program: &str) -> Parts {
        let bytes = std::fs::read(self.path(program)).unwrap();
        let bundle = Bundle::in_program(&bytes).unwrap();
        let mut parts = Parts::default();
        for (id, part) in bundle.numbered_parts() {
            let name = part.origin.member.as_ref().unwrap_or(&part.origin.path);
            let name = name.rsplit('/').next().unwrap().to_owned();
            match part.content {
                Content::Bitcode => {
                    assert!(bundle.contents(id).unwrap().starts_with(b"BC\xc0\xde"));
                    parts.bitcode.push(name);
                }
                Content::Native(NativeReason::Toolchain) => {}
                Content::Native(_) => parts.native.push(name),
            }
        }
        parts
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub bitcode: Vec<String>,
    pub native: Vec<String>,
}

impl Parts {
    pub fn of(bitcode: &[&str], native: &[&str]) -> Parts {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Parts {
            bitcode: owned(bitcode),
            native: owned(native),
        }
    }
}

pub fn expect_success(mut command: Command) -> String {
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    stdout
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
