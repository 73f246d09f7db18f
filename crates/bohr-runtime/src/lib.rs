//! What is loaded into the target: it executes schedules and tells what
//! happened.
//!
//! Loaded ahead of the C library (preloaded, or first in the list of needed
//! libraries), it shadows the functions by which threads come to be, wait and
//! end. At `main` it stops as a *template* and clones a process for every run
//! that the explorer asks for. In a run all threads are fibers on one thread of
//! the system; they announce what they are about to do, and a strategy decides
//! who goes on.
//!
//! No path that a hook can reach uses `std`, a lock, thread-local storage or
//! the target's heap. `std` is linked for its panic machinery alone, and a panic
//! here is a bug in bohr, reported as such.

#![no_std]

extern crate alloc;
extern crate std;

mod addresses;
mod arena;
mod baton;
mod buffers;
mod carrier;
mod channel;
mod child;
mod clock;
mod constructors;
mod control;
mod descriptors;
mod dispatch;
mod early;
mod elsewhere;
mod engine;
mod environment;
mod faults;
mod fingerprint;
mod footprint;
mod gates;
mod given;
mod grant;
mod heap;
mod hold;
mod hooks;
mod image;
mod interpose;
mod layout;
mod ledger;
mod lifecycle;
mod neighbours;
mod notices;
mod objects;
mod obstacles;
mod offspring;
mod omitted_stores;
mod outlasting;
mod outpost;
mod output;
mod outside;
mod pagemap;
mod patch;
mod peek;
mod policy;
mod pool;
mod probe;
mod readiness;
mod real;
mod record;
mod requests;
mod rewind;
mod sanitizers;
mod server;
mod signals;
mod spin;
mod streams;
mod system;
mod system_calls;
mod task;
mod template;
mod thread;
mod threads;
mod timers;
mod trace;
mod unwind;
mod verdict;
mod waiting;
mod watch;
