//! `bohr simplify`: the same failure with the fewest context switches.

mod bench;
mod file;
mod keeper;
mod patience;
mod report;
mod values;

use bench::FEW_SAMPLES;
pub use bench::{Bench, LEAPS, exactly_at_first, loosely, moments};

use crate::control::{BugArgs, counter, duration, interruption};
use crate::outcome::{Failure, Outcome};
use crate::trace;
use bohr_event::control::Recorded;
use bohr_event::{Diagnosis, Fault, PlaceNumber, Schedule};
use bohr_explore::bug_file::Bug;
use bohr_explore::{ExploreError, Trials, Valued};
use bohr_reduce::{Execution, Failing, Options, SimplifyError, cost, dynamic, simplify};
use bohr_schedule::Plan;
use bohr_schedule::search::DepthFirst;
use indicatif::ProgressBar;
use keeper::Keeper;
use patience::{Patience, until};
use report::Report;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Whether a step is taken.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    /// It is.
    On,
    /// It is left out.
    Off,
}

/// Which bug, and how hard to try.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr simplify cache.bohr                  keep the simplest schedule in cache.bohr
  bohr simplify cache.bohr -o simple.bohr   leave cache.bohr as it is
  bohr simplify cache.bohr --static off     by running the program alone
  bohr simplify cache.bohr --time 5m        try longer
  bohr simplify cache.trace -o simple.trace reorder a bare trace, as
                                            `bohr trace --export trace` writes it

The static step reorders the recorded events without changing what any thread
sees. The dynamic step changes the schedule, runs the program and keeps what
still fails in the same way. Exit codes: 0 done, 2 bohr could not do it.")]
pub struct Args {
    #[command(flatten)]
    subject: BugArgs,
    /// Where the result goes; by default the bug file itself.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Reorder the recorded events.
    #[arg(
        long = "static",
        value_enum,
        default_value = "on",
        default_missing_value = "on",
        num_args = 0..=1,
        value_name = "SWITCH"
    )]
    static_step: Switch,
    /// Run the program with simpler schedules.
    #[arg(
        long = "dynamic",
        value_enum,
        default_value = "on",
        default_missing_value = "on",
        num_args = 0..=1,
        value_name = "SWITCH"
    )]
    dynamic_step: Switch,
    /// Longest time for each of the two steps, as in 10s or 5m.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    time: Duration,
}

/// What cannot be asked for.
#[derive(Debug, thiserror::Error)]
enum SimplifyArgsError {
    /// Neither of both steps.
    #[error("--static off and --dynamic off leave nothing to do")]
    NothingToDo,
    /// A trace has no program to run.
    #[error("a bare trace can only be reordered, and --static off forbids that")]
    NoProgram,
}

impl Diagnosis for SimplifyArgsError {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(String::from(match self {
            SimplifyArgsError::NothingToDo => "leave out one of them",
            SimplifyArgsError::NoProgram => {
                "name the bug file, whose program can be run, or leave out --static off"
            }
        }))
    }
}

