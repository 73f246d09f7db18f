//! Tunes a set as section 5 of the paper describes: longer pauses first, then
//! finer predicates (section 6.3), until the failure is near certain and threads
//! are not held up in vain. Every step is told.

use super::laboratory::Laboratory;
use super::measured::Measured;
use super::search::{Found, RUNS};
use super::thrift::economise;
use super::verified::Verified;
use crate::outcome::Failure;
use bohr_trigger::{Expression, PAUSE, Refinement};
use serde_json::{Value, json};
use std::time::Duration;

/// Pauses shorter than the ordinary one, for sets that hold threads up in vain.
const SHORTER: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(10)];

/// Pauses after the ordinary one.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// Times that a statement without an end is given, after the ordinary one.
const SETTLES: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(10)];

/// A step of the tuning.
#[derive(Clone, Debug)]
pub struct Step {
    /// What was changed.
    pub what: String,
    /// The share of runs that showed the bug then.
    pub probability: f64,
    /// Seconds of a run.
    pub seconds: f64,
    /// Whether it was kept.
    pub kept: bool,
}

impl Step {
    pub fn new(what: String, measured: &Measured, kept: bool) -> Step {
        Step {
            what,
            probability: measured.probability(),
            seconds: measured.median_time(),
            kept,
        }
    }

    /// For programs.
    pub fn as_json(&self) -> Value {
        json!({
            "what": self.what,
            "probability": self.probability,
            "seconds": self.seconds,
            "kept": self.kept,
        })
    }
}

/// Makes a set better, step by step.
pub fn tune(
    mut found: Found,
    laboratory: &Laboratory<'_, '_>,
    told: &mut dyn FnMut(&Step),
) -> Result<(Found, Vec<Step>), Failure> {
    let mut tuning = Tuning {
        laboratory,
        told,
        steps: Vec::new(),
    };
    tuning.tell("as found", &found.measured, true);
    for pause in PAUSES {
        // Who has met everybody has not waited too short a time.
        if is_sure(&found.measured) || found.measured.timed_out == 0 {
            break;
        }
        let longer = changed(&found.set, |expression| expression.pause = pause);
        tuning.attempt(&mut found, &format!("pause {pause:?}"), longer)?;
    }
    for settle in SETTLES {
        if is_sure(&found.measured) {
            break;
        }
        let slower = changed(&found.set, |expression| expression.settle = settle);
        tuning.attempt(&mut found, &format!("settle {settle:?}"), slower)?;
    }
    // What sleeps after its meeting holds nobody up in vain, and counts no visits.
    let once = changed(&found.set, |expression| expression.at_most = Some(1));
    if once != found.set {
        tuning.attempt(&mut found, "at-most 1", once)?;
    }
    tuning.sleep_after_last(&mut found)?;
    tuning.ignore_early(&mut found)?;
    for pause in SHORTER {
        if found.measured.timed_out == 0 {
            break;
        }
        let shorter = changed(&found.set, |expression| expression.pause = pause);
        if !tuning.attempt(&mut found, &format!("pause {pause:?}"), shorter)? {
            break;
        }
    }
    Ok((found, tuning.steps))
}

/// Makes many runs; if too few of them fail, many more with longer pauses, and with
/// more time for statements whose end nobody knows. What then takes long is made to take
/// less.
pub fn verify(
    set: Vec<Expression>,
    runs: usize,
    enough: f64,
    laboratory: &Laboratory<'_, '_>,
    told: &mut dyn FnMut(&Step),
) -> Result<(Verified, Vec<Step>), Failure> {
    let mut tuning = Tuning {
        laboratory,
        told,
        steps: Vec::new(),
    };
    // One that cannot be certain any more is not worth the rest of the runs.
    let least = (enough * runs as f64).ceil() as usize;
    let compared = laboratory.compared(&set, runs, least)?;
    tuning.tell(
        &format!("{} runs", compared.with.runs),
        &compared.with,
        true,
    );
    let mut best = Verified::new(set, compared);
    for pause in [PAUSE].into_iter().chain(PAUSES) {
        let longer = best.set.iter().any(|expression| expression.pause < pause)
            && best.compared.with.timed_out > 0;
        let change = |expression: &mut Expression| expression.pause = pause;
        if longer && !best.is_certain(enough) {
            tuning.verify_again(
                &mut best,
                &format!("pause {pause:?}"),
                &change,
                (runs, least),
            )?;
        }
    }
    for settle in SETTLES {
        let change = |expression: &mut Expression| expression.settle = settle;
        if !best.is_certain(enough) {
            tuning.verify_again(
                &mut best,
                &format!("settle {settle:?}"),
                &change,
                (runs, least),
            )?;
        }
    }
    if best.is_certain(enough) {
        economise(&mut best, &mut tuning, (runs, least), enough)?;
    }
    Ok((best, tuning.steps))
}

