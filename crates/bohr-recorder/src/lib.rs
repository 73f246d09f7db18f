//! What is loaded into a program when a run of it is recorded: it gives every thread
//! memory to write in, names threads by their place in the tree of creations, and
//! notes which thread a fatal signal came from.
//!
//! With a path log, threads run as they do without it: in parallel, with no lock,
//! fence or shared write between them, except where one needs another piece of the
//! file (`bohr_event::recording`). Of the C library these are shadowed:
//!
//! - the creation of threads, which get names ([`create`]);
//! - what synchronises, which is passed on unless its order is asked for
//!   ([`synchronisation`], and accesses to memory in [`order`]);
//! - time and randomness, which no other run would get again ([`inputs`]);
//! - what comes from files, pipes and sockets ([`reading`], [`opening`], [`connections`]), and where
//!   something does ([`polling`]); what buffered streams read is seen where they do
//!   ([`streams`]);
//! - the handlers of signals, whose way is not recorded ([`signals`]).
//!
//! **Nothing that instrumented code can reach allocates, and `errno` is kept.**

mod area;
mod begin;
mod connections;
mod crash;
mod create;
mod holders;
mod inputs;
mod opening;
mod order;
mod outside;
mod polling;
mod reading;
mod real;
mod register;
mod registrations;
mod signals;
mod streams;
mod synchronisation;
mod thread;
