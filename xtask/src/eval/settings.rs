//! How much an evaluation does.

use bohr_museum::{Error, Exhibit};

/// How much is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// For the names of the files.
    pub name: &'static str,
    /// Hunts per exhibit and strategy.
    pub trials: u64,
    /// Seconds of a hunt that finds nothing.
    pub seconds: u32,
    /// Seconds after which the hunts of one exhibit get no further trials, but for
    /// the first few of each strategy.
    pub hunting: u32,
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

/// A folder of the museum: its exhibit, or what is wrong with it.
pub type Folder = (String, Result<Exhibit, String>);

/// Trials that every strategy gets, however long its exhibit has been hunted.
pub const FEWEST_TRIALS: u64 = 5;

/// Strategies that make nothing of their seed: every trial would be the first again.
const DETERMINED: [&str; 1] = ["bounded"];

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
            hunting: 60,
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
            // Two strategies that never find it, and some more.
            hunting: 480,
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

    /// How many hunts of this strategy an exhibit gets.
    pub fn trials_of(&self, strategy: &str) -> u64 {
        match DETERMINED.contains(&strategy) {
            true => 1,
            false => self.trials,
        }
    }

    /// How many trials there are, in a sentence.
    pub fn trials_told(&self) -> String {
        let determined = self.strategies.iter().filter(|it| DETERMINED.contains(it));
        let determined: Vec<&str> = determined.copied().collect();
        let once = match determined.is_empty() {
            true => String::new(),
            false => format!(
                " (one of {}, which makes nothing of it)",
                determined.join(", ")
            ),
        };
        format!(
            "{} trials with different seeds{once}, at most {} s each",
            self.trials, self.seconds
        )
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

    /// What is evaluated. A folder that is damaged is an error of its own; a name that
    /// nothing has is one of whoever asked.
    pub fn exhibits(&self) -> Result<Vec<Folder>, String> {
        if self.only.is_empty() {
            return every_folder();
        }
        let folder = |name: &String| match bohr_museum::named(name) {
            Err(error @ Error::Unknown { .. }) => Err(error.to_string()),
            exhibit => Ok((name.clone(), exhibit.map_err(|error| error.to_string()))),
        };
        self.only.iter().map(folder).collect()
    }

    /// Whether exhibits were chosen by name.
    pub fn is_chosen(&self) -> bool {
        !self.only.is_empty() && self.only != QUICK
    }

    /// What the files of the results are called: a few exhibits do not take the place
    /// of all, unless they are added to them.
    pub fn stem(&self) -> String {
        match self.is_chosen() && !self.adds_up() {
            true => format!("{}-only", self.name),
            false => self.name.to_string(),
        }
    }

    /// Whether evaluations of a few exhibits make one page.
    pub fn adds_up(&self) -> bool {
        self.full_size
    }

    /// What was asked for, as it is typed.
    pub fn command(&self) -> String {
        let only = match self.is_chosen() {
            true => format!(" --only {}", self.only.join(" ")),
            false => String::new(),
        };
        format!("cargo xtask eval --{}{only}", self.name)
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
            hunting,
            replays,
            ..
        } = self;
        format!("{name}: {trials} trials of {seconds} s within {hunting} s, {replays} replays")
    }
}

/// Everything in the museum.
pub fn every_folder() -> Result<Vec<Folder>, String> {
    let each = bohr_museum::each().map_err(|error| error.to_string())?;
    let told = |(name, exhibit): (String, Result<Exhibit, Error>)| {
        (name, exhibit.map_err(|error| error.to_string()))
    };
    Ok(each.into_iter().map(told).collect())
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
    fn a_few_exhibits_do_not_take_the_place_of_all() {
        let told = |words: &[&str]| {
            let settings = settings(words).unwrap();
            (settings.stem(), settings.command())
        };
        let pair = |stem: &str, command: &str| (stem.to_string(), command.to_string());
        assert_eq!(told(&[]), pair("quick", "cargo xtask eval --quick"));
        assert_eq!(
            told(&["--only", "account", "tsp"]),
            pair("quick-only", "cargo xtask eval --quick --only account tsp")
        );
        assert_eq!(
            told(&["--full", "--only", "tsp"]),
            pair("full", "cargo xtask eval --full --only tsp")
        );
    }

    #[test]
    fn a_strategy_without_chance_has_one_trial() {
        let full = Settings::full();
        let trials = full.strategies.iter().map(|name| full.trials_of(name));
        assert_eq!(trials.sum::<u64>(), 20 * 6 + 1);
        assert!(full.trials_told().contains("one of bounded"));
        assert!(!Settings::quick().trials_told().contains("one of"));
    }

    #[test]
    fn what_is_not_in_the_museum_is_asked_for_by_mistake() {
        let unknown = settings(&["--only", "account", "nowhere"]).unwrap();
        assert!(unknown.exhibits().unwrap_err().contains("nowhere"));
    }

    #[test]
    fn the_quick_exhibits_are_in_the_museum() {
        let exhibits = Settings::quick().exhibits().unwrap();
        assert_eq!(exhibits.len(), QUICK.len());
        assert!(exhibits.iter().all(|(_, exhibit)| exhibit.is_ok()));
    }
}
