//! Experiments with one bug: run the program by a plan and see whether that
//! shows the bug. Everything that cuts a bug down asks here.

use crate::atlas::Atlas;
use crate::bug_file::Bug;
use crate::error::ExploreError;
use crate::ran::Ran;
use crate::replay::repeat;
use crate::server::{Server, Voice};
use crate::subject::Subject;
use crate::verdict::judge_against;
use bohr_event::control::{
    Detailing, Failure, Job, Limits, Notice, Omissions, Outcome, Passes, Probes, Recorded, Step,
    ThreadState,
};
use bohr_event::{PlaceNumber, Schedule, ThreadIndex, ThreadPath};
use bohr_schedule::Plan;

/// A run that was looked at.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// All that happened, unless it was too long to be kept.
    pub run: Option<Recorded>,
    /// What its events read or wrote.
    pub values: Vec<Option<u64>>,
    /// Whether it showed the bug.
    pub same: bool,
    /// What the runtime saw, if it saw it fail.
    pub failure: Option<Failure>,
    /// Whether it failed in any way.
    pub failed: bool,
    /// Threads whose bodies were left out.
    pub left_out: Vec<ThreadPath>,
    /// Passes through gates, if they were counted.
    pub passes: Vec<Passes>,
}

/// How many events and switches a run has, and its seed.
pub type Extent = ((u64, u64), u64);

/// A run, and what each of its events read or wrote.
pub type Valued = (Recorded, Vec<Option<u64>>);

/// A run with its trace.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The trace, as one packed file.
    pub file: Vec<u8>,
    /// Paths by thread index.
    pub threads: Vec<ThreadPath>,
    /// What they were about to do at its end.
    pub pending: Vec<Step>,
}

/// A plan's run: whether it showed the bug, and what its strategy reported.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Whether it did.
    pub same: bool,
    /// The interleaving, if it did.
    pub schedule: Schedule<PlaceNumber>,
    /// What the strategy reported.
    pub learnt: Vec<u8>,
}

/// A program that stands ready for experiments with a bug.
pub struct Trials<'a> {
    subject: &'a Subject,
    bug: &'a Bug,
    server: Server,
    atlas: Atlas,
    go_on: &'a (dyn Fn() -> bool + Sync),
    /// The last failure that was judged, and whether it was the bug: finding
    /// lines and frames is slow, and most failures are alike.
    judged: Option<(Outcome, Judgement)>,
    /// What is left out of the runs.
    without: Omissions,
    /// Events after which a run is of no interest any more.
    most_events: u64,
    runs: u64,
    /// Events of all of them.
    events: u64,
    /// Runs see what others have done outside of their process.
    seen_by_others: bool,
}

/// What a failure was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Good,
    Other,
    TheBug,
}

impl<'a> Trials<'a> {
    /// Starts the program.
    ///
    /// # Errors
    /// If it does not come to its fork point.
    pub fn start(
        subject: &'a Subject,
        bug: &'a Bug,
        go_on: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Trials<'a>, ExploreError> {
        let server = subject.serve(Voice::Muted, go_on)?;
        let atlas = subject.atlas(&server);
        Ok(Trials {
            subject,
            bug,
            server,
            atlas,
            go_on,
            judged: None,
            without: bug.without(),
            most_events: u64::MAX,
            runs: 0,
            events: 0,
            seen_by_others: false,
        })
    }

    /// What the numbers of this process mean.
    #[must_use]
    pub fn atlas(&self) -> &Atlas {
        &self.atlas
    }

    /// The same, for looking up lines.
    pub fn atlas_mut(&mut self) -> &mut Atlas {
        &mut self.atlas
    }

    /// Runs made so far.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Events of all of them: what they cost, whatever else the machine does.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether runs see what others have done: two at once would disturb each other.
    #[must_use]
    pub fn are_seen_by_others(&self) -> bool {
        self.seen_by_others
    }

