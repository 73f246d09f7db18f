//! Makes a verified set cost less while the failure stays certain: a moment that was
//! made longer until it was enough is often much longer than need be. Every saving is
//! verified by as many runs as the set itself.

use super::tune::{Tuning, changed};
use super::verified::Verified;
use crate::outcome::Failure;
use bohr_trigger::Expression;
use std::time::Duration;

/// A time that threads are held up for.
struct Time {
    name: &'static str,
    /// Nobody is held up for less.
    least: Duration,
    of: fn(&mut Expression) -> &mut Duration,
    /// Whether runs can have been made longer by it.
    is_felt: fn(&Verified) -> bool,
}

const TIMES: [Time; 2] = [
    Time {
        name: "settle",
        least: Duration::from_micros(10),
        of: |expression| &mut expression.settle,
        is_felt: |_| true,
    },
    Time {
        name: "pause",
        least: Duration::from_millis(1),
        of: |expression| &mut expression.pause,
        is_felt: |best| best.compared.with.timed_out > 0,
    },
];

/// See the module; nothing is done about overhead that is small.
pub fn economise(
    best: &mut Verified,
    tuning: &mut Tuning<'_, '_, '_>,
    (runs, least): (usize, usize),
    enough: f64,
) -> Result<(), Failure> {
    for time in TIMES {
        if !(time.is_felt)(best) {
            continue;
        }
        let all = best.set.iter_mut().map(|expression| *(time.of)(expression));
        let longest = all.max().unwrap_or(time.least);
        shorten(longest, time.least, |tried| {
            if best.is_quick() {
                return Ok(None);
            }
            let set = changed(&best.set, |expression| {
                let own = (time.of)(expression);
                *own = tried.min(*own);
            });
            let compared = tuning.laboratory.compared(&set, runs, least)?;
            let shorter = Verified::new(set, compared);
            let certain = shorter.is_certain(enough);
            let kept = certain && shorter.compared.overhead() < best.compared.overhead();
            let what = format!(
                "{} runs, {} {tried:?}",
                shorter.compared.with.runs, time.name
            );
            tuning.tell(&what, &shorter.compared.with, kept);
            if kept {
                *best = shorter;
            }
            Ok(Some(certain))
        })?;
    }
    Ok(())
}

/// Looks for the shortest time that is enough, up to a factor of two, halving the
/// difference of the orders of magnitude. `is_enough` says nothing when it has heard
/// enough.
fn shorten(
    longest: Duration,
    least: Duration,
    mut is_enough: impl FnMut(Duration) -> Result<Option<bool>, Failure>,
) -> Result<(), Failure> {
    let (mut enough, mut too_short) = (longest, least);
    while enough > too_short * 2 {
        let middle = enough.as_secs_f64() * too_short.as_secs_f64();
        let middle = two_digits((middle.sqrt() * 1e6) as u64);
        match is_enough(middle)? {
            None => break,
            Some(true) => enough = middle,
            Some(false) => too_short = middle,
        }
    }
    Ok(())
}

/// So many microseconds, as people would write them.
fn two_digits(micros: u64) -> Duration {
    let zeros = micros.max(1).ilog10().saturating_sub(1);
    let unit = 10_u64.pow(zeros);
    Duration::from_micros(micros / unit * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is tried before the search is over, where so many microseconds are enough.
    fn tried(longest: u64, least: u64, needed: u64) -> Vec<(u64, bool)> {
        let mut all = Vec::new();
        let time = Duration::from_micros;
        shorten(time(longest), time(least), |time| {
            let time = time.as_micros() as u64;
            all.push((time, time >= needed));
            Ok(Some(time >= needed))
        })
        .ok();
        all
    }

    #[test]
    fn the_shortest_time_is_found_up_to_a_factor_of_two() {
        for needed in [11, 25, 100, 730, 4_000] {
            let tried = tried(10_000, 10, needed);
            let enough = tried.iter().filter(|(_, enough)| *enough);
            let shortest = enough.map(|(time, _)| *time).min().unwrap_or(10_000);
            assert!(shortest < 2 * needed + 1, "{needed}: {tried:?}");
            assert!(tried.len() < 6, "{needed}: {tried:?}");
        }
    }

    #[test]
    fn times_are_told_in_two_digits() {
        let micros = |time| two_digits(time).as_micros();
        assert_eq!([7, 42, 316, 56_233].map(micros), [7, 42, 310, 56_000]);
    }

    #[test]
    fn nothing_is_tried_where_nothing_can_be_saved() {
        assert_eq!(tried(10, 10, 5), []);
        assert_eq!(tried(15, 10, 5), []);
    }
}
