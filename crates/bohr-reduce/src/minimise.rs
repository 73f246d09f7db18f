//! Delta debugging: a smallest part of a list that still does it.
//!
//! ddmin of Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
//! Input", TSE 2002, on positions. The result is 1-minimal: without any one of
//! what it keeps, it does not do it any more. For n elements that takes O(n²)
//! tests at worst, and O(k log n) if k of them matter and the others do not.

/// Keeps as few of `0..count` as it can. `does_it` is asked about what would be
/// left, ascending; it is taken to do it with everything. Stops early, with what
/// it has, when `has_time` says no.
///
/// # Errors
/// As soon as a test fails to give an answer.
pub fn minimise<E>(
    count: usize,
    has_time: &dyn Fn() -> bool,
    mut does_it: impl FnMut(&[usize]) -> Result<bool, E>,
) -> Result<Vec<usize>, E> {
    let mut kept: Vec<usize> = (0..count).collect();
    if kept.is_empty() || !has_time() {
        return Ok(kept);
    }
    if does_it(&[])? {
        return Ok(Vec::new());
    }
    let mut parts = 2;
    while kept.len() > 1 && has_time() {
        match smaller(&kept, parts.min(kept.len()), has_time, &mut does_it)? {
            Some((part, fewer_parts)) => {
                kept = part;
                parts = fewer_parts.max(2);
            }
            None if parts >= kept.len() => break,
            None => parts = (parts * 2).min(kept.len()),
        }
    }
    Ok(kept)
}

/// A part, or what is left without a part, that does it; and in how many parts
/// to cut that next.
fn smaller<E>(
    kept: &[usize],
    parts: usize,
    has_time: &dyn Fn() -> bool,
    does_it: &mut impl FnMut(&[usize]) -> Result<bool, E>,
) -> Result<Option<(Vec<usize>, usize)>, E> {
    let size = kept.len().div_ceil(parts);
    for part in kept.chunks(size) {
        if parts > 1 && part.len() < kept.len() && has_time() && does_it(part)? {
            return Ok(Some((part.to_vec(), 2)));
        }
    }
    // With two parts, what is left without one is the other.
    if parts == 2 {
        return Ok(None);
    }
    for start in (0..kept.len()).step_by(size) {
        let end = (start + size).min(kept.len());
        let left = [&kept[..start], &kept[end..]].concat();
        if has_time() && does_it(&left)? {
            return Ok(Some((left, parts - 1)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn always() -> bool {
        true
    }

    proptest! {
        #[test]
        fn exactly_what_is_needed_is_kept(
            count in 0usize..200,
            needed in prop::collection::btree_set(0usize..200, 0..6),
        ) {
            let needed: Vec<usize> = needed.into_iter().filter(|&n| n < count).collect();
            let Ok(kept) = minimise(count, &always, |left| {
                Ok::<_, Infallible>(needed.iter().all(|element| left.contains(element)))
            });
            prop_assert_eq!(kept, needed);
        }

        /// Also where what matters is not simply a set: at least three of a few.
        #[test]
        fn the_result_is_one_minimal(count in 3usize..60, modulus in 1usize..9) {
            let does_it =
                |left: &[usize]| left.iter().filter(|&&n| n % modulus == 0).count() >= 3.min(count.div_ceil(modulus));
            let Ok(kept) = minimise(count, &always, |left| Ok::<_, Infallible>(does_it(left)));
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
        let mut tests = 0;
        let Ok(kept) = minimise(100_000, &always, |left| {
            tests += 1;
            Ok::<_, Infallible>(left.binary_search(&777).is_ok())
        });
        assert_eq!(kept, [777]);
        assert!(tests < 60, "{tests} tests");
        let Ok(kept) = minimise(5, &|| false, |_| Ok::<_, Infallible>(true));
        assert_eq!(kept, [0, 1, 2, 3, 4]);
    }
}