    /// Whether the caller still wants to wait.
    #[must_use]
    pub fn go_on(&self) -> bool {
        (self.go_on)()
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn run(&mut self, plan: &Plan, seed: u64) -> Result<Trial, ExploreError> {
        let job = Job {
            details: Detailing::Always,
            ..self.job(plan, seed)
        };
        let report = self.once(job)?;
        let same = self.judge(&report) == Judgement::TheBug;
        let detail = report.into_detail();
        Ok(Trial {
            same: same && detail.segments_lost == 0,
            schedule: detail.schedule,
            learnt: detail.learnt,
        })
    }

    /// Runs a plan and keeps every event; `None` if the run did not show the
    /// bug, or was too long to be kept whole.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn record(&mut self, plan: &Plan, seed: u64) -> Result<Option<Recorded>, ExploreError> {
        let observed = self.observe(plan, seed)?;
        Ok(observed.run.filter(|_| observed.same))
    }

    /// The same with what each event read or wrote.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn record_values(
        &mut self,
        plan: &Plan,
        seed: u64,
    ) -> Result<Option<Valued>, ExploreError> {
        let observed = self.observe(plan, seed)?;
        let run = observed.run.filter(|_| observed.same);
        Ok(run.map(|run| (run, observed.values)))
    }

    /// Runs a plan and keeps every event, whether the run shows the bug or not.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn observe(&mut self, plan: &Plan, seed: u64) -> Result<Observed, ExploreError> {
        let job = Job {
            details: Detailing::Always,
            trace: Detailing::Always,
            ..self.job(plan, seed)
        };
        let report = self.once(job)?;
        let judgement = self.judge(&report);
        let pending = report.pending();
        let (whole, schedule) = (report.is_whole(), report.schedule());
        let (report, steps, values) = report.into_parts();
        let mut detail = report.detail.unwrap_or_default();
        let path = |thread: &ThreadIndex| detail.threads.get(thread.position()).cloned();
        let whole = detail.segments_lost == 0 && whole;
        Ok(Observed {
            left_out: detail.left_out.iter().filter_map(path).collect(),
            passes: std::mem::take(&mut detail.passes),
            run: whole.then_some(Recorded {
                threads: detail.threads,
                schedule,
                steps,
                pending,
            }),
            values,
            same: judgement == Judgement::TheBug,
            failure: match report.outcome {
                Outcome::Failed(failure) => Some(failure),
                _ => None,
            },
            failed: judgement != Judgement::Good,
        })
    }

    /// Runs a plan and keeps its trace, which may be long; `None` if the run did
    /// not show the bug.
    ///
    /// # Errors
    /// If the program cannot be run, or its trace not be read.
    pub fn trace(&mut self, plan: &Plan, seed: u64) -> Result<Option<Traced>, ExploreError> {
        let report = self.once(Job {
            details: Detailing::Always,
            trace: Detailing::Always,
            ..self.job(plan, seed)
        })?;
        if self.judge(&report) != Judgement::TheBug {
            return Ok(None);
        }
        let file = match report.trace() {
            Some(trace) => trace.read()?,
            None => return Ok(None),
        };
        Ok(Some(Traced {
            pending: report.pending(),
            file,
            threads: report.into_detail().threads,
        }))
    }

    /// How many of so many runs of a plan show the bug. Each begins where the
    /// others do, and none reports more than its outcome.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn repeat(&mut self, plan: &Plan, seed: u64, times: u64) -> Result<u64, ExploreError> {
        let job = Job {
            runs: times,
            stride: 0,
            ..self.job(plan, seed)
        };
        let mut shown = 0;
        self.each_judged(job, |_, is_it| shown += u64::from(is_it))?;
        Ok(shown)
    }

    /// The runs of a plan with these seeds that show the bug.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn sizes(
        &mut self,
        plan: &Plan,
        seeds: std::ops::Range<u64>,
    ) -> Result<Vec<Extent>, ExploreError> {
        let job = Job {
            runs: seeds.end.saturating_sub(seeds.start),
            stride: 1,
            ..self.job(plan, seeds.start)
        };
        let mut sizes = Vec::new();
        self.each_judged(job, |report, is_it| {
            sizes.extend(is_it.then_some(((report.events, report.switches), report.seed)));
        })?;
        Ok(sizes)
    }

    /// Does a job, and tells of each run whether it shows the bug; how many runs
    /// there were.
    fn each_judged(
        &mut self,
        job: Job,
        mut tell: impl FnMut(&Ran, bool),
    ) -> Result<u64, ExploreError> {
        let (mut made, mut events) = (0, 0);
        let Trials {
            server,
            bug,
            atlas,
            judged,
            ..
        } = self;
        repeat(server, job, self.go_on, |report| {
            ExploreError::if_broken(report)?;
            made += 1;
            events += report.events;
            let is_it = judge(report, bug, atlas, judged) == Judgement::TheBug;
            tell(report, is_it);
            Ok(())
        })?;
        self.runs += made;
        self.events += events;
        Ok(made)
    }

    /// The first of so many seeds with which a plan shows the bug.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn seek(
        &mut self,
        plan: &Plan,
        seeds: std::ops::Range<u64>,
    ) -> Result<Option<u64>, ExploreError> {
        let mut next = seeds.start;
        while next < seeds.end {
            let job = Job {
                runs: seeds.end - next,
                stride: 1,
                stop_at_failure: true,
                ..self.job(plan, next)
            };
            let mut found = None;
            let made = self.each_judged(job, |report, is_it| {
                found = found.or(is_it.then_some(report.seed));
            })?;
            next += made;
            if found.is_some() || made == 0 {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Where every thread stands when a schedule is over: what it is about to
    /// do, and its stack. Empty if the schedule cannot be followed to its end.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn standing(
        &mut self,
        schedule: Schedule<PlaceNumber>,
        seed: u64,
    ) -> Result<Vec<ThreadState>, ExploreError> {
        let events = schedule.events();
        let job = Job {
            details: Detailing::Always,
            ..self.job(&Plan::replay(schedule), seed)
        };
        let report = self.once(job)?;
        Ok(match report.events == events {
            true => report.into_detail().standing,
            false => Vec::new(),
        })
    }

    /// The stack at an event of a run along `schedule`, innermost frame first: also where
    /// none can be stopped, before the first other thread is created. Empty if the run
    /// does not come so far.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub fn stack_at(
        &mut self,
        schedule: Schedule<PlaceNumber>,
        event: u64,
        seed: u64,
    ) -> Result<Vec<PlaceNumber>, ExploreError> {
        let job = Job {
            details: Detailing::Always,
            trace: Detailing::Always,
            probes: Probes {
                events: vec![event],
                block: None,
            },
            ..self.job(&Plan::replay(schedule), seed)
        };
        let seen = self.once(job)?.into_detail().probed.events;
        let first = seen.into_iter().next();
        Ok(first.map_or_else(Vec::new, |sighting| sighting.frames))
    }

    /// What is left out of the runs.
    #[must_use]
    pub fn left_out(&self) -> &Omissions {
        &self.without
    }

    /// Leaves something out of all further runs.
    pub fn leave_out(&mut self, without: Omissions) {
        self.without = without;
    }

    /// Ends all further runs that have more events than this.
    pub fn end_after(&mut self, events: u64) {
        self.most_events = events;
    }

    fn job(&self, plan: &Plan, seed: u64) -> Job {
        let job = self.subject.job(plan);
        Job {
            limits: Limits {
                events: job.limits.events.min(self.most_events),
                ..job.limits
            },
            first_seed: seed,
            without: self.without.clone(),
            stop_at_failure: false,
            ..job
        }
    }

    fn once(&mut self, job: Job) -> Result<Ran, ExploreError> {
        self.runs += 1;
        let ran = self.subject.run_once(&mut self.server, job, self.go_on)?;
        self.events += ran.events;
        let mut notices = ran.detail.iter().flat_map(|detail| &detail.notices);
        self.seen_by_others |= notices.any(|notice| *notice == Notice::Outlasting);
        Ok(ran)
    }

    fn judge(&mut self, report: &Ran) -> Judgement {
        judge(report, self.bug, &mut self.atlas, &mut self.judged)
    }
}

/// What a run came to; `judged` is the last one that was looked at.
fn judge(
    report: &Ran,
    bug: &Bug,
    atlas: &mut Atlas,
    judged: &mut Option<(Outcome, Judgement)>,
) -> Judgement {
    if let Some((outcome, judgement)) = judged
        && *outcome == report.outcome
        && !bug.oracle.looks_at_good_runs()
    {
        return *judgement;
    }
    let judgement = match judge_against(report, bug, atlas) {
        None => Judgement::Good,
        Some(verdict) if verdict.signature == bug.signature => Judgement::TheBug,
        Some(_) => Judgement::Other,
    };
    *judged = Some((report.outcome.clone(), judgement));
    judgement
}
