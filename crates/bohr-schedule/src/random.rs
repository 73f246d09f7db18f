//! The one source of chance: small, fast and the same on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
//! Generators", OOPSLA 2014). Neighbouring seeds give unrelated sequences,
//! which matters since a hunt counts its seeds up from a first one.

/// A seeded generator.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        let mut random = Random { state: seed };
        random.state = random.bits();
        random
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`. The bias is below `bound / 2^64`, so no rejection.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// True once in `times` tries, on average.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A random element; `None` of an empty slice.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        if items.is_empty() {
            return None;
        }
        items.get(self.below(items.len() as u64) as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_uniform() {
        let mut random = Random::new(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7) as usize] += 1;
        }
        // Six degrees of freedom: a chi-square above 22.5 has p < 0.001.
        let chi: f64 = counts
            .iter()
            .map(|&n| (f64::from(n) - 1e4).powi(2) / 1e4)
            .sum();
        assert!(chi < 22.5, "{counts:?}: {chi}");
    }

    #[test]
    fn neighbouring_seeds_differ() {
        let first = |seed| Random::new(seed).bits();
        assert_ne!(first(1), first(2));
        assert_eq!(first(1), first(1));
    }
}
