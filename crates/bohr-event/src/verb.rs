//! What people say that a thread does at an event: the one table of such words.

use crate::{EventKind, Operation};

impl EventKind {
    /// What a thread is about to do, without saying to what: `take a lock`.
    #[must_use]
    pub fn intention(self) -> &'static str {
        words(self).0
    }

    /// What a thread does, to be followed by what it does that to, if it is done
    /// to anything: `locks`.
    #[must_use]
    pub fn verb(self) -> &'static str {
        words(self).1
    }

    /// Whether the verb is followed by what it is done to.
    #[must_use]
    pub fn takes_object(self) -> bool {
        use EventKind::*;
        !matches!(
            self,
            Start | Exit | Fence | Yield | Sleep | Handle | External
        )
    }
}

impl Operation {
    /// What a thread is about to do, as [`EventKind::intention`] says it.
    #[must_use]
    pub fn intention(&self) -> &'static str {
        match (self.is_permit(), self.kind) {
            (true, EventKind::Send) => "post a semaphore",
            (true, _) => "take a semaphore",
            (false, kind) => kind.intention(),
        }
    }

    /// What a thread does, as [`EventKind::verb`] says it.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match (self.is_permit(), self.kind) {
            (true, EventKind::Send) => "posts",
            (true, _) => "takes a permit of",
            (false, kind) => kind.verb(),
        }
    }
}

fn words(kind: EventKind) -> (&'static str, &'static str) {
    use EventKind::*;
    match kind {
        Start => ("start", "starts"),
        Exit => ("end", "ends"),
        Fork => ("create a thread", "creates"),
        Join => ("join a thread", "joins"),
        Read => ("read", "reads"),
        Write => ("write", "writes"),
        Update => ("update", "updates"),
        Fence => ("pass a fence", "passes a fence"),
        Acquire => ("take a lock", "locks"),
        Release => ("give a lock back", "unlocks"),
        AcquireShared => ("take a lock for reading", "locks for reading"),
        ReleaseShared => ("give a lock for reading back", "unlocks for reading"),
        Wait => ("be woken", "wakes from"),
        Signal => ("wake a thread", "signals"),
        Broadcast => ("wake all threads", "broadcasts"),
        Send => ("send", "sends to"),
        Receive => ("receive", "receives from"),
        Alloc => ("allocate", "allocates"),
        Free => ("free", "frees"),
        Arrive => ("arrive at a barrier", "arrives at"),
        Depart => ("leave a barrier", "leaves"),
        Yield => ("yield", "yields"),
        Sleep => ("sleep", "sleeps"),
        Handle => ("handle a signal", "handles a signal"),
        Look => ("look at something without waiting", "looks at"),
        Store => ("store into its buffer", "buffers"),
        External => ("make a system call", "makes a system call"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn no_two_kinds_sound_alike() {
        let intentions: BTreeSet<_> = EventKind::ALL.map(EventKind::intention).into();
        let verbs: BTreeSet<_> = EventKind::ALL.map(EventKind::verb).into();
        assert_eq!(intentions.len(), EventKind::ALL.len());
        assert_eq!(verbs.len(), EventKind::ALL.len());
    }
}
