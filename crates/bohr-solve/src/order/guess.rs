//! Where the search begins: the order that comes about if a thread goes on as long as
//! it can, and who reads what in it. Most of a failing order is like that, so the
//! solver first decides everything as it is there and repairs what does not fit.

use super::encode::Choices;
use crate::check::{Execution, Refusal, Turn};
use crate::event::{EventId, Problem};
use crate::model::{Chains, NodeNumber};
use bohr_event::MemoryModel;
use std::collections::HashMap;

/// An order, whether or not the threads would go their ways in it.
#[derive(Default)]
pub(crate) struct Guess {
    /// When each node comes.
    moments: HashMap<NodeNumber, usize>,
    /// By choice: the write that it finds, `None` being what was there.
    found: HashMap<usize, Option<usize>>,
}

impl Guess {
    pub(crate) fn of(
        problem: &Problem,
        model: MemoryModel,
        chains: &Chains,
        choices: &Choices,
    ) -> Guess {
        let mut current = 0;
        Guess::along(problem, model, chains, choices, &mut |execution| {
            next(execution, &mut current)
        })
    }

    /// The same along an order of the caller's.
    pub(crate) fn along(
        problem: &Problem,
        model: MemoryModel,
        chains: &Chains,
        choices: &Choices,
        next: &mut dyn FnMut(&Execution<'_>) -> Option<Turn>,
    ) -> Guess {
        let mut guess = Guess::default();
        let mut writing = Writing::of(choices);
        let mut execution = Execution::new(problem, model, &chains.stores);
        while let Some(turn) = next(&execution) {
            if let Turn::Event(id) = turn {
                guess.read(&mut execution, choices, &writing, id);
            }
            // Whoever leaves its way goes on all the same; what cannot be computed ends it.
            let (Turn::Event(id) | Turn::Commit(id)) = turn;
            let before = execution.next(id.thread);
            let stepped = execution.step(turn);
            let stuck = execution.next(id.thread) == before;
            if matches!(turn, Turn::Event(_)) && stepped.is_err() && stuck {
                break;
            }
            if let Err(Refusal::NotNext(_) | Refusal::Blocked(_)) = stepped {
                break;
            }
            let node = match turn {
                Turn::Event(id) => chains.event(id),
                Turn::Commit(id) => chains.visible(id),
            };
            let moment = guess.moments.len();
            guess.moments.insert(node, moment);
            let waits = chains.stores.contains_key(&id) && matches!(turn, Turn::Event(_));
            if !waits {
                writing.write(&mut execution, choices, id);
            }
        }
        guess
    }

    fn read(
        &mut self,
        execution: &mut Execution<'_>,
        choices: &Choices,
        writing: &Writing,
        id: EventId,
    ) {
        for number in writing.choices_of.get(&id).into_iter().flatten() {
            let choice = &choices.choices[*number];
            let Some(address) = execution.address(choice.address, id) else {
                continue;
            };
            let at = address + u64::from(choice.offset);
            self.found.insert(*number, writing.memory.get(&at).copied());
        }
    }

    /// What a choice finds here, if it comes to that.
    pub(crate) fn found(&self, choice: usize) -> Option<Option<usize>> {
        self.found.get(&choice).copied()
    }

    /// Whether one node comes before another here.
    pub(crate) fn is_before(&self, first: NodeNumber, second: NodeNumber) -> bool {
        match (self.moments.get(&first), self.moments.get(&second)) {
            (Some(first), Some(second)) => first < second,
            (first, _) => first.is_some(),
        }
    }
}

/// Stores leave their buffer at once; then the same thread goes on, or the first that can.
fn next(execution: &Execution<'_>, current: &mut usize) -> Option<Turn> {
    let threads = 0..execution.threads();
    if let Some(store) = threads
        .clone()
        .find_map(|thread| execution.commits(thread).pop())
    {
        return Some(Turn::Commit(store));
    }
    let able = |thread: &usize| execution.is_ready(*thread);
    *current = std::iter::once(*current).chain(threads).find(able)?;
    execution.next(*current).map(Turn::Event)
}

/// Who wrote what last, and who reads and writes when.
struct Writing {
    memory: HashMap<u64, usize>,
    writes_of: HashMap<EventId, Vec<usize>>,
    choices_of: HashMap<EventId, Vec<usize>>,
}

impl Writing {
    fn of(choices: &Choices) -> Writing {
        let mut writing = Writing {
            memory: HashMap::new(),
            writes_of: HashMap::new(),
            choices_of: HashMap::new(),
        };
        for (number, write) in choices.writes.iter().enumerate() {
            writing.writes_of.entry(write.id).or_default().push(number);
        }
        for (number, choice) in choices.choices.iter().enumerate() {
            writing
                .choices_of
                .entry(choice.id)
                .or_default()
                .push(number);
        }
        writing
    }

    fn write(&mut self, execution: &mut Execution<'_>, choices: &Choices, id: EventId) {
        for number in self.writes_of.get(&id).into_iter().flatten() {
            let write = &choices.writes[*number];
            if let Some(address) = execution.address(write.address, id) {
                let bytes = address..address + u64::from(write.size);
                self.memory.extend(bytes.map(|at| (at, *number)));
            }
        }
    }
}
