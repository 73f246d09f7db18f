//! The ordering solver: a SAT solver chooses which write each read gets and which
//! of two events comes first; a theory of order and the evaluation of values say
//! what cannot be (in the line of Zord and Deagle; CLAP's section 3 for what the
//! constraints are, [`crate::model`] for store buffers).
//!
//! What is true of most pairs anyway is stated only once a candidate breaks it:
//! that no other write comes between a read and its own, and that a lock has one
//! holder. The bound on preemptions is raised from zero (CLAP, 4.2), so the first
//! order that is found has the fewest.

mod blame;
mod closure;
pub(crate) mod encode;
mod graph;
mod guess;
#[cfg(test)]
mod implied;
mod linear;
mod pairs;
mod possible;
mod proposals;
mod readings;
mod rows;
#[cfg(test)]
pub(crate) mod tests;
mod theory;
mod vague;
mod values;

pub use encode::OddBarrier;

use crate::check::{Turn, check};
use crate::event::{Action, EventId, Problem};
use crate::model::{Chains, NodeNumber};
use batsat::{BasicSolver, Lit, SolverInterface, lbool};
use bohr_event::MemoryModel;
use encode::Choices;
use graph::Graph;
use guess::Guess;
use linear::{Kind, Lemma, Part, exclusion};
use pairs::Pairs;
use possible::Possible;
use readings::Readings;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use theory::{Consistency, Groups, Meaning, Outcome};
use values::Values;

/// Pairs of critical sections up to which all are stated at once.
const EAGER_PAIRS: usize = 20_000;

/// A group of constraints, as CLAP names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// The threads go the way they went.
    Path,
    /// The failure is the recorded one.
    Bug,
    /// Locks, conditions and semaphores.
    Synchronisation,
    /// Reads get what was written last.
    ReadWrite,
    /// Each thread's own order, creations, joins, barriers and store buffers.
    MemoryOrder,
    /// The bound on preemptions.
    Switches,
}

impl std::fmt::Display for Group {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Group::Path => "path",
            Group::Bug => "bug",
            Group::Synchronisation => "synchronisation",
            Group::ReadWrite => "read-write",
            Group::MemoryOrder => "memory order",
            Group::Switches => "bound on preemptions",
        })
    }
}

/// What a solver found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An order of events that leads to the failure.
    Order(Vec<Turn>),
    /// There is none: these groups of constraints contradict each other.
    None(Vec<Group>),
    /// The caller did not want to wait.
    Unknown,
}

/// An answer, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solved {
    /// The answer.
    pub answer: Answer,
    /// Preemptions that were allowed when it was found; `None` is any number.
    pub bound: Option<usize>,
    /// Constraints that were stated: clauses, and conditions on values.
    pub constraints: u64,
    /// Variables: choices and orders.
    pub variables: u64,
    /// Contradictions that the search ran into.
    pub conflicts: u64,
}

/// Looks for an order with as few preemptions as possible, at most `most` (any
/// number, if that is `None`).
///
/// # Errors
/// If something on the way is not modelled.
pub fn solve(
    problem: &mut Problem,
    model: MemoryModel,
    most: Option<usize>,
    go_on: &dyn Fn() -> bool,
) -> Result<Solved, OddBarrier> {
    solve_with(problem, model, most, MOST_LISTED, go_on)
}

/// The same; so many candidates are listed, and what goes beyond that is left open.
fn solve_with(
    problem: &mut Problem,
    model: MemoryModel,
    most: Option<usize>,
    most_listed: usize,
    go_on: &dyn Fn() -> bool,
) -> Result<Solved, OddBarrier> {
    let chains = Chains::of(problem, model);
    let choices = Choices::of(problem, &chains, most_listed)?;
    let values = Values::of(problem, &choices);
    let possible = Possible::of(problem, &choices);
    let told = (choices, values, possible);
    let mut search = match Search::new(problem, model, chains, told, go_on) {
        Ok(search) => search,
        Err(groups) => {
            return Ok(Solved {
                answer: Answer::None(groups),
                bound: None,
                constraints: 0,
                variables: 0,
                conflicts: 0,
            });
        }
    };
    let steps = (0..=most.unwrap_or(BOUNDS)).map(Some);
    let beyond = most.is_none().then_some(None);
    let mut answer = Answer::Unknown;
    let mut last = None;
    for bound in steps.chain(beyond) {
        last = bound;
        answer = search.with_bound(bound);
        let exhausted =
            matches!(&answer, Answer::None(groups) if !groups.contains(&Group::Switches));
        if exhausted || !matches!(answer, Answer::None(_)) {
            break;
        }
    }
    Ok(Solved {
        answer,
        bound: last,
        constraints: search.solver.num_clauses() + search.theory.values.conditions.len() as u64,
        variables: search.solver.num_vars().into(),
        conflicts: search.theory.conflicts,
    })
}