pub(super) struct Tuning<'a, 'l, 't> {
    pub(super) laboratory: &'a Laboratory<'l, 't>,
    told: &'a mut dyn FnMut(&Step),
    steps: Vec<Step>,
}

impl Tuning<'_, '_, '_> {
    /// Tries a set, by turns with the one that there is, and keeps it if the failure
    /// comes more surely, or as surely and sooner.
    fn attempt(
        &mut self,
        found: &mut Found,
        what: &str,
        set: Vec<Expression>,
    ) -> Result<bool, Failure> {
        let (before, measured, ratio) = self.laboratory.by_turns(&found.set, &set, RUNS)?;
        let surer = measured.probability() > before.probability();
        let as_sure = measured.probability() >= before.probability();
        let kept = surer || (as_sure && ratio < 1.0);
        self.tell(what, &measured, kept);
        match kept {
            true => *found = Found { set, measured },
            false => found.measured = before,
        }
        Ok(kept)
    }

    /// Verifies a changed set, and keeps it if the failure comes more surely.
    fn verify_again(
        &mut self,
        best: &mut Verified,
        what: &str,
        change: &dyn Fn(&mut Expression),
        (runs, least): (usize, usize),
    ) -> Result<(), Failure> {
        let set = changed(&best.set, change);
        let compared = self.laboratory.compared(&set, runs, least)?;
        let kept = compared.with.probability() > best.compared.with.probability();
        let what = format!("{} runs, {what}", compared.with.runs);
        self.tell(&what, &compared.with, kept);
        if kept {
            *best = Verified::new(set, compared);
        }
        Ok(())
    }

    /// Has breakpoints that take more than one meeting sleep after as many as there
    /// always are, or half of them: whoever comes after the last meeting waits in vain.
    fn sleep_after_last(&mut self, found: &mut Found) -> Result<(), Failure> {
        for share in [1, 2] {
            let most = found.measured.meetings().iter().map(|met| met / share);
            let most: Vec<u64> = most.collect();
            let is_needed = found.measured.timed_out > 0 && most.iter().any(|most| *most > 1);
            if !is_needed {
                break;
            }
            let mut set = found.set.clone();
            for (expression, most) in set.iter_mut().zip(&most) {
                expression.at_most = Some((*most).max(1));
            }
            let most: Vec<String> = most.iter().map(u64::to_string).collect();
            self.attempt(found, &format!("at-most {}", most.join(" and ")), set)?;
        }
        Ok(())
    }

    /// Lets as many pass as are held up in vain, at one side after the other: the
    /// paper's `ignoreFirst`.
    fn ignore_early(&mut self, found: &mut Found) -> Result<(), Failure> {
        let in_vain = found.measured.timed_out / u64::from(found.measured.runs.max(1));
        let sides = found
            .set
            .iter()
            .enumerate()
            .flat_map(|(number, expression)| {
                let sides = expression.sides.iter().enumerate();
                let bare = sides.filter(|(_, side)| side.refinements.is_empty());
                bare.map(move |(side, _)| (number, side))
            });
        let sides: Vec<(usize, usize)> = sides.collect();
        for (number, side) in sides {
            if in_vain == 0 || found.measured.timed_out == 0 {
                break;
            }
            let mut set = found.set.clone();
            let place = &mut set[number].sides[side];
            place.refinements.push(Refinement::IgnoreFirst(in_vain));
            let what = format!("{place} of breakpoint {}", number + 1);
            self.attempt(found, &what, set)?;
        }
        Ok(())
    }

    pub(super) fn tell(&mut self, what: &str, measured: &Measured, kept: bool) {
        let step = Step::new(what.to_string(), measured, kept);
        (self.told)(&step);
        self.steps.push(step);
    }
}

fn is_sure(measured: &Measured) -> bool {
    measured.failures == measured.runs
}

/// The same set with every breakpoint changed.
pub(super) fn changed(set: &[Expression], change: impl Fn(&mut Expression)) -> Vec<Expression> {
    let mut set = set.to_vec();
    set.iter_mut().for_each(change);
    set
}
