//! Livelocks of threads that give way to each other: every one that can go on
//! looks at something, yields, and looks again, and nobody changes anything.
//!
//! Yields are counted. When all have yielded very often at one place, a stretch of
//! events is watched, accesses included. If it holds nothing but reads, locks and
//! yields, and each of the threads has both looked and yielded in it, the run is
//! over. A loop that looks at nothing may count what it does where no hook sees it.

use super::{Engine, recurrence::waits_for_others};
use crate::{spin::Turn, timers, verdict, waiting};
use bohr_event::{EventKind, FailureKind, Operation};

/// Yields at one place after which a thread is suspected, and again after as many
/// more. A loop that gives up by itself does so earlier.
const MANY: u64 = 1 << 17;
/// Fewest events that are watched, and most.
const WATCHED: u32 = 256;
const MOST_WATCHED: u32 = 1 << 16;

impl Engine {
    /// An event has been executed the slow way.
    #[inline]
    pub(super) fn note_idleness(&self, operation: &Operation) {
        if self.watched.get() > 0 {
            self.watch(operation.kind);
        }
        if operation.kind == EventKind::Yield {
            let yields = self.current().spin.yields(operation.place);
            if yields.is_multiple_of(MANY) && self.is_everybody_idle() {
                self.each_live(|thread| thread.spin.watch());
                self.watched.set(1);
                self.watched_since.set(self.recurrence.strange());
                // What is left of the fast path would not be seen.
                self.settle();
            }
        }
    }

    /// Whether all that can go on have yielded very often, and the others wait for
    /// somebody in the program, for as long as it takes.
    fn is_everybody_idle(&self) -> bool {
        let mut idle = timers::next() == u64::MAX;
        self.each_live(|thread| {
            idle &= match waiting::is_over(thread) {
                true => thread.spin.has_yielded(MANY),
                false => waits_for_others(thread),
            };
        });
        idle
    }

    fn watch(&self, kind: EventKind) {
        use EventKind::*;
        let watched = self.watched.get() + 1;
        self.watched.set(watched);
        let spin = &self.current().spin;
        match kind {
            Read | Look => spin.watched(Turn::Look),
            Yield => spin.watched(Turn::Yield),
            Acquire | AcquireShared | Release | ReleaseShared | Fence => {}
            _ => return self.stop_watching(),
        }
        // What the system is asked for may be what they wait for.
        if self.recurrence.strange() != self.watched_since.get() {
            return self.stop_watching();
        }
        if watched < WATCHED {
            return;
        }
        let mut all = true;
        self.each_live(|thread| all &= !waiting::is_over(thread) || thread.spin.goes_round());
        if all {
            let message =
                "every thread that can go on waits in a loop, and nobody changes anything";
            verdict::fail(FailureKind::Livelock, message);
        }
        if watched == MOST_WATCHED {
            self.stop_watching();
        }
    }

    fn stop_watching(&self) {
        self.watched.set(0);
        self.each_live(|thread| thread.spin.forget_yields());
    }
}
