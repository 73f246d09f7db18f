//! What threads get from outside because they got it in a recorded run: in the order
//! in which each of them asked, as long as it asks for the same. Who asks for
//! something else is on another way, and gets what every run gets.

use crate::{carrier::CarrierOnly, engine::ENGINE};
use alloc::{collections::VecDeque, vec::Vec};
use bohr_event::ThreadPath;
use bohr_event::inputs::{Input, ThreadInputs};
use core::cell::RefCell;

struct Given {
    thread: ThreadPath,
    inputs: VecDeque<Input>,
}

static GIVEN: CarrierOnly<RefCell<Vec<Given>>> = CarrierOnly::new(RefCell::new(Vec::new()));

/// Sets it for this run.
pub fn begin(given: Vec<ThreadInputs>) {
    let threads = given.into_iter().map(|one| Given {
        thread: one.thread,
        inputs: one.inputs.into(),
    });
    *GIVEN.borrow_mut() = threads.collect();
}

/// The next answer to the running thread, if it is one that `wanted` makes something of.
fn next<T>(wanted: impl FnOnce(&Input) -> Option<T>) -> Option<T> {
    let mut given = GIVEN.borrow_mut();
    if given.is_empty() {
        return None;
    }
    let path = &ENGINE.current().path;
    let own = given.iter_mut().find(|one| one.thread == *path)?;
    let answer = own.inputs.front().and_then(wanted);
    match answer {
        Some(_) => drop(own.inputs.pop_front()),
        None => own.inputs.clear(),
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
