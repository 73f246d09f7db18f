//! An event that threads can wait for, made of a flag, a list of waiting
//! threads and the standard library's `park`. A loader sets it when the data
//! are there; readers wait for it.
//!
//! `park-event [readers] [loads]`

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};

/// One thread in the queue, and whether it has been called.
struct Waiter {
    thread: Thread,
    called: Arc<AtomicBool>,
}

#[derive(Default)]
struct Event {
    is_set: AtomicBool,
    waiters: Mutex<Vec<Waiter>>,
}

impl Event {
    fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        let waiters = std::mem::take(&mut *self.waiters.lock().unwrap()); // marker: waiters-called
        for waiter in waiters {
            waiter.called.store(true, Ordering::SeqCst);
            waiter.thread.unpark();
        }
    }

    fn wait(&self) {
        let set = self.is_set.load(Ordering::SeqCst); // marker: event-checked
        if set {
            return;
        }
        let called = Arc::new(AtomicBool::new(false));
        let mut waiters = self.waiters.lock().unwrap();
        #[cfg(feature = "fixed")]
        if self.is_set.load(Ordering::SeqCst) {
            return;
        }
        let (thread, flag) = (thread::current(), called.clone());
        waiters.push(Waiter {
            thread,
            called: flag,
        }); // marker: waiter-queued
        drop(waiters);
        while !called.load(Ordering::SeqCst) {
            thread::park(); // marker: waiter-parked
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let readers: usize = arguments.next().unwrap_or(2);
    let loads: usize = arguments.next().unwrap_or(3);

    let events: Arc<Vec<Event>> = Arc::new((0..loads).map(|_| Event::default()).collect());
    let waiting: Vec<_> = (0..readers)
        .map(|_| {
            let events = events.clone();
            thread::spawn(move || events.iter().for_each(Event::wait))
        })
        .collect();
    let loader = {
        let events = events.clone();
        thread::spawn(move || events.iter().for_each(Event::set))
    };
    loader.join().unwrap();
    waiting
        .into_iter()
        .for_each(|reader| reader.join().unwrap());
    println!("{readers} readers saw {loads} loads");
}
