//! What writes can write and reads can give, as far as that is few numbers, whatever the
//! order: a read gives what some write to its place writes, and nothing that the way of
//! its thread contradicts. So most writes are nobody's candidates before the search begins.
//!
//! The sets grow from nothing: in every execution a value goes back to numbers that are
//! written or lie in memory, step by step, so what is not reached that way is never read.

use super::encode::{Choice, Choices};
use crate::event::{Demand, Problem};
use crate::term::{Evaluation, ReadNumber, Scalar, ones};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Numbers that are told apart, and ways to combine those of several reads.
const MOST: usize = 32;

/// Values; `None` is any number.
type Values = Option<BTreeSet<u128>>;

/// A condition on what one read gives.
type Conditions = HashMap<ReadNumber, Vec<Scalar>>;

/// See the module.
pub(crate) struct Possible {
    /// By write.
    writes: Vec<Values>,
    /// By read, of those that are of one piece and at a known place.
    reads: HashMap<ReadNumber, Values>,
    /// What lay there in the beginning, by the first byte.
    initial: HashMap<u64, Values>,
    conditions: Conditions,
    /// What the way of a thread says of a number that a read gives.
    fits: RefCell<HashMap<(ReadNumber, u128), bool>>,
}

/// A piece of memory that choices are about.
struct Cell {
    size: u32,
    values: Values,
    reads: Vec<ReadNumber>,
}

/// The sets while they grow.
struct Growth<'a> {
    problem: &'a Problem,
    choices: &'a Choices,
    possible: Possible,
    cells: HashMap<u64, Cell>,
    /// By write: what its value depends on, and the cells that it covers.
    supports: Vec<Arc<BTreeSet<ReadNumber>>>,
    covers: Vec<Vec<u64>>,
    users: HashMap<ReadNumber, Vec<usize>>,
    open: Vec<usize>,
}

impl Possible {
    pub(crate) fn of(problem: &mut Problem, choices: &Choices) -> Possible {
        let conditions = conditions(problem);
        let writes = choices.writes.iter();
        let supports: Vec<_> = writes
            .map(|write| problem.terms.support(write.value))
            .collect();
        let mut growth = Growth {
            problem,
            choices,
            possible: Possible {
                writes: vec![Some(BTreeSet::new()); choices.writes.len()],
                reads: HashMap::new(),
                initial: HashMap::new(),
                conditions,
                fits: RefCell::default(),
            },
            cells: HashMap::new(),
            covers: vec![Vec::new(); choices.writes.len()],
            users: HashMap::new(),
            open: Vec::new(),
            supports,
        };
        growth.prepare();
        while let Some(write) = growth.open.pop() {
            growth.write(write);
        }
        growth.possible
    }

    /// Whether a choice can be a candidate, by values alone.
    pub(crate) fn allows(
        &self,
        problem: &Problem,
        choices: &Choices,
        choice: &Choice,
        candidate: Option<usize>,
    ) -> bool {
        let Some(at) = place(choice).filter(|_| self.reads.contains_key(&choice.read)) else {
            return true;
        };
        let values = match candidate {
            None => self.initial.get(&at).cloned().flatten(),
            Some(write) => match choices.writes[write].address {
                Scalar::Known(address) => {
                    let values = self.writes[write].as_ref();
                    values.map(|values| part(values, at - address as u64, choice.size))
                }
                Scalar::Term(_) => None,
            },
        };
        values.is_none_or(|values| {
            let mut values = values.into_iter();
            values.any(|value| self.fits(problem, choice.read, value))
        })
    }

    fn fits(&self, problem: &Problem, read: ReadNumber, value: u128) -> bool {
        if let Some(known) = self.fits.borrow().get(&(read, value)) {
            return *known;
        }
        let mut memory = Evaluation::default();
        let gives = |one: ReadNumber| (one == read).then_some(value);
        let conditions = self.conditions.get(&read);
        let fits = conditions.into_iter().flatten().all(|holds| {
            let found = problem.terms.evaluate(*holds, &mut memory, &gives);
            found == Ok(1)
        });
        self.fits.borrow_mut().insert((read, value), fits);
        fits
    }
}

