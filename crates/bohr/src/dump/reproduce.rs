//! From a core to a schedule that fails in the same way: the failure's index, a good
//! run aligned with it, what differs in memory, and a search where it matters.

mod aligned;
mod freed;
mod index;
mod locks;
mod page;
mod request;
mod slicing;
mod text;
mod told;
mod wider;

pub use page::page;
pub use request::{Align, Guide, Irreproducible, Points, Request};
pub use text::text;
pub use told::{CriticalVariable, Reproduced, in_words};
pub use wider::MOST_PREEMPTIONS;

use super::comparing::compare_states;
use super::{checkpoint, likeness, opened, read, report::Report};
use crate::control::{Accesses, environment, interruption, model, target};
use crate::outcome::Failure;
use aligned::{Aligned, align, better};
use bohr_build::{Cache, Profile};
use bohr_dump::loaded;
use bohr_dump::position::{Positions, blocks, thread};
use bohr_dump::variables::{Information, Sections};
use bohr_dump::{Dump, Loaded, Stacks};
use bohr_event::ThreadPath;
use bohr_event::control::{Limits, Watch};
use bohr_explore::bug_file::{self, Bug, Invocation};
use bohr_explore::guided::{Critical, Places, Ranked, Search, Try};
use bohr_explore::hunt::{Budget, Hunt, HuntResult, Shard, hunt};
use bohr_explore::likeness::{Ending, Likeness};
use bohr_explore::{DEFAULT_LIMITS, ExploreError, StrategyName, Subject, inspect, write_whole};
use bohr_program::Program;
use bohr_program::index::{Flows, Index, Points as ProgramPoints, Route, counted, route};
use bohr_schedule::{Plan, Precedence};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What a core tells, as far as a search needs it.
struct Failed {
    likeness: Likeness,
    thread: ThreadPath,
    /// Which of the core's threads that is.
    position: usize,
    /// Bytes that were cut off.
    missing: u64,
    /// Files that were mapped and are not to be found.
    missing_files: Vec<String>,
    index: Index,
    /// Blocks that the thread had begun, if they were counted.
    blocks: Option<u64>,
}

impl Failed {
    /// Where the thread was, as in `src/cache.c:43`.
    fn line(&self) -> Option<&str> {
        self.likeness.places.first()?.line.as_deref()
    }
}

/// Bounds of a good run: such a run may be long, and nobody else looks after it.
const GOOD_RUN: Limits = Limits {
    events: 2_000_000_000,
    milliseconds: 300_000,
};

/// What is known before the first run.
pub struct Prepared {
    program: Arc<Program>,
    /// The program with hooks at every block.
    executable: PathBuf,
    failed: Failed,
    invocation: Invocation,
    /// How good runs are made that are watched.
    pub watched: Subject,
    /// The thread that is watched, and its way.
    pub watch: Watch,
    search: Search,
}

impl Prepared {
    /// How good runs are made in which the thread comes further.
    pub fn in_better_order(&self) -> Result<Search, Failure> {
        better(&self.watched, self.watch.clone(), self.search.clone())
    }
}

/// Reads the core and works out the way to its failure.
pub fn prepare(request: &Request<'_>) -> Result<Prepared, Failure> {
    let cache = Cache::open()?.interrupted_by(interruption());
    let profile = cache.profile(request.program, Profile::Alignment)?;
    let program = model::load(&profile.model)?;
    let failed = opened(
        request.core,
        Some(request.program),
        |dump, objects, files| failed(request, &program, dump, objects, files.missing()),
    )??;
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
    watched.policy.model = request.model;
    watched.limits = GOOD_RUN;
    if let Some(path) = request.from {
        watched = checkpoint::from_file(watched, path)?;
    }
    let image = watched.image.as_ref();
    let kept_order = image.and_then(|image| checkpoint::order(image, &failed.thread));
    let search = Search {
        preemptions: request.preemptions,
        accesses: request.points == Points::Accesses,
        turns: kept_order.unwrap_or(Precedence::InOrder),
    };
    let watch = Watch {
        program: profile.bundle.0,
        thread: failed.thread.clone(),
        route: way(request, &program, &failed)?,
        hold: false,
    };
    Ok(Prepared {
        program,
        executable: profile.executable,
        failed,
        invocation: watched.invocation.clone(),
        watched,
        watch,
        search,
    })
}

