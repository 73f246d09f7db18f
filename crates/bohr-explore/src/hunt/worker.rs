//! One worker of a hunt: a fork server and the batches it is given.

use super::Hunt;
use super::agenda::{Agenda, Batch};
use super::progress::Finished;
use crate::atlas::Atlas;
use crate::bug_file::{Bug, Races};
use crate::error::ExploreError;
use crate::lock_order;
use crate::race;
use crate::ran::Ran;
use crate::server::{Server, Voice};
use crate::subject::Subject;
use crate::verdict::judge;
use bohr_event::control::{Checkpoints, Detailing, Job, Probes};
use bohr_explain::LockCycle;
use bohr_schedule::Plan;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Events of a run that teach something; the rest of a long run is more of the same.
const LESSON: u64 = 200_000;

/// Ticks of a run that are worth an outpost, about half a millisecond: a few times
/// what cloning a process costs.
const WAY: u64 = 1_500_000;

struct Worker<'a> {
    hunt: &'a Hunt,
    agenda: &'a Agenda<'a>,
    server: Server,
    desk: Desk<'a>,
}

/// Works until the hunt is over.
pub(super) fn work(
    subject: &Subject,
    hunt: &Hunt,
    agenda: &Agenda<'_>,
) -> Result<(), ExploreError> {
    let end = Worker::new(subject, hunt, agenda).and_then(|mut worker| worker.work());
    match end {
        // A worker that was cut short by the end of the hunt lost nothing.
        Err(error) if error.is_interruption() => Ok(()),
        Err(error) => {
            agenda.give_up();
            Err(error)
        }
        Ok(()) => Ok(()),
    }
}

