//! What threads of a run have waited for under locks, or would have: the loops that a
//! program leaves only when a variable says so, and who wrote those variables.
//!
//! Which loops those are the model tells (`bohr_program::Await`); what was read and
//! written, the trace. A variable lives from one allocation of its memory to the next.

mod variable;

use crate::atlas::Atlas;
use bohr_event::control::Step;
use bohr_event::{EventKind, PlaceNumber, ThreadIndex};
use bohr_explain::Awaited;
use bohr_program::{AwaitTest, FunctionNumber, Operation, Predicates, Program, SiteNumber};
use cranelift_entity::EntityRef;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use variable::{Life, Variable, VariableNumber};

/// Readers beyond which no more are looked at: each costs a look at all writes.
const MOST_READERS: usize = 1 << 12;

/// How many functions may ask each other on the way from a loop to what it looks at.
const MOST_ASKING: usize = 4;

/// A test of a loop in the model of one object.
#[derive(Clone)]
struct Tested {
    model: Arc<Program>,
    test: AwaitTest,
    /// All of its loop, itself included.
    tests: Arc<[AwaitTest]>,
}

/// The test that a place belongs to, if it does.
type Tests = HashMap<PlaceNumber, Option<Tested>>;

/// The loops of each function of a module that wait, with their tests, outermost first.
type Loops = HashMap<([u8; 32], FunctionNumber), Vec<Arc<[AwaitTest]>>>;

/// A thread has read what lets it go on: when, and all that could have let it.
type Readers = BTreeMap<usize, Vec<VariableNumber>>;

/// What the threads of a run waited for, of which these values were read and written.
#[must_use]
pub fn awaited(atlas: &Atlas, steps: &[Step], values: &[Option<u64>]) -> Vec<Awaited> {
    let mut search = Search {
        atlas,
        tests: Tests::new(),
        loops: Loops::new(),
        predicates: HashMap::new(),
        variables: Vec::new(),
        numbers: HashMap::new(),
    };
    let readers = search.readers(steps, values);
    if readers.is_empty() {
        return Vec::new();
    }
    let lives = search.follow(steps, values, &readers);
    let told = lives.into_iter().filter_map(|(event, lives)| {
        Some(Awaited {
            event: u32::try_from(event).ok()?,
            ways: lives.iter().map(|life| life.way()).collect::<Option<_>>()?,
        })
    });
    told.collect()
}

struct Search<'a> {
    atlas: &'a Atlas,
    tests: Tests,
    loops: Loops,
    predicates: HashMap<[u8; 32], Predicates>,
    variables: Vec<Variable>,
    numbers: HashMap<(u64, [u8; 32], SiteNumber), VariableNumber>,
}

impl Search<'_> {
    /// The test that reads at a place.
    fn test(&mut self, place: PlaceNumber) -> Option<Tested> {
        if let Some(known) = self.tests.get(&place) {
            return known.clone();
        }
        let found = self.look_up(place);
        self.tests.insert(place, found.clone());
        found
    }

    fn look_up(&mut self, place: PlaceNumber) -> Option<Tested> {
        let (model, site) = self.atlas.site(place)?;
        let predicates = self.predicates.entry(model.identity);
        let predicates = predicates.or_insert_with(|| Predicates::of(model));
        let own = model.sites[site].function;
        let asking = |function: &FunctionNumber| Some(predicates.asked_by(*function)?.function);
        for function in std::iter::successors(Some(own), asking).take(MOST_ASKING) {
            let loops = self.loops.entry((model.identity, function));
            let loops = loops.or_insert_with(|| {
                let found = model.awaits(function, predicates).into_iter();
                found.map(|one| one.tests.into()).collect()
            });
            // The innermost one: loops around it come first.
            let found = loops.iter().rev().find_map(|tests| {
                let test = tests.iter().find(|test| test.site == site)?;
                Some(Tested {
                    model: model.clone(),
                    test: *test,
                    tests: tests.clone(),
                })
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// The reads by which threads go on.
    fn readers(&mut self, steps: &[Step], values: &[Option<u64>]) -> Readers {
        // Where a thread last came by a test.
        let mut last: HashMap<(ThreadIndex, [u8; 32], SiteNumber), u64> = HashMap::new();
        let mut readers = Readers::new();
        for (event, (step, value)) in steps.iter().zip(values).enumerate() {
            if step.operation.kind != EventKind::Read {
                continue;
            }
            let Some(tested) = self.test(step.operation.place) else {
                continue;
            };
            let (identity, address) = (tested.model.identity, step.operation.object);
            last.insert((step.thread, identity, tested.test.site), address);
            let opens = value.and_then(|value| tested.test.opens(&tested.model, value));
            if opens != Some(true) || readers.len() >= MOST_READERS {
                continue;
            }
            let all = tested.tests.iter().filter_map(|other| {
                let known = last.get(&(step.thread, identity, other.site)).copied();
                match tested.test.beside(address, other).or(known) {
                    // A pointer that nobody can exchange: its reads are not looked at.
                    None if other.is_pointer() => None,
                    address => Some(address.map(|address| self.variable(address, &tested, other))),
                }
            });
            if let Some(all) = all.collect() {
                readers.insert(event, all);
            }
        }
        readers
    }

    fn variable(&mut self, address: u64, near: &Tested, test: &AwaitTest) -> VariableNumber {
        let key = (address, near.model.identity, test.site);
        *self.numbers.entry(key).or_insert_with(|| {
            let initially = self.atlas.initially(address, test.size);
            let variable = Variable::new(near.model.clone(), *test, address, initially);
            self.variables.push(variable);
            VariableNumber::new(self.variables.len() - 1)
        })
    }

    /// The life of its variables in which each reader has read.
    fn follow(
        &mut self,
        steps: &[Step],
        values: &[Option<u64>],
        readers: &Readers,
    ) -> Vec<(usize, Vec<Life>)> {
        let mut found: Vec<(usize, Vec<(VariableNumber, usize)>)> = Vec::new();
        let by_word = variable::by_word(&self.variables);
        for (event, (step, value)) in steps.iter().zip(values).enumerate() {
            let operation = &step.operation;
            if let Some(variables) = readers.get(&event) {
                let lives = variables.iter();
                let lives = lives.map(|number| (*number, self.variables[number.index()].age()));
                found.push((event, lives.collect()));
            }
            for number in by_word.touched(operation) {
                let variable = &mut self.variables[number.index()];
                match operation.kind {
                    EventKind::Alloc | EventKind::Free => variable.begin_again(),
                    EventKind::Read => variable.is_read(operation, *value),
                    EventKind::Write | EventKind::Update => {
                        let is_fixed = is_fixed(self.atlas, operation.place);
                        variable.is_written(event, operation, *value, is_fixed);
                    }
                    _ => {}
                }
            }
        }
        let lives = |all: Vec<(VariableNumber, usize)>| {
            let all = all.into_iter();
            all.map(|(number, age)| self.variables[number.index()].life(age))
                .collect()
        };
        let found = found.into_iter();
        found.map(|(event, all)| (event, lives(all))).collect()
    }
}

/// Whether a place stores the same value whenever somebody comes by.
fn is_fixed(atlas: &Atlas, place: PlaceNumber) -> bool {
    let Some((model, site)) = atlas.site(place) else {
        return false;
    };
    match model.instruction_of(&model.sites[site]).operation {
        Operation::Store { value, .. } => value.constant().is_some(),
        _ => false,
    }
}