impl Growth<'_> {
    fn prepare(&mut self) {
        for (read, pieces) in &self.choices.of_read {
            let piece = &self.choices.choices[pieces[0]];
            let known = place(piece).filter(|_| pieces.len() == 1);
            let Some(at) = known else {
                continue;
            };
            self.possible.reads.insert(*read, Some(BTreeSet::new()));
            let cell = self.cells.entry(at).or_insert_with(|| Cell {
                size: piece.size,
                values: Some(BTreeSet::new()),
                reads: Vec::new(),
            });
            cell.reads.push(*read);
        }
        let cells: Vec<u64> = self.cells.keys().copied().collect();
        for at in cells {
            for write in self.choices.known.get(&at).into_iter().flatten() {
                self.covers[*write].push(at);
            }
            let initial = self.initial(at, self.cells[&at].size);
            self.possible.initial.insert(at, initial.clone());
            self.grow(at, initial);
            if self.is_vague(at) {
                self.grow(at, None);
            }
        }
        for (write, support) in self.supports.iter().enumerate() {
            for read in support.iter() {
                self.users.entry(*read).or_default().push(write);
            }
        }
        self.open.extend(0..self.choices.writes.len());
    }

    /// Whether somebody may write there whose place is not known.
    fn is_vague(&self, at: u64) -> bool {
        let problem = self.problem;
        self.choices.unknown.iter().any(|write| {
            let address = self.choices.writes[*write].address;
            let object = problem.initial.object_of(&problem.terms, address);
            object.is_none_or(|(base, size)| (base..base + size).contains(&at))
        })
    }

    fn initial(&self, at: u64, size: u32) -> Values {
        let mut memory = Evaluation::default();
        let mut value = 0;
        for byte in (at..at + u64::from(size)).rev() {
            let byte = self.problem.initial_byte(byte);
            let known = self.problem.terms.evaluate(byte, &mut memory, &|_| None);
            value = value << 8 | known.ok()? & 0xff;
        }
        Some(BTreeSet::from([value]))
    }

    /// What a write can write by now.
    fn write(&mut self, write: usize) {
        let value = self.choices.writes[write].value;
        let found = self.values(value, &self.supports[write]);
        if self.possible.writes[write] == found {
            return;
        }
        for at in self.covers[write].clone() {
            let Scalar::Known(address) = self.choices.writes[write].address else {
                continue;
            };
            let size = self.cells[&at].size;
            let part = found
                .as_ref()
                .map(|found| part(found, at - address as u64, size));
            self.grow(at, part);
        }
        self.possible.writes[write] = found;
    }

    /// What a value can come to.
    fn values(&self, value: Scalar, support: &BTreeSet<ReadNumber>) -> Values {
        let sets: Option<Vec<(ReadNumber, &BTreeSet<u128>)>> = support
            .iter()
            .map(|read| Some((*read, self.possible.reads.get(read)?.as_ref()?)))
            .collect();
        let sets = sets?;
        let ways = sets
            .iter()
            .try_fold(1usize, |ways, (_, set)| ways.checked_mul(set.len()))?;
        if ways > MOST {
            return None;
        }
        let mut found = BTreeSet::new();
        for way in 0..ways {
            let mut rest = way;
            let given: HashMap<ReadNumber, u128> = sets
                .iter()
                .filter_map(|(read, set)| {
                    let value = set.iter().nth(rest % set.len())?;
                    rest /= set.len();
                    Some((*read, *value))
                })
                .collect();
            let gives = |read: ReadNumber| given.get(&read).copied();
            let mut memory = Evaluation::default();
            // What cannot be computed is a crash that was not recorded.
            found.extend(self.problem.terms.evaluate(value, &mut memory, &gives));
        }
        Some(found)
    }

    /// More values of a cell, and what its reads make of them.
    fn grow(&mut self, at: u64, more: Values) {
        let Some(cell) = self.cells.get_mut(&at) else {
            return;
        };
        let Some(values) = &mut cell.values else {
            return;
        };
        let before = values.len();
        let grown = match more {
            Some(more) => {
                values.extend(more);
                (values.len() <= MOST).then_some(values.clone())
            }
            None => None,
        };
        if grown.as_ref().is_some_and(|grown| grown.len() == before) {
            return;
        }
        cell.values.clone_from(&grown);
        for read in cell.reads.clone() {
            let now = grown.as_ref().map(|grown| {
                let fitting = grown.iter().copied();
                fitting
                    .filter(|value| self.possible.fits(self.problem, read, *value))
                    .collect()
            });
            if self.possible.reads.get(&read) != Some(&now) {
                self.possible.reads.insert(read, now);
                self.open
                    .extend(self.users.get(&read).into_iter().flatten());
            }
        }
    }
}

