//! The good run: one thread after the other, watched on its way to the failure's
//! index, and what was in its memory where it came nearest.

use super::Failed;
use crate::control::interruption;
use crate::outcome::Failure;
use bohr_event::ThreadPath;
use bohr_event::control::{Detailing, Job, Step, Watch, Watched};
use bohr_event::route::Arrival;
use bohr_explore::guided::Search;
use bohr_explore::snapshot::snapshot;
use bohr_explore::{Subject, Voice};
use bohr_program::Program;
use bohr_program::index::{Flows, Points, route};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// See the module.
pub struct Aligned {
    /// Every event of the run.
    pub steps: Vec<Step>,
    /// Paths by thread index.
    pub threads: Vec<ThreadPath>,
    /// How far the thread came.
    pub watched: Watched,
    /// Events before the aligned point; all, if there is none.
    pub events: usize,
    /// What was in memory there, as a core.
    pub snapshot: Option<Vec<u8>>,
    /// Lines of accesses, by event.
    pub lines: BTreeMap<usize, String>,
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
}

/// Accesses right before the aligned point whose lines are looked up.
const NEAR: usize = 2_000;

/// Makes the run, and makes it again up to the aligned point.
pub fn align(
    subject: &Subject,
    program: &Program,
    failed: &Failed,
    bundle: [u8; 32],
    search: Search,
) -> Result<Aligned, Failure> {
    let go_on = || !interruption().load(Ordering::Relaxed);
    let watch = Watch {
        program: bundle,
        thread: failed.thread.clone(),
        route: route(
            &mut Flows::new(program),
            &Points::of(program),
            &failed.index,
        ),
        hold: false,
    };
    let plan = search.first();
    let mut server = subject.serve(Voice::Muted, &go_on)?;
    let mut atlas = subject.atlas(&server);
    let job = Job {
        details: Detailing::Always,
        trace: Detailing::Always,
        watch: Some(watch.clone()),
        rewind: false,
        ..subject.job(&plan)
    };
    let ran = subject.run_once(&mut server, job, &go_on)?;
    let (report, steps, _) = ran.into_parts();
    let detail = report.detail.unwrap_or_default();
    let watched = detail.watched.unwrap_or_default();
    let arrived = watched.arrival.is_some();
    let events = match arrived {
        true => (watched.events as usize).min(steps.len()),
        false => steps.len(),
    };
    let snapshot = match arrived {
        true => snapshot(subject, &plan, watch, &go_on)?,
        false => None,
    };
    let near = events.saturating_sub(NEAR)..events;
    let lines = near.filter_map(|event| {
        let line = atlas.spot(steps[event].operation.place).line?;
        Some((event, line))
    });
    Ok(Aligned {
        lines: lines.collect(),
        steps,
        threads: detail.threads,
        watched,
        events,
        snapshot,
    })
}
