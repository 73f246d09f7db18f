//! A plan is all that a run's strategy is made from, as plain data: the
//! explorer sends it to the runtime, and bug files keep it.

use crate::{
    Position, Strategy,
    backward::Backward,
    feedback::{Feedback, Wish},
    guarded::{Guarded, Ways},
    ordered::{Ordered, Turns},
    pct::Pct,
    pos::PartialOrderSampling,
    postponing::Postponing,
    preempting::{self, Precedence, Preempting, Preemption},
    replay::{Fidelity, Replay},
    report,
    restricted::Restricted,
    seldom::{Moments, Seldom},
    sequential::Sequential,
    slices::Slices,
    surw::{Profile, SelectivelyUniform},
    systematic::{Branch, Systematic},
    walk::RandomWalk,
};
use alloc::{boxed::Box, vec::Vec};
use bohr_event::{PlaceNumber, Schedule, breakpoint::Breakpoint};
use serde::{Deserialize, Serialize};

/// By which rule threads are picked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// Any enabled thread at every event.
    Random,
    /// Random priorities and a few changes of them.
    Pct {
        /// The depth of the bugs looked for, at least 1.
        depth: u32,
        /// About how many events a run has.
        length: u64,
    },
    /// Random priorities of events.
    Pos,
    /// Every interleaving of the interesting events is equally likely.
    Surw(Profile),
    /// Nobody is preempted.
    Sequential,
    /// One run of a depth-first search.
    Systematic(Branch),
    /// One run of a reads-from search.
    Feedback {
        /// Takes the place of the run's seed.
        seed: u64,
        /// What to steer towards.
        wishes: Vec<Wish>,
    },
    /// Nobody is preempted, and who was created last comes first.
    Backward,
    /// Any enabled thread, for a random number of events.
    Slices {
        /// Events of a slice, on average.
        mean: u64,
    },
    /// Nobody is preempted but at a few moments; who comes next is random.
    Seldom {
        /// At how many.
        preemptions: u32,
        /// The moments to draw from.
        moments: Moments,
    },
    /// Nobody is preempted, but here.
    Preempting {
        /// Where, and for whom.
        points: Vec<Preemption>,
        /// Who comes when somebody blocks or ends.
        turns: Precedence,
    },
    /// As somebody has computed.
    Ordered(Turns),
}

impl Rule {
    fn agrees(&self, other: &Rule, position: Position) -> bool {
        match (self, other) {
            (Rule::Systematic(own), Rule::Systematic(others)) => {
                let end = position.0 as usize;
                let prescribed = own.turns.get(..end);
                prescribed.is_some() && prescribed == others.turns.get(..end)
            }
            (
                Rule::Preempting { points, turns },
                Rule::Preempting {
                    points: others,
                    turns: same,
                },
            ) => {
                let first = preempting::first_turn(points).min(preempting::first_turn(others));
                turns == same && position < first
            }
            _ => false,
        }
    }
}

/// A schedule to follow before the rule takes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    /// The schedule.
    pub schedule: Schedule<PlaceNumber>,
    /// How closely.
    pub fidelity: Fidelity,
    /// Whether the rule takes over where the schedule ends or is left. If not,
    /// the run stops there.
    pub then_rule: bool,
}

/// A rule with what it needs to know. With a seed it determines a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How to pick.
    pub rule: Rule,
    /// Memory accesses at which a thread can be preempted, sorted; everywhere
    /// if `None`. Other events are always points of preemption.
    pub points: Option<Vec<PlaceNumber>>,
    /// What to follow first.
    pub follow: Option<Follow>,
    /// Where threads are postponed until others come.
    pub breakpoints: Vec<Breakpoint<PlaceNumber>>,
    /// Ways that the threads have to keep to.
    pub ways: Option<Ways>,
}

impl Plan {
    /// A plan that knows nothing but its rule.
    #[must_use]
    pub fn new(rule: Rule) -> Plan {
        Plan {
            rule,
            points: None,
            follow: None,
            breakpoints: Vec::new(),
            ways: None,
        }
    }

    /// A plan that follows a schedule event for event and does nothing else.
    #[must_use]
    pub fn replay(schedule: Schedule<PlaceNumber>) -> Plan {
        let follow = Follow {
            schedule,
            fidelity: Fidelity::Exact,
            then_rule: false,
        };
        Plan {
            follow: Some(follow),
            ..Plan::new(Rule::Sequential)
        }
    }

