//! Vector clocks: what a thread, or what it left behind, knows of every thread.

use bohr_event::ThreadIndex;

/// By thread: up to which time it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// The time of a thread.
    pub fn time(&self, thread: ThreadIndex) -> u32 {
        self.0.get(thread.position()).copied().unwrap_or(0)
    }

    /// A thread's time goes on.
    pub fn tick(&mut self, thread: ThreadIndex) {
        if self.0.len() <= thread.position() {
            self.0.resize(thread.position() + 1, 0);
        }
        self.0[thread.position()] += 1;
    }

    /// Learns what another clock knows.
    pub fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, theirs) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*theirs);
        }
    }
}
