//! Two things that a program makes when they are first asked for: its logger,
//! which reads the configuration, and its configuration, which logs a warning
//! about an old setting. Both can be cleared while the program runs, to reload
//! the configuration or to rotate the log; whoever asks next makes them again.
//!
//! `reentrant-once [workers] [rounds]`

use std::sync::{Condvar, Mutex};
use std::thread;

enum State<T> {
    Empty,
    Making,
    Ready(T),
}

/// A value that the first one to ask for makes; all others wait for it.
struct OnceCell<T> {
    state: Mutex<State<T>>,
    made: Condvar,
}

impl<T: Copy> OnceCell<T> {
    const fn new() -> OnceCell<T> {
        OnceCell {
            state: Mutex::new(State::Empty),
            made: Condvar::new(),
        }
    }

    fn get_or_make(&self, make: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock().unwrap();
        loop {
            match *state {
                State::Ready(value) => return value,
                State::Making => state = self.made.wait(state).unwrap(), // marker: cell-awaited
                State::Empty => break,
            }
        }
        *state = State::Making;
        drop(state);
        let value = make();
        *self.state.lock().unwrap() = State::Ready(value);
        self.made.notify_all();
        value
    }

    #[cfg(feature = "fixed")]
    fn get(&self) -> Option<T> {
        match *self.state.lock().unwrap() {
            State::Ready(value) => Some(value),
            State::Empty | State::Making => None,
        }
    }

    fn clear(&self) {
        let mut state = self.state.lock().unwrap();
        if matches!(*state, State::Ready(_)) {
            *state = State::Empty; // marker: cell-cleared
        }
    }
}

static CONFIGURATION: OnceCell<usize> = OnceCell::new();
static LOGGER: OnceCell<usize> = OnceCell::new();

fn configuration() -> usize {
    CONFIGURATION.get_or_make(|| {
        warn();
        80
    })
}

fn logger() -> usize {
    LOGGER.get_or_make(|| configuration() + 1) // marker: logger-made
}

/// Says that a setting is old.
#[cfg(not(feature = "fixed"))]
fn warn() {
    logger(); // marker: logger-needed
}

/// Says that a setting is old, if there is a logger to say it to.
#[cfg(feature = "fixed")]
fn warn() {
    LOGGER.get();
}

fn reload() -> usize {
    CONFIGURATION.clear();
    configuration()
}

fn rotate() -> usize {
    LOGGER.clear();
    logger()
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let workers: usize = arguments.next().unwrap_or(2);
    let rounds: usize = arguments.next().unwrap_or(3);

    // The logger first, with a configuration that has nothing to warn about.
    CONFIGURATION.get_or_make(|| 72);
    logger();
    let threads: Vec<_> = (0..workers)
        .map(|number| {
            let task = if number % 2 == 0 { reload } else { rotate };
            thread::spawn(move || (0..rounds).map(|_| task()).sum::<usize>())
        })
        .collect();
    let sum: usize = threads
        .into_iter()
        .map(|worker| worker.join().unwrap())
        .sum();
    println!("{workers} workers, {rounds} rounds, {sum} columns");
}
