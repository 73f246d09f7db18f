//! `--production`, or `--production=count` with a counter of blocks: what is written at the asked-for path is the program's profile
//! for production, made from its bundle, with the same bundle attached.

use crate::cache::{Cache, Profile, copy_program};
use crate::error::BuildError;
use bohr_bundle::attach;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The environment variable that asks for it, for builds whose command lines are
/// not one's own.
pub(crate) const VARIABLE: &str = "BOHR_PRODUCTION";

/// What the variable says if blocks are to be counted.
const COUNT: &str = "count";

/// The options that ask for it, and what they make of the variable.
const OPTIONS: [(&str, &str); 2] = [("--production", "1"), ("--production=count", COUNT)];

/// As what programs are to be made for production, if they are.
pub(crate) fn wanted() -> Option<Profile> {
    let value = env::var_os(VARIABLE)?;
    match value.to_str() {
        Some("" | "0") => None,
        Some(COUNT) => Some(Profile::CountedProduction),
        _ => Some(Profile::Production),
    }
}

/// Arguments without the option, and the variable's value if it was among them.
pub(crate) fn option(arguments: &[OsString]) -> (Vec<OsString>, Option<&'static str>) {
    let asked = |word: &OsString| OPTIONS.iter().find(|(option, _)| word == option);
    let value = arguments.iter().rev().find_map(asked);
    let others = arguments.iter().filter(|word| asked(word).is_none());
    (others.cloned().collect(), value.map(|(_, value)| *value))
}

/// Replaces a program that has its bundle.
pub(super) fn replace(path: &Path, profile: Profile, bundle: &[u8]) -> Result<(), BuildError> {
    let paths = Cache::open()?.profile(path, profile)?;
    let made = &paths.executable;
    let program = fs::read(made).map_err(BuildError::file("read", made))?;
    let attachment = attach(&program, bundle).map_err(BuildError::bundle(made))?;
    let whole = tempfile::NamedTempFile::new().map_err(BuildError::file("make", path))?;
    let attached = attachment.apply(&program);
    fs::write(whole.path(), attached).map_err(BuildError::file("write", whole.path()))?;
    let permissions = fs::metadata(path).map_err(BuildError::file("read", path))?;
    fs::set_permissions(whole.path(), permissions.permissions())
        .map_err(BuildError::file("write", whole.path()))?;
    copy_program(whole.path(), path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_not_the_compilers() {
        for (word, value) in OPTIONS {
            let words = ["-O2", word, "a.c"].map(OsString::from);
            let (others, found) = option(&words);
            assert_eq!(found, Some(value));
            assert_eq!(others, ["-O2", "a.c"].map(OsString::from));
            assert_eq!(option(&others).1, None);
        }
    }
}
