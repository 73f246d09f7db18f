//! A process in which every thread waits, without a limit, for another thread:
//! told by what the system says about its threads. A circle of locks and joins
//! is a deadlock; whoever waits for anything else waits for a notification.

use bohr_event::endless_wait;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Where the C library keeps the owner of a mutex, from the word that threads
/// wait for.
const OWNER: u64 = 8;

/// Threads that all wait for somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standstill(Vec<Waiter>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiter {
    thread: u32,
    /// The word that it waits for.
    word: u64,
    /// How often it has slept: another sleep is another wait.
    sleeps: u64,
}

/// Why nobody can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stall {
    /// So many threads wait for each other in a circle.
    Deadlock(usize),
    /// Everybody waits, and nobody is left to wake them.
    NobodyLeft(usize),
}

impl std::fmt::Display for Stall {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stall::Deadlock(threads) => write!(
                out,
                "deadlock: {threads} threads wait for each other in a circle"
            ),
            Stall::NobodyLeft(threads) => write!(
                out,
                "stall: all {threads} threads wait, and nobody is left to wake them"
            ),
        }
    }
}

impl Standstill {
    /// Of a process; `None` while anybody runs, waits for something outside, or
    /// only for a time.
    pub fn of(process: u32) -> Option<Standstill> {
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
        let waiters = tasks.map(|task| waiter(&task.ok()?.path()));
        let mut waiters: Vec<Waiter> = waiters.collect::<Option<_>>()?;
        waiters.sort_by_key(|waiter| waiter.thread);
        (!waiters.is_empty()).then_some(Standstill(waiters))
    }
}

fn waiter(task: &std::path::Path) -> Option<Waiter> {
    let call = std::fs::read_to_string(task.join("syscall")).ok()?;
    let status = std::fs::read_to_string(task.join("status")).ok()?;
    let mut sleeps = status
        .lines()
        .filter_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    Some(Waiter {
        thread: task.file_name()?.to_str()?.parse().ok()?,
        word: endless_wait(&call)?,
        sleeps: sleeps.next()?.trim().parse().ok()?,
    })
}

impl Stall {
    /// Looks who waits for whom.
    pub fn of(process: u32, standstill: &Standstill) -> Stall {
        let memory = File::open(format!("/proc/{process}/mem")).ok();
        let read = |address: u64| {
            let mut bytes = [0; 4];
            memory.as_ref()?.read_exact_at(&mut bytes, address).ok()?;
            Some(u32::from_le_bytes(bytes))
        };
        let threads: Vec<u32> = standstill.0.iter().map(|waiter| waiter.thread).collect();
        let awaited = |waiter: &Waiter| {
            // A mutex names its owner; a thread that ends clears its own number.
            let candidates = [read(waiter.word + OWNER), read(waiter.word)];
            let thread = candidates
                .into_iter()
                .flatten()
                .find(|thread| threads.contains(thread))?;
            threads.iter().position(|known| *known == thread)
        };
        let edges: Vec<Option<usize>> = standstill.0.iter().map(awaited).collect();
        match circle(&edges) {
            Some(length) => Stall::Deadlock(length),
            None => Stall::NobodyLeft(threads.len()),
        }
    }
}

/// The length of a circle in a graph in which everybody points to at most one.
fn circle(edges: &[Option<usize>]) -> Option<usize> {
    (0..edges.len()).find_map(|start| {
        let mut at = start;
        for length in 1..=edges.len() {
            at = edges[at]?;
            if at == start {
                return Some(length);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_and_chains_are_not() {
        assert_eq!(circle(&[Some(1), Some(2), Some(1)]), Some(2));
        assert_eq!(circle(&[Some(0)]), Some(1));
        assert_eq!(circle(&[Some(1), Some(2), None]), None);
        assert_eq!(circle(&[]), None);
    }
}
