//! What a run leaves out, and what it tells about that. What is left out still
//! consumes its number: the threads and iterations that stay keep their names.

use crate::abi::{CALL_GATE, STORE_GATE};
use crate::{ThreadIndex, ThreadPath};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// What to leave out of the runs of a job.
///
/// ```
/// use bohr_event::control::Omissions;
/// let omissions = Omissions {
///     threads: vec!["0:2".parse().unwrap()],
///     ..Omissions::default()
/// };
/// assert!(omissions.concern_gates() && !Omissions::default().concern_gates());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Omissions {
    /// Threads that run the shell of their library, but not their body.
    pub threads: Vec<ThreadPath>,
    /// Iterations of loops, passes through marked blocks, calls and stores.
    pub iterations: Vec<OmittedPasses>,
    /// Whether every gate is counted for [`Detail::passes`](super::Detail), and
    /// not only those of `iterations`.
    pub count: bool,
}

/// A gate of a loop, block, call or store in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GateReference {
    /// Hash of the bundle: names the program model.
    pub program: [u8; 32],
    /// Its number there.
    pub number: u32,
}

/// What a gate leaves out at each pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omissible {
    /// An iteration of a loop, or what a marked block does.
    Block,
    /// A call, by its position among those that can be left out.
    Call(u32),
    /// A store, by the number of its site.
    Store(u32),
}

impl GateReference {
    /// What it leaves out.
    #[must_use]
    pub fn leaves_out(&self) -> Omissible {
        match (self.number & CALL_GATE, self.number & STORE_GATE) {
            (0, 0) => Omissible::Block,
            (0, _) => Omissible::Store(self.number & !STORE_GATE),
            _ => Omissible::Call(self.number & !CALL_GATE),
        }
    }

    /// Whether it leaves out iterations or blocks, rather than a call or a store.
    #[must_use]
    pub fn is_block(&self) -> bool {
        self.leaves_out() == Omissible::Block
    }

    /// Whether it leaves out calls.
    #[must_use]
    pub fn is_call(&self) -> bool {
        matches!(self.leaves_out(), Omissible::Call(_))
    }

    /// Whether it leaves out stores.
    #[must_use]
    pub fn is_store(&self) -> bool {
        matches!(self.leaves_out(), Omissible::Store(_))
    }
}

/// Passes of one thread through one gate.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OmittedPasses {
    /// Where.
    pub gate: GateReference,
    /// Whose.
    pub thread: ThreadPath,
    /// Which, counted from 0 over the whole run of the thread; ascending.
    pub numbers: Vec<u64>,
    /// All from this number on as well.
    pub beyond: Option<u64>,
    /// How many threads each of them would have created: these consume their
    /// numbers, so that those that other passes create keep their names.
    pub children: u32,
}

/// How often a thread came by a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// Where.
    pub gate: GateReference,
    /// Who.
    pub thread: ThreadIndex,
    /// How often, what was left out included.
    pub count: u64,
    /// How many of these were left out.
    pub left_out: u64,
    /// How many threads the thread had created when it first came by.
    pub first_child: u32,
    /// How many threads it creates from pass to pass, those that were left out
    /// included; 0 if that varies.
    pub children: u32,
    /// How many events the run had when each of them began, if every gate is
    /// counted.
    pub starts: Vec<u64>,
}

impl OmittedPasses {
    /// Whether a pass is left out.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        self.beyond.is_some_and(|first| first <= number)
            || self.numbers.binary_search(&number).is_ok()
    }
}

impl Omissions {
    /// Whether gates have to be asked at all.
    #[must_use]
    pub fn concern_gates(&self) -> bool {
        let asked = |one: &OmittedPasses| !one.gate.is_store();
        self.count || !self.threads.is_empty() || self.iterations.iter().any(asked)
    }

    /// The stores that are left out.
    pub fn stores(&self) -> impl Iterator<Item = &OmittedPasses> {
        let passes = self.iterations.iter();
        passes.filter(|one| one.gate.is_store())
    }
}
