//! What an event does to a lock.

use bohr_event::{EventKind, MemoryOrder, Operation};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockStep {
    /// Takes it.
    Take {
        /// As one of many who leave it as it is.
        shared: bool,
        /// Whether it would have waited, however long.
        waits: bool,
    },
    /// Gives it back.
    Give,
    /// Finds that nobody keeps others out any more; would have waited for that.
    Pass,
    /// Belongs to it, and neither takes it nor gives it back.
    Inside,
}

impl LockStep {
    /// Of an event that is no access.
    #[must_use]
    pub fn of(operation: &Operation) -> Option<LockStep> {
        let take = |shared| LockStep::Take {
            shared,
            waits: !operation.is_bounded(),
        };
        Some(match operation.kind {
            EventKind::Acquire => take(false),
            EventKind::AcquireShared => take(true),
            EventKind::Release | EventKind::ReleaseShared => LockStep::Give,
            // What is done once has been done.
            EventKind::Look if operation.order == MemoryOrder::Acquire => LockStep::Pass,
            _ => return None,
        })
    }
}
