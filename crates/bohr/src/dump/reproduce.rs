//! From a core to a schedule that fails in the same way: the failure's index, a good
//! run aligned with it, what differs in memory, and a search where it matters.

mod aligned;
mod index;
mod text;

pub use text::text;

use super::{likeness, opened, read, report::Report};
use crate::control::{environment, interruption, model, target};
use crate::outcome::Failure;
use aligned::{Aligned, align};
use bohr_build::{Cache, Profile};
use bohr_dump::loaded;
use bohr_dump::position::{Positions, thread};
use bohr_dump::variables::{Information, Sections};
use bohr_dump::{Dump, Loaded, Stacks};
use bohr_event::{Diagnosis, Fault, ThreadPath};
use bohr_explore::bug_file::{self, Invocation};
use bohr_explore::guided::{Critical, Passing, Ranked, Search};
use bohr_explore::hunt::{Budget, Hunt, HuntResult, Shard, hunt};
use bohr_explore::likeness::Likeness;
use bohr_explore::{ExploreError, StrategyName, Subject, inspect, write_whole};
use bohr_program::Program;
use bohr_program::index::{Flows, Index};
use clap::ValueEnum;
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// By what the search is guided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Guide {
    /// Accesses nearest in time to the aligned point first.
    Temporal,
    /// Nothing: every preemption in the order of the run.
    None,
}

/// Where a thread may be preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Points {
    /// Where threads begin, before locks are taken and after they are given back.
    Synchronisation,
    /// Before memory accesses, too.
    Accesses,
}

/// How to reproduce a failure.
pub struct Request<'a> {
    /// The core.
    pub core: &'a Path,
    /// The program, built for production.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [OsString],
    /// What it reads as its standard input.
    pub input: Option<&'a Path>,
    /// By what the search is guided.
    pub guide: Guide,
    /// Where threads may be preempted.
    pub points: Points,
    /// Most preemptions of a run.
    pub preemptions: u32,
    /// How long to search.
    pub time: Duration,
    /// Where the bug goes.
    pub output: &'a Path,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Reproduced {
    /// Whether a schedule fails like the core.
    pub reproduced: bool,
    /// The failure, in words.
    pub failure: String,
    /// The thread that failed.
    pub thread: String,
    /// `exact`, `closest` or `none`.
    pub alignment: &'static str,
    /// The failure's index, from the thread's start inwards.
    pub index: Vec<String>,
    /// How many entries it has; a loop counts once.
    pub index_length: usize,
    /// Values that were compared.
    pub variables: u64,
    /// How many of them differ.
    pub differences: usize,
    /// Values that others can reach.
    pub shared: u64,
    /// Those of them that differ.
    pub critical: Vec<CriticalVariable>,
    /// Accesses to them before the aligned point, the best first.
    pub ranking: Vec<RankedAccess>,
    /// Runs up to the one that failed, or all.
    pub tries: u64,
    /// Seconds by step.
    pub seconds_read: f64,
    /// Comparing.
    pub seconds_diff: f64,
    /// Slicing; no slice is made yet.
    pub seconds_slice: f64,
    /// Searching.
    pub seconds_search: f64,
    /// Where the bug is.
    pub bug_file: Option<PathBuf>,
}

/// A shared variable that is not the same.
#[derive(Clone, Debug, Serialize)]
pub struct CriticalVariable {
    /// How it is reached.
    pub path: String,
    /// In the core.
    pub failing: String,
    /// In the good run.
    pub passing: String,
    #[serde(skip)]
    place: Critical,
}

/// An access to a critical variable.
#[derive(Clone, Debug, Serialize)]
pub struct RankedAccess {
    /// By which thread.
    pub thread: String,
    /// What.
    pub kind: String,
    /// To which variable.
    pub variable: String,
    /// Where.
    pub line: Option<String>,
}

/// Accesses that are told.
const MOST_RANKED: usize = 20;