/// See the module.
pub fn reproduce(request: &Request<'_>) -> Result<Reproduced, Failure> {
    let begun = Instant::now();
    let prepared = prepare(request)?;
    let Prepared {
        program,
        executable,
        failed,
        invocation,
        watched,
        watch,
        search,
    } = prepared;
    let mut told = Reproduced::of(&failed, &program);
    told.seconds_read = begun.elapsed().as_secs_f64();
    let aligned = align(&watched, watch, &failed, search)?;
    told.align(&aligned);
    hint_at_checkpoint(request, &told);
    let mut critical = differences(request, &executable, &aligned, &failed, &mut told)?;
    if failed.likeness.ending == Ending::Hang {
        told.critical.extend(locks::critical(&aligned));
        critical = told.places();
    }
    let places = Places::new(&critical);
    let ranked = rank(request, &program, &aligned, &places, &mut told);
    told.rank(&aligned, &ranked);
    let tries = match request.guide {
        Guide::None => aligned.search.unguided(aligned.passing()),
        _ => (aligned.search).guided(aligned.passing(), &places, &ranked),
    };
    told.schedule(&aligned, &tries);

    let (target, models) = target(request.program, Accesses::OfProgram)?;
    let mut subject = Subject::new(target, invocation);
    subject.models = models;
    subject.policy.model = request.model;
    // One that takes much longer than the good run does something else.
    subject.limits = Limits {
        events: DEFAULT_LIMITS.events.max(4 * aligned.steps.len() as u64),
        milliseconds: GOOD_RUN.milliseconds,
    };
    let searched = Instant::now();
    let plans = plans(&aligned, tries);
    let found = match &watched.image {
        None => try_plans(request, &subject, &failed.likeness, plans)?,
        Some(_) => try_plans(request, &watched, &failed.likeness, plans)?,
    };
    told.seconds_search = searched.elapsed().as_secs_f64();
    told.tries = found.statistics.runs;
    let mut bug = found.findings.into_iter().next().map(|finding| finding.bug);
    if let (Some(found), Some(_)) = (&bug, &watched.image) {
        subject.limits = watched.limits;
        bug = from_the_start(request, &subject, &failed.likeness, found)?;
        told.replayed_from_start = Some(bug.is_some());
    }
    if let Some(bug) = bug {
        let bytes = bug_file::write(&bug);
        let path = request.output.to_path_buf();
        write_whole(&path, &bytes).map_err(|source| ExploreError::File {
            path: path.clone(),
            source,
        })?;
        told.reproduced = true;
        told.bug_file = Some(path);
    }
    if !told.reproduced {
        told.untried = wider::options(request, searched.elapsed());
    }
    Ok(told)
}

/// Says what helps where a checkpoint of another making does not lead to the failure.
fn hint_at_checkpoint(request: &Request<'_>, told: &Reproduced) {
    if request.from.is_some() && told.alignment == "none" {
        eprintln!(
            "bohr: note: from the checkpoint on thread {} is not seen on its way to the failure; if \
             it was under way there, or past it, take one with `bohr core CORE --checkpoint-at EVENTS \
             --checkpoint FILE`, at an earlier event",
            told.thread
        );
    }
}

/// The way on which the good run is watched.
fn way(request: &Request<'_>, program: &Program, failed: &Failed) -> Result<Route, Irreproducible> {
    let points = ProgramPoints::of(program);
    if request.align == Align::Index {
        return Ok(route(&mut Flows::new(program), &points, &failed.index));
    }
    let blocks = failed.blocks;
    let counted = blocks.and_then(|blocks| counted(&points, &failed.index, blocks));
    counted.ok_or_else(|| Irreproducible::Uncounted(request.program.into()))
}

/// What is tried. A run without preemptions has just been made; only if it did not end
/// well is it worth another look.
fn plans(aligned: &Aligned, tries: Vec<Try>) -> Vec<Plan> {
    let first = (!aligned.is_good || tries.is_empty()).then(|| aligned.search.first());
    let tries = tries.into_iter().map(|attempt| attempt.plan);
    first.into_iter().chain(tries).collect()
}

