//! The search for the smallest set of breakpoints that reproduces a bug.
//!
//! Sets are made of one candidate for each of up to three demands. Runs under
//! control are cheap, so they rank the sets; native runs decide.

use super::laboratory::Laboratory;
use super::measured::Measured;
use crate::outcome::Failure;
use bohr_event::PlaceNumber;
use bohr_event::control::LoadedObject;
use bohr_trigger::{Candidate, Demand, Expression, Places, Refinement, Side};
use indicatif::ProgressBar;
use std::cmp::Reverse;

/// Most breakpoints of a set.
const LARGEST: usize = 3;

/// Candidates of a demand that are looked at.
const CANDIDATES: usize = 12;

/// Sets of each size that are looked at under control.
const SETS: usize = 96;

/// Sets of each size that are tried natively.
const NATIVE_SETS: usize = 6;

/// Runs under control per set.
const SEEDS: u64 = 10;

/// Native runs per set.
pub const RUNS: usize = 10;

/// What came of the search.
pub struct Found {
    pub set: Vec<Expression>,
    pub measured: Measured,
}

/// The candidates of each demand in words, as far as they have any, and refined
/// to the very visits that they are about.
pub fn choices(
    demands: &[Demand],
    places: &Places<'_>,
    objects: &[LoadedObject],
) -> Vec<Vec<Expression>> {
    let mut all: Vec<Vec<Expression>> = Vec::new();
    for demand in demands {
        let mut choices: Vec<Expression> = Vec::new();
        for candidate in demand.candidates.iter().take(CANDIDATES) {
            let Some(expression) = expression(candidate, places, objects) else {
                continue;
            };
            for variant in variants(&expression, &candidate.nth) {
                if !choices.contains(&variant) {
                    choices.push(variant);
                }
            }
        }
        all.push(choices);
    }
    all.retain(|choices| !choices.is_empty());
    all
}

/// As it is; with the last side's visit counted; with everybody's.
fn variants(expression: &Expression, nth: &[u64]) -> Vec<Expression> {
    let last = expression.sides.len() - 1;
    let counted = |is_counted: &dyn Fn(usize) -> bool| {
        let mut variant = expression.clone();
        let sides = variant.sides.iter_mut().zip(nth).enumerate();
        for (_, (side, nth)) in sides.filter(|(position, _)| is_counted(*position)) {
            side.refinements.push(Refinement::Nth(*nth));
        }
        variant
    };
    let mut variants = vec![expression.clone()];
    if nth.iter().any(|nth| *nth > 1) {
        variants.push(counted(&|side| side == last));
        variants.push(counted(&|side| side == 0));
        variants.push(counted(&|_| true));
    }
    variants
}

fn expression(
    candidate: &Candidate,
    places: &Places<'_>,
    objects: &[LoadedObject],
) -> Option<Expression> {
    let place = |number: PlaceNumber| {
        let object = objects.get(usize::from(number.object()))?;
        matches!(object, LoadedObject::Sites { .. }).then_some(())?;
        places.name(u32::try_from(number.offset()).ok()?)
    };
    let sides = candidate
        .sides
        .iter()
        .map(|side| place(side.operation.place));
    let mut sides: Vec<Side> = sides.map(|at| at.map(Side::at)).collect::<Option<_>>()?;
    if let Some(until) = &candidate.until {
        sides[0].until = Some(place(until.operation.place)?);
    }
    Some(Expression::new(sides, candidate.same_object))
}

/// The smallest set that shows the bug in every one of a few native runs, or else
/// the best there is.
pub fn search(
    choices: &[Vec<Expression>],
    laboratory: &mut Laboratory<'_, '_>,
    bar: &ProgressBar,
) -> Result<Option<Found>, Failure> {
    let mut best: Option<Found> = None;
    for size in 1..=LARGEST.min(choices.len()) {
        let ranked = ranked(sets(choices, size), laboratory, bar)?;
        for set in ranked.into_iter().take(NATIVE_SETS) {
            bar.inc(1);
            let measured = laboratory.native(&set, RUNS, false)?;
            let found = Found { set, measured };
            if best.as_ref().is_none_or(|best| found.is_better_than(best)) {
                best = Some(found);
            }
            // Nothing can be better than one that never waits in vain.
            let ideal = |best: &Found| best.is_sure() && best.measured.timed_out == 0;
            if best.as_ref().is_some_and(ideal) {
                return Ok(best);
            }
        }
        if best.as_ref().is_some_and(Found::is_sure) {
            return Ok(best);
        }
    }
    Ok(best)
}

impl Found {
    fn is_sure(&self) -> bool {
        self.measured.failures as usize == RUNS
    }

    /// More certain, or as certain and quicker.
    fn is_better_than(&self, other: &Found) -> bool {
        let (own, others) = (&self.measured, &other.measured);
        let quicker = own.median_time() < others.median_time();
        own.probability() > others.probability()
            || (own.probability() == others.probability() && quicker)
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
    ranked.sort_by_key(|(promise, _)| (Reverse(promise.failing), promise.in_vain));
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
