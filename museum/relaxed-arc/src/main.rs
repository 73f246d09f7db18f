//! Shared ownership by hand: a block with a count of its owners, freed by the
//! last one to go. Every worker writes its result into its own slot of the
//! block; whoever frees the block adds the results up.
//!
//! `relaxed-arc [workers] [results per worker]`

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::thread;

static TOTAL: AtomicU64 = AtomicU64::new(0);

struct Block {
    owners: AtomicUsize,
    slots: Vec<UnsafeCell<u64>>,
}

/// One owner's share of a block, with the right to write one slot.
struct Share {
    block: *mut Block,
    slot: usize,
}

// SAFETY: shares write different slots, and only the last owner reads them all.
unsafe impl Send for Share {}

impl Share {
    fn divide(owners: usize) -> Vec<Share> {
        let block = Box::into_raw(Box::new(Block {
            owners: AtomicUsize::new(owners),
            slots: (0..owners).map(|_| UnsafeCell::new(0)).collect(),
        }));
        (0..owners).map(|slot| Share { block, slot }).collect()
    }

    fn add(&mut self, value: u64) {
        // SAFETY: the block lives as long as a share does, and the slot is ours.
        unsafe { *(&(*self.block).slots)[self.slot].get() += value } // marker: slot-written
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let order = if cfg!(feature = "fixed") {
            Ordering::Release
        } else {
            Ordering::Relaxed
        };
        // SAFETY: the block lives until its last owner has gone.
        let owners = unsafe { (*self.block).owners.fetch_sub(1, order) }; // marker: owner-left
        if owners != 1 {
            return;
        }
        if cfg!(feature = "fixed") {
            fence(Ordering::Acquire);
        }
        // SAFETY: the count says that nobody else has a share any more.
        let block = unsafe { Box::from_raw(self.block) };
        let slots = block.slots.into_iter();
        let sum = slots.map(UnsafeCell::into_inner).sum(); // marker: slots-read
        TOTAL.fetch_add(sum, Ordering::Relaxed);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let workers: usize = arguments.next().unwrap_or(2);
    let results: usize = arguments.next().unwrap_or(10);

    let threads: Vec<_> = Share::divide(workers)
        .into_iter()
        .map(|mut share| {
            thread::spawn(move || {
                (0..results).for_each(|value| share.add(black_box(value as u64)));
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|worker| worker.join().unwrap());
    println!("total {}", TOTAL.load(Ordering::Relaxed));
}
