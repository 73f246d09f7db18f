//! How a program is controlled, in words: of what is built with bohr its accesses, of
//! everything else its calls.

use bohr_bundle::{Bundle, BundleError};
use bohr_explore::Target;
use bohr_explore::bug_file::ControlMode;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the system's libraries are; nobody builds those with bohr in passing.
const SYSTEM: [&str; 3] = ["/lib", "/lib64", "/usr/lib"];

/// The C library's, which is the one that bohr's runtime needs.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Whether a bundle travels with a file, whole or not.
pub fn carries_bundle(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| {
        !matches!(
            Bundle::in_program(&bytes),
            Err(BundleError::Missing | BundleError::NotElf(_))
        )
    })
}

/// Says so on standard error.
pub fn say(target: &Target, program: &Path) {
    match target.identity.mode {
        ControlMode::Accesses { .. } => {
            eprintln!("bohr: controls the program at its memory accesses and calls");
        }
        ControlMode::Calls => eprintln!(
            "bohr: the program was not built with bohr: controls it at thread, lock, I/O and time calls"
        ),
    }
    let libraries = libraries(program);
    let ours = libraries.iter().filter(|path| carries_bundle(path));
    for library in ours {
        eprintln!(
            "bohr: note: {} was built with bohr, but shared libraries are controlled at their \
             calls alone; link it statically to have its accesses controlled, too",
            library.display()
        );
    }
}

/// The shared libraries that the loader would load, but for the system's: by its own word.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let asked = Command::new(LOADER).arg("--list").arg(program).output();
    let told = asked.map_or_else(|_| Vec::new(), |output| output.stdout);
    named(&String::from_utf8_lossy(&told))
}

/// The paths in `NAME => PATH (ADDRESS)` or `PATH (ADDRESS)`, line by line.
fn named(told: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let found = line
            .split_once(" => ")
            .map_or(line.trim(), |(_, found)| found);
        let (path, _) = found.rsplit_once(" (")?;
        path.contains('/').then(|| PathBuf::from(path))
    };
    let all = told.lines().filter_map(path);
    all.filter(|path| !SYSTEM.iter().any(|system| path.starts_with(system)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_program_are_told_from_the_system_s() {
        let told = "\tlinux-vdso.so.1 (0x00007fff)\n\
                    \tliba b.so => /home/me/liba b.so (0x00007f00)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f01)\n\
                    \tlibmissing.so => not found\n\
                    \t./libhere.so (0x00007f03)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n";
        let expected = ["/home/me/liba b.so", "./libhere.so"].map(PathBuf::from);
        assert_eq!(named(told), expected);
    }
}
