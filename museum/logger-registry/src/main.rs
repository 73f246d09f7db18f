//! A logging library. A registry knows all loggers; each logger knows its
//! level. Resetting the registry sets every logger back to the default level;
//! a logger that changes its level tells the registry which one is the lowest
//! now, so that cheap calls can be cut off early.
//!
//! `logger-registry [threads] [changes per thread]`

use std::sync::{Arc, Mutex};
use std::thread;

const DEFAULT_LEVEL: usize = 3;

struct Registry {
    lowest: Mutex<usize>,
    loggers: Vec<Mutex<usize>>,
}

impl Registry {
    fn set_level(&self, logger: usize, level: usize) {
        let mut own = self.loggers[logger].lock().unwrap(); // marker: logger-first
        *own = level;
        #[cfg(feature = "fixed")]
        drop(own);
        let mut lowest = self.lowest.lock().unwrap(); // marker: registry-second
        *lowest = level.min(*lowest);
    }

    fn reset(&self) {
        let mut lowest = self.lowest.lock().unwrap(); // marker: registry-first
        for logger in &self.loggers {
            *logger.lock().unwrap() = DEFAULT_LEVEL; // marker: logger-second
        }
        *lowest = DEFAULT_LEVEL;
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let users: usize = arguments.next().unwrap_or(2);
    let changes: usize = arguments.next().unwrap_or(10);

    let registry = Arc::new(Registry {
        lowest: Mutex::new(DEFAULT_LEVEL),
        loggers: (0..users).map(|_| Mutex::new(DEFAULT_LEVEL)).collect(),
    });
    let mut threads: Vec<_> = (0..users)
        .map(|logger| {
            let registry = registry.clone();
            thread::spawn(move || {
                (0..changes).for_each(|change| registry.set_level(logger, change % 5))
            })
        })
        .collect();
    let resetter = registry.clone();
    threads.push(thread::spawn(move || resetter.reset()));
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    registry.reset();
    println!(
        "{users} loggers at level {}",
        registry.lowest.lock().unwrap()
    );
}
