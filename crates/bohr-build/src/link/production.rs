//! `--production`: what is written at the asked-for path is the program's profile
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

/// The option that asks for it.
const OPTION: &str = "--production";

/// Whether programs are to be made for production.
pub(crate) fn is_wanted() -> bool {
    env::var_os(VARIABLE).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Arguments without the option, and whether it was among them.
pub(crate) fn option(arguments: &[OsString]) -> (Vec<OsString>, bool) {
    let others = arguments.iter().filter(|word| *word != OPTION);
    let others: Vec<OsString> = others.cloned().collect();
    let found = others.len() < arguments.len();
    (others, found)
}

/// Replaces a program that has its bundle.
pub(super) fn replace(path: &Path, bundle: &[u8]) -> Result<(), BuildError> {
    let paths = Cache::open()?.profile(path, Profile::Production)?;
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
        let words = ["-O2", "--production", "a.c"].map(OsString::from);
        let (others, found) = option(&words);
        assert!(found);
        assert_eq!(others, ["-O2", "a.c"].map(OsString::from));
        assert!(!option(&others).1);
    }
}