fn rank(
    request: &Request<'_>,
    program: &Program,
    aligned: &Aligned,
    places: &Places,
    told: &mut Reproduced,
) -> Vec<Ranked> {
    let passing = aligned.passing();
    if request.guide != Guide::Dependence {
        return passing.by_time(places);
    }
    let begun = Instant::now();
    let slice = slicing::slice(program, aligned);
    told.seconds_slice = begun.elapsed().as_secs_f64();
    told.sliced = slice.len();
    passing.by_dependence(places, |event| slice.distance(event))
}

fn failed(
    request: &Request<'_>,
    program: &Program,
    dump: &Dump<'_>,
    objects: &[Loaded<'_>],
    missing: &[String],
) -> Result<Failed, Failure> {
    let path = loaded::program(dump);
    let own = objects.iter().find(|object| Some(&*object.path) == path);
    let own = own.ok_or_else(|| Irreproducible::NoProgram(request.program.into()))?;
    if !own.is_described() {
        return Err(Irreproducible::Stripped(request.program.into()).into());
    }
    let report = Report::of(dump, objects, missing);
    let likeness = likeness::of(&report)?;
    let positions = Positions::new(program, own);
    let positions =
        positions.ok_or_else(|| Irreproducible::NotForProduction(request.program.into()))?;
    let sections = Sections::of(own);
    let information = Information::read(&sections, own.bias);
    let stacks = Stacks::new(&dump.memory, objects);
    let mut flows = Flows::new(program);
    let mut stack = |position: usize| {
        let frames = stacks.of(&dump.threads[position].registers);
        let stack = positions.stack(&mut flows, &frames, &information, &dump.memory);
        (!stack.is_empty()).then_some((position, stack))
    };
    // Of threads that cannot go on, the first that is in the program's own code.
    let stuck = report.stuck().into_iter().filter_map(|number| {
        let mut threads = dump.threads.iter();
        threads.position(|thread| thread.number == number)
    });
    let found = match likeness.ending {
        Ending::Hang => { stuck }.find_map(&mut stack),
        _ => stack(0),
    };
    let (position, stack) = found.ok_or(Irreproducible::Nowhere)?;
    let registers = &dump.threads[position].registers;
    let pointer = registers.thread_pointer;
    Ok(Failed {
        blocks: blocks(own, &dump.memory, pointer),
        likeness,
        thread: thread(own, &dump.memory, pointer).unwrap_or(ThreadPath::MAIN),
        position,
        missing: dump.missing,
        missing_files: missing.to_vec(),
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
    failed: &Failed,
    told: &mut Reproduced,
) -> Result<Vec<Critical>, Failure> {
    let begun = Instant::now();
    let Some(snapshot) = &aligned.snapshot else {
        return Ok(Vec::new());
    };
    let comparison = compare_states(
        [request.core, request.program],
        failed.position,
        snapshot,
        watched,
        &|address| aligned.freed.contains(address),
    )?;
    told.variables = comparison.values;
    told.shared = comparison.shared;
    told.differences = comparison.differences.len();
    let shared = comparison.differences.into_iter().filter_map(|difference| {
        let (address, size) = difference.place?;
        Some(CriticalVariable {
            path: difference.path,
            failing: difference.left.to_string(),
            passing: difference.right.to_string(),
            place: Critical {
                address,
                size,
                synchronises: false,
            },
        })
    });
    told.critical = shared.collect();
    told.seconds_diff = begun.elapsed().as_secs_f64();
    Ok(told.places())
}

/// The bug that a run from a checkpoint has shown, as a run shows it that begins where
/// the program does. The checkpoint was taken with hooks at every block, so places that
/// are told as offsets of code are others; the number of events is not.
fn from_the_start(
    request: &Request<'_>,
    subject: &Subject,
    likeness: &Likeness,
    found: &Bug,
) -> Result<Option<Bug>, Failure> {
    eprintln!("bohr: found; runs it once from the start of the program");
    let schedule = found.schedule.with_places(|_| None);
    let again = try_plans(request, subject, likeness, vec![Plan::replay(schedule)])?;
    Ok(again.findings.into_iter().next().map(|finding| finding.bug))
}

fn try_plans(
    request: &Request<'_>,
    subject: &Subject,
    likeness: &Likeness,
    plans: Vec<Plan>,
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
