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
    least: Cost,
    next: Instant,
}

impl<'k> Keeper<'k> {
    /// The file holds, or need not hold, what costs this.
    pub fn new(bug: &'k Bug, path: &'k Path, least: Cost) -> Keeper<'k> {
        Keeper {
            bug,
            path,
            least,
            next: Instant::now(),
        }
    }

    /// Writes a schedule if it is better than what the file holds.
    pub fn see(&mut self, failing: &Failing, atlas: &Atlas) -> Result<(), Failure> {
        let begun = Instant::now();
        if failing.cost >= self.least || begun < self.next {
            return Ok(());
        }
        self.least = failing.cost;
        write(self.bug, &failing.schedule, atlas, self.path)?;
        self.next = begun + PAUSE * begun.elapsed().max(Duration::from_micros(1));
        Ok(())
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
