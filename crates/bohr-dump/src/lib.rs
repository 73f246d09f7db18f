//! What a core file tells: threads, registers, memory, stacks, and variables by
//! name. Bytes in, data out: nothing here opens a file.
//!
//! ```no_run
//! let core = std::fs::read("core")?;
//! let core = bohr_dump::unpack(&core, 16 << 30)?;
//! let mut dump = bohr_dump::Dump::read(&core)?;
//! for path in bohr_dump::loaded::paths(&dump) {
//!     println!("{path} was loaded");
//! }
//! let program = std::fs::read("program")?;
//! let available = bohr_dump::Available {
//!     path: "/usr/bin/program",
//!     found: "program".as_ref(),
//!     bytes: &program,
//!     debug: None,
//! };
//! let loaded = bohr_dump::loaded::load(&mut dump, &[available])?;
//! let stacks = bohr_dump::Stacks::new(&dump.memory, &loaded);
//! for frame in stacks.of(&dump.threads[0].registers) {
//!     println!("{:#x}", frame.place());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod anonymous;
mod dump;
mod error;
mod expression;
pub mod loaded;
mod memory;
mod notes;
mod packing;
pub mod position;
mod probes;
pub mod registers;
mod stacks;
pub mod variables;
mod waits;

pub use dump::Dump;
pub use error::DumpError;
pub use loaded::{Available, Loaded};
pub use memory::{Memory, Segment};
pub use notes::{Fault, MappedFile, ThreadImage};
pub use packing::unpack;
pub use probes::Probes;
pub use registers::Registers;
pub use stacks::{Found, Frame, Stacks};
pub use waits::{Awaited, Wait, circles, last_of_chain, wait};