    /// The strategy of one run. It borrows from the plan, so that a process
    /// that runs many seeds unpacks a long schedule only once.
    #[must_use]
    pub fn strategy(&self, seed: u64) -> Box<dyn Strategy + '_> {
        let strategy = match &self.follow {
            None => self.by_rule(seed),
            Some(follow) => {
                let then = follow.then_rule.then(|| self.by_rule(seed));
                Box::new(Replay::new(&follow.schedule, follow.fidelity, then))
            }
        };
        let strategy = match self.breakpoints.is_empty() {
            true => strategy,
            false => Box::new(Postponing::new(&self.breakpoints, strategy)),
        };
        match &self.ways {
            None => strategy,
            Some(ways) => Box::new(Guarded::new(ways, strategy)),
        }
    }

    /// The strategy of a run that has already taken the first turns of this
    /// plan, as another plan prescribed them that [agrees](Plan::agrees) so far.
    /// The strategy that took them has left its [memory](Strategy::memory).
    #[must_use]
    pub fn resume(&self, seed: u64, position: Position, memory: &[u64]) -> Box<dyn Strategy + '_> {
        match &self.rule {
            Rule::Systematic(branch) => Box::new(Systematic::resume(branch, position)),
            Rule::Preempting { points, turns } => {
                Box::new(Preempting::resume(points, turns, memory))
            }
            _ => self.strategy(seed),
        }
    }

    /// Whether two plans prescribe the same up to there.
    #[must_use]
    pub fn agrees(&self, other: &Plan, position: Position) -> bool {
        let begins_at_once = self.is_rule_alone() && other.is_rule_alone();
        begins_at_once && self.rule.agrees(&other.rule, position)
    }

    /// Whether nothing but the rule decides.
    fn is_rule_alone(&self) -> bool {
        let Plan {
            rule: _,
            points,
            follow,
            breakpoints,
            ways,
        } = self;
        points.is_none() && follow.is_none() && breakpoints.is_empty() && ways.is_none()
    }

    fn by_rule(&self, seed: u64) -> Box<dyn Strategy + '_> {
        let strategy: Box<dyn Strategy + '_> = match &self.rule {
            Rule::Random => Box::new(RandomWalk::new(seed)),
            Rule::Pct { depth, length } => Box::new(Pct::new(seed, *depth, *length)),
            Rule::Pos => Box::new(PartialOrderSampling::new(seed)),
            Rule::Surw(profile) => Box::new(SelectivelyUniform::new(seed, profile)),
            Rule::Sequential => Box::new(Sequential),
            Rule::Backward => Box::new(Backward),
            Rule::Slices { mean } => Box::new(Slices::new(seed, *mean)),
            Rule::Preempting { points, turns } => Box::new(Preempting::new(points, turns)),
            Rule::Systematic(branch) => Box::new(Systematic::new(branch)),
            Rule::Seldom {
                preemptions,
                moments,
            } => Box::new(Seldom::new(seed, *preemptions, moments)),
            Rule::Feedback { seed, wishes } => Box::new(Feedback::new(*seed, wishes)),
            Rule::Ordered(turns) => Box::new(Ordered::new(turns)),
        };
        match &self.points {
            None => strategy,
            Some(points) => Box::new(Restricted::new(points, strategy)),
        }
    }

    /// The plan as bytes, for the process that carries it out.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        report::write(self)
    }

    /// The plan in these bytes; `None` if they are no plan of this version.
    ///
    /// ```
    /// use bohr_schedule::{Plan, Rule};
    /// let plan = Plan::new(Rule::Pct { depth: 3, length: 1_000 });
    /// assert_eq!(Plan::from_bytes(&plan.to_bytes()), Some(plan));
    /// assert_eq!(Plan::from_bytes(&[0xff; 3]), None);
    /// ```
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Plan> {
        report::read(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Moment;
    use crate::machine::{Outcome, long_wait, lost_update, run};
    use alloc::vec;
    use bohr_event::ThreadPath;
    use proptest::prelude::*;

    fn rules() -> Vec<Rule> {
        vec![
            Rule::Random,
            Rule::Pct {
                depth: 3,
                length: 20,
            },
            Rule::Pos,
            Rule::Surw(Profile::default()),
            Rule::Sequential,
            Rule::Systematic(Branch::default()),
            Rule::Feedback {
                seed: 4,
                wishes: Vec::new(),
            },
            Rule::Backward,
            Rule::Slices { mean: 3 },
            Rule::Seldom {
                preemptions: 1,
                moments: Moments {
                    threads: vec![ThreadPath::MAIN.child(1)],
                    lists: vec![(
                        1,
                        vec![Moment {
                            thread: 0,
                            events: 1,
                        }],
                    )],
                },
            },
            Rule::Preempting {
                points: Vec::new(),
                turns: Precedence::default(),
            },
        ]
    }

    /// A wait of 40,000 turns stands for one without end.
    #[test]
    fn nobody_waits_in_a_loop_for_ever() {
        let program = long_wait(40_000);
        let points = Some(vec![PlaceNumber(0)]);
        for rule in [
            Rule::Random,
            Rule::Pct {
                depth: 2,
                length: 100,
            },
            Rule::Pos,
            Rule::Slices { mean: 50 },
        ] {
            for points in [None, points.clone()] {
                let plan = Plan {
                    points,
                    ..Plan::new(rule.clone())
                };
                for seed in 0..4 {
                    let outcome = run(&program, &mut *plan.strategy(seed)).outcome;
                    assert!(
                        matches!(outcome, Outcome::Ended(_)),
                        "{plan:?}, seed {seed}"
                    );
                }
            }
        }
    }

    proptest! {
        #[test]
        fn plan_and_seed_determine_the_run(rule in prop::sample::select(rules()), seed: u64) {
            let plan = Plan::new(rule);
            let again = Plan::from_bytes(&plan.to_bytes()).unwrap();
            let program = lost_update();
            let first = run(&program, &mut *plan.strategy(seed)).machine.trace;
            let second = run(&program, &mut *again.strategy(seed)).machine.trace;
            prop_assert_eq!(first, second);
        }

        #[test]
        fn any_bytes_are_a_plan_or_none(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Some(plan) = Plan::from_bytes(&bytes) {
                drop(run(&lost_update(), &mut *plan.strategy(1)));
            }
        }
    }
}
