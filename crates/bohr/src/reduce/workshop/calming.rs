//! The same failure with fewer switches. Runs that were found by chance have many, and
//! whoever reads a schedule has to follow every one.

use super::super::budget::{cost, samples};
use super::super::examiner::{Examiner, LONG, REPLAYS};
use super::super::ledger::Purpose;
use super::super::question::Base;
use super::Workshop;
use super::reducer::{AGAIN, hash_without_stores};
use crate::outcome::Failure;
use crate::simplify::{Bench, LEAPS};
use bohr_event::control::Recorded;
use bohr_reduce::reduction::Cut;
use bohr_reduce::{Cost, Execution, Failing, Laboratory, dynamic};

impl Workshop<'_, '_> {
    /// Where runs are short: the best run with fewer switches and no more events, if
    /// that can be; how many runs were looked at, and whether one was better.
    pub fn calm_best(&mut self) -> Result<(u64, bool), Failure> {
        if cost(&self.best.run) > LONG || !(self.go_on)() {
            return Ok((0, false));
        }
        let (run, cut) = (self.best.run.clone(), self.cut.clone());
        // Nothing has gone since this was asked the last time, or stores only, without
        // which nobody takes another way.
        let question = (hash_without_stores(&cut), cost_to_read(&run)?);
        if self.as_calm_as_can_be == Some(question) {
            return Ok((0, false));
        }
        let (rounds, calm) = self.calmer(&cut, &run, 0)?;
        let before = run.schedule.switches();
        let Some(calm) = calm.filter(|calm| calm.run.schedule.switches() < before) else {
            // Who ran out of time has not tried all.
            self.as_calm_as_can_be = (self.go_on)().then_some(question);
            return Ok((rounds, false));
        };
        let is_better = self.shows_always(&cut, &calm)?;
        if is_better {
            self.take(calm, cut, true)?;
            self.shown_always = Some(self.result());
        }
        Ok((rounds, is_better))
    }

    /// A run that is about to be taken over, if it has no more switches than the run
    /// that was found, or can do with that many.
    pub fn calmed(&mut self, cut: &Cut, found: Base) -> Result<Option<Base>, Failure> {
        let most = self.before.switches;
        let is_calm = |base: &Base| base.run.schedule.switches() as u64 <= most;
        if is_calm(&found) {
            return Ok(Some(found));
        }
        let calm = match cost(&found.run) > LONG {
            true => None,
            false => self.calmer(cut, &found.run, most)?.1.filter(is_calm),
        };
        let Some(calm) = calm else {
            self.restless_refusals += 1;
            return Ok(None);
        };
        let steady = !self.suspicious || self.shows_always(cut, &calm)?;
        let longest = found.longest;
        Ok(steady.then_some(Base { longest, ..calm }))
    }

    fn shows_always(&mut self, cut: &Cut, base: &Base) -> Result<bool, Failure> {
        let shown = { &mut self.crew }.shown(&cut.without, &base.run.schedule, REPLAYS)?;
        Ok(shown == REPLAYS)
    }

    /// How many runs were looked at, and the calmest of them if it is calmer, or the first
    /// that has no more than `enough` switches.
    fn calmer(
        &mut self,
        cut: &Cut,
        run: &Recorded,
        enough: u64,
    ) -> Result<(u64, Option<Base>), Failure> {
        let mut failing = Failing {
            schedule: run.schedule.clone(),
            cost: cost_to_read(run)?,
        };
        let before = failing.cost;
        let (bug, bar, go_on) = (self.bug, self.bar, self.go_on);
        let go_on = || go_on();
        let in_vain = self.leapt_in_vain;
        let mut leapt_in_vain = in_vain;
        let improve = |examiner: &mut Examiner<'_>| {
            examiner.leave_out(&cut.without);
            let mut bench = Bench::new(&mut examiner.trials, bug.seed, &go_on, bar, None);
            bench.at_most(failing.schedule.events(), bug.signature.kind.is_endless());
            bench.is_done_at(enough);
            // Hardly any preemption at once, if that shows it as soon, rather than one
            // switch less at a time; where there are few switches, the other way round.
            let samples = samples(run);
            let mut rounds = 0;
            if is_sooner_improved(&failing, samples) {
                rounds += dynamic::improve(&mut failing, &mut bench)?;
            }
            // Chance does not keep threads in one piece, and what it has not found in a
            // longer run is not in a shorter one.
            let (events, start) = (failing.schedule.events(), failing.cost);
            let known = in_vain.is_some_and(|(preemptive, then)| {
                start.preemptive <= preemptive && then < AGAIN * events
            });
            if cut.serial.is_empty() && !known {
                bench.leap(&mut failing, samples)?;
                let is_in_vain = failing.cost == start && bench.has_time();
                leapt_in_vain = is_in_vain.then_some((start.preemptive, events));
            }
            if rounds == 0 || failing.cost < start {
                rounds += dynamic::improve(&mut failing, &mut bench)?;
            }
            // Of the run as it was, all is known already.
            let calmer = bench.reached();
            let calmer = calmer.or((failing.cost < before).then_some(failing));
            let calmer = match calmer {
                Some(calmer) => examiner.base(cut, calmer.schedule)?,
                None => None,
            };
            Ok((rounds, calmer))
        };
        let examiner = self.crew.first_examiner();
        let calmer = examiner.spend(Purpose::Calming, improve);
        self.leapt_in_vain = leapt_in_vain;
        calmer
    }
}

/// What the schedule of a run asks of whoever reads it.
fn cost_to_read(run: &Recorded) -> Result<Cost, Failure> {
    Ok(bohr_reduce::cost(Execution::recorded(run))?)
}

/// Tries to move each segment in each way, in groups of all sizes, for each segment.
const MOVES: u64 = 6;

/// Whether all switches of a run are moved by fewer runs than chance would take.
fn is_sooner_improved(failing: &Failing, samples: [u64; LEAPS]) -> bool {
    let leaps = samples.iter().take(failing.cost.preemptive as usize);
    MOVES * (failing.schedule.segments().len() as u64) < leaps.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{Segment, ThreadPath};

    #[test]
    fn few_switches_are_moved_before_chance_is_tried() {
        let failing = |segments: usize, preemptive: u64| Failing {
            schedule: (0..segments)
                .map(|number| Segment {
                    thread: ThreadPath::MAIN.child(1 + number as u32 % 2),
                    events: 1,
                    end: None,
                })
                .collect(),
            cost: Cost {
                preemptive,
                switches: segments as u64,
            },
        };
        let samples = [16, 64, 128];
        assert!(is_sooner_improved(&failing(5, 2), samples));
        assert!(!is_sooner_improved(&failing(5, 1), samples));
        assert!(!is_sooner_improved(&failing(500, 90), samples));
    }
}
