//! What travels with a program that was built with bohr: the bitcode of its
//! parts, the native objects that have none, and the link line, as one section
//! of the ELF file that is not loaded.
//!
//! Bytes in, bytes out: nothing here touches the file system.
//!
//! ```
//! use bohr_bundle::{Bundle, BundleBuilder, Content, LinkLine, Origin};
//!
//! let mut builder = BundleBuilder::new(LinkLine::default());
//! let part = builder.add(Content::Bitcode, Origin::file("main.o"), None, b"BC\xc0\xde");
//! builder.link_mut().inputs.push(bohr_bundle::Input::Part(part));
//! let bytes = builder.finish();
//!
//! let bundle = Bundle::parse(&bytes)?;
//! assert_eq!(bundle.parts().len(), 1);
//! assert_eq!(bundle.contents(part)?, b"BC\xc0\xde");
//! # Ok::<(), bohr_bundle::BundleError>(())
//! ```

#![forbid(unsafe_code)]

mod builder;
mod bundle;
mod elf;
mod error;
mod format;
mod link;
mod part;
mod system;

pub use builder::BundleBuilder;
pub use bundle::Bundle;
pub use elf::{Attachment, SECTION, attach};
pub use error::BundleError;
pub use format::{BundleHash, FormatVersion};
pub use link::{Input, LinkLine, LinkOptions, OutputKind, Script, ScriptKind};
pub use part::{Content, ContentHash, Language, Level, NativeReason, Origin, Part, PartId};
pub use system::is_system;
