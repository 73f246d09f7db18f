//! What is loaded into a program built with bohr when its threads are to be held
//! up at breakpoints while they run for real, in parallel.
//!
//! It shadows nothing of the C library and starts nothing. The program's module
//! registers itself; the sites of the breakpoints, and only these, are switched
//! on; everything else runs as fast as it was written. What to do, and what came
//! of it, stands on a board that bohr reads afterwards
//! (`bohr_event::breakpoint`).
//!
//! **Nothing that a hook can reach allocates, and nobody waits without a limit.**

mod board;
mod condition;
mod entry;
mod futex;
mod heap;
mod meeting;
mod others;
mod permits;
mod point;
mod register;
mod roll;
mod visits;
