//! The explanation for a terminal.

use crate::columns::counted;
use crate::printable::printable;
use crate::story::{Story, ToldRace};

/// Races, and lock orders, that are shown; the rest is counted.
const SHOWN: usize = 5;

/// Remedies that are told.
const MOST_REMEDIES: usize = 3;

impl Story {
    /// At most two screens.
    #[must_use]
    pub fn as_text(&self) -> String {
        let mut text = format!("{}\n\nIt fails when\n", self.bug.description);
        for sentence in self.verdict() {
            text.push_str(&format!("  {sentence}\n"));
        }
        if self.findings.is_empty() {
            text.push_str(
                "  its threads run at all: no switch and no order was found without which it would not\n",
            );
        }
        text.push_str(&format!(
            "\nThe run, with {}:\n{}",
            counted(self.switches, "switch", "es"),
            self.columns
        ));
        if !self.races.is_empty() {
            text.push_str("\nNothing orders these accesses of it:\n");
        }
        for race in self.races.iter().take(SHOWN) {
            text.push_str(&sentence(race));
        }
        if self.races.len() > SHOWN {
            text.push_str(&format!("  and {} more\n", self.races.len() - SHOWN));
        }
        if !self.lock_cycles.is_empty() {
            text.push_str("\nAlso, locks are taken in opposite orders, which can deadlock:\n");
        }
        for cycle in self.lock_cycles.iter().take(SHOWN) {
            text.push_str(&format!("  {}\n", cycle.sentence()));
        }
        if self.lock_cycles.len() > SHOWN {
            text.push_str(&format!("  and {} more\n", self.lock_cycles.len() - SHOWN));
        }
        text.push_str(&self.remedies());
        printable(&text)
    }

    /// What to try: what usually mends such a thing, and how to keep it mended.
    fn remedies(&self) -> String {
        let mut remedies: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if remedies.len() < MOST_REMEDIES && !remedies.contains(&finding.remedy.as_str()) {
                remedies.push(&finding.remedy);
            }
        }
        let lines = remedies.iter().map(|remedy| format!("  {remedy}\n"));
        format!(
            "\nWhat to try:\n{}  `bohr break from` makes a regression test of it; `bohr explain \
             --html` a page to click through\n",
            lines.collect::<String>()
        )
    }
}

fn sentence(race: &ToldRace) -> String {
    let ToldRace {
        first,
        second,
        needed,
        ..
    } = race;
    let needed = match needed {
        true => ": this is what the failure needs",
        false => "",
    };
    format!(
        "  {}: {} {} at {}; {} {} at {}{needed}\n",
        first.object,
        first.thread,
        first.kind,
        first.place(),
        second.thread,
        second.kind,
        second.place()
    )
}
