//! What a page is made of.

use crate::columns::encoded;
use crate::document::document;
use crate::excerpt::excerpts;
use crate::lexicon::Lexicon;
use crate::tables::Tables;
use bohr_event::ThreadPath;
use bohr_event::control::Step;
use bohr_report::{Story, Told, ToldLockCycle};
use serde_json::{Value, json};

/// Moments that are numbered, unless the most telling finding names more.
const MOST_MOMENTS: usize = 8;

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Whether it failed.
    pub fails: bool,
    /// Who failed, if it was one thread.
    pub thread: Option<ThreadPath>,
    /// The same in a few words.
    pub words: String,
}

/// A run that a page shows.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// Paths by thread index.
    pub threads: &'a [ThreadPath],
    /// What happened, in order.
    pub steps: &'a [Step],
    /// What each event read or wrote, as far as somebody looked.
    pub values: &'a [Option<u64>],
    /// How it ended.
    pub ending: Ending,
}

/// See the module.
pub struct Page<'a> {
    /// What the program is called.
    pub program: &'a str,
    /// What is told in words.
    pub story: &'a Story,
    /// The failing run, and one that passes if there is one.
    pub runs: Vec<Run<'a>>,
}

impl Page<'_> {
    /// The page as one file.
    ///
    /// # Panics
    /// If a run has not as many values as events, or an event of no thread.
    #[must_use]
    pub fn as_html(&self, lexicon: &mut dyn Lexicon) -> String {
        for run in &self.runs {
            assert_eq!(
                run.steps.len(),
                run.values.len(),
                "an event has a value or none"
            );
        }
        let tables = Tables::new(&self.runs, lexicon);
        let moments = self.moments();
        let named = moments.iter().filter_map(|told| {
            let (file, line) = told.line.as_deref()?.rsplit_once(':')?;
            Some((file, vec![line.parse().ok()?]))
        });
        let wanted: Vec<(&str, Vec<u32>)> = named.chain(tables.lines()).collect();
        let data = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "program": self.program,
            "kind": self.story.bug.kind,
            "signature": self.story.bug.signature,
            "description": self.story.bug.description,
            "switches": self.story.switches,
            "findings": self.story.findings.iter().map(|finding| {
                let numbers = finding.moments.iter();
                let numbers = numbers.map(|told| moments.iter().position(|one| *one == told));
                json!({
                    "kind": finding.kind,
                    "variable": finding.variable,
                    "sentence": finding.sentence,
                    "remedy": finding.remedy,
                    "moments": numbers.collect::<Vec<_>>(),
                })
            }).collect::<Vec<_>>(),
            "moments": moments.iter().map(|told| self.moment(told)).collect::<Vec<_>>(),
            "races": self.story.races,
            "lockCycles": self.story.lock_cycles.iter().map(ToldLockCycle::sentence).collect::<Vec<_>>(),
            "tables": tables.as_json(),
            "sources": excerpts(&wanted, lexicon),
            "runs": self.runs.iter().map(|run| json!({
                "fails": run.ending.fails,
                "events": run.steps.len(),
                "values": run.values.iter().flatten().count(),
                "thread": run.ending.thread.as_ref().map(|path| tables.thread(path)),
                "words": run.ending.words,
            })).collect::<Vec<_>>(),
        });
        let columns: Vec<String> = self.runs.iter().map(|run| encoded(run, &tables)).collect();
        document(
            &format!("{}: {}", self.program, self.story.bug.kind),
            &data,
            &columns,
        )
    }

    /// What the findings name, each once; the most telling come first, and more than
    /// a reader can hold does not come at all.
    fn moments(&self) -> Vec<&Told> {
        let mut moments: Vec<&Told> = Vec::new();
        for finding in &self.story.findings {
            let new = finding
                .moments
                .iter()
                .filter(|told| !moments.contains(told));
            let new: Vec<&Told> = new.collect();
            if moments.is_empty() || moments.len() + new.len() <= MOST_MOMENTS {
                moments.extend(new);
            }
        }
        moments
    }

    /// A moment with its position in every run; of one that the failing run never
    /// came to, the position behind its end.
    fn moment(&self, told: &Told) -> Value {
        let mut value = json!(told);
        value["deed"] = json!(told.deed());
        value["at"] = self
            .runs
            .iter()
            .map(|run| json!(run.position(told)))
            .collect();
        value
    }
}

impl Run<'_> {
    fn position(&self, told: &Told) -> Option<usize> {
        let thread = self
            .threads
            .iter()
            .position(|path| path.to_string() == told.thread)?;
        let own = |step: &Step| step.thread.position() == thread;
        let events = self.steps.iter().enumerate();
        let mut events = events
            .filter(|(_, step)| own(step))
            .skip(told.number as usize);
        match events.next() {
            Some((event, step)) => (step.operation.verb() == told.kind).then_some(event),
            None => self.ending.fails.then_some(self.steps.len()),
        }
    }
}