/// Why a failure cannot be looked for.
#[derive(Debug, thiserror::Error)]
pub enum Irreproducible {
    /// The program was not built for production.
    #[error("{} was not built for production: its core does not tell blocks and iterations", .0.display())]
    NotForProduction(PathBuf),
    /// The core does not have the program.
    #[error("the core's program is not {}", .0.display())]
    NoProgram(PathBuf),
    /// No frame of the failing thread is the program's.
    #[error("the thread that failed was nowhere in the program's own code")]
    Nowhere,
}

impl Diagnosis for Irreproducible {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            Irreproducible::NotForProduction(_) => {
                "build it with `bohr cc --production` and get a core of that; until then: bohr \
                 hunt --like CORE -- PROGRAM"
                    .into()
            }
            Irreproducible::NoProgram(_) => "give the build that left the core: --program".into(),
            Irreproducible::Nowhere => "bohr hunt --like CORE -- PROGRAM".into(),
        })
    }
}

/// What a core tells, as far as a search needs it.
struct Failed {
    likeness: Likeness,
    thread: ThreadPath,
    index: Index,
}

/// See the module.
pub fn reproduce(request: &Request<'_>) -> Result<Reproduced, Failure> {
    let begun = Instant::now();
    let cache = Cache::open()?.interrupted_by(interruption());
    let profile = cache.profile(request.program, Profile::Alignment)?;
    let program = model::load(&profile.model)?;
    let failed = opened(
        request.core,
        Some(request.program),
        |dump, objects, files| failed(request, &program, dump, objects, files.missing()),
    )??;
    let mut told = Reproduced::of(&failed, &program);
    told.seconds_read = begun.elapsed().as_secs_f64();
    eprintln!(
        "bohr: looks for {} in thread {}",
        failed.likeness, failed.thread
    );

    let invocation = invocation(request)?;
    let start = Some((profile.executable.clone(), profile.bundle.0));
    let mut watched = Subject::new(
        inspect(request.program, start).map_err(ExploreError::from)?,
        invocation.clone(),
    );
    watched.models = vec![program.clone()];
    let search = Search {
        preemptions: request.preemptions,
        accesses: request.points == Points::Accesses,
    };
    let aligned = align(&watched, &program, &failed, profile.bundle.0, search)?;
    told.alignment = aligned.told();
    let critical = differences(request, &profile.executable, &aligned, &mut told)?;
    let passing = Passing {
        steps: &aligned.steps,
        threads: &aligned.threads,
        aligned: aligned.events,
    };
    let ranked = passing.by_time(&critical);
    told.rank(&aligned, &ranked);

    let searched = Instant::now();
    let mut plans = vec![search.first()];
    plans.extend(match request.guide {
        Guide::Temporal => search.guided(passing, &critical, &ranked),
        Guide::None => search.unguided(passing),
    });
    let (target, models) = target(request.program, false)?;
    let mut subject = Subject::new(target, invocation);
    subject.models = models;
    let found = try_plans(request, &subject, &failed.likeness, plans)?;
    told.seconds_search = searched.elapsed().as_secs_f64();
    told.tries = found.statistics.runs;
    if let Some(finding) = found.findings.first() {
        let bytes = bug_file::write(&finding.bug);
        let path = request.output.to_path_buf();
        write_whole(&path, &bytes).map_err(|source| ExploreError::File {
            path: path.clone(),
            source,
        })?;
        told.reproduced = true;
        told.bug_file = Some(path);
    }
    Ok(told)
}

