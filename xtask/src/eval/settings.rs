//! How much an evaluation does.

use bohr_museum::Exhibit;

/// How much is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// For the names of the files.
    pub name: &'static str,
    /// Hunts per exhibit and strategy.
    pub trials: u64,
    /// Seconds of a hunt that finds nothing.
    pub seconds: u32,
    /// Replays of what was found.
    pub replays: u64,
    pub strategies: &'static [&'static str],
    /// Whether exhibits run at their default size or at their smallest.
    pub full_size: bool,
    /// Which exhibits breakpoints are made for, since that takes its time; if empty,
    /// those of which the tables of BTrigger have a row.
    pub broken: &'static [&'static str],
    /// Whether what an earlier evaluation has measured is taken over.
    pub resumes: bool,
    /// Which exhibits; all if empty.
    pub only: Vec<String>,
}

/// The paper about breakpoints, as manifests call it.
const BREAKPOINTS: &str = "btrigger";

/// Exhibits of every class and language, and few enough for every change.
const QUICK: [&str; 8] = [
    "account",
    "async-appender",
    "guarded-pointer",
    "log-rotation",
    "park-event",
    "philosophers",
    "server-start",
    "view-descriptor",
];

impl Settings {
    pub fn quick() -> Settings {
        Settings {
            name: "quick",
            trials: 3,
            seconds: 5,
            replays: 100,
            strategies: &["mixed", "random", "pct:3", "surw"],
            full_size: false,
            broken: &["async-appender", "server-start"],
            resumes: false,
            only: QUICK.map(String::from).to_vec(),
        }
    }

    pub fn full() -> Settings {
        Settings {
            name: "full",
            trials: 20,
            // Some hundred thousand schedules; studies of such programs stop at ten to
            // a hundred thousand.
            seconds: 10,
            // As many as tell a flaky one; `museum hunt` makes ten thousand of each.
            replays: 1_000,
            strategies: &[
                "mixed", "random", "pct:3", "pos", "surw", "feedback", "bounded",
            ],
            full_size: true,
            broken: &[],
            resumes: true,
            only: Vec::new(),
        }
    }

    /// Where a trial begins. Seeds of different trials must not meet: a hunt uses
    /// one per run.
    pub fn seed(trial: u64) -> u64 {
        trial << 32
    }

    pub fn from(arguments: &[String]) -> Result<Settings, String> {
        let (mut settings, rest) = match arguments.split_first() {
            Some((word, rest)) if word == "--quick" => (Settings::quick(), rest),
            Some((word, rest)) if word == "--full" => (Settings::full(), rest),
            _ => (Settings::quick(), arguments),
        };
        let (again, rest) = match rest.split_first() {
            Some((word, rest)) if word == "--again" => (true, rest),
            _ => (false, rest),
        };
        settings.resumes &= !again;
        match rest.split_first() {
            None => {}
            Some((word, names)) if word == "--only" && !names.is_empty() => {
                settings.only = names.to_vec();
            }
            Some((word, _)) => {
                return Err(format!(
                    "`{word}` is not understood; try --quick or --full, then --again, then --only NAME..."
                ));
            }
        }
        Ok(settings)
    }

    pub fn exhibits(&self) -> Result<Vec<Exhibit>, String> {
        let exhibits = match self.only.is_empty() {
            true => bohr_museum::all(),
            false => self
                .only
                .iter()
                .map(|name| bohr_museum::named(name))
                .collect(),
        };
        exhibits.map_err(|error| error.to_string())
    }

    /// Whether breakpoints are made for an exhibit.
    pub fn breaks(&self, exhibit: &Exhibit) -> bool {
        let manifest = &exhibit.manifest;
        match self.broken.is_empty() {
            true => { manifest.mirrors.iter() }.any(|mirror| mirror.paper == BREAKPOINTS),
            false => self.broken.contains(&manifest.name.as_str()),
        }
    }

    /// What has to be equal for one result to stand beside another.
    pub fn key(&self) -> String {
        let Settings {
            name,
            trials,
            seconds,
            replays,
            ..
        } = self;
        format!("{name}: {trials} trials of {seconds} s, {replays} replays")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(words: &[&str]) -> Result<Settings, String> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        Settings::from(&words)
    }

    #[test]
    fn arguments_choose_size_and_exhibits() {
        assert_eq!(settings(&[]), Ok(Settings::quick()));
        assert_eq!(settings(&["--full"]), Ok(Settings::full()));
        let one = settings(&["--full", "--only", "account"]).unwrap();
        assert_eq!((one.trials, &one.only[0][..]), (20, "account"));
        let again = settings(&["--full", "--again", "--only", "account"]).unwrap();
        assert_eq!((again.resumes, one.resumes), (false, true));
        assert!(settings(&["--slow"]).is_err());
        assert!(settings(&["--only"]).is_err());
    }

    #[test]
    fn the_quick_exhibits_are_in_the_museum() {
        assert_eq!(Settings::quick().exhibits().unwrap().len(), QUICK.len());
    }
}
