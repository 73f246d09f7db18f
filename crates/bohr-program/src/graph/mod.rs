//! Algorithms over control-flow graphs, independent of what the blocks hold.
//! One algorithm per file; each names the paper that it follows.

pub(crate) mod adjacency;
mod classify;
pub(crate) mod components;
mod control_dependence;
mod dominators;
mod flow;
mod frontier;
mod irreducible;
mod loops;
mod post_dominators;

pub use classify::{Nesting, Nestings};
pub use control_dependence::ControlDependence;
pub use dominators::Dominators;
pub use flow::{Edge, FlowGraph, Outcome};
pub use frontier::dominance_frontiers;
pub use irreducible::{IrreducibleRegion, irreducible_regions};
pub use loops::{Loop, LoopNumber, Loops};
pub use post_dominators::{Next, PostDominators};