fn failed(
    request: &Request<'_>,
    program: &Program,
    dump: &Dump<'_>,
    objects: &[Loaded<'_>],
    missing: &[String],
) -> Result<Failed, Failure> {
    let report = Report::of(dump, objects, missing);
    let likeness = likeness::of(&report).ok_or(super::Unlike)?;
    let path = loaded::program(dump);
    let own = objects.iter().find(|object| Some(&*object.path) == path);
    let own = own.ok_or_else(|| Irreproducible::NoProgram(request.program.into()))?;
    let positions = Positions::new(program, own);
    let positions =
        positions.ok_or_else(|| Irreproducible::NotForProduction(request.program.into()))?;
    let sections = Sections::of(own);
    let information = Information::read(&sections, own.bias);
    let stacks = Stacks::new(&dump.memory, objects);
    let registers = &dump.threads[0].registers;
    let frames = stacks.of(registers);
    let mut flows = Flows::new(program);
    let stack = positions.stack(&mut flows, &frames, &information, &dump.memory);
    if stack.is_empty() {
        return Err(Irreproducible::Nowhere.into());
    }
    Ok(Failed {
        likeness,
        thread: thread(own, &dump.memory, registers.thread_pointer).unwrap_or(ThreadPath::MAIN),
        index: Index::of(&mut flows, &stack),
    })
}

fn invocation(request: &Request<'_>) -> Result<Invocation, Failure> {
    let words = request.arguments.iter();
    Ok(Invocation {
        arguments: words.map(|word| word.as_bytes().to_vec()).collect(),
        environment: environment(),
        input: match request.input {
            Some(path) => read(path)?,
            None => Vec::new(),
        },
        given: Vec::new(),
    })
}

/// Compares the core with the state at the aligned point.
fn differences(
    request: &Request<'_>,
    watched: &Path,
    aligned: &Aligned,
    told: &mut Reproduced,
) -> Result<Vec<Critical>, Failure> {
    let begun = Instant::now();
    let Some(snapshot) = &aligned.snapshot else {
        return Ok(Vec::new());
    };
    let comparison =
        super::comparing::compare_states(request.core, request.program, snapshot, watched)?;
    told.variables = comparison.values;
    told.shared = comparison.shared;
    told.differences = comparison.differences.len();
    let shared = comparison.differences.into_iter().filter_map(|difference| {
        let (address, size) = difference.place?;
        Some(CriticalVariable {
            path: difference.path,
            failing: difference.left.to_string(),
            passing: difference.right.to_string(),
            place: Critical { address, size },
        })
    });
    told.critical = shared.collect();
    told.seconds_diff = begun.elapsed().as_secs_f64();
    let places = told.critical.iter().map(|variable| variable.place.clone());
    Ok(places.collect())
}

fn try_plans(
    request: &Request<'_>,
    subject: &Subject,
    likeness: &Likeness,
    plans: Vec<bohr_schedule::Plan>,
) -> Result<HuntResult, Failure> {
    let plan = Hunt {
        strategy: StrategyName::Guided,
        seed: 0,
        jobs: 1,
        shard: Shard::WHOLE,
        budget: Budget {
            runs: Some(plans.len() as u64),
            time: Some(request.time),
        },
        keep_going: false,
        wanted: Some(likeness.clone()),
        ways: None,
        checkpoints: true,
        rewind: true,
        listed: Some(plans),
    };
    Ok(hunt(subject, &plan, interruption(), &mut |_| {})?)
}

impl Reproduced {
    fn of(failed: &Failed, program: &Program) -> Reproduced {
        Reproduced {
            reproduced: false,
            failure: failed.likeness.to_string(),
            thread: failed.thread.to_string(),
            alignment: "none",
            index: index::lines(program, &failed.thread, &failed.index),
            index_length: failed.index.len(),
            variables: 0,
            differences: 0,
            shared: 0,
            critical: Vec::new(),
            ranking: Vec::new(),
            tries: 0,
            seconds_read: 0.0,
            seconds_diff: 0.0,
            seconds_slice: 0.0,
            seconds_search: 0.0,
            bug_file: None,
        }
    }

    fn rank(&mut self, aligned: &Aligned, ranked: &[Ranked]) {
        let told = ranked.iter().take(MOST_RANKED).map(|access| {
            let step = &aligned.steps[access.event];
            RankedAccess {
                thread: aligned.threads[step.thread.position()].to_string(),
                kind: step.operation.kind.to_string(),
                variable: self.critical[access.variable].path.clone(),
                line: aligned.lines.get(&access.event).cloned(),
            }
        });
        self.ranking = told.collect();
    }
}
