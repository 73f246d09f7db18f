//! `bohr-linker`: what rustc runs in place of the linker driver. It starts the
//! user's driver with a directory at the head of its search path in which every
//! linker's name is bohr.

use super::USER_LINKER;
use crate::error::BuildError;
use crate::link::REAL_LINKER;
use crate::links::PrivateLinks;
use crate::{process, response, toolchain};
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Becomes the linker driver.
pub(crate) fn linker(arguments: &[OsString]) -> Result<ExitCode, BuildError> {
    let driver = env::var_os(USER_LINKER).unwrap_or_else(|| "cc".into());
    let mut command = Command::new(driver);
    let choice = Choice::read(&response::expand(arguments));
    let real = toolchain::linker(choice.name.as_deref(), &choice.prefixes)?;
    let mut prefix = OsString::from("-B");
    prefix.push(PrivateLinks::open()?.linkers());
    command
        .env_remove(USER_LINKER)
        .env(REAL_LINKER, real)
        .arg(prefix)
        .args(arguments);
    Err(process::replace(command))
}

/// Which linker the driver would start.
#[derive(Debug, Default, PartialEq, Eq)]
struct Choice {
    name: Option<String>,
    prefixes: Vec<PathBuf>,
}

impl Choice {
    fn read(arguments: &[OsString]) -> Choice {
        let mut choice = Choice::default();
        let mut words = arguments.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            if word == "-B" {
                choice
                    .prefixes
                    .extend(words.next().map(|word| PathBuf::from(&*word)));
            } else if let Some(prefix) = word.strip_prefix("-B") {
                choice.prefixes.push(prefix.into());
            } else if let Some(name) = word.strip_prefix("-fuse-ld=") {
                choice.name = Some(name.to_owned());
            }
        }
        choice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_choice_of_linker_is_read() {
        let words = [
            "-m64",
            "-B/opt/gcc-ld",
            "-B",
            "two",
            "-fuse-ld=lld",
            "-Wl,-Bstatic",
        ];
        let choice = Choice::read(&words.map(OsString::from));
        assert_eq!(choice.name.as_deref(), Some("lld"));
        assert_eq!(choice.prefixes, ["/opt/gcc-ld", "two"].map(PathBuf::from));
    }
}
