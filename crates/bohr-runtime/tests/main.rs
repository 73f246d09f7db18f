//! All tests of this crate from outside, as one program: linked once.

mod backends;
mod endless;
mod failures;
mod fork_points;
mod harness;
mod outposts;
mod primitives;
mod processes;
mod rewinding;
mod schedules;
mod surroundings;
