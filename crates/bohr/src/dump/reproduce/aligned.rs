//! The good run: one thread after the other, watched on its way to the failure's
//! index, and what was in its memory where it came nearest.
//!
//! Of the orders in which threads can come one after the other, two are looked at:
//! the thread that failed first, and the thread that failed last. In the one, the
//! others have their work still before them when it comes to the place of the failure,
//! and can be called in between; in the other it finds what they have done. The order
//! in which the thread comes further along the index is the one that serves.

use super::{Failed, freed::Freed};
use crate::control::interruption;
use crate::outcome::Failure;
use bohr_event::control::{Detailing, Job, Outcome, Step, Watch, Watched};
use bohr_event::route::Arrival;
use bohr_event::{PlaceNumber, ThreadIndex, ThreadPath};
use bohr_explore::guided::{Passing, Search};
use bohr_explore::snapshot::snapshot;
use bohr_explore::{Atlas, Spot, Subject, Voice, is_library};
use bohr_program::SiteNumber;
use bohr_schedule::Precedence;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;

/// See the module.
pub struct Aligned {
    /// How the search goes on from this run.
    pub search: Search,
    /// Every event of the run.
    pub steps: Vec<Step>,
    /// Paths by thread index.
    pub threads: Vec<ThreadPath>,
    /// The thread that failed in the other run.
    pub thread: Option<ThreadIndex>,
    /// How far it came.
    pub watched: Watched,
    /// Events before the aligned point; all, if there is none.
    pub events: usize,
    /// The event that failed in the other run, if the place itself was aligned.
    pub failing: Option<usize>,
    /// What was in memory there, as a core.
    pub snapshot: Option<Vec<u8>>,
    /// What it had given back by then.
    pub freed: Freed,
    /// Lines of events near the aligned point.
    pub lines: BTreeMap<usize, String>,
    /// Sites of the places of those events.
    pub sites: HashMap<PlaceNumber, SiteNumber>,
    /// Whether the run ended well.
    pub is_good: bool,
}

impl Aligned {
    /// How well it agrees.
    pub fn told(&self) -> &'static str {
        match self.watched.arrival {
            Some(Arrival::Exact) => "exact",
            Some(Arrival::Closest) => "closest",
            None => "none",
        }
    }

    /// The run, for a search.
    pub fn passing(&self) -> Passing<'_> {
        Passing {
            steps: &self.steps,
            threads: &self.threads,
            aligned: self.events,
        }
    }
}

/// Events right before the aligned point whose places are looked up; a slice goes
/// back so far.
pub const WINDOW: usize = 200_000;

/// Events of the thread behind the aligned point among which the one is that failed
/// in the other run: a block is aligned at its beginning.
const BLOCK: usize = 64;

/// Makes the runs, and makes the better one again up to the aligned point.
pub fn align(
    subject: &Subject,
    watch: Watch,
    failed: &Failed,
    search: Search,
) -> Result<Aligned, Failure> {
    let watcher = Watcher { subject, watch };
    let search = watcher.better(search)?;
    watcher.aligned(search, failed)
}

/// The one of the good runs in which the watched thread comes further.
pub fn better(subject: &Subject, watch: Watch, search: Search) -> Result<Search, Failure> {
    Watcher { subject, watch }.better(search)
}

struct Watcher<'s> {
    subject: &'s Subject,
    watch: Watch,
}

fn goes_on() -> bool {
    !interruption().load(Ordering::Relaxed)
}

