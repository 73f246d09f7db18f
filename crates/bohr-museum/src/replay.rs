//! Whether a bug that was found shows every time it is replayed.

use crate::Error;
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// What `bohr replay --json` prints, as far as it is compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Replays {
    /// How many runs there were.
    pub runs: u64,
    /// How many showed the failure at its event.
    pub reproduced: u64,
    /// Whether all had the same segments and choices.
    pub same_schedule: bool,
    /// Hash of these.
    pub schedule: String,
    /// Hash of every event of one more run.
    #[serde(default)]
    pub event_hash: Option<String>,
    /// What the first run that differed came to.
    #[serde(default)]
    pub divergence: Option<String>,
}

impl Replays {
    /// Nothing if every run was the recorded one; otherwise a sentence.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        if self.reproduced < self.runs {
            let how = self.divergence.as_deref().unwrap_or("nobody knows how");
            return Some(format!(
                "{} of {} replays differ: {how}",
                self.runs - self.reproduced,
                self.runs
            ));
        }
        (!self.same_schedule).then(|| "the schedule differs from replay to replay".to_string())
    }

    /// Nothing if these were the same run as others; otherwise a sentence.
    #[must_use]
    pub fn difference(&self, others: &Replays) -> Option<String> {
        if self.schedule != others.schedule {
            return Some("another schedule".to_string());
        }
        let same = self.event_hash.is_some() && self.event_hash == others.event_hash;
        (!same).then(|| "the same schedule with other events".to_string())
    }
}

/// How a bug is replayed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replaying {
    /// How often.
    pub times: u64,
    /// On threads of the system instead of fibers.
    pub threads: bool,
    /// In fresh processes, pinned to one core, in a larger environment.
    pub elsewhere: bool,
}

impl Replaying {
    fn command(self, bohr: &Path) -> Command {
        let mut command = match self.elsewhere {
            true => Command::new("taskset"),
            false => Command::new(bohr),
        };
        if self.elsewhere {
            command.args(["-c", "0"]).arg(bohr);
            command.env("ANOTHER_VARIABLE", "x".repeat(10_000));
        }
        let times = self.times.to_string();
        command.args(["replay", "--json", "--hash-events", "--times", &times]);
        if self.elsewhere {
            command.arg("--fresh");
        }
        if self.threads {
            command.args(["--backend", "threads"]);
        }
        command
    }
}

/// Replays a bug file.
///
/// # Errors
/// If bohr cannot be started or prints no report.
pub fn replay(bohr: &Path, bug_file: &Path, how: Replaying) -> Result<Replays, Error> {
    let mut command = how.command(bohr);
    let output = command
        .arg(bug_file)
        .output()
        .map_err(|cause| Error::Start {
            program: command.get_program().to_string_lossy().into_owned(),
            cause,
        })?;
    serde_json::from_slice(&output.stdout).map_err(|_| Error::Hunt {
        program: bug_file.display().to_string(),
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Replays a bug file in every way: so many times in clones of one process, some
/// on threads of the system, some elsewhere. All have to be the same run, event for
/// event.
///
/// # Errors
/// If bohr cannot be started or prints no report.
pub fn replay_every_way(
    bohr: &Path,
    bug_file: &Path,
    times: u64,
    few: u64,
) -> Result<Option<String>, Error> {
    let plain = Replaying {
        times,
        ..Replaying::default()
    };
    let first = replay(bohr, bug_file, plain)?;
    if let Some(complaint) = first.complaint() {
        return Ok(Some(complaint));
    }
    let threads = Replaying {
        times: few,
        threads: true,
        elsewhere: false,
    };
    let elsewhere = Replaying {
        times: few,
        threads: false,
        elsewhere: true,
    };
    for (how, where_) in [(threads, "on threads"), (elsewhere, "elsewhere")] {
        let replays = replay(bohr, bug_file, how)?;
        if let Some(complaint) = replays.complaint().or(replays.difference(&first)) {
            return Ok(Some(format!("{where_}: {complaint}")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_replay_counts() {
        let all = Replays {
            runs: 3,
            reproduced: 3,
            same_schedule: true,
            ..Replays::default()
        };
        assert_eq!(all.complaint(), None);
        let some = Replays {
            reproduced: 2,
            divergence: Some("it ended".to_string()),
            ..all.clone()
        };
        assert_eq!(
            some.complaint().as_deref(),
            Some("1 of 3 replays differ: it ended")
        );
        let other = Replays {
            same_schedule: false,
            ..all.clone()
        };
        assert!(other.complaint().is_some());
    }

    #[test]
    fn every_event_counts() {
        let one = Replays {
            schedule: "a".to_string(),
            event_hash: Some("b".to_string()),
            ..Replays::default()
        };
        assert_eq!(one.difference(&one), None);
        let other_event = Replays {
            event_hash: Some("c".to_string()),
            ..one.clone()
        };
        assert!(other_event.difference(&one).is_some());
        let nobody_looked = Replays {
            event_hash: None,
            ..one
        };
        assert!(nobody_looked.difference(&nobody_looked).is_some());
    }
}
