//! Two threads send to main, which takes what comes first for the configuration.

use std::sync::mpsc;
use std::thread;

fn main() {
    let (sender, receiver) = mpsc::channel();
    let other = sender.clone();
    let first = thread::spawn(move || {
        sender.send(("config", 1)).unwrap();
    });
    let second = thread::spawn(move || {
        other.send(("data", 2)).unwrap();
    });
    let (kind, _) = receiver.recv().unwrap();
    assert_eq!(kind, "config");
    first.join().unwrap();
    second.join().unwrap();
}
