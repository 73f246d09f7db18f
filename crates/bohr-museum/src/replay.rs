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
}

/// Replays a bug file so many times, with further arguments for bohr, in an
/// environment with further variables.
///
/// # Errors
/// If bohr cannot be started or prints no report.
pub fn replay(
    bohr: &Path,
    bug_file: &Path,
    times: u64,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<Replays, Error> {
    let mut command = Command::new(bohr);
    command
        .args(["replay", "--json", "--times", &times.to_string()])
        .args(arguments)
        .arg(bug_file)
        .envs(variables.iter().copied());
    let output = command.output().map_err(|cause| Error::Start {
        program: bohr.display().to_string(),
        cause,
    })?;
    serde_json::from_slice(&output.stdout).map_err(|_| Error::Hunt {
        program: bug_file.display().to_string(),
        words: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
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
            ..all
        };
        assert!(other.complaint().is_some());
    }
}
