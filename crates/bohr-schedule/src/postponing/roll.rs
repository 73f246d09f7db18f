//! Which of several threads that run the same code one is: by the order in which they
//! were created, among those who come by.

use alloc::vec::Vec;
/// The threads that run the same code, as they come, each by how many were created
/// before it.
#[derive(Clone, Debug)]
pub struct Roll {
    of: usize,
    /// In the order of their creation once the roll is closed; who comes late is behind.
    threads: Vec<u64>,
    is_open: bool,
}

impl Roll {
    /// Of so many.
    pub fn new(of: u32) -> Roll {
        Roll {
            of: of as usize,
            threads: Vec::new(),
            is_open: true,
        }
    }

    /// A thread comes by.
    pub fn join(&mut self, thread: u64) {
        if !self.has(thread) && self.threads.len() < self.of {
            self.threads.push(thread);
            if self.is_open && self.threads.len() == self.of {
                self.close();
            }
        }
    }

    /// All are there, or nobody waits for the others any longer.
    pub fn close(&mut self) {
        if self.is_open {
            self.is_open = false;
            // Numbers are given in the order of creation.
            self.threads.sort_unstable();
        }
    }

    /// Whether there are others to come.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether a thread has come by.
    pub fn has(&self, thread: u64) -> bool {
        self.threads.contains(&thread)
    }

    /// Which of them it is, from 1, if that is known and it is one.
    pub fn number(&self, thread: u64) -> Option<u32> {
        let position = self.threads.iter().position(|one| *one == thread)?;
        (!self.is_open).then_some(position as u32 + 1)
    }
}
