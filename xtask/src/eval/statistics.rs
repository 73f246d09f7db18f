//! Medians and quartiles of a few trials, some of which found nothing.

/// The numbers of the trials that succeeded, and how many there were.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// First quartile, median, third quartile; of trials that found nothing
    /// the value is not known, only that it is larger than all others.
    pub quartiles: [Option<f64>; 3],
    /// Share of the trials that found the bug.
    pub success: f64,
}

/// Sums up trials; `None` is one that found nothing.
pub fn summary(trials: &[Option<f64>]) -> Summary {
    let mut known: Vec<f64> = trials.iter().copied().flatten().collect();
    known.sort_by(f64::total_cmp);
    let count = trials.len();
    let quantile = |share: f64| {
        let position = (share * count as f64).ceil() as usize;
        known.get(position.max(1) - 1).copied()
    };
    Summary {
        quartiles: [0.25, 0.5, 0.75].map(quantile),
        success: known.len() as f64 / count.max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_without_a_bug_count_as_longest() {
        let some = |numbers: &[f64]| numbers.iter().map(|&n| Some(n)).collect::<Vec<_>>();
        let all = summary(&some(&[4.0, 1.0, 3.0, 2.0]));
        assert_eq!(all.quartiles, [Some(1.0), Some(2.0), Some(3.0)]);
        assert_eq!(all.success, 1.0);
        let half = summary(&[Some(5.0), None, None, Some(1.0)]);
        assert_eq!(half.quartiles, [Some(1.0), Some(5.0), None]);
        assert_eq!(half.success, 0.5);
        assert_eq!(summary(&[]).quartiles, [None; 3]);
    }
}
