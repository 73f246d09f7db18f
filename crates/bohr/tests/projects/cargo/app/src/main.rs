//! A program with a C part and a derived trait.

use shape::Named;
use std::sync::{Arc, Mutex};

#[derive(Named)]
struct Rectangle;

unsafe extern "C" {
    safe fn area(width: i32, height: i32) -> i32;
}

fn main() {
    let sum = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let sum = Arc::clone(&sum);
            std::thread::spawn(move || *sum.lock().unwrap() += area(3, 7))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    println!("{} {}", Rectangle.name(), sum.lock().unwrap());
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_c_part_is_called() {
        assert_eq!(super::area(2, 3), 6);
    }
}
