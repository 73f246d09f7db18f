//! Measures a visit to a breakpoint that is asleep, and how soon a thread that is
//! held up goes on when its partner has come.
//!
//!     cargo run --release -p bohr-break --features armed --example visit_time

use bohr_break::Breakpoint;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const VISITS: u32 = 100_000_000;
const MEETINGS: usize = 500;

static ASLEEP: Breakpoint = Breakpoint::conflict("asleep");
static AWAKE: Breakpoint = Breakpoint::conflict("awake").pause(Duration::from_secs(10));
static ARRIVED: Mutex<Option<Instant>> = Mutex::new(None);

fn main() {
    bohr_break::disarm();
    let loops = |visit: fn()| {
        let begun = processor_time();
        for _ in 0..VISITS {
            visit();
        }
        (processor_time() - begun) / f64::from(VISITS)
    };
    let empty = loops(|| {
        black_box(0);
    });
    let visited = loops(|| {
        let _turn = ASLEEP.first(black_box(&ASLEEP));
        black_box(0);
    });
    println!(
        "{:.2} ns per visit that is asleep",
        (visited - empty).max(0.0)
    );
    bohr_break::arm();
    let mut times: Vec<Duration> = (0..MEETINGS).map(|_| meeting()).collect();
    times.sort_unstable();
    let median = times[MEETINGS / 2].as_secs_f64() * 1e6;
    println!("{median:.1} µs from the partner's arrival to the thread that was held up");
}

/// Nanoseconds that this thread has spent on a processor: what others do meanwhile
/// does not count.
fn processor_time() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let time = told.split(' ').next().and_then(|word| word.parse().ok());
    time.expect("Linux tells the processor time of a thread")
}

/// The first side is held up; the second comes while it sleeps.
fn meeting() -> Duration {
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let _turn = AWAKE.first(&AWAKE);
            Instant::now()
        });
        std::thread::sleep(Duration::from_millis(1));
        *ARRIVED.lock().expect("no panic") = Some(Instant::now());
        drop(AWAKE.second(&AWAKE));
        let woken = first.join().expect("no panic");
        let arrived = ARRIVED.lock().expect("no panic");
        arrived.map_or(Duration::ZERO, |arrived| {
            woken.saturating_duration_since(arrived)
        })
    })
}
