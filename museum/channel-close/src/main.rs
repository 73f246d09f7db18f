//! A channel by hand: a queue under a mutex, a condition for receivers, and a
//! flag that says that no more will come.
//!
//! `channel-close [receivers] [messages]`

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

#[derive(Default)]
struct Channel {
    queue: Mutex<VecDeque<usize>>,
    arrived: Condvar,
    closed: AtomicBool,
}

impl Channel {
    fn send(&self, message: usize) {
        self.queue.lock().unwrap().push_back(message);
        self.arrived.notify_one();
    }

    fn close(&self) {
        #[cfg(feature = "fixed")]
        let _queue = self.queue.lock().unwrap();
        self.closed.store(true, Ordering::SeqCst);
        self.arrived.notify_all(); // marker: receivers-notified
    }

    /// The next message, or nothing once the channel is closed and empty.
    fn receive(&self) -> Option<usize> {
        let mut queue = self.queue.lock().unwrap();
        loop {
            if let Some(message) = queue.pop_front() {
                return Some(message);
            }
            let closed = self.closed.load(Ordering::SeqCst); // marker: closed-checked
            if closed {
                return None;
            }
            queue = self.arrived.wait(queue).unwrap(); // marker: receiver-waits
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().unwrap());
    let receivers: usize = arguments.next().unwrap_or(2);
    let messages: usize = arguments.next().unwrap_or(5);

    let channel = Arc::new(Channel::default());
    let sender = {
        let channel = channel.clone();
        thread::spawn(move || {
            (0..messages).for_each(|message| channel.send(message));
            channel.close();
        })
    };
    let threads: Vec<_> = (0..receivers)
        .map(|_| {
            let channel = channel.clone();
            thread::spawn(move || std::iter::from_fn(|| channel.receive()).count())
        })
        .collect();
    sender.join().unwrap();
    let received: usize = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum();
    println!("{received} of {messages} messages received");
}
