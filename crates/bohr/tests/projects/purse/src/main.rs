//! Two threads take from one purse.

use purse::Purse;
use std::sync::Arc;
use std::thread;

const ROUNDS: usize = 3;

fn main() {
    let purse = Arc::new(Purse::with(1));
    let threads = [(); 2].map(|()| {
        let purse = purse.clone();
        thread::spawn(move || {
            for _ in 0..ROUNDS {
                purse.take(1);
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    let left = purse.left();
    println!("{left} left"); // marker: left
}
