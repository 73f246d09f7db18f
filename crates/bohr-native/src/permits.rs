//! Visits that pass whatever the thread is, counted by themselves: the first ones that a
//! side ignores, and all of a breakpoint that sleeps. At a site that is about one such side
//! alone a visit is a few instructions (`entry.rs`): it takes a permit from the line of
//! memory that its thread shares with few others.
//!
//! A permit is there once: what a line holds was taken from the side's stock, and when that
//! is empty, those on other lines are collected. So exactly as many visits pass as should,
//! however threads come.

use crate::futex::Lock;
use bohr_event::breakpoint::{PASS_LINES, PASS_WORDS};
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Permits that are as good as any number.
const ENDLESS: i64 = i64::MAX / 2;

/// The share of the stock that a line is given at once.
const SHARE: u64 = 2 * PASS_LINES as u64;

/// What threads whose pointers fall on the same line share, in memory that bohr sees.
#[repr(C, align(64))]
pub struct Line {
    /// Visits that may still pass; less than none while one finds that out.
    permits: AtomicI64,
    /// How many have been given to the line.
    given: AtomicU64,
    rest: [AtomicU64; PASS_WORDS - 2],
}

const _: () = assert!(size_of::<Line>() == 64);

/// The lines of a side.
pub type Lines = [Line; PASS_LINES];

/// See the module.
pub struct Permits {
    pub lines: &'static Lines,
    lock: Lock,
    /// Permits on no line. Changes under the lock.
    stock: AtomicU64,
    /// Whether all may pass.
    open: AtomicU64,
}

impl Permits {
    /// For so many visits.
    pub fn new(visits: u64, lines: &'static Lines) -> Permits {
        Permits {
            lines,
            lock: Lock::new(),
            stock: AtomicU64::new(visits),
            open: AtomicU64::new(0),
        }
    }

    /// From now on all pass.
    pub fn open(&self) {
        if self.open.swap(1, Ordering::Relaxed) == 0 {
            self.lines.iter().for_each(|line| line.give(ENDLESS));
        }
    }

    /// Whether a visit that came the long way passes; it counts itself.
    pub fn take(&self) -> bool {
        self.lock.hold(|| {
            let mut stock = self.stock.load(Ordering::Relaxed);
            if stock == 0 {
                stock = self.lines.iter().map(Line::collect).sum();
            }
            let Some(left) = stock.checked_sub(1) else {
                return false;
            };
            let share = left / SHARE;
            self.stock.store(left - share, Ordering::Relaxed);
            if let Ok(share @ 1..) = i64::try_from(share) {
                self.lines[own_line()].give(share);
            }
            true
        })
    }

    /// In a child process: whoever held the lock is in another one.
    pub fn abandon(&self) {
        self.lock.abandon();
    }
}

impl Line {
    /// Permits come first: of a process that ends in between too few visits are told
    /// rather than some that never were.
    fn give(&self, permits: i64) {
        self.permits.fetch_add(permits, Ordering::SeqCst);
        self.given.fetch_add(permits as u64, Ordering::SeqCst);
    }

    /// Takes back what is there.
    fn collect(&self) -> u64 {
        let taken = self
            .permits
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |permits| {
                (permits > 0).then_some(0)
            });
        let taken = taken.unwrap_or(0) as u64;
        self.given.fetch_sub(taken, Ordering::SeqCst);
        taken
    }
}

/// The line of this thread; `entry.rs` computes the same.
fn own_line() -> usize {
    let line: usize;
    // SAFETY: the word at `fs:0` is the thread's own address, by the rules of the platform.
    unsafe {
        core::arch::asm!(
            "mov {line}, fs:0",
            "imul {line}, {line}, 0x61c88647",
            "shr {line}, 60",
            line = out(reg) line,
            options(nostack, readonly, pure),
        );
    }
    line
}

const _: () = assert!(PASS_LINES == 16, "four bits choose the line");

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicBool;

    fn lines() -> &'static Lines {
        let line = || Line {
            permits: AtomicI64::new(0),
            given: AtomicU64::new(0),
            rest: [const { AtomicU64::new(0) }; PASS_WORDS - 2],
        };
        Box::leak(Box::new(core::array::from_fn(|_| line())))
    }

    /// As `entry.rs` does it; whether the visit passed there, or the long way.
    fn visit(permits: &Permits) -> (bool, bool) {
        let own = &permits.lines[own_line()].permits;
        if own.fetch_sub(1, Ordering::SeqCst) > 0 {
            return (true, false);
        }
        own.fetch_add(1, Ordering::SeqCst);
        (false, permits.take())
    }

    /// What bohr reads.
    fn told(permits: &Permits) -> u64 {
        let words = permits.lines.iter().flat_map(|line| {
            let permits = line.permits.load(Ordering::SeqCst) as u64;
            [permits, line.given.load(Ordering::SeqCst)]
        });
        let words: Vec<u64> = words.collect();
        let lines = words.chunks_exact(2);
        lines.map(bohr_event::breakpoint::passed).sum()
    }

    #[test]
    fn exactly_as_many_visits_pass_as_should_and_all_are_told() {
        for wanted in [0, 1, 2, 31, 1_000, 40_000] {
            let permits = Permits::new(wanted, lines());
            let (quick, long) = (AtomicU64::new(0), AtomicU64::new(0));
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        for _ in 0..20_000 {
                            let (passed, passed_late) = visit(&permits);
                            quick.fetch_add(u64::from(passed), Ordering::SeqCst);
                            long.fetch_add(u64::from(passed_late), Ordering::SeqCst);
                        }
                    });
                }
            });
            let (quick, long) = (quick.into_inner(), long.into_inner());
            assert_eq!(quick + long, wanted);
            assert_eq!(told(&permits), quick);
            assert!(wanted < 10_000 || long * 10 < wanted, "{long} of {wanted}");
        }
    }

    #[test]
    fn of_a_breakpoint_that_sleeps_every_visit_passes_and_is_told() {
        let permits = Permits::new(3, lines());
        let open = AtomicBool::new(false);
        for _ in 0..10 {
            let (quick, _) = visit(&permits);
            assert!(!quick || open.load(Ordering::SeqCst) || told(&permits) <= 3);
        }
        let before = told(&permits);
        permits.open();
        permits.open();
        for _ in 0..50 {
            assert!(visit(&permits).0);
        }
        assert_eq!(told(&permits), before + 50);
    }
}
