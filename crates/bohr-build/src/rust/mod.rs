//! Rust: cargo, rustc and the linker that rustc starts.
//!
//! ```text
//! bohr cargo ──▶ cargo ──▶ bohr-rustc ──▶ rustc ──▶ bohr-linker ──▶ cc ──▶ ld (bohr ld) ──▶ linker
//! ```

mod cargo;
pub(crate) mod level;
mod linker;
mod rustc;
mod unit;

pub(crate) use cargo::cargo;
pub(crate) use linker::linker;
pub(crate) use rustc::rustc;

/// The environment variable that keeps a rustc wrapper of the user's own.
const USER_WRAPPER: &str = "BOHR_USER_RUSTC_WRAPPER";

/// The environment variable that keeps the linker driver of the user's own.
const USER_LINKER: &str = "BOHR_USER_LINKER";
