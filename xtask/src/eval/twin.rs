//! The fixed twin of an exhibit: it has to survive every strategy that its exhibit did
//! not, about as long, and to have no data races.

use super::measure::{Hunts, Measured, Measuring};
use super::settings::Settings;
use super::tables::Table;
use bohr_museum::{Exhibit, Hunting, Variant, judge_twin};
use serde::{Deserialize, Serialize};

/// How long a fixed twin is hunted for data races.
const RACE_SECONDS: u32 = 1;

/// What the hunt for data races is called among the strategies.
const RACES: &str = "data races";

/// A strategy gets at least this share of the seconds of a hunt that finds nothing.
const LEAST_SHARE: u32 = 5;

/// One hunt that found nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TwinHunt {
    /// By which strategy, or for what.
    pub strategy: String,
    /// For how long.
    pub seconds: u32,
    pub runs: u64,
}

/// Which strategies a twin has to survive and for how many seconds: those that found
/// the bug, as long as all their trials together took to find it, within bounds.
fn budget(settings: &Settings, hunts: &[Hunts]) -> Vec<(String, u32)> {
    let successful = hunts.iter().filter(|hunts| hunts.found() > 0);
    let budget = successful.map(|hunts| {
        let took: f64 = hunts.seconds.iter().flatten().sum();
        let least = settings.seconds.div_ceil(LEAST_SHARE);
        let seconds = (took.ceil() as u32).clamp(least, settings.seconds);
        (hunts.strategy.clone(), seconds)
    });
    let budget: Vec<_> = budget.collect();
    match budget.is_empty() {
        true => vec![(settings.strategies[0].to_string(), settings.seconds)],
        false => budget,
    }
}

impl Measuring<'_> {
    /// The hunts of the twin, none of which finds anything.
    pub(super) fn twin(
        &self,
        exhibit: &Exhibit,
        measured: &Measured,
    ) -> Result<Vec<TwinHunt>, String> {
        let program = self.compile(exhibit, Variant::Fixed)?;
        let mut hunts = Vec::new();
        for (strategy, seconds) in budget(self.settings(), &measured.hunts) {
            let how = (&strategy[..], Settings::seed(0));
            let report = self.hunt(exhibit, &program, how, seconds)?;
            judge_twin(&report).map_err(|sentence| format!("{sentence} ({strategy})"))?;
            hunts.push(TwinHunt {
                strategy,
                seconds,
                runs: report.runs,
            });
        }
        let hunting = Hunting {
            races: true,
            ..Hunting::of(RACE_SECONDS)
        };
        let sizes = &exhibit.manifest.arguments.small;
        let report = hunting.run(self.bohr(), &program, sizes);
        let report = report.map_err(|error| error.to_string())?;
        judge_twin(&report)?;
        hunts.push(TwinHunt {
            strategy: RACES.to_string(),
            seconds: RACE_SECONDS,
            runs: report.runs,
        });
        Ok(hunts)
    }
}

/// What the twins have survived.
pub fn table(settings: &Settings, results: &[Measured]) -> Table {
    let names = settings.strategies.iter().copied().chain([RACES]);
    let names: Vec<&str> = names.collect();
    let row = |measured: &Measured| {
        let hunts = measured.twin.as_ref()?;
        let cell = |name: &&str| {
            let hunt = hunts.iter().find(|hunt| hunt.strategy == **name);
            hunt.map_or("-".to_string(), |hunt| {
                format!("{} in {} s", hunt.runs, hunt.seconds)
            })
        };
        let cells = names.iter().map(cell);
        Some(
            std::iter::once(measured.name.clone())
                .chain(cells)
                .collect(),
        )
    };
    let columns = std::iter::once("twin of").chain(names.iter().copied());
    Table {
        title: "Fixed twins: runs in which nothing was found".to_string(),
        columns: columns.map(String::from).collect(),
        rows: results.iter().filter_map(row).collect(),
        notes: vec![format!(
            "By the strategies that find the bug of the exhibit, as long as all their trials together took for that, but for {} s at least and {} s at most; for data races at the smallest size.",
            settings.seconds.div_ceil(LEAST_SHARE),
            settings.seconds
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunts(strategy: &str, seconds: &[Option<f64>]) -> Hunts {
        Hunts {
            strategy: strategy.to_string(),
            runs: seconds.to_vec(),
            seconds: seconds.to_vec(),
            elapsed: 0.0,
        }
    }

    #[test]
    fn a_twin_gets_what_its_exhibit_did_not_survive() {
        let full = Settings::full();
        let exhibit = [
            hunts("mixed", &[Some(0.01), Some(0.02)]),
            hunts("random", &[Some(2.5), None, Some(2.0)]),
            hunts("pos", &[Some(9.0), Some(9.0)]),
            hunts("surw", &[None, None]),
        ];
        let told = budget(&full, &exhibit);
        let expected = [("mixed", 2), ("random", 5), ("pos", 10)];
        assert_eq!(
            told,
            expected.map(|(name, seconds)| (name.to_string(), seconds))
        );
        let nobody = budget(&full, &exhibit[3..]);
        assert_eq!(nobody, [("mixed".to_string(), 10)]);
    }

    #[test]
    fn a_twin_that_failed_has_no_row() {
        let silent = Measured {
            name: "account".to_string(),
            twin: Some(vec![TwinHunt {
                strategy: "surw".to_string(),
                seconds: 3,
                runs: 77,
            }]),
            ..Measured::default()
        };
        let table = table(&Settings::quick(), &[silent, Measured::default()]);
        let row = ["account", "-", "-", "-", "77 in 3 s", "-"];
        assert_eq!(table.rows, [row.map(String::from)]);
    }
}
