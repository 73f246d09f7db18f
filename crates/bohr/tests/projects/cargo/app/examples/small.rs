//! An example, built as a program of its own.

fn main() {
    println!("example {}", shape::sides());
}
