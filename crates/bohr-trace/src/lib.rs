//! The store of what happened in a run: every event, in order, in a few bytes
//! each.
//!
//! The writer works inside the program under test: no allocation after its
//! creation, no I/O, no floating point. It fills memory that its caller
//! provides (a mapping shared with a file), so that what was written before a
//! crash is there after it. The reader takes bytes and never trusts them. The
//! format stands in [`format`]; what both sides predict alike, in `predictor`.
//!
//! ```
//! use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};
//! use bohr_trace::{Completeness, Record, Trace, Writer};
//!
//! let record = Record {
//!     thread: ThreadIndex::MAIN,
//!     operation: Operation {
//!         kind: EventKind::Write,
//!         order: MemoryOrder::Plain,
//!         size: 4,
//!         object: 0x1000,
//!         place: PlaceNumber(7),
//!     },
//!     value: Some(42),
//! };
//! let mut writer = Writer::new(Vec::new()).unwrap();
//! writer.push(&record);
//! let file = writer.finish();
//!
//! let trace = Trace::open(&file).unwrap();
//! assert_eq!(trace.completeness(), Completeness::Complete);
//! let (sequence, read) = trace.events().next().unwrap().unwrap();
//! assert_eq!((sequence.0, read), (0, record));
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod batch;
mod block;
mod bytes;
mod decoder;
mod error;
mod filter;
pub mod format;
mod iterate;
mod medium;
mod naming;
mod note;
mod numbers;
mod outline;
mod pack;
mod predictor;
mod record;
mod table;
mod trace;
mod writer;

pub use error::TraceError;
pub use filter::Summary;
pub use iterate::Events;
pub use medium::Medium;
pub use naming::{Names, Region, RegionKind, RegionTable, Variable};
pub use note::Note;
pub use outline::Outline;
pub use pack::pack;
pub use record::{Completeness, Record, Sequence};
pub use table::{Labels, PlaceTable, Table, append_table};
pub use trace::{BlockNumber, Trace};
pub use writer::{NoRoom, Writer};
