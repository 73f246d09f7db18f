//! What the loader says that it would load.

use super::Environment;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The C library's, which is the one that bohr's runtime needs.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// The loader, in an environment.
pub struct Loader<'a> {
    environment: &'a Environment,
}

/// A library in its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name by which it is asked for.
    pub asked_for: String,
    /// Which file that is; `None` if there is none.
    pub path: Option<PathBuf>,
}

impl Loader<'_> {
    pub fn of(environment: &Environment) -> Loader<'_> {
        Loader { environment }
    }

    /// Everything that it would load for a program, after these libraries; nothing for
    /// a program without a loader. None of the program's code runs.
    pub fn list(&self, program: &Path, preload: &[PathBuf]) -> Vec<Listed> {
        let mut command = Command::new(LOADER);
        command
            .env_clear()
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        for (name, value) in self.environment {
            command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
        }
        if !preload.is_empty() {
            let paths: Vec<&OsStr> = preload.iter().map(|path| path.as_os_str()).collect();
            command.arg("--preload").arg(paths.join(OsStr::new(":")));
        }
        let asked = command.arg("--list").arg(program).output();
        let told = asked.map_or_else(|_| Vec::new(), |output| output.stdout);
        listed(&String::from_utf8_lossy(&told))
    }
}

/// `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)` or `NAME => not found`, line by line.
fn listed(told: &str) -> Vec<Listed> {
    let one = |line: &str| {
        let line = line.trim();
        let (name, found) = line.split_once(" => ").unwrap_or((line, line));
        let path = found.rsplit_once(" (").map(|(path, _)| path);
        let name = match name == found {
            true => path?,
            false => name,
        };
        Some(Listed {
            asked_for: name.to_string(),
            path: path.filter(|path| path.contains('/')).map(PathBuf::from),
        })
    };
    told.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_a_library() {
        let told = "\tlinux-vdso.so.1 (0x00007fff)\n\
                    \tliba b.so => /home/me/liba b.so (0x00007f00)\n\
                    \tlibmissing.so => not found\n\
                    \t./libhere.so (0x00007f03)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n";
        let expected = [
            ("linux-vdso.so.1", None),
            ("liba b.so", Some("/home/me/liba b.so")),
            ("libmissing.so", None),
            ("./libhere.so", Some("./libhere.so")),
            (
                "/lib64/ld-linux-x86-64.so.2",
                Some("/lib64/ld-linux-x86-64.so.2"),
            ),
        ];
        let expected = expected.map(|(name, path)| Listed {
            asked_for: name.to_string(),
            path: path.map(PathBuf::from),
        });
        assert_eq!(listed(told), expected);
    }
}
