//! What a program wants to happen when something it has asked for is done: a
//! signal, a thread, or nothing. (`struct sigevent`)

use crate::{
    signals::{self, Sent},
    thread::Start,
    threads::{self, Wish},
};
use core::ffi::c_int;

/// The part of `struct sigevent` that is the same everywhere.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What the handler or the thread is given.
    pub value: usize,
    /// Which signal.
    pub signal: c_int,
    /// In which way.
    pub notify: c_int,
    /// What a thread is to run, or the thread that is to get the signal.
    pub function: usize,
}

impl Event {
    /// From the beginning of the whole structure.
    pub fn from_words(words: [u64; 8]) -> Event {
        Event {
            value: words[0] as usize,
            signal: words[1] as u32 as c_int,
            notify: (words[1] >> 32) as c_int,
            function: words[2] as usize,
        }
    }

    /// What a thread is to run.
    pub fn start(&self) -> Start {
        // SAFETY: the program says that it is a function with one argument of the
        // size of a pointer.
        unsafe { core::mem::transmute::<usize, Start>(self.function) }
    }

    /// Lets it happen.
    pub fn tell(&self, code: c_int, place: u64) {
        match self.notify {
            libc::SIGEV_SIGNAL if signals::is_valid(self.signal) => {
                let value = self.value;
                signals::send_to_process(self.signal, Sent { code, value });
            }
            // Where there is no thread for it, it goes by.
            libc::SIGEV_THREAD => drop(threads::create(detached(self.start(), self.value), place)),
            _ => {}
        }
    }
}

/// A thread that nobody joins.
pub fn detached(start: Start, argument: usize) -> Wish {
    Wish {
        detached: true,
        ..Wish::new(start, argument)
    }
}
