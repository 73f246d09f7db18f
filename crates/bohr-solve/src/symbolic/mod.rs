//! Each thread of a recorded run, executed along its way with unknowns for what it
//! read of shared memory (CLAP, section 3).
//!
//! What is shared is found out by looking, not by analysis: an object belongs to the
//! thread that allocated it until a pointer to it is written where others can find
//! it. What it held then is what it held in the beginning. The threads are executed
//! several times; each time knows from the one before which words only one thread
//! touched, which were never written, and which reads can give one value only, or one
//! of a few, whatever the order (`knowledge`). Events that nobody can notice are left out in
//! the end.

mod knowledge;
mod unnoticed;
mod world;

use crate::error::{ExecuteError, explain, whereabouts};
use crate::event::{Action, Condition, Demand, Event, Problem, Spot, Thread as Acting};
use crate::execute::{Code, End, Guide, Halt, Progress, Step, Thread};
use crate::memory::NULL_END;
use crate::path::{Ending, Run};
use crate::term::{Operator, Scalar};
use bohr_program::{IntegerPredicate, Program};
use knowledge::Knowledge;
use std::collections::HashSet;
use world::{Shared, Unknown};

/// How often threads are executed at most.
const PASSES: usize = 12;

/// Executes the threads of a run symbolically. With store buffers, `sees` tells which
/// accesses the runtime sees: some of those that nobody can notice empty the buffer.
///
/// # Errors
/// If code on the way is not modelled, or the run does not fit the program.
pub fn execute(
    program: &Program,
    run: &Run,
    sees: Option<&dyn Fn(Spot) -> bool>,
) -> Result<Problem, ExecuteError> {
    let code = Code::new(program, run.environment.clone());
    // With hope first; without, if writes remain of which nobody knows where they go.
    let mut put_off = None;
    for hopeful in [true, false] {
        let mut knowledge = Knowledge::default();
        let mut lost = HashSet::new();
        for pass in 0..PASSES {
            let (problem, shared) = match Pass::new(&code, run, &knowledge, sees)?.run() {
                // Perhaps one of those writes hits what was taken for known.
                Err(_) if hopeful && pass > 0 => break,
                executed => executed?,
            };
            let mut learnt = knowledge::learn(&problem, &shared, hopeful);
            let settled = learnt.supports(&knowledge) || !hopeful && pass + 1 == PASSES;
            if settled && !(hopeful && learnt.wild) {
                if shared.put_off.is_none() {
                    check_joins(program, &problem, &shared)?;
                    return Ok(unnoticed::without(problem, sees.is_some()));
                }
                put_off = put_off.or(shared.put_off);
                break;
            }
            if settled {
                break;
            }
            learnt.forget(&knowledge, &mut lost);
            knowledge = learnt;
        }
    }
    let (spot, what) = put_off.expect("a last execution either is whole or left something out");
    Err(explain(program, Some(spot), Halt::NotModelled(what)))
}

/// Whoever was waited for has ended.
fn check_joins(
    program: &Program,
    problem: &Problem,
    shared: &Shared<'_>,
) -> Result<(), ExecuteError> {
    let ended = |thread: usize| {
        let last = problem.threads.get(thread).and_then(|it| it.events.last());
        last.is_some_and(|event| event.action == Action::Exit)
    };
    for (id, event) in problem.events() {
        if let Action::Join(child) = event.action
            && id.event < problem.threads[id.thread].certain
            && !ended(child)
        {
            let path = shared.path_of(child);
            let what = format!("thread {path} was waited for, but the log does not tell its end");
            return Err(explain(program, Some(event.spot), Halt::OffPath(what)));
        }
    }
    Ok(())
}

/// One execution of all threads.
struct Pass<'p, 'k> {
    code: &'p Code<'p>,
    run: &'k Run,
    shared: Shared<'k>,
    threads: Vec<Acting>,
    instructions: u64,
    branches: u64,
}

impl<'p, 'k> Pass<'p, 'k> {
    fn new(
        code: &'p Code<'p>,
        run: &'k Run,
        knowledge: &'k Knowledge,
        sees: Option<&'k dyn Fn(Spot) -> bool>,
    ) -> Result<Pass<'p, 'k>, ExecuteError> {
        let memory = code
            .memory()
            .map_err(|halt| explain(code.program, None, halt))?;
        Ok(Pass {
            code,
            run,
            shared: Shared::new(run, memory, code.constants().collect(), knowledge, sees),
            threads: Vec::new(),
            instructions: 0,
            branches: 0,
        })
    }

    fn run(mut self) -> Result<(Problem, Shared<'k>), ExecuteError> {
        for number in 0..self.run.threads.len() {
            let acting = self.thread(number)?;
            self.threads.push(acting);
        }
        self.mark_parents_certain();
        let mut initial = self.shared.initial.clone();
        let sliced = initial.slice(&mut self.shared.terms);
        sliced.map_err(|halt| explain(self.code.program, None, halt))?;
        let problem = Problem {
            threads: self.threads,
            terms: std::mem::take(&mut self.shared.terms),
            initial,
            semaphores: self.shared.semaphores.clone(),
            sequence: Vec::new(),
            steps_alone: self.shared.steps_alone,
            failed: self.run.failed,
            instructions: self.instructions,
            branches: self.branches,
        };
        Ok((problem, self.shared))
    }

