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

    /// How many threads it has room for.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// A thread's time goes on.
    pub fn tick(&mut self, thread: ThreadIndex) {
        if self.0.len() <= thread.position() {
            self.0.resize(thread.position() + 1, 0);
        }
        self.0[thread.position()] += 1;
    }

    /// Keeps only what another clock knows, too.
    pub fn meet(&mut self, other: &Clock) {
        self.0.truncate(other.0.len());
        for (own, theirs) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).min(*theirs);
        }
    }

    /// Learns what another clock knows; whether that was anything new.
    pub fn join(&mut self, other: &Clock) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut new = false;
        for (own, theirs) in self.0.iter_mut().zip(&other.0) {
            new |= theirs > own;
            *own = (*own).max(*theirs);
        }
        new
    }
}
