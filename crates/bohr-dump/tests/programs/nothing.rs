//! A null pointer, with enums and a second thread.

use std::time::Duration;

#[derive(Debug)]
enum Shape {
    Circle(f64),
    Square { side: u32 },
}

#[inline(never)]
fn crash(boxed: Option<Box<u32>>, shape: &Shape) {
    let pointer = boxed.as_ref().map_or(std::ptr::null(), |number| &raw const **number);
    // SAFETY: none: this is the crash.
    let number = unsafe { *pointer };
    println!("{number} {shape:?}");
}

fn main() {
    let square = Shape::Square { side: 7 };
    let circle = Shape::Circle(1.5);
    let thread = std::thread::spawn(|| std::thread::sleep(Duration::from_secs(100)));
    std::thread::sleep(Duration::from_millis(50));
    crash(None, &square);
    crash(Some(Box::new(1)), &circle);
    thread.join().expect("it ends");
}
