//! Which chains of an execution are store buffers, and of whom. A store takes
//! effect where its buffer writes it; between the two, and before whatever waits for
//! the buffer to be empty, the order has to stay.

use crate::order::{Chain, Chains, Execution};
use bohr_event::{EventKind, MemoryOrder, Operation, ThreadIndex, ThreadPath};
use std::collections::HashMap;

/// The threads of an execution that are store buffers, and whose.
#[must_use]
pub fn buffer_owners(threads: &[ThreadPath]) -> HashMap<ThreadIndex, ThreadIndex> {
    let paths = (0..).map(ThreadIndex).zip(threads);
    let indices: HashMap<&ThreadPath, ThreadIndex> =
        paths.clone().map(|(index, path)| (path, index)).collect();
    paths
        .filter_map(|(index, path)| Some((index, *indices.get(&path.buffer_of()?)?)))
        .collect()
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// By chain: whose store buffer it is.
    owner: Vec<Option<Chain>>,
    /// By chain: whether it has a buffer.
    buffered: Vec<bool>,
}

impl Buffers {
    pub fn new(execution: Execution<'_>, chains: &Chains) -> Buffers {
        let owners = buffer_owners(execution.threads);
        let chain = |thread: &ThreadIndex| {
            let position = chains.threads.iter().position(|other| other == thread)?;
            Some(Chain(position as u32))
        };
        let of = |thread: &ThreadIndex| owners.get(thread).and_then(chain);
        let owner: Vec<Option<Chain>> = chains.threads.iter().map(of).collect();
        let mut buffered = vec![false; owner.len()];
        for chain in owner.iter().flatten() {
            buffered[chain.position()] = true;
        }
        Buffers { owner, buffered }
    }

    /// Whose buffer the chain is.
    pub fn owner(&self, chain: Chain) -> Option<Chain> {
        self.owner[chain.position()]
    }

    /// Whose buffer changes, or is waited for, when the chain does this.
    pub fn concerned(&self, chain: Chain, operation: &Operation) -> Option<Chain> {
        self.owner(chain).or_else(|| {
            let passes = operation.kind == EventKind::Store || waits_for_empty(operation);
            (self.buffered[chain.position()] && passes).then_some(chain)
        })
    }
}

/// Whether a thread does this only when none of its stores wait any more.
pub(crate) fn waits_for_empty(operation: &Operation) -> bool {
    use EventKind::*;
    let full = operation.order == MemoryOrder::SequentiallyConsistent;
    !matches!(operation.kind, Read | Store | Alloc) && (operation.kind != Fence || full)
}
