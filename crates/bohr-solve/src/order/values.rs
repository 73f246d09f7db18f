//! Values follow from choices: once every read that a value depends on has its
//! write, the value is computed. A condition that comes out wrong, or an address
//! that does not match, blames the choices in its cone, whatever the arithmetic.

use super::encode::Choices;
use crate::event::{Condition, Problem};
use crate::term::{Evaluation, ReadNumber, Scalar};
use batsat::Lit;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

type Support = Arc<BTreeSet<ReadNumber>>;

/// Who has to look again when a read becomes known.
#[derive(Clone, Debug, Default)]
struct Users {
    conditions: Vec<usize>,
    writes: Vec<usize>,
    /// Reads at an address that depends on it.
    reads: Vec<ReadNumber>,
}

/// What is known at the moment.
pub(crate) struct Values {
    pub(crate) conditions: Vec<(usize, Condition)>,
    condition_support: Vec<Support>,
    /// Of the value and the address of each write.
    write_support: Vec<(Support, Support)>,
    /// Of the address of each choice.
    choice_support: Vec<Support>,
    users: HashMap<ReadNumber, Arc<Users>>,
    /// By choice: the candidate, and the literal that says so.
    pub(crate) chosen: Vec<Option<(usize, Lit)>>,
    /// By write: the choices that took it.
    pub(crate) takers: Vec<Vec<usize>>,
    known: HashMap<ReadNumber, u128>,
    /// In the order in which they became so.
    trail: Vec<ReadNumber>,
    choice_trail: Vec<usize>,
    evaluation: RefCell<Evaluation>,
    /// Where each write is, and each choice reads, of those of which that is known.
    write_places: Vec<Option<u64>>,
    choice_places: Vec<Option<u64>>,
    located: Vec<Located>,
    /// What their places rest on, as far as anybody has asked.
    place_cones: RefCell<HashMap<Located, Rc<[Lit]>>>,
}

/// Somebody whose place has become known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Located {
    Write(usize),
    Choice(usize),
}

/// A moment to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    known: usize,
    chosen: usize,
    evaluated: usize,
    located: usize,
}

/// What goes wrong.
pub(crate) enum Wrong {
    /// A condition does not hold.
    Condition(usize),
    /// A read and its write are not about the same place.
    Elsewhere,
}

impl Values {
    pub(crate) fn of(problem: &mut Problem, choices: &Choices) -> Values {
        let conditions: Vec<(usize, Condition)> = problem
            .threads
            .iter()
            .enumerate()
            .flat_map(|(thread, acting)| {
                acting
                    .conditions
                    .iter()
                    .map(move |condition| (thread, *condition))
            })
            .collect();
        let terms = &mut problem.terms;
        let condition_support: Vec<Support> = conditions
            .iter()
            .map(|(_, one)| terms.support(one.holds))
            .collect();
        let write_support: Vec<(Support, Support)> = choices
            .writes
            .iter()
            .map(|write| (terms.support(write.value), terms.support(write.address)))
            .collect();
        let choice_support: Vec<Support> = choices
            .choices
            .iter()
            .map(|choice| terms.support(choice.address))
            .collect();
        let mut values = Values {
            chosen: vec![None; choices.choices.len()],
            conditions,
            condition_support,
            write_support,
            choice_support,
            users: HashMap::new(),
            takers: vec![Vec::new(); choices.writes.len()],
            known: HashMap::new(),
            trail: Vec::new(),
            choice_trail: Vec::new(),
            evaluation: RefCell::default(),
            write_places: Vec::new(),
            choice_places: Vec::new(),
            located: Vec::new(),
            place_cones: RefCell::default(),
        };
        let known = |address: Scalar| address.known().map(|address| address as u64);
        let writes = choices.writes.iter();
        values.write_places = writes.map(|write| known(write.address)).collect();
        let all = choices.choices.iter();
        values.choice_places = all.map(|choice| known(choice.address)).collect();
        values.find_users(choices);
        values
    }

