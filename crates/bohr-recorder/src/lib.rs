//! What is loaded into the path profile of a program when a run is recorded: it
//! gives every thread memory to write in, names threads by their place in the
//! tree of creations, and notes which thread a fatal signal came from.
//!
//! Threads run as they do without it: in parallel, with no lock, fence or shared
//! write between them, except where one needs another piece of the file
//! (`bohr_event::recording`). Of the C library, only the creation of threads is
//! shadowed.
//!
//! **Nothing that instrumented code can reach allocates, and `errno` is kept.**

mod area;
mod crash;
mod create;
mod register;
mod thread;
