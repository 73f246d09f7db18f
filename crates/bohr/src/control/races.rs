//! Data races: whether they count, and what is said about them.

use bohr_explore::ToldRace;
use bohr_explore::bug_file::Races;
use std::fmt::Write;

/// Races that are shown; the rest is counted.
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
    let races: Vec<&ToldRace> = races.into_iter().collect();
    let mut text = String::new();
    if races.is_empty() {
        return text;
    }
    let _ = writeln!(text, "data races, accesses that nothing orders:");
    for race in races.iter().take(SHOWN) {
        let _ = writeln!(text, "  {}", race.line());
    }
    if races.len() > SHOWN {
        let _ = writeln!(text, "  and {} more", races.len() - SHOWN);
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
