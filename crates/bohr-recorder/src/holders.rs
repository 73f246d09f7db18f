//! Which mutexes were taken as far as the order log says. Whoever blocked on one has
//! it a moment before that is written down; a thread that finds it taken meanwhile
//! has to wait for that, or the order would be one in which it was free.
//!
//! Used by whoever holds the stripe of synchronisation, so by one thread at a time.

use core::sync::atomic::{AtomicUsize, Ordering};

/// More at once are not told apart from those that nobody has written down.
const MOST: usize = 256;

static TAKEN: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
/// Places behind this one were never used.
static USED: AtomicUsize = AtomicUsize::new(0);

fn places() -> impl Iterator<Item = &'static AtomicUsize> {
    TAKEN[..USED.load(Ordering::Relaxed)].iter()
}

/// Somebody has a mutex.
pub fn add(mutex: usize) {
    let free = places().find(|place| place.load(Ordering::Relaxed) == 0);
    let place = free.or_else(|| {
        let next = TAKEN.get(USED.load(Ordering::Relaxed))?;
        USED.fetch_add(1, Ordering::Relaxed);
        Some(next)
    });
    if let Some(place) = place {
        place.store(mutex, Ordering::Relaxed);
    }
}

/// Nobody has it any more.
pub fn remove(mutex: usize) {
    if let Some(place) = places().find(|place| place.load(Ordering::Relaxed) == mutex) {
        place.store(0, Ordering::Relaxed);
    }
}

/// Whether somebody has it.
pub fn contains(mutex: usize) -> bool {
    places().any(|place| place.load(Ordering::Relaxed) == mutex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_known_until_it_is_given_back() {
        for mutex in 1..=MOST + 5 {
            add(mutex);
        }
        assert!((1..=MOST).all(contains));
        assert!(!contains(MOST + 1));
        remove(3);
        remove(3);
        assert!(!contains(3));
        add(MOST + 7);
        assert!(contains(MOST + 7));
    }
}
