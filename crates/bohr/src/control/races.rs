//! Data races, and lock orders that can deadlock: whether they count, and what is said
//! about them.

use bohr_explore::bug_file::Races;
use bohr_explore::{ToldLockCycle, ToldRace};
use std::fmt::Write;

/// Races, and lock orders, that are shown; the rest is counted.
const SHOWN: usize = 5;

/// What becomes of data races.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RacesArg {
    /// Nobody looks for them.
    Ignore,
    /// They are told.
    Report,
    /// They are failures; every run is traced, which takes its time.
    Fail,
}

impl From<RacesArg> for Races {
    fn from(arg: RacesArg) -> Races {
        match arg {
            RacesArg::Ignore => Races::Ignored,
            RacesArg::Report => Races::Reported,
            RacesArg::Fail => Races::Failures,
        }
    }
}

/// The races, one per line; nothing if there are none.
pub fn describe_races<'a>(races: impl IntoIterator<Item = &'a ToldRace>) -> String {
    let lines = races.into_iter().map(ToldRace::line);
    list("data races, accesses that nothing orders:", lines)
}

/// The lock orders, likewise.
pub fn describe_lock_cycles<'a>(cycles: impl IntoIterator<Item = &'a ToldLockCycle>) -> String {
    let lines = cycles.into_iter().map(ToldLockCycle::line);
    list("locks taken in opposite orders, which can deadlock:", lines)
}

fn list(title: &str, lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    let mut text = String::new();
    if lines.is_empty() {
        return text;
    }
    let _ = writeln!(text, "{title}");
    for line in lines.iter().take(SHOWN) {
        let _ = writeln!(text, "  {line}");
    }
    if lines.len() > SHOWN {
        let _ = writeln!(text, "  and {} more", lines.len() - SHOWN);
    }
    text
}

/// What is to be said about events of a run that nobody looked at for races.
pub fn describe_unwatched(events: u64) -> Option<String> {
    (events > 0).then(|| {
        format!(
            "the last {events} events of a run found no room in its trace, and no races were \
             looked for in them: set TMPDIR to a directory with more"
        )
    })
}
