//! How many different schedules a hunt has seen, in bounded memory.

use std::collections::HashSet;

/// Hashes kept; up to here the count is exact.
const MOST: usize = 1 << 15;

/// Counts distinct hashes. Beyond some thirty thousand it becomes an estimate, good
/// to a percent: only hashes that end in some zero bits are kept, and each stands
/// for as many as share its ending (adaptive sampling; Flajolet, "On Adaptive Sampling", 1990).
///
/// ```
/// let mut seen = bohr_explore::Distinct::default();
/// [3, 4, 3].map(|hash| seen.insert(hash));
/// assert_eq!(seen.count(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Distinct {
    kept: HashSet<u64>,
    /// Zero bits that a kept hash ends in.
    depth: u32,
}

impl Default for Distinct {
    fn default() -> Distinct {
        Distinct {
            // All at once: a hunt's memory is not to grow with its runs.
            kept: HashSet::with_capacity(MOST + 1),
            depth: 0,
        }
    }
}

impl Distinct {
    /// Notes one hash.
    pub fn insert(&mut self, hash: u64) {
        if hash.trailing_zeros() < self.depth {
            return;
        }
        self.kept.insert(hash);
        while self.kept.len() > MOST {
            self.depth += 1;
            let depth = self.depth;
            self.kept.retain(|hash| hash.trailing_zeros() >= depth);
        }
    }

    /// How many different ones there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.kept.len() as u64) << self.depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_schedule::Random;

    #[test]
    fn the_estimate_is_close_and_the_memory_bounded() {
        let mut seen = Distinct::default();
        let mut random = Random::new(5);
        let many = 3_000_000;
        for _ in 0..many {
            seen.insert(random.bits());
        }
        assert!(seen.kept.len() <= MOST);
        let error = seen.count() as f64 / f64::from(many) - 1.0;
        assert!(error.abs() < 0.02, "off by {error}");
    }
}
