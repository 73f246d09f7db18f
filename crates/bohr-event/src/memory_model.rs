//! When a store becomes visible to other threads.
//!
//! TSO and PSO are those of the SPARC manual, as operational models: a thread's
//! stores wait in a buffer and reach memory later, in an order that the model
//! keeps. Reads stay in order, and a thread reads its own stores from the buffer.
//! x86 is TSO (Sewell, Sarkar, Owens, Zappa Nardelli, Myreen: "x86-TSO", CACM 2010).

use crate::{EventKind, MemoryOrder};
use core::{fmt, str::FromStr};
use serde::{Deserialize, Serialize};

/// The memory model that a program is run under.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum MemoryModel {
    /// At once.
    #[default]
    #[serde(rename = "sc")]
    SequentiallyConsistent,
    /// Total store order: a thread's stores wait in one queue.
    #[serde(rename = "tso")]
    TotalStoreOrder,
    /// Partial store order: in one queue for each address.
    #[serde(rename = "pso")]
    PartialStoreOrder,
}

impl MemoryModel {
    /// All of them, the strongest first.
    pub const ALL: [MemoryModel; 3] = [
        MemoryModel::SequentiallyConsistent,
        MemoryModel::TotalStoreOrder,
        MemoryModel::PartialStoreOrder,
    ];

    /// Whether stores wait anywhere.
    #[must_use]
    pub fn has_buffers(self) -> bool {
        self != MemoryModel::SequentiallyConsistent
    }

    /// As it is written: `sc`, `tso`, `pso`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            MemoryModel::SequentiallyConsistent => "sc",
            MemoryModel::TotalStoreOrder => "tso",
            MemoryModel::PartialStoreOrder => "pso",
        }
    }
}

impl EventKind {
    /// Whether an event of this kind and order has to wait until its thread's store
    /// buffer is empty: the one table for whoever simulates buffers and for whoever
    /// computes what they allow. On x86 locked instructions and fences empty the buffer,
    /// and so does every call of the system that waits, wakes or transfers, because the
    /// kernel takes a lock of its own on the way. Freeing memory does not; but what the
    /// allocator writes into a block is no event, and no store of before may come to
    /// lie over it.
    #[must_use]
    pub fn needs_empty_buffer(self, order: MemoryOrder) -> bool {
        match self {
            EventKind::Read | EventKind::Store | EventKind::Alloc => false,
            EventKind::Fence => order == MemoryOrder::SequentiallyConsistent,
            _ => true,
        }
    }
}

impl fmt::Display for MemoryModel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A text that names no memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseModelError;

impl fmt::Display for ParseModelError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a memory model is sc, tso or pso")
    }
}

impl core::error::Error for ParseModelError {}

impl FromStr for MemoryModel {
    type Err = ParseModelError;

    fn from_str(text: &str) -> Result<MemoryModel, ParseModelError> {
        MemoryModel::ALL
            .into_iter()
            .find(|model| model.name() == text)
            .ok_or(ParseModelError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for model in MemoryModel::ALL {
            assert_eq!(model.name().parse(), Ok(model));
        }
        assert_eq!("TSO".parse::<MemoryModel>(), Err(ParseModelError));
    }
}
