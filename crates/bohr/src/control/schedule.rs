//! By which rule threads are picked: the arguments that `hunt`, `run` and
//! `check` share.

use bohr_explore::{Knowledge, STRATEGIES, StrategyName};
use bohr_schedule::{Plan, Rule};

/// The strategy and its seed.
#[derive(clap::Args)]
pub struct ScheduleArgs {
    /// How threads are picked: mixed, random, pct[:DEPTH], pos, surw, feedback,
    /// bounded, exhaustive, sequential or slices[:EVENTS].
    #[arg(long, value_name = "NAME", default_value = "mixed", long_help = strategies())]
    pub strategy: StrategyName,
    /// Where chance begins; the same seed makes the same runs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

fn strategies() -> String {
    let line = |(name, meaning): (&str, &str)| format!("\n  {name:<16} {meaning}");
    let lines: String = STRATEGIES.into_iter().map(line).collect();
    format!("How threads are picked:{lines}")
}

impl ScheduleArgs {
    /// What a single run goes by: of a mixture its first part.
    pub fn single(&self) -> StrategyName {
        self.strategy.in_batch(0).0
    }

    /// The plan of a single run of a program that nothing is known about.
    /// Searches begin with an empty tree, so their first run is the sequential one.
    pub fn plan(&self) -> Plan {
        let plan = self.single().plan(&Knowledge::default(), false);
        plan.unwrap_or_else(|| Plan::new(Rule::Sequential))
    }
}
