//! The search for the smallest set of breakpoints that reproduces a bug.
//!
//! Sets are made of one candidate for each of up to three demands. Runs under
//! control are cheap, so they rank the sets; native runs decide.

use super::laboratory::Laboratory;
use super::measured::Measured;
use super::tune::Step;
use crate::outcome::Failure;
use bohr_trigger::Expression;
use indicatif::ProgressBar;
use std::cmp::Reverse;
use std::time::{Duration, Instant};

/// Most breakpoints of a set.
pub const LARGEST: usize = 3;

/// Sets of each size that are looked at under control.
const SETS: usize = 192;

/// Sets of each size that are tried natively: at least so many, and more while the
/// time is not over and none shows the bug every time.
const NATIVE_SETS: usize = 6;
const NATIVE_TIME: Duration = Duration::from_secs(15);

/// Sets that are looked at more closely.
const CLOSEST: usize = 3;

/// Runs under control per set.
const SEEDS: u64 = 10;

/// Native runs per set.
pub const RUNS: usize = 10;

/// What came of the search.
pub struct Found {
    pub set: Vec<Expression>,
    pub measured: Measured,
}

/// The sets of a size that show the bug in most of a few native runs, the best
/// first.
pub fn search(
    choices: &[Vec<Expression>],
    size: usize,
    laboratory: &mut Laboratory<'_, '_>,
    bar: &ProgressBar,
    told: &mut dyn FnMut(Step),
) -> Result<Vec<Found>, Failure> {
    let mut all: Vec<Found> = Vec::new();
    let ranked = ranked(sets(choices, size), laboratory, bar)?;
    let begun = Instant::now();
    for (number, set) in ranked.into_iter().enumerate() {
        let sure = all.iter().any(Found::is_sure);
        if number >= NATIVE_SETS && (sure || begun.elapsed() > NATIVE_TIME) {
            break;
        }
        bar.inc(1);
        let measured = laboratory.native(&set, RUNS, false)?;
        let found = Found { set, measured };
        let names: Vec<String> = found.set.iter().map(Expression::to_string).collect();
        let kept = found.measured.failures > 0;
        told(Step::new(names.join("; "), &found.measured, kept));
        // Nothing can be better than one that never waits in vain.
        let ideal = found.is_sure() && found.measured.timed_out == 0 && found.can_be_patched();
        all.extend(kept.then_some(found));
        if ideal {
            break;
        }
    }
    all.sort_by(|one, other| one.worth().total_cmp(&other.worth()));
    all.truncate(CLOSEST);
    Ok(all)
}

impl Found {
    fn is_sure(&self) -> bool {
        self.measured.failures as usize == RUNS
    }

    fn can_be_patched(&self) -> bool {
        self.set.iter().all(Expression::can_be_patched)
    }

    /// The less the better: how certain it is comes first, then whether the sources
    /// can keep it, then how long it takes.
    fn worth(&self) -> f64 {
        let unkept = f64::from(u8::from(!self.can_be_patched()));
        let unsure = 1.0 - self.measured.probability();
        unsure * 1e6 + unkept * 1e3 + self.measured.median_time()
    }
}

/// Sets by what runs under control make of them, the most promising first.
fn ranked(
    sets: Vec<Vec<Expression>>,
    laboratory: &mut Laboratory<'_, '_>,
    bar: &ProgressBar,
) -> Result<Vec<Vec<Expression>>, Failure> {
    let mut ranked = Vec::new();
    for set in sets {
        bar.inc(1);
        match laboratory.controlled(&set, SEEDS) {
            Ok(promise) => ranked.push((promise, set)),
            // A pair that can never meet is no candidate.
            Err(_) if laboratory.finder.find(&set).is_err() => {}
            Err(failure) => return Err(failure),
        }
    }
    ranked.sort_by_key(|(promise, set)| {
        let kept = set.iter().all(Expression::can_be_patched);
        (Reverse(promise.failing), Reverse(kept), promise.in_vain)
    });
    Ok(ranked.into_iter().map(|(_, set)| set).collect())
}

/// Sets of one candidate for each of so many demands, those with the most direct
/// candidates first.
fn sets(choices: &[Vec<Expression>], size: usize) -> Vec<Vec<Expression>> {
    let mut sets: Vec<(usize, Vec<Expression>)> = vec![(0, Vec::new())];
    let mut complete: Vec<(usize, Vec<Expression>)> = Vec::new();
    for demand in choices {
        let mut longer = Vec::new();
        for (cost, set) in &sets {
            for (position, choice) in demand.iter().enumerate() {
                let mut set = set.clone();
                set.push(choice.clone());
                longer.push((cost + position, set));
            }
        }
        complete.extend(longer.iter().filter(|(_, set)| set.len() == size).cloned());
        sets.extend(longer.into_iter().filter(|(_, set)| set.len() < size));
        sets.sort_by_key(|(cost, _)| *cost);
        sets.truncate(SETS * LARGEST);
    }
    complete.sort_by_key(|(cost, _)| *cost);
    complete.truncate(SETS);
    complete.into_iter().map(|(_, set)| set).collect()
}
