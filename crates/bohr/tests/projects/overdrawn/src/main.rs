//! Two threads check an account and then draw from it; both see enough.

use std::sync::Mutex;
use std::thread;

static BALANCE: Mutex<i32> = Mutex::new(10);
static WHOLE: Mutex<()> = Mutex::new(());

fn balance() -> i32 {
    *BALANCE.lock().unwrap()
}

fn draw(wanted: i32) {
    let mut balance = BALANCE.lock().unwrap();
    *balance -= wanted;
    assert!(*balance >= 0, "drawn too much");
}

fn customer() {
    let _guard = cfg!(feature = "fixed").then(|| WHOLE.lock().unwrap());
    if balance() >= 8 {
        draw(8);
    }
}

fn main() {
    let threads = [thread::spawn(customer), thread::spawn(customer)];
    for thread in threads {
        thread.join().unwrap();
    }
}
