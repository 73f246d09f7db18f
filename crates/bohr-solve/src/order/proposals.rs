//! Candidates of open choices. A read of a word that is written often has thousands of
//! writes to choose from, and nearly all are never looked at. So an open choice begins
//! with the write that it finds in the guess, and with a literal for *some other*. Once
//! all else is decided, what it finds in the order that came out becomes a candidate,
//! or, if that was ruled out, those that are nearest there, until the order leaves none.

use super::Search;
use super::guess::Guess;
use super::theory::{Consistency, Meaning};
use crate::check::Turn;
use crate::event::EventId;
use batsat::Lit;
use std::collections::HashMap;

/// Writes that are listed at once when the one that was found is ruled out.
const AT_ONCE: usize = 8;

/// New candidates of an open choice.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    choice: usize,
    writes: Vec<Option<usize>>,
    /// Whether there are no others.
    last: bool,
    /// Whether that is so because of what the thread's way says of values.
    barred: bool,
}

impl Consistency<'_> {
    /// What open choices might take that take nothing yet, by an order of all events.
    pub(super) fn proposals(&self, order: &[Turn]) -> Vec<Proposal> {
        let undecided = |choice: &usize| {
            let what = &self.choices.choices[*choice];
            what.open && self.values.chosen[*choice].is_none() && self.others.contains_key(choice)
        };
        let open: Vec<usize> = (0..self.choices.choices.len()).filter(undecided).collect();
        if open.is_empty() {
            return Vec::new();
        }
        let mut turns = order.iter().copied();
        let found = Guess::along(
            self.problem,
            self.model,
            &self.chains,
            &self.choices,
            &mut |_| turns.next(),
        );
        let moments = order.iter().zip(0..);
        let moments: HashMap<EventId, usize> = moments
            .filter_map(|(turn, moment)| match turn {
                Turn::Event(id) => Some((*id, moment)),
                Turn::Commit(_) => None,
            })
            .collect();
        let happens = |choice: &usize| moments.contains_key(&self.choices.choices[*choice].id);
        let happening = open.into_iter().filter(happens);
        happening
            .map(|choice| self.proposal(choice, found.found(choice), &moments))
            .collect()
    }

    fn proposal(
        &self,
        choice: usize,
        found: Option<Option<usize>>,
        moments: &HashMap<EventId, usize>,
    ) -> Proposal {
        let what = &self.choices.choices[choice];
        let is_new = |write: &Option<usize>| what.candidate(*write).is_none();
        if let Some(write) = found.filter(|it| is_new(it) && self.allows(choice, *it)) {
            return Proposal {
                choice,
                writes: vec![write],
                last: false,
                barred: false,
            };
        }
        let mut others = self.choices.universe(self.problem, what);
        others.retain(is_new);
        let count = others.len();
        others.retain(|write| self.allows(choice, *write));
        let barred = others.len() < count;
        let here = moments.get(&what.id).copied().unwrap_or(0);
        let key = |write: &Option<usize>| {
            let Some(write) = *write else {
                return (false, here);
            };
            let there = moments.get(&self.choices.writes[write].id);
            let left = self
                .readings
                .is_left(&self.choices, &self.chains, choice, write);
            (
                !left,
                there.map_or(usize::MAX, |there| there.abs_diff(here)),
            )
        };
        others.sort_by_cached_key(key);
        let last = others.len() <= AT_ONCE;
        others.truncate(AT_ONCE);
        Proposal {
            choice,
            writes: others,
            last,
            barred,
        }
    }
}

impl Search<'_> {
    /// Lists new candidates of an open choice.
    pub(super) fn propose(&mut self, proposal: &Proposal) {
        let choice = proposal.choice;
        let before: Vec<Lit> = self.theory.takes[choice].clone();
        let literals = proposal
            .writes
            .iter()
            .map(|write| self.candidate(choice, *write, true));
        let new: Vec<Lit> = literals.collect();
        let other = match proposal.last {
            true => None,
            false => Some(self.variable(Meaning::Plain, true)),
        };
        let id = self.theory.choices.choices[choice].id;
        let mut some = vec![!self.theory.groups.read_write];
        match self.theory.others.remove(&choice) {
            Some(earlier) => some.push(!earlier),
            None => some.extend(self.present(id).map(|present| !present)),
        }
        some.extend(new.iter().chain(&other));
        if proposal.last && proposal.barred {
            some.push(!self.theory.groups.path);
        }
        self.clause(some);
        let all: Vec<Lit> = before.into_iter().chain(new.iter().copied()).collect();
        for (index, one) in all.iter().enumerate() {
            let fresh = new.iter().filter(|other| !all[..=index].contains(*other));
            for unlike in fresh.copied().chain(other).collect::<Vec<Lit>>() {
                self.clause([!*one, !unlike]);
            }
        }
        self.theory
            .others
            .extend(other.map(|other| (choice, other)));
        self.theory.readings.open(choice);
    }

    /// All open choices begin with what they find in the guess.
    pub(super) fn begin(&mut self, choice: usize) {
        let found = self.guess.found(choice);
        let found = found.filter(|write| self.theory.allows(choice, *write));
        self.propose(&Proposal {
            choice,
            writes: found.into_iter().collect(),
            last: false,
            barred: false,
        });
    }
}
