//! The search for the smallest set of breakpoints that reproduces a bug.
//!
//! Sets are made of one candidate for each of up to three demands. Runs under
//! control are cheap, so they rank the sets; native runs decide.

use super::laboratory::Laboratory;
use super::measured::Measured;
use crate::outcome::Failure;
use bohr_event::PlaceNumber;
use bohr_event::control::LoadedObject;
use bohr_trigger::{Candidate, Demand, Expression, Places, Side};
use indicatif::ProgressBar;

/// Most breakpoints of a set.
const LARGEST: usize = 3;

/// Candidates of a demand that are looked at.
const CANDIDATES: usize = 12;

/// Sets of each size that are looked at under control.
const SETS: usize = 48;

/// Sets of each size that are tried natively.
const NATIVE_SETS: usize = 6;

/// Runs under control per set.
const SEEDS: u64 = 16;

/// Native runs per set.
pub const RUNS: usize = 10;

/// A candidate, in words; its sides carry how often their places were visited
/// before.
#[derive(Clone, Debug)]
pub struct Choice {
    pub expression: Expression,
    pub visits: Vec<u64>,
}

/// What came of the search.
pub struct Found {
    pub set: Vec<Choice>,
    pub measured: Measured,
}

/// The candidates of each demand in words, as far as they have any.
pub fn choices(
    demands: &[Demand],
    places: &Places<'_>,
    objects: &[LoadedObject],
) -> Vec<Vec<Choice>> {
    let mut all: Vec<Vec<Choice>> = Vec::new();
    for demand in demands {
        let mut choices: Vec<Choice> = Vec::new();
        for candidate in &demand.candidates {
            let Some(expression) = expression(candidate, places, objects) else {
                continue;
            };
            if !choices.iter().any(|known| known.expression == expression) {
                choices.push(Choice {
                    expression,
                    visits: candidate.visits.clone(),
                });
            }
        }
        choices.truncate(CANDIDATES);
        all.push(choices);
    }
    all.retain(|choices| !choices.is_empty());
    all
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
    choices: &[Vec<Choice>],
    laboratory: &mut Laboratory<'_, '_>,
    bar: &ProgressBar,
) -> Result<Option<Found>, Failure> {
    let mut best: Option<Found> = None;
    for size in 1..=LARGEST.min(choices.len()) {
        let mut ranked: Vec<(f64, Vec<Choice>)> = Vec::new();
        for set in sets(choices, size) {
            bar.inc(1);
            let words: Vec<Expression> = words(&set);
            let share = match laboratory.controlled(&words, SEEDS) {
                Ok(share) => share,
                // A pair that can never meet is no candidate.
                Err(_) if laboratory.finder.find(&words).is_err() => continue,
                Err(failure) => return Err(failure),
            };
            ranked.push((share, set));
        }
        ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (_, set) in ranked.into_iter().take(NATIVE_SETS) {
            bar.inc(1);
            let measured = laboratory.native(&words(&set), RUNS, false)?;
            let sure = measured.failures as usize == RUNS;
            let better = |best: &Found| measured.probability() > best.measured.probability();
            if best.as_ref().is_none_or(better) {
                best = Some(Found { set, measured });
            }
            if sure {
                return Ok(best);
            }
        }
    }
    Ok(best)
}

/// The breakpoints of a set.
pub fn words(set: &[Choice]) -> Vec<Expression> {
    set.iter().map(|choice| choice.expression.clone()).collect()
}

/// Sets of one candidate for each of so many demands, those with the most direct
/// candidates first.
fn sets(choices: &[Vec<Choice>], size: usize) -> Vec<Vec<Choice>> {
    let mut sets: Vec<(usize, Vec<Choice>)> = vec![(0, Vec::new())];
    let mut complete: Vec<(usize, Vec<Choice>)> = Vec::new();
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
