//! From the bitcode of a program's parts to one module, a program model and
//! instrumented profiles.
//!
//! This is the only crate that knows LLVM. Each pass has its own file, and the
//! passes run in the order in which they stand here:
//!
//! 1. [`merge`]: parse the parts, name their functions ([`ids`]), direct calls to
//!    wrapped ones elsewhere ([`wrap`]), link them into one module and make
//!    private what nobody outside needs ([`internalise`]). Loads that the optimiser made
//!    ahead of their condition go back behind it ([`speculation`]).
//! 2. [`sites`]: number every access and synchronising call.
//! 3. [`lower`]: the program model.
//! 4. [`hooks`]: put a switchable hook before those that may be shared; accesses
//!    to private [`stack`] slots never have one.
//! 5. [`gates`]: let the runtime leave out thread bodies and marked blocks.
//!    In the path profile, neither: its threads write their way down ([`paths`]).
//! 6. [`generate`]: the rest of the user's pipeline ([`optimise`]) at the user's own
//!    [`level`] and machine code ([`emit`]), in pieces ([`partition`], [`split`]) on
//!    all processors; [`tables`] describe the result to the runtime.
//! 7. [`relink`]: link again, then check and complete the [`stubs`].
//!
//! [`profile`] runs them all for the program `bohr-lower`; [`report`] tells about it.
//!
//! ```
//! use bohr_instrument::merge::{Part, merge};
//! use inkwell::context::Context;
//!
//! let context = Context::create();
//! let empty = context.create_module("empty.c");
//! let bitcode = empty.write_bitcode_to_memory();
//! let buffer = bitcode.as_slice();
//! let bytes = &buffer[..buffer.len() & !3]; // whole words, without a terminating zero
//! let merged = merge(&context, &[Part { name: "empty.o", bitcode: bytes, language: None }], &|_| false).unwrap();
//! assert!(merged.excluded.is_empty());
//! assert_eq!(merged.module.get_functions().count(), 0);
//! ```

pub mod assembly;
mod body;
pub mod calls;
pub mod constructors;
pub mod diagnostics;
pub mod emit;
pub mod gates;
pub mod generate;
pub mod hooks;
pub mod ids;
pub mod internalise;
pub mod level;
pub mod library;
pub mod lower;
pub mod merge;
pub mod optimise;
pub mod order;
pub mod outside;
pub mod partition;
pub mod paths;
pub mod points;
pub mod production;
pub mod profile;
pub mod relink;
pub mod report;
pub mod sites;
pub mod speculation;
pub mod split;
pub mod stack;
pub mod stubs;
pub mod tables;
pub mod wrap;

pub use inkwell;
