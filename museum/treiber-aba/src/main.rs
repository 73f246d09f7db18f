//! A pool of buffers. Free buffers hang together in a stack whose head is
//! swung by compare-and-exchange; links are indices, so nothing is ever freed
//! and no code is unsafe. Every worker takes two buffers, fills them, and puts
//! them back.
//!
//! `treiber-aba [workers] [rounds]`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The link of the last buffer.
const NONE: u64 = 0xffff_ffff;

struct Buffer {
    next: AtomicU64,
    in_use: AtomicBool,
}

struct Pool {
    head: AtomicU64,
    buffers: Vec<Buffer>,
}

/// The index in a head, which may carry a version in its upper half.
fn index(head: u64) -> u64 {
    head & 0xffff_ffff
}

/// The head that follows `old` and points to `to`.
fn successor(old: u64, to: u64) -> u64 {
    if cfg!(feature = "fixed") {
        ((old >> 32) + 1) << 32 | to
    } else {
        to
    }
}

impl Pool {
    fn new(size: u64) -> Pool {
        let next_of = |buffer| if buffer + 1 < size { buffer + 1 } else { NONE };
        let buffers = (0..size).map(|buffer| Buffer {
            next: AtomicU64::new(next_of(buffer)),
            in_use: AtomicBool::new(false),
        });
        Pool {
            head: AtomicU64::new(0),
            buffers: buffers.collect(),
        }
    }

    fn buffer(&self, index: u64) -> &Buffer {
        &self.buffers[index as usize]
    }

    /// Whoever finds the pool empty does without.
    fn take(&self) -> Option<u64> {
        loop {
            let head = self.head.load(Ordering::SeqCst);
            let top = index(head);
            if top == NONE {
                return None;
            }
            let next = self.buffer(top).next.load(Ordering::SeqCst); // marker: link-read
            if self.swing(head, next) {
                let taken = self.buffer(top).in_use.swap(true, Ordering::SeqCst);
                assert!(!taken, "a buffer with two owners"); // marker: sole-owner
                return Some(top);
            }
        }
    }

    fn put(&self, buffer: u64) {
        self.buffer(buffer).in_use.store(false, Ordering::SeqCst);
        loop {
            let head = self.head.load(Ordering::SeqCst);
            self.buffer(buffer)
                .next
                .store(index(head), Ordering::SeqCst);
            if self.swing(head, buffer) {
                return;
            }
        }
    }

    fn swing(&self, from: u64, to: u64) -> bool {
        let to = successor(from, to);
        let swung = self
            .head
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst); // marker: head-swung
        swung.is_ok()
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let workers: u64 = arguments.next().unwrap_or(2);
    let rounds: u64 = arguments.next().unwrap_or(5);

    let pool = Arc::new(Pool::new(2 * workers + 2));
    let threads: Vec<_> = (0..workers)
        .map(|_| {
            let pool = pool.clone();
            thread::spawn(move || {
                for _ in 0..rounds {
                    let taken = [pool.take(), pool.take()];
                    taken
                        .into_iter()
                        .flatten()
                        .for_each(|buffer| pool.put(buffer));
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    println!("{workers} workers, {rounds} rounds");
}
