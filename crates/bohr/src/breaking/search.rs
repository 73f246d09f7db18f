//! The search for the smallest set of breakpoints that reproduces a bug.
//!
//! Sets are made of one candidate for each of up to three demands: the most direct
//! candidates together, and those with the best smaller sets. Runs under control
//! are cheap, so they rank the sets; native runs decide.

use super::laboratory::{Laboratory, Promise};
use super::measured::Measured;
use super::tune::Step;
use crate::outcome::Failure;
use bohr_trigger::{Expression, Refinement, Side};
use indicatif::ProgressBar;
use std::cmp::Reverse;
use std::time::{Duration, Instant};

/// Most breakpoints of a set.
pub const LARGEST: usize = 3;

/// Sets of each size that are looked at under control, and for how long.
const SETS: usize = 800;
const CONTROL_TIME: Duration = Duration::from_secs(15);

/// Sets that larger ones are made of, and single breakpoints that are added.
const BASES: usize = 8;
const PARTNERS: usize = 40;

/// Sets of each size that are tried natively: at least so many, and more while the
/// time is not over and none that sources can keep shows the bug every time.
const NATIVE_SETS: usize = 6;
const NATIVE_TIME: Duration = Duration::from_secs(15);

/// Sets that are looked at more closely.
const CLOSEST: usize = 3;

/// Runs under control per set; a set that fails in none of the first few has no
/// more.
const SEEDS: u64 = 10;
const FIRST_SEEDS: u64 = 3;

/// Native runs per set.
pub const RUNS: usize = 10;

/// What came of the search.
pub struct Found {
    pub set: Vec<Expression>,
    pub measured: Measured,
}

/// One candidate for each of some demands.
#[derive(Clone, Debug, PartialEq)]
struct Set {
    demands: Vec<usize>,
    expressions: Vec<Expression>,
    /// How far from the most direct candidates it is.
    cost: usize,
}

/// What runs under control have made of sets so far.
#[derive(Default)]
pub struct Promising {
    singles: Vec<(Promise, Set)>,
    /// Of the last size, the best first.
    last: Vec<(Promise, Set)>,
    /// How many of them have been tried natively.
    tried: usize,
}

/// The sets of a size that show the bug in most of a few native runs, the best first.
/// Sizes are asked for one after the other, from 1 on. `Ended` says whether it is worth
/// while to ask for further ones.
pub fn search(
    choices: &[Vec<Expression>],
    size: usize,
    promising: &mut Promising,
    laboratory: &mut Laboratory<'_, '_>,
    bar: &ProgressBar,
    (kept, told): (Kept<'_>, &mut dyn FnMut(Step)),
) -> Result<(Vec<Found>, Ended), Failure> {
    let sets = promising.sets(choices, size);
    promising.last = ranked(sets, laboratory, bar)?;
    promising.tried = 0;
    if size == 1 {
        promising.singles = promising.last.clone();
    }
    further(promising, laboratory, bar, (kept, told))
}

/// Whether sources have room for a set.
pub type Kept<'k> = &'k dyn Fn(&[Expression]) -> bool;

/// Why a search came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a set that looked as if there could be no better one.
    WithAnIdeal,
    /// Because enough others had been tried, or all.
    Exhausted,
}

