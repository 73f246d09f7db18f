//! Progress bars, on standard error, for people only.

use bohr_explore::hunt::{Budget, Progress};
use indicatif::{ProgressBar, ProgressStyle};

/// A bar that fills as `total` things are done.
pub fn bar(total: u64, what: &str) -> ProgressBar {
    let template = format!("{{bar:32}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left");
    styled(ProgressBar::new(total), &template)
}

/// A count of things of which nobody knows how many there will be.
pub fn counter(what: &str) -> ProgressBar {
    let template = format!("{{spinner}} {{pos}} {what}, {{per_sec}}, {{elapsed}}");
    styled(ProgressBar::no_length(), &template)
}

/// Something that goes through stages, named by its prefix.
pub fn stages() -> ProgressBar {
    let template = "{spinner} {prefix}, {msg}, {elapsed}";
    styled(ProgressBar::no_length(), template)
}

/// A bar that fills as a budget is spent.
pub fn budget_bar(budget: Budget) -> ProgressBar {
    let bounded = budget.time.is_some() || budget.runs.is_some();
    let template = match bounded {
        true => "{bar:32} {percent}% {msg}",
        false => "{spinner} {msg}",
    };
    styled(ProgressBar::new(1_000), template)
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Where a hunt stands.
pub fn show_hunt(bar: &ProgressBar, progress: &Progress) {
    let figures = &progress.statistics;
    bar.set_position((progress.share() * 1e3) as u64);
    bar.set_message(format!(
        "{} runs, {:.0}/s, {} schedules, {} conflicting pairs{}",
        figures.runs,
        figures.runs_per_second(),
        figures.distinct,
        figures.pairs,
        match progress.found {
            0 => String::new(),
            found => format!(", {found} found"),
        }
    ));
}
