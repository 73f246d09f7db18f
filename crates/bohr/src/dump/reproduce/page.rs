//! What came of it, as a page: also of a failure that was not reached.

use super::Reproduced;
use super::text::{preemption, summary};
use bohr_page::{Section, StillPage};

/// The whole story.
pub fn page(told: &Reproduced) -> StillPage {
    let sections = [
        section("What came of it", summary(told)),
        section("Where the thread was", indented(&told.index)),
        differences(told),
        accesses(told),
        section(
            "Schedules, the best first",
            told.schedules
                .iter()
                .map(|schedule| {
                    let points: Vec<String> = schedule.iter().map(preemption).collect();
                    points.join("; ")
                })
                .collect(),
        ),
    ];
    StillPage {
        title: format!("{} in thread {}", told.failure, told.thread),
        sections: sections.into(),
    }
}

fn section(heading: &str, lines: Vec<String>) -> Section {
    Section {
        heading: heading.into(),
        lines,
        ..Section::default()
    }
}

fn indented(index: &[String]) -> Vec<String> {
    let lines = index.iter().enumerate();
    lines
        .map(|(depth, line)| format!("{:depth$}{line}", ""))
        .collect()
}

fn differences(told: &Reproduced) -> Section {
    let rows = told.critical.iter().map(|variable| {
        let values = [&variable.path, &variable.failing, &variable.passing];
        values.map(String::clone).to_vec()
    });
    Section {
        heading: "Shared variables that differ".into(),
        columns: ["variable", "in the core", "in the good run"]
            .map(String::from)
            .to_vec(),
        rows: rows.collect(),
        ..Section::default()
    }
}

fn accesses(told: &Reproduced) -> Section {
    let rows = told.ranking.iter().map(|access| {
        let line = access.line.clone().unwrap_or_else(|| "?".into());
        let (thread, kind) = (access.thread.clone(), access.kind.clone());
        vec![thread, kind, access.variable.clone(), line]
    });
    Section {
        heading: "Nearest accesses to them in the good run".into(),
        columns: ["thread", "access", "variable", "line"]
            .map(String::from)
            .to_vec(),
        rows: rows.collect(),
        ..Section::default()
    }
}
