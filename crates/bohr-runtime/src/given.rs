//! What threads get from outside because they got it in a recorded run: in the order
//! in which each of them asked, as long as it asks for the same. Who asks for
//! something else is on another way, and gets what every run gets.

use crate::{carrier::CarrierOnly, engine::ENGINE};
use alloc::{collections::VecDeque, vec::Vec};
use bohr_event::ThreadPath;
use bohr_event::inputs::{Answer, Input, Question, ThreadInputs};
use core::{
    cell::RefCell,
    sync::atomic::{AtomicBool, Ordering},
};

struct Given {
    thread: ThreadPath,
    inputs: VecDeque<Input>,
}

static GIVEN: CarrierOnly<RefCell<Vec<Given>>> = CarrierOnly::new(RefCell::new(Vec::new()));

/// Whether anything is given in this run. In no other is anything of the sort looked at.
#[unsafe(link_section = "bohr_hot")]
pub static ANY: AtomicBool = AtomicBool::new(false);

/// Sets it for this run.
pub fn begin(given: Vec<ThreadInputs>) {
    ANY.store(!given.is_empty(), Ordering::Relaxed);
    let threads = given.into_iter().map(|one| Given {
        thread: one.thread,
        inputs: one.inputs.into(),
    });
    *GIVEN.borrow_mut() = threads.collect();
}

/// Whether anything is.
#[inline]
pub fn is_any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// The next answer to the running thread, if it is one that `wanted` makes something of.
fn next<T>(wanted: impl FnOnce(&Input) -> Option<T>) -> Option<T> {
    take(wanted, true)
}

fn take<T>(wanted: impl FnOnce(&Input) -> Option<T>, or_none_at_all: bool) -> Option<T> {
    let mut given = GIVEN.borrow_mut();
    if given.is_empty() {
        return None;
    }
    let path = &ENGINE.current().path;
    let own = given.iter_mut().find(|one| one.thread == *path)?;
    let answer = own.inputs.front().and_then(wanted);
    match answer {
        Some(_) => drop(own.inputs.pop_front()),
        None if or_none_at_all => own.inputs.clear(),
        None => {}
    }
    answer
}

/// What a clock shows, in nanoseconds.
pub fn time() -> Option<u64> {
    next(|input| match input {
        Input::Time(nanoseconds) => Some(*nanoseconds),
        _ => None,
    })
}

/// A random number.
pub fn number() -> Option<u64> {
    next(|input| match input {
        Input::Number(number) => Some(*number),
        _ => None,
    })
}

/// So many random bytes.
pub fn random(length: usize) -> Option<Vec<u8>> {
    next(|input| match input {
        Input::Random(bytes) if bytes.len() == length => Some(bytes.clone()),
        _ => None,
    })
}

/// What the system answered, if it was asked this and the answer fits.
pub fn answer(question: Question, fits: impl FnOnce(&Answer) -> bool) -> Option<Answer> {
    next(|input| as_asked(input, question).filter(|answer| fits(answer)))
}

/// Whether the running thread will ask this before it asks that.
pub fn comes(question: Question, before: Question) -> bool {
    let given = GIVEN.borrow();
    let path = &ENGINE.current().path;
    let own = given.iter().find(|one| one.thread == *path);
    let mut questions = own.into_iter().flat_map(|own| &own.inputs);
    let next = questions.find_map(|input| match input {
        Input::Answer(answer) if [question, before].contains(&answer.question) => {
            Some(answer.question)
        }
        _ => None,
    });
    next == Some(question)
}

/// As [`answer`], of a thread that may as well not have got an answer from outside here.
pub fn answer_if_any(question: Question) -> Option<Answer> {
    take(|input| as_asked(input, question), false)
}

fn as_asked(input: &Input, question: Question) -> Option<Answer> {
    match input {
        Input::Answer(answer) if answer.question == question => Some(answer.clone()),
        _ => None,
    }
}