/// Candidates that are listed from the beginning, of all choices together.
const MOST_LISTED: usize = 100_000;

/// Bounds that are tried before there is none.
const BOUNDS: usize = 8;

/// A search under way.
struct Search<'a> {
    solver: BasicSolver,
    theory: Consistency<'a>,
    guess: Guess,
    orders: HashMap<(NodeNumber, NodeNumber), Lit>,
    /// By number: more than so many switches are preemptions.
    more_than: Vec<Lit>,
}

/// What one node before another is.
enum Fact {
    Always,
    Never,
    If(Lit),
}

impl<'a> Search<'a> {
    fn new(
        problem: &'a Problem,
        model: MemoryModel,
        mut chains: Chains,
        (choices, values, possible): (Choices, Values, Possible),
        go_on: &'a dyn Fn() -> bool,
    ) -> Result<Search<'a>, Vec<Group>> {
        chains.fixed.extend(choices.barriers.iter().copied());
        let graph = Graph::of(&chains).map_err(|_| vec![Group::MemoryOrder])?;
        if values.begin(problem).is_some() {
            return Err(vec![Group::Path, Group::Bug]);
        }
        let mut solver = BasicSolver::default();
        let stop = Rc::new(Cell::new(false));
        let told = stop.clone();
        solver.cb_mut().set_stop(move || told.get());
        let mut meanings = Vec::new();
        let mut plain = || {
            meanings.push((Meaning::Plain, true));
            Lit::new(solver.new_var(lbool::UNDEF, true), true)
        };
        let groups = Groups {
            path: plain(),
            bug: plain(),
            synchronisation: plain(),
            read_write: plain(),
        };
        let guess = Guess::of(problem, model, &chains, &choices);
        let mut search = Search {
            solver,
            guess,
            theory: Consistency {
                problem,
                readings: Readings::of(&choices, &chains),
                vague: (0..choices.choices.len())
                    .filter(|choice| choices.choices[*choice].vague)
                    .collect(),
                located: 0,
                chains,
                pairs: Pairs::default(),
                takes: vec![Vec::new(); choices.choices.len()],
                others: HashMap::new(),
                ways: Vec::new(),
                model,
                told: Vec::new(),
                choices,
                graph,
                values,
                possible,
                meanings,
                groups,
                present: HashMap::new(),
                switches: HashMap::new(),
                outcome: Outcome::Nothing,
                seen: 0,
                levels: Vec::new(),
                conflicts: 0,
                go_on,
                stop,
            },
            orders: HashMap::new(),
            more_than: Vec::new(),
        };
        search.presence();
        search.choices();
        search.needs();
        search.locks();
        search.switches();
        search.beginnings();
        Ok(search)
    }

    /// The literal that says something. The solver first tries every variable with
    /// `false`, then with what it was last; so what is to be tried first as true is said
    /// by the variable's being false.
    fn variable(&mut self, meaning: Meaning, preferred: bool) -> Lit {
        let variable = self.solver.new_var(lbool::UNDEF, true);
        self.theory.meanings.push((meaning, !preferred));
        Lit::new(variable, !preferred)
    }

    fn clause(&mut self, literals: impl IntoIterator<Item = Lit>) {
        let mut literals: Vec<Lit> = literals.into_iter().collect();
        self.solver.add_clause_reuse(&mut literals);
    }

    /// Events at the end of a thread that may not have happened.
    fn presence(&mut self) {
        let problem = self.theory.problem;
        for (thread, acting) in problem.threads.iter().enumerate() {
            let mut before = None;
            for event in acting.certain..acting.events.len() {
                let literal = self.variable(Meaning::Plain, false);
                self.theory
                    .present
                    .insert(EventId { thread, event }, literal);
                if let Some(before) = before {
                    self.clause([!literal, before]);
                }
                before = Some(literal);
            }
        }
    }

    fn present(&self, id: EventId) -> Option<Lit> {
        self.theory.present.get(&id).copied()
    }

    fn choices(&mut self) {
        for choice in 0..self.theory.choices.choices.len() {
            if self.theory.choices.choices[choice].open {
                self.begin(choice);
                continue;
            }
            let id = self.theory.choices.choices[choice].id;
            let found = self.guess.found(choice);
            let mut some = vec![!self.theory.groups.read_write];
            some.extend(self.present(id).map(|present| !present));
            let listed = std::mem::take(&mut self.theory.choices.choices[choice].candidates);
            let count = listed.len();
            for write in listed {
                if self.theory.allows(choice, write) {
                    some.push(self.candidate(choice, write, found == Some(write)));
                }
            }
            if self.theory.takes[choice].len() < count {
                some.push(!self.theory.groups.path);
            }
            self.clause(some);
        }
    }

    /// One more candidate of a choice.
    fn candidate(&mut self, choice: usize, write: Option<usize>, likely: bool) -> Lit {
        let candidates = &mut self.theory.choices.choices[choice].candidates;
        let candidate = candidates.len();
        candidates.push(write);
        let literal = self.variable(Meaning::Takes { choice, candidate }, likely);
        self.theory.takes[choice].push(literal);
        let writer = write.map(|write| self.theory.choices.writes[write].id);
        if let Some(present) = writer.and_then(|id| self.present(id)) {
            self.clause([!literal, present]);
        }
        literal
    }

    /// Waiters need a signal each, takers of a semaphore a permit.
    fn needs(&mut self) {
        let mut users: HashMap<NodeNumber, Vec<Lit>> = HashMap::new();
        let mut permits: HashMap<(u64, u32), Vec<Lit>> = HashMap::new();
        for need in std::mem::take(&mut self.theory.choices.needs) {
            let mut some = vec![!self.theory.groups.synchronisation];
            let id = self.theory.chains.node(need.node).event;
            some.extend(self.present(id).map(|present| !present));
            for (provider, single) in need.providers {
                let meaning = Meaning::Serves(need.behind, provider, need.node);
                let literal = self.variable(meaning, false);
                some.push(literal);
                if single {
                    users.entry(provider).or_default().push(literal);
                }
                let id = self.theory.chains.node(provider).event;
                if let Some(present) = self.present(id) {
                    self.clause([!literal, present]);
                }
            }
            for permit in need.permits {
                let literal = self.variable(Meaning::Plain, false);
                some.push(literal);
                permits.entry(permit).or_default().push(literal);
            }
            self.clause(some);
        }
        for literals in users.into_values().chain(permits.into_values()) {
            for (index, one) in literals.iter().enumerate() {
                for other in &literals[index + 1..] {
                    self.clause([!*one, !*other]);
                }
            }
        }
    }

    fn locks(&mut self) {
        let sections = &self.theory.choices.sections;
        let pairs: usize = sections.values().map(|all| all.len() * all.len() / 2).sum();
        if pairs > EAGER_PAIRS {
            return;
        }
        let mut lemmas = Vec::new();
        for all in sections.values() {
            for (index, first) in all.iter().enumerate() {
                for second in &all[index + 1..] {
                    if first.thread != second.thread && !(first.shared && second.shared) {
                        let parts = exclusion(&self.theory.chains, first, second);
                        lemmas.push((Kind::Synchronisation, parts));
                    }
                }
            }
        }
        for lemma in lemmas {
            self.state(&lemma);
        }
    }

    /// Where a thread may be interrupted, and a count of where it is.
    fn switches(&mut self) {
        let mut literals = Vec::new();
        let awaited = self.theory.problem.awaited();
        for chain in 0..self.theory.chains.threads {
            for position in 1..self.theory.chains.chains[chain].len() {
                let node = self.theory.chains.chains[chain][position];
                let id = self.theory.chains.node(node).event;
                if waits(&self.theory.problem.event(id).action) || awaited.contains(&id) {
                    continue;
                }
                let literal = self.variable(Meaning::Switch { chain, position }, false);
                self.theory.switches.insert((chain, position), literal);
                literals.push(literal);
            }
        }
        self.count(&literals);
    }

    /// Which of two threads begins first. Where threads are not interrupted, all else
    /// follows from that, so it is decided first: what is new to the solver is.
    fn beginnings(&mut self) {
        let firsts = self.theory.chains.chains[1..self.theory.chains.threads].iter();
        let firsts: Vec<NodeNumber> = firsts.filter_map(|chain| chain.first()).copied().collect();
        for (index, first) in firsts.iter().enumerate() {
            for second in &firsts[index + 1..] {
                self.before(*first, *second);
            }
        }
    }

    /// A counter in unary: after each literal, whether more than so many hold.
    fn count(&mut self, literals: &[Lit]) {
        let mut before: Vec<Lit> = Vec::new();
        for literal in literals {
            let mut now: Vec<Lit> = Vec::new();
            for number in 0..=BOUNDS.min(before.len()) {
                let more = self.variable(Meaning::Plain, false);
                if let Some(same) = before.get(number) {
                    self.clause([!*same, more]);
                }
                match number.checked_sub(1).map(|fewer| before[fewer]) {
                    None => self.clause([!*literal, more]),
                    Some(fewer) => self.clause([!fewer, !*literal, more]),
                }
                now.push(more);
            }
            before = now;
        }
        self.more_than = before;
    }

    /// What one node before another is: known, or a literal.
    fn before(&mut self, first: NodeNumber, second: NodeNumber) -> Fact {
        let chains = &self.theory.chains;
        let (one, other) = (*chains.node(first), *chains.node(second));
        if one.chain == other.chain {
            return match one.position < other.position {
                true => Fact::Always,
                false => Fact::Never,
            };
        }
        let key = (first.min(second), first.max(second));
        let literal = match self.orders.get(&key) {
            Some(literal) => *literal,
            None => {
                let likely = self.guess.is_before(key.0, key.1);
                let literal = self.variable(Meaning::Before(key.0, key.1), likely);
                self.orders.insert(key, literal);
                let places = [key.0, key.1].map(|node| self.theory.graph.place(node));
                self.theory.pairs.add(places[0], places[1], literal);
                self.absent_last(key, literal);
                literal
            }
        };
        Fact::If(if first == key.0 { literal } else { !literal })
    }

    /// What does not happen comes behind all that does.
    fn absent_last(&mut self, (first, second): (NodeNumber, NodeNumber), literal: Lit) {
        let chains = &self.theory.chains;
        let ids = [first, second].map(|node| chains.node(node).event);
        let [first, second] = ids.map(|id| self.present(id));
        for (literal, one, other) in [(literal, first, second), (!literal, second, first)] {
            if let Some(present) = one {
                self.clause(
                    [!literal, present]
                        .into_iter()
                        .chain(other.map(|other| !other)),
                );
            }
        }
    }

    /// States a lemma.
    fn state(&mut self, (kind, parts): &Lemma) {
        let mut literals = match kind {
            Kind::ReadWrite => vec![!self.theory.groups.read_write],
            Kind::Synchronisation => vec![!self.theory.groups.synchronisation],
            Kind::Switches => Vec::new(),
        };
        for part in parts {
            match part {
                Part::Literal(literal) => literals.push(*literal),
                Part::Absent(id) => literals.extend(self.present(*id).map(|present| !present)),
                Part::Before(first, second) => match self.before(*first, *second) {
                    Fact::Always => return,
                    Fact::Never => {}
                    Fact::If(literal) => literals.push(literal),
                },
            }
        }
        self.clause(literals);
    }

    /// Looks for an order with at most so many preemptions.
    fn with_bound(&mut self, bound: Option<usize>) -> Answer {
        let groups = self.theory.groups;
        let mut assumed = vec![
            groups.path,
            groups.bug,
            groups.synchronisation,
            groups.read_write,
        ];
        let limit = bound
            .and_then(|bound| self.more_than.get(bound))
            .map(|more| !*more);
        assumed.extend(limit);
        loop {
            if !(self.theory.go_on)() {
                return Answer::Unknown;
            }
            self.theory.outcome = Outcome::Nothing;
            let result = self.solver.solve_limited_th(&mut self.theory, &assumed);
            if result == lbool::FALSE {
                return Answer::None(self.core(limit));
            }
            match std::mem::replace(&mut self.theory.outcome, Outcome::Nothing) {
                Outcome::Order(order) => match self.accept(order) {
                    Some(order) => return Answer::Order(order),
                    None => return Answer::Unknown,
                },
                Outcome::Lemmas(lemmas) => lemmas.iter().for_each(|lemma| self.state(lemma)),
                Outcome::Proposals(all) => all.iter().for_each(|one| self.propose(one)),
                Outcome::Nothing => return Answer::Unknown,
            }
        }
    }

    /// The order up to the failure, if it stands the check.
    fn accept(&self, mut order: Vec<Turn>) -> Option<Vec<Turn>> {
        let problem = self.theory.problem;
        let fails = |turn: &Turn| match turn {
            Turn::Event(id) => matches!(problem.event(*id).action, Action::Fail),
            Turn::Commit(_) => false,
        };
        let end = order.iter().position(fails)? + 1;
        order.truncate(end);
        let checked = check(problem, self.theory.model, &order);
        debug_assert_eq!(checked, Ok(()));
        checked.is_ok().then_some(order)
    }

    fn core(&self, limit: Option<Lit>) -> Vec<Group> {
        let groups = self.theory.groups;
        let named = [
            (groups.path, Group::Path),
            (groups.bug, Group::Bug),
            (groups.synchronisation, Group::Synchronisation),
            (groups.read_write, Group::ReadWrite),
        ];
        let all = named
            .into_iter()
            .chain(limit.map(|limit| (limit, Group::Switches)));
        all.filter(|(literal, _)| self.solver.unsat_core_contains_var(literal.var()))
            .map(|(_, group)| group)
            .chain([Group::MemoryOrder])
            .collect()
    }
}

/// Whether a thread may have to wait before an action, so that a switch there
/// interrupts nobody.
pub(crate) fn waits(action: &Action) -> bool {
    matches!(
        action,
        Action::Wake { .. }
            | Action::Join(_)
            | Action::Take(_)
            | Action::Depart { .. }
            | Action::Drain
    )
}
