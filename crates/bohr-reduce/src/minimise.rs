//! Delta debugging: a smallest part of a list that still does it.
//!
//! ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
//! Input", TSE 2002, on positions. The result is 1-minimal: without any one of
//! what it keeps, it does not do it any more. For n elements that takes O(n²)
//! tests at worst, and O(k log n) if k of them matter and the others do not.
//!
//! Deviations: elements come with the likeliest first, so beginnings of the list
//! are tried before it is cut into parts, each twice as long as the last, and what
//! they cost together is no more than the one that does it costs twice. After
//! that, only what is left without a part is tried, never the part alone, which
//! saves half of the tests where much is needed; and the parts after one that
//! could go come before those that could not are tried again. Tests are asked for
//! by the row, so that whoever makes them can make several at once; the first of
//! the row that does it counts.

/// One row of tests: how many, and what would be left in each, ascending.
pub struct Row<'r> {
    count: usize,
    left: &'r (dyn Fn(usize) -> Vec<usize> + Sync),
}

impl Row<'_> {
    /// How many tests it has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// What is left in one of them.
    #[must_use]
    pub fn left(&self, test: usize) -> Vec<usize> {
        (self.left)(test)
    }
}

/// Keeps as few of `0..count` as it can. `first` is asked for the first test of a
/// row that does it; with everything, it is taken to do it. Stops early, with
/// what it has, when `has_time` says no.
///
/// # Errors
/// As soon as a test fails to give an answer.
pub fn minimise<E>(
    count: usize,
    has_time: &dyn Fn() -> bool,
    mut first: impl FnMut(&Row<'_>) -> Result<Option<usize>, E>,
) -> Result<Vec<usize>, E> {
    let mut kept: Vec<usize> = (0..count).collect();
    if kept.is_empty() || !has_time() {
        return Ok(kept);
    }
    let lengths = beginnings(count);
    let row = Row {
        count: lengths.len(),
        left: &|test| (0..lengths[test]).collect(),
    };
    if let Some(test) = first(&row)? {
        kept.truncate(lengths[test]);
    }
    let mut size = kept.len().div_ceil(2);
    while !kept.is_empty() && has_time() {
        let fewer = without_parts(&mut kept, size, has_time, &mut first)?;
        match size {
            // Each one was needed when it was tried; what went after it may have
            // needed it.
            1 if !fewer => break,
            1 => {}
            _ => size = size.div_ceil(2).min(kept.len().div_ceil(2).max(1)),
        }
    }
    Ok(kept)
}

/// Leaves out parts of this size, one after the other; whether any could go.
fn without_parts<E>(
    kept: &mut Vec<usize>,
    size: usize,
    has_time: &dyn Fn() -> bool,
    first: &mut impl FnMut(&Row<'_>) -> Result<Option<usize>, E>,
) -> Result<bool, E> {
    // Without all of it was the first beginning.
    let is_all = |kept: &[usize]| size >= kept.len();
    let (mut at, mut fewer) = (0, false);
    while at < kept.len() && !is_all(kept) && has_time() {
        let rest = kept.len() - at;
        let left = |test: usize| {
            let start = at + test * size;
            let end = (start + size).min(kept.len());
            [&kept[..start], &kept[end..]].concat()
        };
        let row = Row {
            count: rest.div_ceil(size),
            left: &left,
        };
        let Some(test) = first(&row)? else {
            break;
        };
        let shorter = left(test);
        at += test * size;
        *kept = shorter;
        fewer = true;
    }
    Ok(fewer)
}

/// Lengths of the beginnings that are tried: 0, 1, 2, 4, … up to half the list.
fn beginnings(count: usize) -> Vec<usize> {
    let doubled = std::iter::successors(Some(1), |length| Some(length * 2));
    let doubled = doubled.take_while(|length| 2 * length <= count);
    std::iter::once(0).chain(doubled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn always() -> bool {
        true
    }

    /// Tests one after the other; how many were made.
    fn one_by_one(count: usize, mut does_it: impl FnMut(&[usize]) -> bool) -> (Vec<usize>, usize) {
        let mut tests = 0;
        let Ok(kept) = minimise(count, &always, |row| {
            let mut all = 0..row.count();
            Ok::<_, Infallible>(all.find(|&test| {
                tests += 1;
                does_it(&row.left(test))
            }))
        });
        (kept, tests)
    }

    proptest! {
        #[test]
        fn exactly_what_is_needed_is_kept(
            count in 0usize..200,
            needed in prop::collection::btree_set(0usize..200, 0..6),
        ) {
            let needed: Vec<usize> = needed.into_iter().filter(|&n| n < count).collect();
            let (kept, _) = one_by_one(count, |left| {
                needed.iter().all(|element| left.contains(element))
            });
            prop_assert_eq!(kept, needed);
        }

        /// Also where what matters is not simply a set: at least three of a few.
        #[test]
        fn the_result_is_one_minimal(count in 3usize..60, modulus in 1usize..9) {
            let does_it =
                |left: &[usize]| left.iter().filter(|&&n| n % modulus == 0).count() >= 3.min(count.div_ceil(modulus));
            let (kept, _) = one_by_one(count, does_it);
            prop_assert!(does_it(&kept));
            for position in 0..kept.len() {
                let mut fewer = kept.clone();
                fewer.remove(position);
                prop_assert!(!does_it(&fewer));
            }
        }
    }

    #[test]
    fn few_needles_are_found_quickly_and_time_is_respected() {
        let (kept, tests) = one_by_one(100_000, |left| left.binary_search(&777).is_ok());
        assert_eq!(kept, [777]);
        assert!(tests < 60, "{tests} tests");
        // What was suspected first is found at once.
        let (kept, tests) = one_by_one(100_000, |left| left.starts_with(&[0, 1]));
        assert_eq!((kept, tests), (vec![0, 1], 5));
        let kept = minimise(5, &|| false, |_| Ok::<_, Infallible>(Some(0)));
        assert_eq!(kept, Ok(vec![0, 1, 2, 3, 4]));
    }
}
