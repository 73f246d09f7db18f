//! One worker of a hunt: a fork server and the batches it is given.

use super::{Shared, lock};
use crate::atlas::Atlas;
use crate::bug_file::Bug;
use crate::error::ExploreError;
use crate::server::{Server, Voice};
use crate::strategy_name::StrategyName;
use crate::verdict::{Verdict, judge};
use bohr_event::control::{Detailing, Job, RunReport};
use bohr_schedule::Plan;
use bohr_schedule::search::Search;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a batch should take: long against what starting one costs, short
/// enough that learning and the budget take hold soon.
const BATCH: Duration = Duration::from_millis(250);

/// Most runs of a batch, however fast.
const MOST_RUNS: u64 = 20_000;

/// Events of a run that teach something; the rest of a long run is more of the same.
const LESSON: u64 = 200_000;

struct Worker<'a> {
    shared: &'a Shared<'a>,
    server: Server,
    desk: Desk<'a>,
    /// Runs of the next batch.
    batch: u64,
}

/// Works until the hunt is over.
pub(super) fn work(shared: &Shared<'_>, number: u32) -> Result<(), ExploreError> {
    let server = shared.subject.serve(Voice::Muted, &|| shared.go_on())?;
    lock(&shared.notices).extend(&server.ready().notices);
    let mut worker = Worker {
        desk: Desk {
            shared,
            atlas: shared.subject.atlas(&server),
        },
        shared,
        server,
        batch: 8,
    };
    let seed = shared.seed(u64::from(number));
    match shared.hunt.strategy.search(seed) {
        Some(search) => worker.search(search),
        None => worker.sweep(),
    }
}

impl Worker<'_> {
    /// Batches of seeds, as long as the budget lasts.
    fn sweep(&mut self) -> Result<(), ExploreError> {
        while self.shared.go_on() {
            let runs = self.shared.take_runs(self.batch);
            if runs.is_empty() {
                return Ok(());
            }
            let batch = self.shared.batches.fetch_add(1, Ordering::Relaxed);
            let (strategy, restricted) = self.shared.hunt.strategy.in_batch(batch);
            let plan = strategy.plan(&lock(&self.shared.knowledge), restricted);
            let plan = plan.unwrap_or_else(|| Plan::new(bohr_schedule::Rule::Random));
            let begun = Instant::now();
            self.do_batch(strategy, &plan, runs)?;
            self.adapt(begun.elapsed());
            if strategy == StrategyName::Sequential {
                self.shared.complete.store(true, Ordering::Relaxed);
                return Ok(());
            }
        }
        Ok(())
    }

    /// The first run of a batch is traced, for what it teaches; the rest is not.
    fn do_batch(
        &mut self,
        strategy: StrategyName,
        plan: &Plan,
        runs: std::ops::Range<u64>,
    ) -> Result<(), ExploreError> {
        let job = Job {
            first_seed: self.shared.seed(runs.start),
            stride: self.shared.hunt.shard.count,
            ..self.shared.subject.job(plan)
        };
        let lesson = Job {
            trace: Detailing::Always,
            trace_limit: LESSON,
            details: Detailing::Always,
            ..job.clone()
        };
        self.do_job(strategy, lesson)?;
        let rest = runs.end - runs.start - 1;
        if rest == 0 || strategy == StrategyName::Sequential || !self.shared.go_on() {
            return Ok(());
        }
        self.do_job(
            strategy,
            Job {
                first_seed: self.shared.seed(runs.start + 1),
                runs: rest,
                ..job
            },
        )
    }

    fn adapt(&mut self, took: Duration) {
        let fitting = self.batch as f64 * BATCH.as_secs_f64() / took.as_secs_f64().max(1e-6);
        // Not more than fourfold at a time: a lucky batch says little.
        self.batch = (fitting as u64).clamp(2, self.batch * 4).min(MOST_RUNS);
    }

    /// One run at a time, each planned from the ones before.
    fn search(&mut self, mut search: Box<dyn Search + Send>) -> Result<(), ExploreError> {
        while self.shared.go_on() && !self.shared.take_runs(1).is_empty() {
            let Some(plan) = search.next_plan() else {
                self.shared.complete.store(true, Ordering::Relaxed);
                return Ok(());
            };
            let job = Job {
                details: Detailing::Always,
                ..self.shared.subject.job(&plan)
            };
            let go_on = || self.shared.go_on();
            let report = self
                .shared
                .subject
                .run_once(&mut self.server, job, &go_on)?;
            let learnt = report
                .detail
                .as_ref()
                .map_or(&[][..], |detail| &detail.learnt);
            search.learn(learnt);
            self.desk.take(self.shared.hunt.strategy, &report)?;
        }
        Ok(())
    }

    fn do_job(&mut self, strategy: StrategyName, mut job: Job) -> Result<(), ExploreError> {
        let shared = self.shared;
        loop {
            let mut done = 0;
            let mut failure = None;
            let desk = &mut self.desk;
            let end = self.server.run(job.clone(), &|| shared.go_on(), |reports| {
                done += reports.len() as u64;
                let taken = reports
                    .iter()
                    .try_for_each(|report| desk.take(strategy, report));
                failure = failure.take().or(taken.err());
                match shared.go_on() && failure.is_none() {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            if let Some(error) = failure {
                return Err(error);
            }
            end?;
            // A job stops at its first failure; if the hunt goes on, so does the rest.
            if done == 0 || done >= job.runs || !shared.go_on() {
                return Ok(());
            }
            job.runs -= done;
            job.first_seed = job.first_seed.wrapping_add(done.wrapping_mul(job.stride));
        }
    }
}

/// Takes reports in.
struct Desk<'a> {
    shared: &'a Shared<'a>,
    atlas: Atlas,
}

impl Desk<'_> {
    fn take(&mut self, strategy: StrategyName, report: &RunReport) -> Result<(), ExploreError> {
        ExploreError::if_broken(report)?;
        lock(&self.shared.tally).count(report);
        if let Some(detail) = &report.detail {
            lock(&self.shared.notices).extend(&detail.notices);
            if !detail.trace.is_empty() {
                lock(&self.shared.knowledge).learn(&detail.trace, &detail.threads);
            }
        }
        if let Some(verdict) = judge(report, &self.shared.subject.oracle, &mut self.atlas) {
            let bug = self.bug(strategy, report, verdict);
            self.shared.keep(bug);
        }
        Ok(())
    }

    fn bug(&self, strategy: StrategyName, report: &RunReport, verdict: Verdict) -> Bug {
        let subject = self.shared.subject;
        let detail = report.detail.as_ref();
        let schedule = detail.map(|detail| self.atlas.outward(&detail.schedule));
        Bug {
            writer: env!("CARGO_PKG_VERSION").to_string(),
            program: subject.target.identity.clone(),
            invocation: subject.invocation.without_secrets(),
            oracle: subject.oracle.clone(),
            policy: subject.policy,
            limits: subject.limits,
            strategy: strategy.to_string(),
            seed: report.seed,
            signature: verdict.signature,
            message: verdict.message,
            printed: String::new(),
            threads: verdict.threads,
            thread_count: report.threads,
            events: report.events,
            schedule: schedule.unwrap_or_default(),
            sources: Vec::new(),
            reduced: None,
            simplified: None,
        }
    }
}
