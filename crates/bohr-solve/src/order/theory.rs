//! What the SAT solver is told while it searches: its literals are choices and
//! orders; graph and values say which of them cannot hold together.

use super::closure::{Fresh, Place};
use super::encode::Choices;
use super::graph::{self, Graph, Reason, Way};
use super::linear::{Lemma, Linear};
use super::pairs::Pairs;
use super::possible::Possible;
use super::proposals::Proposal;
use super::readings::{self, Finding, Readings};
use super::vague::Placed;
use super::values::{self, Values, Wrong};
use crate::check::Turn;
use crate::event::{Demand, EventId, Problem};
use crate::model::{Chains, NodeNumber};
use batsat::{Lit, Theory, TheoryArg, lbool};
use bohr_event::MemoryModel;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

/// What a variable stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    /// A choice takes a candidate.
    Takes { choice: usize, candidate: usize },
    /// The first node comes before the second; if false, the other way round.
    Before(NodeNumber, NodeNumber),
    /// Edges that hold if it is true: from the first to the second, and from the
    /// second to the third.
    Serves(Option<NodeNumber>, NodeNumber, NodeNumber),
    /// If false, nothing comes between a node of a chain and its predecessor.
    Switch { chain: usize, position: usize },
    /// Nothing that order or values depend on.
    Plain,
}

/// The literals that switch groups of constraints on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups {
    pub(crate) path: Lit,
    pub(crate) bug: Lit,
    pub(crate) synchronisation: Lit,
    pub(crate) read_write: Lit,
}

/// What the last complete assignment came to.
pub(crate) enum Outcome {
    Nothing,
    Order(Vec<Turn>),
    Lemmas(Vec<Lemma>),
    /// Writes that open choices might take.
    Proposals(Vec<Proposal>),
}

/// The ways for which a literal holds.
#[derive(Clone, Debug, Default)]
pub(crate) enum Ways {
    #[default]
    None,
    Few([Option<Way>; 2]),
    Many(Box<[Way]>),
    Placed(Placed),
}

impl Ways {
    fn list(&self) -> Vec<Way> {
        match self {
            Ways::None | Ways::Placed(_) => Vec::new(),
            Ways::Few(ways) => ways.iter().flatten().copied().collect(),
            Ways::Many(ways) => ways.to_vec(),
        }
    }
}

/// What was there when a level of the search began.
#[derive(Clone, Copy)]
pub(crate) struct Level {
    seen: usize,
    graph: graph::Mark,
    values: values::Mark,
    readings: readings::Mark,
    located: usize,
}

/// Orders and values.
pub(crate) struct Consistency<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) model: MemoryModel,
    pub(crate) chains: Chains,
    pub(crate) choices: Choices,
    pub(crate) readings: Readings,
    pub(crate) pairs: Pairs,
    pub(crate) graph: Graph,
    pub(crate) values: Values,
    pub(crate) possible: Possible,
    /// By variable: what it says, and whether that holds if it is true.
    pub(crate) meanings: Vec<(Meaning, bool)>,
    /// By choice and candidate: the literal that says so.
    pub(crate) takes: Vec<Vec<Lit>>,
    /// By open choice: the literal that says that it takes none of its candidates.
    pub(crate) others: HashMap<usize, Lit>,
    /// By variable: the ways for which the order decides it, if it does.
    pub(crate) ways: Vec<Ways>,
    /// What was told last of why a literal holds.
    pub(crate) told: Vec<Lit>,
    pub(crate) groups: Groups,
    /// Events that may not have happened, with the literal that says they did.
    pub(crate) present: HashMap<EventId, Lit>,
    pub(crate) switches: HashMap<(usize, usize), Lit>,
    pub(crate) outcome: Outcome,
    pub(crate) seen: usize,
    /// Choices that may get something from places that are not known, and how many places
    /// have been looked at that have become known.
    pub(crate) vague: Vec<usize>,
    pub(crate) located: usize,
    pub(crate) levels: Vec<Level>,
    pub(crate) conflicts: u64,
    /// Whether the caller still wants to wait, and what the search is told if not.
    pub(crate) go_on: &'a dyn Fn() -> bool,
    pub(crate) stop: Rc<Cell<bool>>,
}

