//! The explanation as a whole, for people and for programs.

use super::Explanation;
use super::columns::Columns;
use super::source::Sources;
use super::told::{Told, ToldWindow};
use bohr_explain::{Moment, Order};
use bohr_explore::Names;
use bohr_explore::bug_file::Bug;
use bohr_explore::signature_tag;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// See the module.
pub struct Story {
    signature: String,
    windows: Vec<ToldWindow>,
    orders: Vec<(Told, Told)>,
    races: Vec<(Told, Told, u64)>,
    columns: Columns,
    events: usize,
    switches: usize,
}

/// Races that are shown; the rest is counted.
const SHOWN: usize = 5;

impl Story {
    pub fn new(bug: &Bug, explanation: &Explanation, names: &mut Names<'_>) -> Story {
        let run = &explanation.run;
        let path = Path::new(OsStr::from_bytes(&bug.program.path));
        let mut sources = Sources::new(path);
        let windows = explanation.windows.iter();
        let windows = windows
            .map(|window| ToldWindow::of(window, names))
            .collect();
        let mut told = |moment: &Moment| Told::of(moment, names);
        let orders = explanation.orders.iter();
        let orders = orders.map(|order: &Order| (told(&order.first), told(&order.second)));
        let orders = orders.collect();
        let races = explanation.races.iter().map(|race| {
            let [first, second] = [race.first, race.second].map(|event| Moment::at(run, event));
            (told(&first), told(&second), race.count)
        });
        let races = races.collect();
        Story {
            signature: signature_tag(&bug.signature),
            windows,
            orders,
            races,
            columns: Columns::new(explanation, names, &mut sources),
            events: run.steps.len(),
            switches: run.schedule.switches(),
        }
    }

    pub fn as_json(&self) -> Value {
        let windows = self.windows.iter().map(ToldWindow::as_json);
        let orders = self
            .orders
            .iter()
            .map(|(first, second)| json!({ "first": first.as_json(), "second": second.as_json() }));
        let races = self.races.iter().map(|(first, second, count)| {
            json!({ "first": first.as_json(), "second": second.as_json(), "count": count })
        });
        json!({
            "signature": self.signature,
            "verdict": self.verdict(),
            "events": self.events,
            "switches": self.switches,
            "windows": windows.collect::<Vec<_>>(),
            "orders": orders.collect::<Vec<_>>(),
            "races": races.collect::<Vec<_>>(),
        })
    }

    /// What it takes to fail, one sentence each.
    fn verdict(&self) -> Vec<String> {
        let windows = self.windows.iter().map(ToldWindow::sentence);
        let orders = self.orders.iter().map(|(first, second)| {
            format!(
                "thread {} {} before thread {} {}",
                first.thread,
                first.act(),
                second.thread,
                second.act()
            )
        });
        windows.chain(orders).collect()
    }

    pub fn as_text(&self) -> String {
        let mut text = String::from("It fails when\n");
        for sentence in self.verdict() {
            text.push_str(&format!("  {sentence}\n"));
        }
        if self.windows.is_empty() && self.orders.is_empty() {
            text.push_str("  its threads run one after the other: the order does not matter\n");
        }
        text.push_str(&format!(
            "\nThe run, with {} switches:\n{}",
            self.switches, self.columns
        ));
        if !self.races.is_empty() {
            text.push_str("\nNothing orders these accesses of it:\n");
        }
        for (first, second, _) in self.races.iter().take(SHOWN) {
            text.push_str(&format!(
                "  {}: {} {} at {}; {} {} at {}\n",
                first.object,
                first.thread,
                first.doing,
                first.line(),
                second.thread,
                second.doing,
                second.line()
            ));
        }
        if self.races.len() > SHOWN {
            text.push_str(&format!("  and {} more\n", self.races.len() - SHOWN));
        }
        text
    }
}