pub fn run(args: &Args) -> Outcome {
    let is_trace = trace::is_trace(&args.subject.bug);
    match (args.static_step, args.dynamic_step) {
        (Switch::Off, _) if is_trace => return Err(SimplifyArgsError::NoProgram.into()),
        (Switch::Off, Switch::Off) => return Err(SimplifyArgsError::NothingToDo.into()),
        _ if is_trace => return file::run(args),
        _ => {}
    }
    let (bug, subject) = args.subject.load()?;
    let patience = Patience::default();
    let waits = || patience.lasts();
    let mut trials = Trials::start(&subject, &bug, &waits)?;
    let mut work = Work::begin(&bug, &mut trials)?;
    let path = args.output.as_ref().unwrap_or(&args.subject.bug);
    let taken = take_steps(args, &mut work, path, &patience);
    let nothing_done = work.report.static_refused.is_some() && args.dynamic_step == Switch::Off;
    if !nothing_done {
        // Whatever went wrong, what was found before it is not lost.
        work.save(path)?;
    }
    match taken {
        // Nobody wanted to wait for a run of the program any longer.
        Err(failure) if failure.is_interruption() => {}
        taken => taken?,
    }
    work.report.interrupted = interruption().load(Ordering::Relaxed);
    match args.subject.json {
        true => println!("{}", work.report.as_json(path)),
        false => print!("{}", work.report.as_text(path)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Both steps, or the one that is wanted.
fn take_steps(
    args: &Args,
    work: &mut Work<'_, '_>,
    path: &Path,
    patience: &Patience,
) -> Result<(), Failure> {
    if args.static_step == Switch::On {
        let refusal = work.reorder(args.time)?;
        match (refusal, args.dynamic_step) {
            (Some(refusal), Switch::Off) => return Err(refusal.into()),
            _ => work.save(path)?,
        }
    }
    if args.dynamic_step == Switch::On {
        patience.end_after(args.time);
        work.experiment(args.time, Some(path))?;
    }
    Ok(())
}

/// A bug on its way to its simplest schedule.
pub struct Work<'w, 't> {
    bug: &'w Bug,
    trials: &'w mut Trials<'t>,
    /// The failing run to begin with.
    recorded: Recorded,
    /// What its events read and wrote.
    values: Vec<Option<u64>>,
    /// The bug as it was found or reduced.
    found: Failing,
    best: Failing,
    report: Report,
}

fn execution(recorded: &Recorded) -> Execution<'_> {
    Execution::recorded(recorded)
}

impl<'w, 't> Work<'w, 't> {
    /// Begins with the bug as it was found or reduced, or with what an earlier call
    /// has left of it if that is better.
    pub fn begin(bug: &'w Bug, trials: &'w mut Trials<'t>) -> Result<Work<'w, 't>, Failure> {
        let mut record = |schedule| {
            let plan = Plan::replay(trials.atlas().inward(schedule));
            trials.record_values(&plan, bug.seed)
        };
        let mut run = record(bug.unsimplified())?.ok_or(ExploreError::NotReproduced)?;
        let mut best = cost(execution(&run.0))?;
        let mut report = Report::new(&run.0, best);
        let found = Failing {
            schedule: run.0.schedule.clone(),
            cost: best,
        };
        if let Some(schedule) = &bug.simplified
            && let Some(earlier) = record(schedule)?
        {
            let left = cost(execution(&earlier.0))?;
            if left < best {
                (run, best) = (earlier, left);
                report.go_on_from(left);
            }
        }
        let (recorded, values) = run;
        Ok(Work {
            bug,
            trials,
            found,
            best: Failing {
                schedule: recorded.schedule.clone(),
                cost: best,
            },
            report,
            recorded,
            values,
        })
    }

    /// The static step: the same events in another order. Why it was left out, if
    /// the events are none that can be reordered: the program can still be run.
    pub fn reorder(&mut self, time: Duration) -> Result<Option<SimplifyError>, Failure> {
        let started = Instant::now();
        let go_on = until(started + time);
        let execution = execution(&self.recorded);
        let simplified = match simplify(execution, &Options::default(), &mut || go_on()) {
            Ok(simplified) => simplified,
            Err(refusal) => {
                eprintln!("bohr: note: the recorded events are left in their order: {refusal}");
                self.report.static_refused = Some(refusal.to_string());
                return Ok(Some(refusal));
            }
        };
        let steps = &self.recorded.steps;
        let mut schedule = simplified
            .order
            .schedule(steps, |event| self.recorded.path(event).clone());
        for choice in self.recorded.schedule.choices() {
            schedule.choose(choice.clone());
        }
        self.report.take_static(&simplified.report);
        self.report.verified = self.verify(schedule)?;
        self.report.after_static = self.best.cost;
        self.report.seconds_static = started.elapsed().as_secs_f64();
        Ok(None)
    }

    /// Runs the reordered execution. It becomes the best one if it shows the bug
    /// and every thread does in it what it did before, event for event, and reads
    /// the same values.
    fn verify(&mut self, schedule: Schedule<PlaceNumber>) -> Result<bool, Failure> {
        let plan = Plan::replay(schedule);
        let run = self.trials.record_values(&plan, self.bug.seed)?;
        let before = (&self.recorded, &self.values[..]);
        let same = |(run, values): &Valued| {
            run.same_threads(&self.recorded) && values::same_reads(before, (run, values))
        };
        let Some((run, _)) = run.filter(same) else {
            return Ok(false);
        };
        let cost = cost(execution(&run))?;
        // Fewer switches are what this step is for; preemptions come next. What an
        // earlier call has left was chosen by both.
        let better = match self.report.earlier {
            Some(_) => cost < self.best.cost,
            None => cost.switches <= self.best.cost.switches,
        };
        if better {
            self.best = Failing {
                schedule: run.schedule,
                cost,
            };
        }
        Ok(true)
    }

    /// The dynamic step: other events, the same failure.
    /// Whatever is better than what `path` holds is written there.
    pub fn experiment(&mut self, time: Duration, path: Option<&Path>) -> Result<(), Failure> {
        let started = Instant::now();
        let bar = counter("schedules tried");
        let searched = self.search(started, time, path, &bar);
        bar.finish_and_clear();
        self.report.seconds_dynamic = started.elapsed().as_secs_f64();
        let none = self.best.cost.preemptive == 0;
        self.report.fewest_preemptions = none || matches!(searched, Ok(true));
        searched.map(|_| ())
    }

    /// Whether no schedule has fewer preemptions than the best that was found.
    fn search(
        &mut self,
        started: Instant,
        time: Duration,
        path: Option<&Path>,
        bar: &ProgressBar,
    ) -> Result<bool, Failure> {
        let mut keeper = path.map(|path| Keeper::new(self.bug, path, self.best.cost));
        let go_on = until(started + time);
        let mut bench = Bench::new(self.trials, self.bug.seed, &go_on, bar, keeper.as_mut());
        bench.ends_at(started + time);
        if !self.bug.signature.kind.is_endless() {
            bench.short_of(self.recorded.steps.len() as u64);
        }
        let begins_elsewhere = self.best.schedule != self.found.schedule;
        bench.leap(&mut self.best, FEW_SAMPLES)?;
        dynamic::improve(&mut self.best, &mut bench)?;
        // Small programs are searched through at once; for others, chance is the
        // better guide, and half of the time is for the proof.
        let mut search = DepthFirst::bounded();
        let share = |share| until(started + time / share);
        let mut is_fewest = bench.search_below(&mut self.best, &mut search, &share(8))?;
        if !is_fewest && begins_elsewhere {
            bench.ends_at(started + time * 3 / 8);
            bench.begin_at(&self.found, &mut self.best)?;
            bench.ends_at(started + time);
            is_fewest = bench.search_below(&mut self.best, &mut search, &share(4))?;
        }
        if !is_fewest {
            bench.sample_below(&mut self.best, &share(2))?;
            is_fewest = bench.search_below(&mut self.best, &mut search, &go_on)?;
        }
        Ok(is_fewest)
    }

    /// The best schedule so far.
    pub fn best(self) -> Schedule<PlaceNumber> {
        self.best.schedule
    }

    /// Writes the bug with the best schedule so far.
    fn save(&mut self, path: &Path) -> Result<(), Failure> {
        self.report.after = self.best.cost;
        self.report.runs = self.trials.runs();
        keeper::write(self.bug, &self.best.schedule, self.trials.atlas(), path)
    }
}
