//! What is found on the way is written down at once, so that whoever ends bohr,
//! however, loses nothing that took long to find.

use crate::outcome::Failure;
use bohr_event::{PlaceNumber, Schedule};
use bohr_explore::bug_file::{self, Bug};
use bohr_explore::{Atlas, ExploreError, write_whole};
use bohr_reduce::{Cost, Failing};
use std::path::Path;
use std::time::{Duration, Instant};

/// How much longer than the last writing took nothing is written again: long
/// schedules that improve often are not written all the time.
const PAUSE: u32 = 9;

/// Keeps the best schedule so far in a file.
pub struct Keeper<'k> {
    bug: &'k Bug,
    path: &'k Path,
    turn: Turn,
}

/// What is to be written, and when.
struct Turn {
    /// What the file holds, or is about to, costs this.
    least: Cost,
    /// The best that was seen and is not written yet.
    waiting: Option<Failing>,
    /// Nothing is written before.
    next: Instant,
}

impl<'k> Keeper<'k> {
    /// The file holds, or need not hold, what costs this.
    pub fn new(bug: &'k Bug, path: &'k Path, least: Cost) -> Keeper<'k> {
        Keeper {
            bug,
            path,
            turn: Turn {
                least,
                waiting: None,
                next: Instant::now(),
            },
        }
    }

    /// Takes a schedule if it is better than what the file holds; it is written now
    /// or soon.
    pub fn see(&mut self, failing: &Failing, atlas: &Atlas) -> Result<(), Failure> {
        self.turn.see(failing);
        self.catch_up(atlas)
    }

    /// Writes what has waited long enough.
    pub fn catch_up(&mut self, atlas: &Atlas) -> Result<(), Failure> {
        let begun = Instant::now();
        if let Some(failing) = self.turn.due(begun) {
            write(self.bug, &failing.schedule, atlas, self.path)?;
            self.turn.written(begun, begun.elapsed());
        }
        Ok(())
    }
}

impl Turn {
    fn see(&mut self, failing: &Failing) {
        if failing.cost < self.least {
            self.least = failing.cost;
            self.waiting = Some(failing.clone());
        }
    }

    /// What is to be written now.
    fn due(&mut self, now: Instant) -> Option<Failing> {
        self.waiting.take_if(|_| now >= self.next)
    }

    fn written(&mut self, begun: Instant, took: Duration) {
        self.next = begun + PAUSE * took.max(Duration::from_micros(1));
    }
}

/// Writes the bug with this schedule as its simplest.
pub fn write(
    bug: &Bug,
    schedule: &Schedule<PlaceNumber>,
    atlas: &Atlas,
    path: &Path,
) -> Result<(), Failure> {
    let bug = Bug {
        simplified: Some(atlas.outward(schedule)),
        ..bug.clone()
    };
    let written = write_whole(path, &bug_file::write(&bug));
    Ok(written.map_err(|source| ExploreError::File {
        path: path.to_path_buf(),
        source,
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_too_soon_is_written_later() {
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let run = |switches| Failing {
            schedule: Schedule::default(),
            cost: Cost {
                preemptive: 1,
                switches,
            },
        };
        let mut turn = Turn {
            least: run(9).cost,
            waiting: None,
            next: start,
        };
        turn.see(&run(9));
        assert_eq!(turn.due(start), None, "the file is as good");
        turn.see(&run(8));
        assert_eq!(turn.due(start), Some(run(8)));
        turn.written(start, Duration::from_millis(10));
        turn.see(&run(6));
        turn.see(&run(7));
        assert_eq!(turn.due(after(80)), None, "the last one was just written");
        assert_eq!(turn.due(after(90)), Some(run(6)), "the best of those since");
        assert_eq!(turn.due(after(90)), None);
    }
}