/// The sets of the same size that have not been tried yet.
pub fn further(
    promising: &mut Promising,
    laboratory: &mut Laboratory<'_, '_>,
    bar: &ProgressBar,
    (kept, told): (Kept<'_>, &mut dyn FnMut(Step)),
) -> Result<(Vec<Found>, Ended), Failure> {
    let can_be_kept = |found: &Found| found.is_sure() && found.lost(kept) == 0;
    let mut all: Vec<Found> = Vec::new();
    let mut ended = Ended::Exhausted;
    let untried = promising.last[promising.tried..].iter();
    let untried: Vec<Vec<Expression>> = untried.map(|(_, set)| set.expressions.clone()).collect();
    let begun = Instant::now();
    for (number, set) in untried.into_iter().enumerate() {
        let sure = all.iter().any(can_be_kept);
        if number >= NATIVE_SETS && (sure || begun.elapsed() > NATIVE_TIME) {
            break;
        }
        bar.inc(1);
        promising.tried += 1;
        let measured = laboratory.native(&set, RUNS, false)?;
        let found = Found { set, measured };
        let names: Vec<String> = found.set.iter().map(Expression::to_string).collect();
        let fails = found.measured.failures > 0;
        told(Step::new(names.join("; "), &found.measured, fails));
        // Nothing can be better than one that never waits in vain.
        let ideal = found.measured.timed_out == 0 && can_be_kept(&found);
        all.extend(fails.then_some(found));
        if ideal {
            ended = Ended::WithAnIdeal;
            break;
        }
    }
    all.sort_by(|one, other| one.worth(kept).total_cmp(&other.worth(kept)));
    all.truncate(CLOSEST);
    Ok((all, ended))
}

impl Found {
    fn is_sure(&self) -> bool {
        self.measured.failures as usize == RUNS
    }

    /// How much of it sources cannot say.
    fn lost(&self, kept: Kept<'_>) -> usize {
        match kept(&self.set) {
            true => losses(&self.set),
            false => usize::from(u16::MAX),
        }
    }

    /// The less the better: how certain it is comes first, then whether the sources
    /// can keep it, then how long it takes.
    fn worth(&self, kept: Kept<'_>) -> f64 {
        let unkept = self.lost(kept).min(999) as f64;
        let unsure = 1.0 - self.measured.probability();
        unsure * 1e6 + unkept * 1e3 + self.measured.median_time()
    }
}

/// How much of what a set says is lost in a patch.
fn losses(set: &[Expression]) -> usize {
    set.iter().map(Expression::lost_in_patch).sum()
}

/// How many sides of a set are bound to one of several threads.
fn bound_sides(set: &[Expression]) -> usize {
    let sides = set.iter().flat_map(|expression| &expression.sides);
    let is_bound = |side: &&Side| {
        let mut refinements = side.refinements.iter();
        refinements.any(|one| matches!(one, Refinement::Thread(_)))
    };
    sides.filter(is_bound).count()
}

/// Sets by what runs under control make of them, the most promising first.
fn ranked(
    sets: Vec<Set>,
    laboratory: &mut Laboratory<'_, '_>,
    bar: &ProgressBar,
) -> Result<Vec<(Promise, Set)>, Failure> {
    let begun = Instant::now();
    let mut ranked = Vec::new();
    for set in sets {
        bar.inc(1);
        if begun.elapsed() > CONTROL_TIME {
            ranked.push((Promise::default(), set));
            continue;
        }
        match promise(&set.expressions, laboratory) {
            Ok(promise) => ranked.push((promise, set)),
            // A pair that can never meet is no candidate.
            Err(_) if laboratory.finder.find(&set.expressions).is_err() => {}
            Err(failure) => return Err(failure),
        }
    }
    ranked.sort_by_key(|(promise, set)| {
        let lost = losses(&set.expressions);
        // Who has to be who is asked for where nothing simpler does.
        let bound = bound_sides(&set.expressions);
        (Reverse(promise.failing), lost, bound, promise.in_vain)
    });
    Ok(ranked)
}

fn promise(set: &[Expression], laboratory: &mut Laboratory<'_, '_>) -> Result<Promise, Failure> {
    let mut promise = laboratory.controlled(set, 0..FIRST_SEEDS)?;
    if promise.failing > 0 {
        let further = laboratory.controlled(set, FIRST_SEEDS..SEEDS)?;
        promise.failing += further.failing;
        promise.in_vain += further.in_vain;
    }
    Ok(promise)
}

impl Promising {
    /// Sets of a size: the best smaller ones with one breakpoint more, and those of
    /// the most direct candidates.
    fn sets(&self, choices: &[Vec<Expression>], size: usize) -> Vec<Set> {
        let mut sets: Vec<Set> = Vec::new();
        let bases = self.last.iter().take(BASES);
        let bases = bases.flat_map(|(_, base)| [base.clone(), base.once()]);
        for base in bases {
            for (_, single) in self.singles.iter().take(PARTNERS) {
                let other = !base.demands.contains(&single.demands[0]);
                for set in [base.with(single), base.with(&single.once())] {
                    if other && !sets.contains(&set) {
                        sets.push(set);
                    }
                }
            }
        }
        let room = SETS.saturating_sub(sets.len()).max(SETS / 4);
        for set in direct(choices, size, room) {
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        sets
    }
}

impl Set {
    /// With breakpoints that sleep once they were hit: what happens once in the run
    /// that is explained.
    fn once(&self) -> Set {
        let mut set = self.clone();
        set.expressions
            .iter_mut()
            .for_each(|one| one.at_most = Some(1));
        set
    }

    /// With another one's breakpoints, in the order of the demands.
    fn with(&self, other: &Set) -> Set {
        let own = self.demands.iter().zip(&self.expressions);
        let mut all: Vec<(usize, Expression)> = own
            .chain(other.demands.iter().zip(&other.expressions))
            .map(|(demand, expression)| (*demand, expression.clone()))
            .collect();
        all.sort_by_key(|(demand, _)| *demand);
        let (demands, expressions) = all.into_iter().unzip();
        Set {
            demands,
            expressions,
            cost: self.cost + other.cost,
        }
    }
}

/// Sets of one candidate for each of so many demands, those with the most direct
/// candidates first.
fn direct(choices: &[Vec<Expression>], size: usize, most: usize) -> Vec<Set> {
    let empty = Set {
        demands: Vec::new(),
        expressions: Vec::new(),
        cost: 0,
    };
    let mut sets = vec![empty];
    let mut complete: Vec<Set> = Vec::new();
    for (number, demand) in choices.iter().enumerate() {
        let mut longer = Vec::new();
        for set in &sets {
            for (position, choice) in demand.iter().enumerate() {
                longer.push(set.with(&Set {
                    demands: vec![number],
                    expressions: vec![choice.clone()],
                    cost: position,
                }));
            }
        }
        complete.extend(
            longer
                .iter()
                .filter(|set| set.demands.len() == size)
                .cloned(),
        );
        sets.extend(longer.into_iter().filter(|set| set.demands.len() < size));
        sets.sort_by_key(|set| set.cost);
        sets.truncate(SETS * LARGEST);
    }
    complete.sort_by_key(|set| set.cost);
    complete.truncate(most);
    complete
}
