//! Traits, collections, formatting and a caught panic, with std's own code.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

trait Shape {
    fn area(&self) -> f64;
    fn name(&self) -> String;
}

struct Square(f64);
struct Circle(f64);

impl Shape for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
    fn name(&self) -> String {
        "square".into()
    }
}

impl Shape for Circle {
    fn area(&self) -> f64 {
        3.25 * self.0 * self.0
    }
    fn name(&self) -> String {
        format!("circle of {}", self.0)
    }
}

struct Loud(&'static str);

impl Drop for Loud {
    fn drop(&mut self) {
        println!("drop {}", self.0);
    }
}

fn show<T: Display>(value: T) -> String {
    format!("<{value:>8}>")
}

fn main() {
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(1.5)), Box::new(Circle(2.0))];
    for shape in &shapes {
        println!("{} {:.3}", shape.name(), shape.area());
    }
    let mut words = BTreeMap::new();
    for word in "the quick brown fox jumps over the lazy dog the end".split(' ') {
        *words.entry(word).or_insert(0u32) += 1;
    }
    println!("{words:?}");
    let caught = std::panic::catch_unwind(|| {
        let _loud = Loud("inner");
        let empty: Vec<i32> = Vec::new();
        empty[words.len()]
    });
    println!("{}", caught.is_err());
    println!("{} {}", show(i64::MIN), show(1e21f64));
    let product: u64 = (1..=20u64).product();
    println!("{product} {:?} {:x?}", "é\u{1F600}\n", [255u8, 16]);
    let mut squares: HashMap<u64, u64> = (0..100).map(|n| (n, n * n)).collect();
    squares.retain(|n, _| n % 7 == 0);
    println!("{}", squares.values().sum::<u64>());
    std::process::exit(9);
}
