//! The drop-in compilers, the linker step and the profile cache.
//!
//! A build passes through here on its way to clang, rustc and the linker. What
//! they write is what the user's own build gives; the linker step adds the
//! bundle from which profiles are made later, on first use.
//!
//! ```
//! use bohr_build::Tool;
//! let words = ["bohr", "cc", "-c", "main.c"].map(std::ffi::OsString::from);
//! let (tool, arguments) = Tool::recognise(&words).unwrap();
//! assert_eq!(tool, Tool::Cc);
//! assert_eq!(arguments, ["-c", "main.c"]);
//! ```

#![forbid(unsafe_code)]

mod cache;
mod commands;
mod compile;
mod error;
mod libraries;
mod link;
mod links;
mod process;
mod rebuild;
mod response;
mod rust;
mod tool;
mod toolchain;

pub use cache::{Cache, Profile, ProfilePaths, copy_program};
pub use error::BuildError;
pub use libraries::{Environment, LibraryProfile, Substitution, built_with_bohr, carries_bundle};
pub use links::install_links;
pub use rebuild::{Changes, Library, Making, RebuildError, rebuild};
pub use tool::Tool;
