//! How long it goes on: until the time is over or somebody wants the end. A search
//! asks between its experiments; a run of the program that is under way then is not
//! waited for, since nothing of it is needed.

use crate::control::interruption;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How much longer than the search a run may take that was begun in time: most
/// runs end, and what they show is worth having.
const GRACE: Duration = Duration::from_millis(200);

/// Whether there is time left and nobody wants the end.
pub fn until(deadline: Instant) -> impl Fn() -> bool {
    move || !interruption().load(Ordering::Relaxed) && Instant::now() < deadline
}

/// How long runs of the program are waited for.
#[derive(Debug, Default)]
pub struct Patience {
    /// Without it there is no such time.
    end: Mutex<Option<Instant>>,
}

impl Patience {
    /// From now on no longer than a search of this time.
    pub fn end_after(&self, time: Duration) {
        let end = Instant::now().checked_add(time + GRACE);
        *self.end.lock().expect("nobody panics with it") = end;
    }

    /// Whether a run is still waited for.
    pub fn lasts(&self) -> bool {
        let end = *self.end.lock().expect("nobody panics with it");
        !interruption().load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end)
    }
}