impl<'a> Worker<'a> {
    fn new(
        subject: &'a Subject,
        hunt: &'a Hunt,
        agenda: &'a Agenda<'a>,
    ) -> Result<Worker<'a>, ExploreError> {
        let server = subject.serve(Voice::Muted, &|| agenda.wants(0))?;
        Ok(Worker {
            hunt,
            agenda,
            desk: Desk {
                subject,
                agenda,
                atlas: subject.atlas(&server),
                unclear: Vec::new(),
            },
            server,
        })
    }

    fn work(&mut self) -> Result<(), ExploreError> {
        while let Some(batch) = self.agenda.take() {
            let mut finished = Finished::default();
            finished.notices.extend(&self.server.ready().notices);
            let end = match batch.planned {
                true => self.single(&batch, &mut finished),
                false => self.sweep(&batch, &mut finished),
            };
            finished.point = self.server.fork_point();
            self.agenda.finish(batch.number, finished);
            end?;
        }
        Ok(())
    }

    /// The first run of a batch is traced, for what it teaches; the rest is not.
    fn sweep(&mut self, batch: &Batch, finished: &mut Finished) -> Result<(), ExploreError> {
        // At its size at once: growing in steps would leave holes behind in a heap that
        // a long hunt has to live with.
        let runs = batch.runs.end - batch.runs.start;
        finished.hashes.reserve_exact(runs as usize);
        let job = Job {
            first_seed: self.hunt.seed_of(batch.runs.start),
            stride: self.hunt.shard.count,
            ..self.desk.subject.job(&self.plan(batch))
        };
        let lesson = self.lesson(job.clone());
        self.do_job(batch, lesson.clone(), finished)?;
        self.look_closer(batch, lesson, finished)?;
        if finished.hashes.is_empty() {
            return Err(ExploreError::NoReport);
        }
        let second = batch.runs.start + 1;
        if second == batch.runs.end || !self.agenda.wants(second) {
            return Ok(());
        }
        let rest = Job {
            rewind: self.hunt.rewind,
            first_seed: self.hunt.seed_of(second),
            runs: batch.runs.end - second,
            ..job
        };
        self.do_job(batch, rest, finished)
    }

    /// The plan of a batch, along recorded ways if there are any.
    fn plan(&self, batch: &Batch) -> Plan {
        Plan {
            ways: self.hunt.ways.clone(),
            ..batch.plan.clone()
        }
    }

    /// The same job, traced.
    fn lesson(&self, job: Job) -> Job {
        Job {
            trace: Detailing::Always,
            trace_limit: match self.desk.subject.oracle.needs_events() {
                true => job.trace_limit,
                false => LESSON,
            },
            details: Detailing::Always,
            ..job
        }
    }

    /// One run, planned by a search that wants to hear of it.
    fn single(&mut self, batch: &Batch, finished: &mut Finished) -> Result<(), ExploreError> {
        let job = Job {
            details: Detailing::Always,
            checkpoints: match self.hunt.checkpoints {
                true => Checkpoints::Every(WAY),
                false => Checkpoints::Never,
            },
            ..self.desk.subject.job(&self.plan(batch))
        };
        if !batch.lesson {
            return self.do_job(batch, job, finished);
        }
        let lesson = self.lesson(job);
        self.do_job(batch, lesson.clone(), finished)?;
        self.look_closer(batch, lesson, finished)
    }

    /// Makes a lesson once more for the stacks of its lock orders, if it has any that can
    /// deadlock: of locks that a library takes, the place alone says nothing.
    fn look_closer(
        &mut self,
        batch: &Batch,
        lesson: Job,
        finished: &mut Finished,
    ) -> Result<(), ExploreError> {
        let cycles = std::mem::take(&mut self.desk.unclear);
        if cycles.is_empty() {
            return Ok(());
        }
        let events: BTreeSet<u64> = lock_order::events(&cycles).collect();
        let events: Vec<u64> = events.into_iter().collect();
        let probes = Probes {
            events: events.clone(),
            ..Probes::default()
        };
        let job = Job {
            probes,
            checkpoints: Checkpoints::Never,
            ..lesson
        };
        let agenda = self.agenda;
        let go_on = || agenda.wants(batch.runs.start);
        let run = self.desk.subject.run_once(&mut self.server, job, &go_on)?;
        let probed = run.detail.as_ref().map(|detail| &detail.probed.events);
        let frames = probed.into_iter().flatten();
        let frames = frames.map(|sighting| sighting.frames.clone());
        let stacks = events.into_iter().zip(frames).collect();
        finished.lock_cycles = lock_order::tell(&cycles, &run, &mut self.desk.atlas, &stacks);
        Ok(())
    }

    fn do_job(
        &mut self,
        batch: &Batch,
        mut job: Job,
        finished: &mut Finished,
    ) -> Result<(), ExploreError> {
        loop {
            let mut done = 0;
            let mut failure = None;
            let (desk, agenda) = (&mut self.desk, self.agenda);
            let go_on = || agenda.wants(batch.runs.start);
            let end = self.server.run(job.clone(), &go_on, |reports| {
                done += reports.len() as u64;
                let taken = reports
                    .iter()
                    .try_for_each(|report| desk.take(batch, report, finished));
                failure = failure.take().or(taken.err());
                let next = batch.runs.start + finished.hashes.len() as u64;
                match agenda.wants(next) && failure.is_none() {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            if let Some(error) = failure {
                return Err(error);
            }
            end?;
            // A job stops at its first failure; if the hunt goes on, so does the rest.
            let next = batch.runs.start + finished.hashes.len() as u64;
            if done == 0 || done >= job.runs || !self.agenda.wants(next) {
                return Ok(());
            }
            job.runs -= done;
            job.first_seed = job.first_seed.wrapping_add(done.wrapping_mul(job.stride));
        }
    }
}

/// Takes reports in.
struct Desk<'a> {
    subject: &'a Subject,
    agenda: &'a Agenda<'a>,
    atlas: Atlas,
    /// Lock orders of the last lesson that can deadlock, to be looked at more closely.
    unclear: Vec<LockCycle>,
}

impl Desk<'_> {
    fn take(
        &mut self,
        batch: &Batch,
        report: &Ran,
        finished: &mut Finished,
    ) -> Result<(), ExploreError> {
        ExploreError::if_broken(report)?;
        let run = batch.runs.start + finished.hashes.len() as u64;
        if !self.agenda.wants(run) {
            // Reports that come after a failure in one go.
            return Ok(());
        }
        finished.hashes.push(report.hash);
        finished.events += report.events;
        finished.rewound += u64::from(report.rewound);
        if let Some(detail) = &report.detail {
            self.agenda.hear(&detail.notices);
            finished.notices.extend(&detail.notices);
            finished.learnt.clone_from(&detail.learnt);
            if self.subject.oracle.needs_events() {
                finished.unwatched = finished.unwatched.max(report.missing());
            }
        }
        if batch.lesson && run == batch.runs.start {
            let detail = report.detail.as_ref();
            let threads = detail.map_or(&[][..], |detail| &detail.threads);
            match batch.planned {
                // A search has its own way to learn; this is for the user.
                true => finished.seen.learn(report.steps(), threads),
                false => finished.pairs = self.agenda.learn(report.steps(), threads),
            }
            if self.subject.oracle.races == Races::Reported {
                finished.races = race::tell(report, &mut self.atlas);
            }
            if self.subject.oracle.races != Races::Ignored {
                self.unclear = lock_order::found(report, &mut self.atlas);
            }
        }
        if let Some(verdict) = judge(report, &self.subject.oracle, &mut self.atlas) {
            if self.agenda.is_another(&verdict) {
                finished.others += 1;
                return Ok(());
            }
            if let Some(lost) = { report.detail.as_ref() }
                .map(|detail| detail.segments_lost)
                .filter(|&lost| lost > 0)
            {
                return Err(ExploreError::TooManySwitches {
                    failure: verdict.message,
                    switches: report.switches,
                    lost,
                });
            }
            let strategy = batch.strategy.to_string();
            let bug = Bug::of_run(self.subject, &self.atlas, &strategy, report, verdict);
            finished.bugs.push(bug);
            self.agenda.failed(run);
        }
        Ok(())
    }
}
