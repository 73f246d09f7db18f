//! `bohr cargo`: cargo with bohr behind rustc and behind the C compiler.
//!
//! The user's flags, target directories, profiles and linkers stay in force,
//! since nothing is set but the wrapper. Programs built with and without bohr
//! live side by side in one target directory: see [`super::rustc`].

use super::USER_WRAPPER;
use crate::error::BuildError;
use crate::link::production;
use crate::links::PrivateLinks;
use crate::{process, toolchain};
use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

const WRAPPER: &str = "RUSTC_WRAPPER";

/// The compilers for C parts, by the variables that the `cc` and `cmake` crates
/// read. A choice of the user's stays.
const COMPILERS: [(&str, [&str; 3], &str); 2] = [
    ("CC", ["CC", "HOST_CC", "TARGET_CC"], "bohr-cc"),
    ("CXX", ["CXX", "HOST_CXX", "TARGET_CXX"], "bohr-c++"),
];

/// Becomes cargo.
pub(crate) fn cargo(arguments: &[OsString]) -> Result<ExitCode, BuildError> {
    toolchain::lld()?;
    let links = PrivateLinks::open()?;
    let wrapper = links.path("bohr-rustc");
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let (arguments, for_production) = production::option(arguments);
    command.args(arguments);
    if let Some(value) = for_production {
        command.env(production::VARIABLE, value);
    }
    if let Some(users) = users_wrapper().filter(|users| *users != wrapper.as_os_str()) {
        command.env(USER_WRAPPER, users);
    }
    command.env(WRAPPER, &wrapper);
    // A missing clang fails the build of a C part, with the package's name.
    for (variable, choices, compiler) in COMPILERS {
        if choices.iter().all(|choice| env::var_os(choice).is_none()) {
            command.env(variable, links.path(compiler));
        }
    }
    Err(process::replace(command))
}

fn users_wrapper() -> Option<OsString> {
    env::var_os(WRAPPER)
        .or_else(|| env::var_os("CARGO_BUILD_RUSTC_WRAPPER"))
        .filter(|wrapper| !wrapper.is_empty())
}