    /// A thread that went its way was created.
    fn mark_parents_certain(&mut self) {
        for acting in &mut self.threads {
            let created = |event: &Event| match event.action {
                Action::Fork(child) => self
                    .run
                    .threads
                    .get(child)
                    .is_some_and(|way| !way.steps.is_empty()),
                _ => false,
            };
            let last = acting.events.iter().rposition(created);
            acting.certain = acting.certain.max(last.map_or(0, |last| last + 1));
        }
    }

    fn thread(&mut self, number: usize) -> Result<Acting, ExecuteError> {
        let way = &self.run.threads[number];
        let program = self.code.program;
        let ahead = match number {
            0 => program
                .functions_named("main")
                .next()
                .map(|main| (main, Vec::new())),
            _ => self.shared.routine_of(number),
        };
        let guide = Guide::Follow {
            steps: way.steps.clone(),
            taken: 0,
        };
        let ahead = ahead.into_iter().collect();
        let mut thread = Thread::new(self.code, number, guide, way.inputs.clone(), ahead);
        let mut world = Unknown::new(&mut self.shared, number);
        let prepared = match number {
            0 => thread.prepare(&mut world.memory, Some(&self.run.arguments)),
            _ => thread.prepare(&mut world.memory, None),
        };
        prepared.map_err(|halt| explain(program, None, halt))?;
        world.own_everything(number);
        let end = follow(&mut thread, &mut world, way.certain);
        let end = match end {
            Err(Halt::Fault(_)) if self.run.failed == number => Ok(Fate::Fault),
            Err(halt) => Err(explain(program, Some(thread.spot()), halt)),
            Ok(fate) => Ok(fate),
        }?;
        self.instructions += thread.steps;
        self.branches += thread.branches;
        let spot = thread.spot();
        let result = thread.result;
        let mut acting = world.finish_thread(way.thread.clone());
        if number == self.run.failed {
            self.fail(&mut acting, &end, spot, result)?;
        } else if matches!(end, Fate::End(End::Returned)) {
            acting.events.push(Event {
                action: Action::Exit,
                spot,
                visit: 1,
            });
            acting.certain = acting.events.len();
        }
        self.shared.results.insert(number, result);
        Ok(acting)
    }

    /// Puts the failure at the end of the thread that failed.
    fn fail(
        &mut self,
        acting: &mut Acting,
        fate: &Fate,
        spot: Spot,
        result: Scalar,
    ) -> Result<(), ExecuteError> {
        let program = self.code.program;
        let returned = (self.run.failed == 0).then_some(result);
        let code = match fate {
            Fate::End(End::Exited(code)) => Some(*code),
            Fate::End(End::Returned) => returned,
            _ => None,
        };
        let told = |halt| explain(program, Some(spot), halt);
        match (self.run.ending, fate, code) {
            (Ending::Aborted, Fate::End(End::Aborted), _) | (Ending::Crashed, Fate::Fault, _) => {}
            (Ending::Exited(expected), _, Some(code)) => {
                let holds = self.same_code(code, expected).map_err(told)?;
                acting
                    .conditions
                    .push(bug(holds, acting.events.len(), spot));
            }
            (Ending::Crashed, ..) if self.shared.suspect.is_some() => {
                let suspect = self.shared.suspect.take().expect("just seen");
                let below = Operator::CompareIntegers(IntegerPredicate::UnsignedLess, 64);
                let limit = Scalar::from(NULL_END);
                let holds = self.shared.terms.compute(below, &[suspect.address, limit]);
                let holds = holds.map_err(|error| told(error.into()))?;
                acting.events.truncate(suspect.events);
                acting
                    .conditions
                    .retain(|condition| condition.after <= suspect.events);
                acting
                    .conditions
                    .push(bug(holds, suspect.events, suspect.spot));
            }
            _ => {
                return Err(ExecuteError::NoFailure {
                    thread: acting.path.to_string(),
                    at: whereabouts(program, spot),
                });
            }
        }
        acting.events.push(Event {
            action: Action::Fail,
            spot,
            visit: 1,
        });
        acting.certain = acting.events.len();
        Ok(())
    }

    fn same_code(&mut self, code: Scalar, expected: i32) -> Step<Scalar> {
        let terms = &mut self.shared.terms;
        let low = terms.compute(Operator::Slice { shift: 0, bits: 8 }, &[code])?;
        let equal = Operator::CompareIntegers(IntegerPredicate::Equal, 8);
        let expected = Scalar::Known(u128::from(expected as u8));
        Ok(terms.compute(equal, &[low, expected])?)
    }
}

fn bug(holds: Scalar, after: usize, spot: Spot) -> Condition {
    Condition {
        holds,
        after,
        spot,
        demand: Demand::Bug,
    }
}

/// What became of a thread.
enum Fate {
    End(End),
    Fault,
}

/// Goes a thread's way to its end.
fn follow(thread: &mut Thread<'_>, world: &mut Unknown<'_, '_>, certain: usize) -> Step<Fate> {
    loop {
        if thread.guide.taken() >= certain && world.certain.is_none() {
            world.certain = Some(world.events.len());
        }
        match thread.step(world)? {
            Progress::On => {}
            Progress::Blocked => return Ok(Fate::End(End::Unknown)),
            Progress::Over(end) => return Ok(Fate::End(end)),
        }
    }
}
