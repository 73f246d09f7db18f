//! The page to click through: the failing run and one that passes, with what
//! their events read and wrote, and the sources.

use super::probe::failing_thread;
use super::telling::Telling;
use crate::outcome::Failure;
use bohr_event::control::Recorded;
use bohr_event::{Operation, PlaceNumber};
use bohr_explain::{Explanation, Order, Window};
use bohr_explore::bug_file::Bug;
use bohr_explore::{ExploreError, Observed, Trials};
use bohr_page::{Ending, Lexicon, Page, Run, SourceText, Whereabouts};
use bohr_report::Story;
use bohr_schedule::{Plan, Rule};

/// Runs that are tried before it is said that none passes.
const MOST_CANDIDATES: usize = 8;

/// The runs of a page, made again for their values.
pub struct Shown {
    failing: Observed,
    passing: Option<Observed>,
}

impl Shown {
    /// Of an explanation: its own run, and the nearest that does not fail in any way.
    pub fn of(
        explanation: &Explanation,
        bug: &Bug,
        trials: &mut Trials<'_>,
    ) -> Result<Shown, Failure> {
        let mut observe = |plan: &Plan| trials.observe(plan, bug.seed);
        let failing = observe(&Plan::replay(explanation.run.schedule.clone()))?;
        if !failing.same || failing.run.is_none() {
            return Err(ExploreError::NotReproduced.into());
        }
        let near = explanation.windows.iter().flat_map(Window::passing_runs);
        let near = near.chain(explanation.orders.iter().filter_map(Order::passing_run));
        let near = near.filter(|run: &&Recorded| !run.steps.is_empty());
        let near = near.map(|run| Plan::replay(run.schedule.clone()));
        let far = [Plan::new(Rule::Sequential), Plan::new(Rule::Backward)];
        let mut passing = None;
        for plan in near.take(MOST_CANDIDATES).chain(far) {
            let observed = observe(&plan)?;
            if !observed.failed && observed.run.is_some() {
                passing = Some(observed);
                break;
            }
        }
        Ok(Shown { failing, passing })
    }

    /// The page as one file.
    pub fn page(&self, program: &str, story: &Story, telling: &mut Telling<'_>) -> String {
        let words = story.bug.description.lines().next().unwrap_or_default();
        let failed = Ending {
            fails: true,
            thread: failing_thread(&self.failing),
            words: words.to_string(),
        };
        let passed = Ending {
            words: "ends without failing".to_string(),
            ..Ending::default()
        };
        let failing = shown(&self.failing, failed);
        let passing = self.passing.as_ref().map(|run| shown(run, passed));
        Page {
            program,
            story,
            runs: failing.into_iter().chain(passing.flatten()).collect(),
        }
        .as_html(telling)
    }
}

fn shown(observed: &Observed, ending: Ending) -> Option<Run<'_>> {
    let run = observed.run.as_ref()?;
    Some(Run {
        threads: &run.threads,
        steps: &run.steps,
        values: &observed.values,
        ending,
    })
}

impl Lexicon for Telling<'_> {
    fn variable(&mut self, operation: &Operation) -> String {
        self.object(operation)
    }

    fn whereabouts(&mut self, place: PlaceNumber) -> Whereabouts {
        let spot = self.names.spot(place);
        let line = spot.line.as_deref().and_then(|line| {
            let (file, number) = line.rsplit_once(':')?;
            Some((file.to_string(), number.parse().ok()?))
        });
        Whereabouts {
            line,
            function: spot.function,
        }
    }

    fn source(&mut self, file: &str) -> Option<SourceText> {
        self.sources.whole(file)
    }
}