    fn find_users(&mut self, choices: &Choices) {
        let mut users: HashMap<ReadNumber, Users> = HashMap::new();
        for (number, support) in self.condition_support.iter().enumerate() {
            for read in support.iter() {
                users.entry(*read).or_default().conditions.push(number);
            }
        }
        for (number, (value, address)) in self.write_support.iter().enumerate() {
            for read in value.union(address) {
                users.entry(*read).or_default().writes.push(number);
            }
        }
        for (choice, support) in choices.choices.iter().zip(&self.choice_support) {
            for read in support.iter() {
                users.entry(*read).or_default().reads.push(choice.read);
            }
        }
        self.users = users
            .into_iter()
            .map(|(read, users)| (read, Arc::new(users)))
            .collect();
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            known: self.trail.len(),
            chosen: self.choice_trail.len(),
            evaluated: self.evaluation.borrow().len(),
            located: self.located.len(),
        }
    }

    pub(crate) fn go_back(&mut self, choices: &Choices, mark: Mark) {
        for read in self.trail.drain(mark.known..) {
            self.known.remove(&read);
        }
        self.evaluation.get_mut().truncate(mark.evaluated);
        for located in self.located.drain(mark.located..) {
            self.place_cones.get_mut().remove(&located);
            match located {
                Located::Write(write) => self.write_places[write] = None,
                Located::Choice(choice) => self.choice_places[choice] = None,
            }
        }
        for choice in self.choice_trail.drain(mark.chosen..) {
            if let Some((candidate, _)) = self.chosen[choice].take()
                && let Some(write) = choices.choices[choice].candidates[candidate]
            {
                self.takers[write].retain(|taker| *taker != choice);
            }
        }
    }

    /// What a read gave, if that is known.
    pub(crate) fn known(&self, read: ReadNumber) -> Option<u128> {
        self.known.get(&read).copied()
    }

    /// What a value comes to, if that is known.
    pub(crate) fn value(&self, problem: &Problem, value: Scalar) -> Option<u128> {
        let read = |read: ReadNumber| self.known(read);
        let memory = &mut self.evaluation.borrow_mut();
        problem.terms.evaluate(value, memory, &read).ok()
    }

    /// Where a write is, if that is known.
    pub(crate) fn place_of_write(&self, write: usize) -> Option<u64> {
        self.write_places[write]
    }

    /// Where a choice reads, if that is known.
    pub(crate) fn place_of_choice(&self, choices: &Choices, choice: usize) -> Option<u64> {
        let offset = choices.choices[choice].offset;
        Some(self.choice_places[choice]? + u64::from(offset))
    }

    /// Whose place has become known, from a number of them on.
    pub(crate) fn located(&self, from: usize) -> &[Located] {
        self.located.get(from..).unwrap_or_default()
    }

    /// Places that a read has made known.
    fn locate(&mut self, problem: &Problem, choices: &Choices, users: &Users) {
        for write in &users.writes {
            if self.write_places[*write].is_none() && self.are_known(&self.write_support[*write].1)
            {
                let place = self.value(problem, choices.writes[*write].address);
                self.write_places[*write] = place.map(|place| place as u64);
                self.located.push(Located::Write(*write));
            }
        }
        for choice in users.reads.iter().flat_map(|read| &choices.of_read[read]) {
            if self.choice_places[*choice].is_none()
                && self.are_known(&self.choice_support[*choice])
            {
                let place = self.value(problem, choices.choices[*choice].address);
                self.choice_places[*choice] = place.map(|place| place as u64);
                self.located.push(Located::Choice(*choice));
            }
        }
    }

    /// A part of a read gets its bytes from a candidate. What goes wrong, with the
    /// literals to blame.
    pub(crate) fn choose(
        &mut self,
        problem: &Problem,
        choices: &Choices,
        choice: usize,
        candidate: usize,
        literal: Lit,
    ) -> Result<(), (Wrong, Vec<Lit>)> {
        if let Some((other, before)) = self.chosen[choice] {
            return match other == candidate {
                true => Ok(()),
                false => Err((Wrong::Elsewhere, vec![before, literal])),
            };
        }
        self.chosen[choice] = Some((candidate, literal));
        self.choice_trail.push(choice);
        if let Some(write) = choices.choices[choice].candidates[candidate] {
            self.takers[write].push(choice);
        }
        self.follow(problem, choices, choices.choices[choice].read)
    }

    /// Conditions that depend on nothing hold, or do not.
    pub(crate) fn begin(&self, problem: &Problem) -> Option<usize> {
        let wrong = |number: &usize| {
            self.condition_support[*number].is_empty()
                && self.value(problem, self.conditions[*number].1.holds) != Some(1)
        };
        (0..self.conditions.len()).find(wrong)
    }

    /// Looks whether a read has become known, and all that follows from it.
    fn follow(
        &mut self,
        problem: &Problem,
        choices: &Choices,
        read: ReadNumber,
    ) -> Result<(), (Wrong, Vec<Lit>)> {
        let mut open = vec![read];
        while let Some(read) = open.pop() {
            if self.known.contains_key(&read) || !self.is_ready(choices, read) {
                continue;
            }
            let Some(value) = self.compute(problem, choices, read) else {
                let mut blame = BTreeSet::new();
                self.cone_of(choices, read, &mut blame, &mut HashSet::new());
                return Err((Wrong::Elsewhere, blame.into_iter().collect()));
            };
            self.known.insert(read, value);
            self.trail.push(read);
            let Some(users) = self.users.get(&read).cloned() else {
                continue;
            };
            self.locate(problem, choices, &users);
            for condition in &users.conditions {
                if self.are_known(&self.condition_support[*condition])
                    && self.value(problem, self.conditions[*condition].1.holds) != Some(1)
                {
                    let blame = self.cone(choices, &self.condition_support[*condition]);
                    return Err((Wrong::Condition(*condition), blame));
                }
            }
            open.extend(users.reads.iter().copied());
            for write in &users.writes {
                let takers = self.takers[*write].iter();
                open.extend(takers.map(|taker| choices.choices[*taker].read));
            }
        }
        Ok(())
    }

    fn are_known(&self, support: &Support) -> bool {
        support.iter().all(|read| self.known.contains_key(read))
    }

    fn is_ready(&self, choices: &Choices, read: ReadNumber) -> bool {
        choices.of_read[&read].iter().all(|choice| {
            let Some((candidate, _)) = self.chosen[*choice] else {
                return false;
            };
            let write = choices.choices[*choice].candidates[candidate];
            self.are_known(&self.choice_support[*choice])
                && write.is_none_or(|write| {
                    let (value, address) = &self.write_support[write];
                    self.are_known(value) && self.are_known(address)
                })
        })
    }

    /// The bytes of a read; `None` if they are not where the choices say.
    fn compute(&self, problem: &Problem, choices: &Choices, read: ReadNumber) -> Option<u128> {
        let mut value = 0;
        for number in &choices.of_read[&read] {
            let choice = &choices.choices[*number];
            let (candidate, _) = self.chosen[*number]?;
            let start = self.value(problem, choice.address)? as u64 + u64::from(choice.offset);
            let part = match choice.candidates[candidate] {
                Some(write) => {
                    let write = &choices.writes[write];
                    let address = self.value(problem, write.address)? as u64;
                    let skipped = start.checked_sub(address)?;
                    if skipped + u64::from(choice.size) > write.size.into() {
                        return None;
                    }
                    self.value(problem, write.value)? >> (skipped * 8)
                }
                None => {
                    let bytes = (0..u64::from(choice.size)).rev();
                    let mut part = 0;
                    for at in bytes {
                        let byte = self.value(problem, problem.initial_byte(start + at))?;
                        part = part << 8 | byte & 0xff;
                    }
                    part
                }
            };
            let mask = crate::term::ones(choice.size * 8);
            value |= (part & mask) << (choice.offset * 8);
        }
        Some(value)
    }

    /// The literals that these reads' values rest on.
    pub(crate) fn cone(&self, choices: &Choices, support: &Support) -> Vec<Lit> {
        let (mut literals, mut seen) = (BTreeSet::new(), HashSet::new());
        for read in support.iter() {
            self.cone_of(choices, *read, &mut literals, &mut seen);
        }
        literals.into_iter().collect()
    }

    fn cone_of(
        &self,
        choices: &Choices,
        read: ReadNumber,
        literals: &mut BTreeSet<Lit>,
        seen: &mut HashSet<ReadNumber>,
    ) {
        let mut open = vec![read];
        while let Some(read) = open.pop() {
            if !seen.insert(read) {
                continue;
            }
            for choice in &choices.of_read[&read] {
                let Some((candidate, literal)) = self.chosen[*choice] else {
                    continue;
                };
                literals.insert(literal);
                open.extend(self.choice_support[*choice].iter());
                if let Some(write) = choices.choices[*choice].candidates[candidate] {
                    open.extend(self.write_support[write].0.iter());
                    open.extend(self.write_support[write].1.iter());
                }
            }
        }
    }

    /// The literals that the places of a choice and of a write rest on.
    pub(crate) fn blame_places(&self, choices: &Choices, choice: usize, write: usize) -> Vec<Lit> {
        let mut blame = Vec::new();
        let choice_place = self.choice_places[choice];
        let write_place = self.write_places[write];
        for (located, place, support) in [
            (
                Located::Choice(choice),
                choice_place,
                &self.choice_support[choice],
            ),
            (
                Located::Write(write),
                write_place,
                &self.write_support[write].1,
            ),
        ] {
            if support.is_empty() {
                continue;
            }
            let cone = || Rc::from(self.cone(choices, support));
            let cone: Rc<[Lit]> = match place {
                // It stays as it is until the place is forgotten.
                Some(_) => {
                    let mut known = self.place_cones.borrow_mut();
                    known.entry(located).or_insert_with(cone).clone()
                }
                None => cone(),
            };
            blame.extend_from_slice(&cone);
        }
        blame
    }
}
