//! The way of a thread in the words that it would have written itself: for runs
//! whose threads did not write, since they were controlled.

use crate::decode::stops::{Stop, Stops};
use crate::{CodeWriter, Step};
use bohr_program::paths::{Calling, ENTERED, MARK_BITS, Paths, RETURNED, RETURNED_BITS};
use bohr_program::{BlockNumber, FunctionNumber, Program};
use cranelift_entity::SecondaryMap;
use std::rc::Rc;

/// A function that has not ended, and the stop that it is at.
struct Active {
    stops: Rc<Stops>,
    at: u32,
}

struct Encoder<'p> {
    program: &'p Program,
    paths: Paths,
    prepared: SecondaryMap<FunctionNumber, Option<Rc<Stops>>>,
    stack: Vec<Active>,
    code: CodeWriter,
}

/// The words of a thread that made these steps; nothing, if they do not fit the
/// program or code outside called back or threw exceptions.
#[must_use]
pub fn encode(program: &Program, steps: &[Step]) -> Option<Vec<u64>> {
    let mut encoder = Encoder {
        program,
        paths: Paths::of(program),
        prepared: SecondaryMap::new(),
        stack: Vec::new(),
        code: CodeWriter::default(),
    };
    steps.iter().try_for_each(|step| encoder.step(*step))?;
    Some(encoder.code.words())
}

impl Encoder<'_> {
    fn push(&mut self, value: u64, bits: u32) {
        self.code.reserve(bits);
        self.code.push(value, bits);
    }

    fn step(&mut self, step: Step) -> Option<()> {
        while let Some(active) = self.stack.last_mut() {
            let stops = Rc::clone(&active.stops);
            match (&stops.at(active.at).1, step) {
                (Stop::Call(Calling::Named(called)), Step::Enter(entered)) => {
                    return (*called == entered).then(|| self.enter(entered, true));
                }
                (Stop::Call(Calling::Named(_)), _) => return None,
                (Stop::Call(_), _) => {
                    active.at += 1;
                    self.push(RETURNED, RETURNED_BITS);
                }
                (Stop::Return, Step::Return) => {
                    self.leave();
                    return Some(());
                }
                (Stop::Choice { choice, bits }, Step::Block(block)) => {
                    let mut targets = choice.targets.iter();
                    let taken = targets.position(|target| *target == block)?;
                    active.at = stops.first(block);
                    if *bits > 0 {
                        self.push(taken as u64, *bits);
                    }
                    return Some(());
                }
                _ => return None,
            }
        }
        match step {
            Step::Enter(function) => {
                self.enter(function, false);
                Some(())
            }
            _ => None,
        }
    }

    /// Enters a function, by its name or otherwise.
    fn enter(&mut self, function: FunctionNumber, named: bool) {
        let announced = match named {
            true => self.paths.announces_itself(function),
            false => self.paths.announces(function),
        };
        if announced {
            let bits = self.paths.function_bits();
            self.push(ENTERED, MARK_BITS);
            self.push(u64::from(function.as_u32()), bits);
        }
        let (program, paths) = (self.program, &self.paths);
        let prepared = &mut self.prepared[function];
        let stops = prepared.get_or_insert_with(|| {
            let body = program.functions[function].body.as_ref();
            let body = body.expect("only functions with bodies are entered");
            Rc::new(Stops::of(program, paths, body))
        });
        self.stack.push(Active {
            stops: Rc::clone(stops),
            at: stops.first(BlockNumber::from_u32(0)),
        });
    }

    /// The innermost function returns; a call of it by name is over.
    fn leave(&mut self) {
        self.stack.pop();
        if let Some(caller) = self.stack.last_mut()
            && matches!(caller.stops.at(caller.at).1, Stop::Call(Calling::Named(_)))
        {
            caller.at += 1;
        }
    }
}
