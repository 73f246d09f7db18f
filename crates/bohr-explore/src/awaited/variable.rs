//! A variable that somebody waits for: what it held in the beginning, and who wrote it,
//! in each of its lives.

use bohr_event::Operation;
use bohr_explain::{Way, Written};
use bohr_program::{AwaitTest, Program};
use cranelift_entity::entity_impl;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the words by which variables are found.
const WORD: u64 = 8;

/// Words of an access beyond which all variables are compared with it.
const MOST_WORDS: u64 = 1 << 10;

/// Writes of a life beyond which nobody waits for one of them.
const MOST_WRITES: usize = 1 << 8;

/// A variable of a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct VariableNumber(u32);
entity_impl!(VariableNumber, "variable");

/// From one allocation of its memory to the next.
#[derive(Clone)]
pub struct Life {
    /// Whether what is there in the beginning lets a thread go on.
    opens: bool,
    writes: Vec<Written>,
}

impl Life {
    /// What a thread can wait for in it; `None` if that is too much.
    pub fn way(&self) -> Option<Way> {
        (self.writes.len() <= MOST_WRITES).then(|| Way {
            initially: self.opens,
            writes: self.writes.as_slice().into(),
        })
    }
}

/// See the module.
pub struct Variable {
    model: Arc<Program>,
    test: AwaitTest,
    address: u64,
    /// Whether anything is known of what the present life began with.
    is_known: bool,
    lives: Vec<Life>,
}

impl Variable {
    /// As a test reads it, which held this when the program was loaded.
    pub fn new(
        model: Arc<Program>,
        test: AwaitTest,
        address: u64,
        initially: Option<u64>,
    ) -> Variable {
        let mut variable = Variable {
            model,
            test,
            address,
            is_known: false,
            lives: Vec::new(),
        };
        variable.lives.push(Life {
            opens: variable.opens(initially),
            writes: Vec::new(),
        });
        variable
    }

    /// Which life it is in.
    pub fn age(&self) -> usize {
        self.lives.len() - 1
    }

    /// One of its lives.
    pub fn life(&self, age: usize) -> Life {
        self.lives[age].clone()
    }

    /// Its memory changes hands.
    pub fn begin_again(&mut self) {
        self.is_known = false;
        self.lives.push(Life {
            opens: self.opens(None),
            writes: Vec::new(),
        });
    }

    /// Somebody reads it: if nobody has written, that is what it began with.
    pub fn is_read(&mut self, by: &Operation, value: Option<u64>) {
        if !std::mem::replace(&mut self.is_known, true) {
            let opens = self.opens(self.part(by, value));
            let age = self.age();
            self.lives[age].opens = opens;
        }
    }

    /// Somebody writes it.
    pub fn is_written(&mut self, event: usize, by: &Operation, value: Option<u64>, is_fixed: bool) {
        self.is_known = true;
        let part = self.part(by, value);
        let written = Written {
            event: u32::try_from(event).unwrap_or(u32::MAX),
            opens: self.opens(part),
            is_fixed: is_fixed && part.is_some() && !self.test.is_pointer(),
        };
        let age = self.age();
        let writes = &mut self.lives[age].writes;
        if writes.len() <= MOST_WRITES {
            writes.push(written);
        }
    }

    /// What is not known may let a thread go on; a pointer by itself never does, but one
    /// that others exchange may lead to what does.
    fn opens(&self, value: Option<u64>) -> bool {
        if self.test.is_pointer() {
            return false;
        }
        let opens = value.and_then(|value| self.test.opens(&self.model, value));
        opens.unwrap_or(true)
    }

    /// What of an access is the variable: several fields may be written at once.
    fn part(&self, by: &Operation, value: Option<u64>) -> Option<u64> {
        let before = self.address.checked_sub(by.object)?;
        let end = before + u64::from(self.test.size);
        let is_inside = end <= u64::from(by.size) && by.size <= u64::BITS / 8;
        value
            .filter(|_| is_inside)
            .map(|value| value >> (8 * before))
    }
}

/// Variables by the words that they lie in.
pub struct ByWord(HashMap<u64, Vec<(VariableNumber, Range<u64>)>>);

/// These, by their words.
pub fn by_word(variables: &[Variable]) -> ByWord {
    let mut words: HashMap<u64, Vec<_>> = HashMap::new();
    for (number, variable) in (0..).zip(variables) {
        let end = variable.address.saturating_add(variable.test.size.into());
        for word in variable.address / WORD..end.div_ceil(WORD) {
            let known = words.entry(word).or_default();
            known.push((VariableNumber::from_u32(number), variable.address..end));
        }
    }
    ByWord(words)
}

impl ByWord {
    /// The variables that an operation on memory touches.
    pub fn touched(&self, operation: &Operation) -> Vec<VariableNumber> {
        let begin = operation.object;
        let end = begin.saturating_add(operation.size.max(1).into());
        let words = begin / WORD..end.div_ceil(WORD);
        let overlap = |one: &&(VariableNumber, Range<u64>)| one.1.start < end && begin < one.1.end;
        let of = |list: &[(VariableNumber, Range<u64>)]| -> Vec<VariableNumber> {
            list.iter().filter(overlap).map(|one| one.0).collect()
        };
        let mut found: Vec<VariableNumber> = match words.end - words.start > MOST_WORDS {
            true => self.0.values().flat_map(|list| of(list)).collect(),
            false => { words.filter_map(|word| self.0.get(&word)) }
                .flat_map(|list| of(list))
                .collect(),
        };
        found.sort_unstable_by_key(|number| number.as_u32());
        found.dedup();
        found
    }
}
