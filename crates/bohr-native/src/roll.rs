//! Which of several threads that run the same code one is: by the order in which they
//! were created, among those who come by. The system numbers threads in that order, so
//! nobody has to look on while they are created. They go on in that order, too, each after
//! a moment: those who were made to wait for others begin as they would have begun.

use crate::futex::{Lock, now, processor_time, thread, wake};
use crate::others::{let_run, release, wait_for_others};
use bohr_event::breakpoint::MOST_ALIKE;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What `state` says while there are others to come. Once nobody waits for them any longer
/// it is the number of the thread whose turn it is, and then grows.
const OPEN: u32 = 0;

/// The threads that run the same code, as they come.
pub struct Roll {
    pub of: u32,
    state: AtomicU32,
    lock: Lock,
    /// Who went on last, and the processor time that it had spent then.
    gone: AtomicU32,
    spent: AtomicU64,
    /// In the order of their creation once the roll is closed; who comes late is behind.
    /// Only written under the lock; 0 is nobody.
    threads: [AtomicU32; MOST_ALIKE as usize],
}

impl Roll {
    /// Of so many.
    pub fn new(of: u32) -> Roll {
        Roll {
            of: of.min(MOST_ALIKE),
            state: AtomicU32::new(OPEN),
            lock: Lock::new(),
            gone: AtomicU32::new(0),
            spent: AtomicU64::new(0),
            threads: [const { AtomicU32::new(0) }; MOST_ALIKE as usize],
        }
    }

    /// This thread comes by; holds it up until all have come, and those who were created
    /// before it have gone on for a moment, no longer than `pause` each.
    pub fn call(&self, pause: u64, moment: u64) {
        let own = thread();
        if self.position(own).is_some() {
            return;
        }
        self.lock.hold(|| self.join(own));
        wait_for_others(&self.state, pause, |state| state == OPEN);
        self.lock.hold(|| self.close());
        let Some(number) = self.number() else {
            return;
        };
        wait_for_others(&self.state, pause, |turn| turn < number);
        if number > 1 {
            let gone = self.gone.load(Ordering::SeqCst);
            let spent = self.spent.load(Ordering::SeqCst);
            let_run(gone, spent, moment, now().saturating_add(pause));
        }
        let spent = processor_time(own).unwrap_or(0);
        self.spent.store(spent, Ordering::SeqCst);
        self.gone.store(own, Ordering::SeqCst);
        if let Some(next) = self.threads.get(number as usize) {
            release(next.load(Ordering::SeqCst));
        }
        self.state.fetch_max(number + 1, Ordering::SeqCst);
        wake(&self.state);
    }

    /// Which of them this thread is, from 1, if it is one.
    pub fn number(&self) -> Option<u32> {
        // Before, those who have come still change places.
        let closed = self.state.load(Ordering::SeqCst) != OPEN;
        let position = closed.then(|| self.position(thread()))??;
        Some(position as u32 + 1)
    }

    /// In a child process: its threads are others.
    pub fn forget_all(&self) {
        self.lock.abandon();
        let all = self.threads.iter();
        all.for_each(|one| one.store(0, Ordering::SeqCst));
        self.state.store(OPEN, Ordering::SeqCst);
    }

    fn position(&self, thread: u32) -> Option<usize> {
        let is_it = |one: &AtomicU32| one.load(Ordering::SeqCst) == thread;
        self.threads.iter().position(is_it)
    }

    /// Under the lock.
    fn join(&self, own: u32) {
        let Some(free) = self.position(0).filter(|free| *free < self.of as usize) else {
            return;
        };
        self.threads[free].store(own, Ordering::SeqCst);
        if free + 1 == self.of as usize {
            self.close();
        }
    }

    /// Under the lock: all are there, or nobody waits for the others any longer.
    fn close(&self) {
        if self.state.load(Ordering::SeqCst) != OPEN {
            return;
        }
        let mut all = [0; MOST_ALIKE as usize];
        for (slot, one) in all.iter_mut().zip(&self.threads) {
            *slot = one.load(Ordering::SeqCst);
        }
        let came = self.position(0).unwrap_or(all.len());
        all[..came].sort_unstable_by_key(|thread| since_begin(*thread));
        for (slot, thread) in self.threads.iter().zip(all) {
            slot.store(thread, Ordering::SeqCst);
            release(thread);
        }
        self.state.store(1, Ordering::SeqCst);
        wake(&self.state);
    }
}

/// Ascends in the order in which threads were created: the system's numbers begin again
/// from below when they come to their end, and none is smaller than the process's before.
fn since_begin(thread: u32) -> (bool, u32) {
    (thread < std::process::id(), thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    const LONG: u64 = 60_000_000_000;
    const MOMENT: u64 = 100_000;

    #[test]
    fn threads_are_numbered_as_they_were_created_however_they_come() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let roll = Roll::new(3);
            let gone = std::sync::Mutex::new(Vec::new());
            let (gates, threads): (Vec<_>, Vec<_>) = (0..3).map(|_| channel::<()>()).unzip();
            let numbers = std::thread::scope(|scope| {
                let spawn = |gate: std::sync::mpsc::Receiver<()>| {
                    let (roll, gone) = (&roll, &gone);
                    scope.spawn(move || {
                        gate.recv().unwrap();
                        roll.call(LONG, MOMENT);
                        gone.lock().unwrap().push(roll.number());
                        roll.number()
                    })
                };
                let threads: Vec<_> = threads.into_iter().map(spawn).collect();
                for next in order {
                    gates[next].send(()).unwrap();
                    std::thread::sleep(Duration::from_millis(2));
                }
                let numbers = threads.into_iter().map(|thread| thread.join().unwrap());
                numbers.collect::<Vec<_>>()
            });
            assert_eq!(numbers, [Some(1), Some(2), Some(3)], "{order:?}");
            assert_eq!(*gone.lock().unwrap(), numbers, "they go on in their order");
            roll.call(LONG, MOMENT);
            assert_eq!(roll.number(), None, "there are three");
        }
    }

    #[test]
    fn who_comes_alone_goes_on() {
        let roll = Roll::new(2);
        let begun = Instant::now();
        roll.call(1_000_000, MOMENT);
        assert!(begun.elapsed() >= Duration::from_millis(1));
        assert_eq!(roll.number(), Some(1));
        let late = std::thread::scope(|scope| {
            let late = scope.spawn(|| {
                roll.call(LONG, MOMENT);
                roll.number()
            });
            late.join().unwrap()
        });
        assert_eq!(late, Some(2));
    }
}
