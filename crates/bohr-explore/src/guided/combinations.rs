//! Some of many: which preemptions come together in one run.

/// All ways to take `size` of the numbers below `count`, each ascending, in the order of
/// a dictionary.
pub(super) fn combinations(count: usize, size: usize) -> impl Iterator<Item = Vec<usize>> {
    let first = (size <= count).then(|| (0..size).collect::<Vec<usize>>());
    std::iter::successors(first, move |last| {
        // The last number that can grow does, and all behind it follow it.
        let grows = (0..size).rfind(|&position| last[position] < count - size + position)?;
        let mut next = last.clone();
        for (place, number) in next[grows..].iter_mut().zip(last[grows] + 1..) {
            *place = number;
        }
        Some(next)
    })
}

/// The largest count of which there are no more than `most` ways to take `size`.
pub(super) fn largest_count(size: usize, most: usize) -> usize {
    let ways = |count: usize| {
        let factors = (0..size).map(|position| (count - position) as u128);
        let divided = factors.zip(1..).fold(1u128, |ways, (factor, divisor)| {
            ways.saturating_mul(factor) / divisor
        });
        usize::try_from(divided).unwrap_or(usize::MAX)
    };
    (size..=most)
        .take_while(|&count| ways(count) <= most)
        .last()
        .unwrap_or(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As counting through all sets of numbers finds them.
        #[test]
        fn they_are_all_sets_of_that_size(count in 0usize..9, size in 1usize..5) {
            let mut naive: Vec<Vec<usize>> = (0u32..1 << count)
                .filter(|set| set.count_ones() as usize == size)
                .map(|set| (0..count).filter(|number| set >> number & 1 == 1).collect())
                .collect();
            naive.sort();
            prop_assert_eq!(combinations(count, size).collect::<Vec<_>>(), naive);
        }

        #[test]
        fn one_more_would_be_too_many(size in 1usize..5, most in 1usize..3000) {
            let count = largest_count(size, most);
            let ways = |count| combinations(count, size).take(most + 1).count();
            prop_assert!(ways(count) <= most);
            prop_assert!(ways(count + 1) > most);
        }
    }
}