impl Watcher<'_> {
    fn job(&self, search: &Search, trace: Detailing) -> Job {
        Job {
            details: Detailing::Always,
            trace,
            watch: Some(self.watch.clone()),
            rewind: false,
            ..self.subject.job(&search.first())
        }
    }

    /// The search in whose first run the thread comes further, unless it is settled.
    fn better(&self, search: Search) -> Result<Search, Failure> {
        let thread = &self.watch.thread;
        if *thread == ThreadPath::MAIN || search.turns != Precedence::InOrder {
            return Ok(search);
        }
        let mut best: Option<(u32, Search)> = None;
        for turns in [
            Precedence::First(thread.clone()),
            Precedence::Last(thread.clone()),
        ] {
            let mut server = self.subject.serve(Voice::Muted, &goes_on)?;
            let search = Search {
                turns,
                ..search.clone()
            };
            let job = self.job(&search, Detailing::Never);
            let ran = self.subject.run_once(&mut server, job, &goes_on)?;
            let watched = ran.into_detail().watched.unwrap_or_default();
            let came = match watched.arrival {
                Some(_) => watched.steps + 1,
                None => 0,
            };
            if best.as_ref().is_none_or(|(most, _)| came > *most) {
                best = Some((came, search));
            }
        }
        Ok(best.map_or(search, |(_, best)| best))
    }

    fn aligned(&self, search: Search, failed: &Failed) -> Result<Aligned, Failure> {
        let mut server = self.subject.serve(Voice::Muted, &goes_on)?;
        let mut atlas = self.subject.atlas(&server);
        let job = self.job(&search, Detailing::Always);
        let ran = self.subject.run_once(&mut server, job, &goes_on)?;
        let is_good = ran.outcome == Outcome::Exited { code: 0 };
        let (report, steps, _) = ran.into_parts();
        let detail = report.detail.unwrap_or_default();
        atlas.update(&detail.objects);
        let watched = detail.watched.unwrap_or_default();
        let arrived = watched.arrival.is_some();
        let thread = detail.threads.iter().position(|one| *one == failed.thread);
        let events = match arrived {
            true => (watched.events as usize).min(steps.len()),
            false => steps.len(),
        };
        let mut aligned = Aligned {
            events,
            freed: Freed::after(&steps[..events]),
            snapshot: match arrived {
                true => snapshot(self.subject, &search.first(), self.watch.clone(), &goes_on)?,
                false => None,
            },
            failing: None,
            search,
            steps,
            threads: detail.threads,
            thread: thread.map(|position| ThreadIndex(position as u32)),
            watched,
            lines: BTreeMap::new(),
            sites: HashMap::new(),
            is_good,
        };
        aligned.look_up(&mut atlas);
        aligned.come_to(failed.line());
        Ok(aligned)
    }
}

impl Aligned {
    fn look_up(&mut self, atlas: &mut Atlas) {
        let mut lines: HashMap<PlaceNumber, Option<String>> = HashMap::new();
        let end = self.steps.len().min(self.events + WINDOW);
        for event in self.events.saturating_sub(WINDOW)..end {
            let place = self.steps[event].operation.place;
            let line = lines.entry(place).or_insert_with(|| {
                let site = atlas.site(place).map(|(_, site)| site);
                self.sites.extend(site.map(|site| (place, site)));
                own_line(atlas.spots(place))
            });
            self.lines.extend(line.clone().map(|line| (event, line)));
        }
    }

    /// Where the place itself was aligned: goes on within its block, to the event at
    /// the line that failed.
    fn come_to(&mut self, line: Option<&str>) {
        let (Some(line), Some(thread)) = (line, self.thread) else {
            return;
        };
        if self.watched.arrival != Some(Arrival::Exact) {
            return;
        }
        let later = self.steps.iter().enumerate().skip(self.events);
        let own = later.filter(|(_, step)| step.thread == thread);
        let is_there = |event: &usize| {
            let found = self.lines.get(event);
            found.is_some_and(|found| is_same_line(found, line))
        };
        let own = own.take(BLOCK).map(|(event, _)| event);
        let mut there = own.skip_while(|event| !is_there(event));
        if let Some(event) = there.by_ref().take_while(is_there).last() {
            self.failing = Some(event);
            self.events = event + 1;
        }
    }
}

/// The line of a place in what the program's author wrote, where a library was put
/// inline there; its own line if there is none.
fn own_line(spots: Vec<Spot>) -> Option<String> {
    let own = spots
        .iter()
        .position(|spot| spot.line.is_some() && !is_library(spot));
    spots.into_iter().nth(own.unwrap_or(0))?.line
}

/// Whether two lines, as in `src/cache.c:43`, are of files with one name.
fn is_same_line(one: &str, other: &str) -> bool {
    let last = |line: &'_ str| line.rsplit('/').next().map(str::to_string);
    last(one) == last(other)
}