/// What the ways of the threads say of single reads.
fn conditions(problem: &mut Problem) -> Conditions {
    let mut found = Conditions::new();
    for thread in &problem.threads {
        for condition in &thread.conditions {
            let support = problem.terms.support(condition.holds);
            let mut reads = support.iter();
            if let (Some(read), None, Demand::Path) = (reads.next(), reads.next(), condition.demand)
            {
                found.entry(*read).or_default().push(condition.holds);
            }
        }
    }
    found
}

/// Where a choice reads, if that is known.
fn place(choice: &Choice) -> Option<u64> {
    let address = choice.address.known()?;
    Some(address as u64 + u64::from(choice.offset))
}

/// Bytes of each value.
fn part(values: &BTreeSet<u128>, skipped: u64, size: u32) -> BTreeSet<u128> {
    let bytes = |value: &u128| value.checked_shr(skipped as u32 * 8).unwrap_or(0);
    let mask = ones(size * 8);
    values.iter().map(|value| bytes(value) & mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Chains;
    use crate::order::tests::{Do, Maker, demand, places};
    use bohr_event::{MemoryModel, MemoryOrder};

    /// What each read can get if they give these values, by the number of the write.
    fn left(expected: &[Option<u64>]) -> Vec<Vec<Option<usize>>> {
        let [x, y] = places();
        let write = |value| Do::Write(x, value, MemoryOrder::Plain);
        let threads = [
            vec![write(1), write(2), write(7)],
            vec![Do::Read(x), Do::Pass(y, 10)],
            vec![Do::Read(y)],
        ];
        let (mut problem, values) = Maker::of(&threads, &[]);
        demand(&mut problem, &values, expected);
        let conditions = problem.threads[0].conditions.iter_mut();
        conditions.for_each(|condition| condition.demand = Demand::Path);
        let chains = Chains::of(&problem, MemoryModel::SequentiallyConsistent);
        let choices = Choices::of(&problem, &chains, usize::MAX).unwrap();
        let possible = Possible::of(&mut problem, &choices);
        let of_choice = |choice: &Choice| {
            let all = choice.candidates.iter().copied();
            all.filter(|one| possible.allows(&problem, &choices, choice, *one))
                .collect()
        };
        choices.choices.iter().map(of_choice).collect()
    }

    #[test]
    fn who_writes_other_values_is_nobodys_candidate() {
        let all = [None, Some(0), Some(1), Some(2)];
        assert_eq!(left(&[]), [&all[..], &[None, Some(3)]]);
        // The second write, and the sum of that and ten.
        assert_eq!(left(&[Some(2), Some(12)]), [[Some(1)], [Some(3)]]);
        // No thread comes to eleven along the way on which two was read.
        assert_eq!(left(&[Some(2), Some(11)]), [vec![Some(1)], vec![]]);
        assert_eq!(left(&[Some(1), Some(0)]), [[Some(0)], [None]]);
    }
}
