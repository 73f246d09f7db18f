//! Measures one switch: two fibers pass control back and forth.
//!
//!     cargo run --release -p bohr-fiber --example switch_time

use bohr_fiber::{Body, Fiber, ParkedThread, StackRegion};
use std::{cell::OnceCell, time::Instant};

const ROUNDS: u32 = 10_000_000;

struct Pair {
    carrier: Fiber,
    other: OnceCell<Fiber>,
}

extern "C-unwind" fn run(pair: usize) {
    // SAFETY: `main` keeps the pair alive.
    let pair = unsafe { &*(pair as *const Pair) };
    loop {
        pair.other.get().unwrap().switch_to(&pair.carrier);
    }
}

extern "C" fn finish(_: usize, _: bool) -> ! {
    unreachable!("the loop does not end")
}

fn main() -> Result<(), bohr_fiber::FiberError> {
    let pair = Pair {
        carrier: Fiber::of_carrier()?,
        other: OnceCell::new(),
    };
    let parked = ParkedThread::new(StackRegion::map(64 << 10)?, libc::pthread_create)?;
    let body = Body {
        run,
        finish,
        argument: &pair as *const Pair as usize,
    };
    let other = pair.other.get_or_init(|| Fiber::new(parked, body));
    let start = Instant::now();
    for _ in 0..ROUNDS {
        pair.carrier.switch_to(other);
    }
    let each = start.elapsed().as_nanos() as f64 / f64::from(2 * ROUNDS);
    println!("{each:.1} ns per switch");
    Ok(())
}