impl Consistency<'_> {
    /// Whether a choice can be a candidate, by the values that its thread's way allows.
    pub(super) fn allows(&self, choice: usize, write: Option<usize>) -> bool {
        let what = &self.choices.choices[choice];
        self.possible
            .allows(self.problem, &self.choices, what, write)
    }

    /// Takes in a literal that holds now; the literals that cannot hold together.
    fn take(&mut self, literal: Lit) -> Result<(), Vec<Lit>> {
        let (meaning, sign) = self.meanings[literal.var().idx() as usize];
        let holds = literal.sign() == sign;
        match meaning {
            Meaning::Plain => Ok(()),
            Meaning::Before(first, second) => match holds {
                true => self.graph.add(first, second, Reason::Literal(literal)),
                false => self.graph.add(second, first, Reason::Literal(literal)),
            },
            Meaning::Serves(behind, provider, node) if holds => {
                if let Some(behind) = behind {
                    self.graph.add(behind, provider, Reason::Literal(literal))?;
                }
                self.graph.add(provider, node, Reason::Literal(literal))
            }
            Meaning::Switch { chain, position } if !holds => {
                self.graph.join(chain, position, literal)
            }
            Meaning::Takes { choice, candidate } if holds => self.takes(choice, candidate, literal),
            _ => Ok(()),
        }
    }

    fn takes(&mut self, choice: usize, candidate: usize, literal: Lit) -> Result<(), Vec<Lit>> {
        let what = &self.choices.choices[choice];
        if let Some(write) = what.candidates[candidate] {
            let id = self.choices.writes[write].id;
            // A thread's own store may still wait in its buffer.
            if id.thread != what.id.thread {
                let (from, to) = (self.chains.visible(id), self.chains.event(what.id));
                self.graph.add(from, to, Reason::Literal(literal))?;
            }
        }
        self.readings.open(choice);
        let chosen = self
            .values
            .choose(self.problem, &self.choices, choice, candidate, literal);
        chosen.map_err(|(wrong, mut blame)| {
            if let Wrong::Condition(condition) = wrong {
                blame.push(match self.values.conditions[condition].1.demand {
                    Demand::Path => self.groups.path,
                    Demand::Bug => self.groups.bug,
                });
            }
            blame
        })
    }

    /// Takes in all that holds now, and tells what follows from it; the literals that
    /// cannot hold together.
    fn consider(&mut self, acts: &mut TheoryArg<'_>) -> Result<(), Vec<Lit>> {
        for (first, second, literal) in self.pairs.take_new() {
            self.decide(acts, first, second, literal)?;
        }
        loop {
            while let Some(literal) = acts.model().get(self.seen).copied() {
                self.take(literal)?;
                self.seen += 1;
            }
            for fresh in self.graph.take_fresh() {
                self.notice(acts, &fresh)?;
            }
            self.consider_located(acts)?;
            match self.readings.next() {
                Some(choice) => self.examine(acts, choice)?,
                None if self.seen == acts.model().len() => return Ok(()),
                None => {}
            }
        }
    }

    fn notice(&mut self, acts: &mut TheoryArg<'_>, fresh: &Fresh) -> Result<(), Vec<Lit>> {
        for (first, second, literal) in self.pairs.decided(fresh) {
            self.decide(acts, first, second, literal)?;
        }
        self.readings
            .notice(&self.graph, fresh, &self.values.takers);
        Ok(())
    }

    /// A literal that says that one node comes before another holds if that is known.
    fn decide(
        &mut self,
        acts: &mut TheoryArg<'_>,
        first: Place,
        second: Place,
        literal: Lit,
    ) -> Result<(), Vec<Lit>> {
        match self.graph.way(first, second) {
            Some(way) => self.infer(acts, literal, Ways::Few([Some(way), None])),
            None => Ok(()),
        }
    }

    /// What the order says of a read.
    fn examine(&mut self, acts: &mut TheoryArg<'_>, choice: usize) -> Result<(), Vec<Lit>> {
        let candidates = &self.choices.choices[choice].candidates;
        let chosen = self.values.chosen[choice];
        let taken = chosen.map(|(candidate, _)| candidates[candidate]);
        let findings =
            self.readings
                .examine(&self.graph, &self.choices, &self.chains, choice, taken);
        for finding in findings {
            match (finding, chosen) {
                (Finding::Not(write, ways), _) => {
                    if let Some(candidate) = self.choices.choices[choice].candidate(write) {
                        let literal = !self.takes[choice][candidate];
                        self.infer(acts, literal, Ways::Few(ways))?;
                    }
                }
                (Finding::Edge(from, to, way), Some((_, literal))) => {
                    let reason = way.map_or(Reason::Literal(literal), |way| {
                        Reason::Follows(literal, way)
                    });
                    self.graph.add(from, to, reason)?;
                }
                (Finding::Edge(..), None) => {}
                (Finding::NoOther(ways), _) => {
                    if let Some(other) = self.others.get(&choice) {
                        self.infer(acts, !*other, Ways::Many(ways.into()))?;
                    }
                }
            }
        }
        self.examine_vague(acts, choice)
    }

    fn blame(&self, ways: &Ways) -> Vec<Lit> {
        match ways {
            Ways::Placed(placed) => self.blame_placed(placed),
            ways => self.graph.blame(&[], &ways.list()),
        }
    }

    /// A literal holds because of what comes before what.
    pub(super) fn infer(
        &mut self,
        acts: &mut TheoryArg<'_>,
        literal: Lit,
        ways: Ways,
    ) -> Result<(), Vec<Lit>> {
        let value = acts.value(literal.var());
        if value == lbool::UNDEF {
            let index = literal.var().idx() as usize;
            if self.ways.len() <= index {
                self.ways.resize(self.meanings.len(), Ways::None);
            }
            self.ways[index] = ways;
            acts.propagate(literal);
            return Ok(());
        }
        if (value == lbool::TRUE) == literal.sign() {
            return Ok(());
        }
        let mut blame = self.blame(&ways);
        blame.push(!literal);
        Err(blame)
    }

    fn linear(&self, acts: &TheoryArg<'_>) -> Result<Vec<Turn>, Vec<Lemma>> {
        let holds = |literal: Lit| {
            let value = acts.value(literal.var());
            value
                == if literal.sign() {
                    lbool::TRUE
                } else {
                    lbool::FALSE
                }
        };
        let happen: Vec<usize> = (0..self.problem.threads.len())
            .map(|thread| {
                let events = 0..self.problem.threads[thread].events.len();
                let absent = |event: &usize| {
                    let literal = self.present.get(&EventId {
                        thread,
                        event: *event,
                    });
                    literal.is_some_and(|literal| !holds(*literal))
                };
                let end = events.end;
                events.into_iter().find(absent).unwrap_or(end)
            })
            .collect();
        let linear = Linear {
            problem: self.problem,
            chains: &self.chains,
            choices: &self.choices,
            readings: &self.readings,
            graph: &self.graph,
            values: &self.values,
            happen: &happen,
            switches: &self.switches,
            holds: &holds,
        };
        linear.order()
    }
}

impl Theory for Consistency<'_> {
    fn final_check(&mut self, acts: &mut TheoryArg<'_>) {
        self.partial_check(acts);
        if acts.is_ok() {
            self.outcome = match self.linear(acts) {
                Err(lemmas) => Outcome::Lemmas(lemmas),
                Ok(order) => {
                    let proposals = self.proposals(&order);
                    match proposals.is_empty() {
                        true => Outcome::Order(order),
                        false => Outcome::Proposals(proposals),
                    }
                }
            };
        }
    }

    fn create_level(&mut self) {
        self.levels.push(Level {
            seen: self.seen,
            graph: self.graph.mark(),
            values: self.values.mark(),
            readings: self.readings.mark(),
            located: self.located,
        });
    }

    fn pop_levels(&mut self, count: usize) {
        let level = self.levels.len() - count;
        if let Some(back) = self.levels.get(level).copied() {
            self.levels.truncate(level);
            self.seen = back.seen;
            self.graph.go_back(back.graph);
            self.values.go_back(&self.choices, back.values);
            self.readings.go_back(back.readings);
            self.located = back.located;
        }
    }

    fn n_levels(&self) -> usize {
        self.levels.len()
    }

    fn partial_check(&mut self, acts: &mut TheoryArg<'_>) {
        if !(self.go_on)() {
            self.stop.set(true);
        }
        if let Err(blame) = self.consider(acts) {
            self.conflicts += 1;
            let mut clause: Vec<Lit> = blame.into_iter().map(|literal| !literal).collect();
            clause.sort_unstable();
            clause.dedup();
            acts.raise_conflict(&clause, true);
        }
    }

    fn explain_propagation(&mut self, literal: Lit) -> &[Lit] {
        self.told = self.blame(&self.ways[literal.var().idx() as usize]);
        &self.told
    }
}
