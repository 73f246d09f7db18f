//! `bohr core`: what a core file tells of a failure that nobody has recorded.

mod anonymising;
mod checkpoint;
mod comparing;
mod files;
mod likeness;
mod report;
mod reproduce;
mod taking;
mod text;

use crate::control::{at_least_one, duration, memory_model};
use crate::outcome::{Failure, Outcome};
use bohr_dump::{Dump, Loaded, loaded, unpack};
use bohr_event::{Diagnosis, Fault, MemoryModel};
use bohr_explore::likeness::Likeness;
use bohr_explore::{ExploreError, write_whole};
use files::Files;
use report::Report;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The largest core that is read, unpacked.
const LARGEST: u64 = 64 << 30;

/// Which core, of which program.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  bohr core core.1234
  bohr core core.1234.zst --program build/server --json
  bohr core core.1234 --against good.core
  bohr core anonymise core.1234 -o for-others.core
  bohr core core.1234 --program build/server -o server.bohr -- --port 0
  bohr core --at 'sum.c:42 if total != 200' --program build/sum -o sum.bohr -- 200
  bohr core --at 'src/bank.rs:9 if left < 0' --program target/release/bank -o bank.bohr
  bohr core core.1234 --program build/server --checkpoint-at 5000000 --checkpoint warm.image
  bohr core core.1234 --program build/server --from warm.image -o server.bohr
  bohr hunt --like core.1234 -- build/server --port 0
  coredumpctl dump server -o server.core && bohr core server.core

Reads cores as the kernel and systemd leave them, packed or not, also such that
were cut off. The program and its libraries are looked for where they were
mapped from; separate debug files by build id under /usr/lib/debug and beside
the program. Exit codes: 0 done, 1 the failure was reproduced, 2 bohr could not do it.")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// The core file; packed by zstd, lz4 or gzip, or not at all.
    #[arg(required_unless_present = "at")]
    core: Option<PathBuf>,
    /// Take the core where a run goes wrong without a crash: the program is built again,
    /// with a check before that line, and run natively until the condition holds there,
    /// or for --time. The condition is C, C++ or Rust, as the file is, and holds always
    /// if there is none; a statement has to begin on that line. Core and program are left
    /// beside the bug, as BUG.core and BUG.program.
    #[arg(
        long,
        value_name = "FILE:LINE if CONDITION",
        requires = "output",
        conflicts_with_all = ["core", "against"]
    )]
    at: Option<crate::checked::At>,
    /// The program that left it, if it is not where it was.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Another core of the same program, from a good run: tells which variables differ,
    /// by the paths that lead to them.
    #[arg(long, value_name = "CORE")]
    against: Option<PathBuf>,
    /// Search for a schedule that fails like the core, and write the bug here. The
    /// program must have been built with --production, and gets the arguments behind --.
    #[arg(
        short,
        long,
        value_name = "BUG",
        requires = "program",
        conflicts_with = "against"
    )]
    output: Option<PathBuf>,
    /// By what the search is guided.
    #[arg(long, value_enum, default_value = "temporal")]
    guide: reproduce::Guide,
    /// By what the good run is aligned with the failure.
    #[arg(long, value_enum, default_value = "index")]
    align: reproduce::Align,
    /// Where threads may be preempted.
    #[arg(
        long,
        value_enum,
        value_name = "WHERE",
        default_value = "synchronisation"
    )]
    preempt: reproduce::Points,
    /// Most preemptions of a run; of very many combinations those of the best candidates
    /// are tried.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=i64::from(reproduce::MOST_PREEMPTIONS)))]
    preemptions: u32,
    /// When stores become visible to other threads: sc (at once), tso or pso (from
    /// store buffers).
    #[arg(long, value_name = "MODEL", default_value = "sc", value_parser = memory_model())]
    model: MemoryModel,
    /// For programs that take long before they do what is of interest: stop the good run
    /// after so many events, and keep it as it is then in the file of --checkpoint. It is
    /// watched on its way to the failure up to there.
    #[arg(long, value_name = "EVENTS", requires_all = ["checkpoint", "program"], conflicts_with_all = ["output", "against", "from"], value_parser = at_least_one::<u64>)]
    checkpoint_at: Option<u64>,
    /// The file for --checkpoint-at. It holds all memory of the program.
    #[arg(long, value_name = "FILE", requires = "checkpoint_at")]
    checkpoint: Option<PathBuf>,
    /// Begin the good run, and all runs of the search, at the moment that this checkpoint
    /// was taken at by --checkpoint-at. The program's arguments and input are those of
    /// the checkpoint. What is found is run once from the start of the program, so that
    /// the bug file does without it.
    #[arg(
        long,
        value_name = "CHECKPOINT",
        requires = "output",
        conflicts_with = "at"
    )]
    from: Option<PathBuf>,
    /// Give the search up after this time, as in 25s or 10m; the native runs of --at, too.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    time: Duration,
    /// File that the program reads as its standard input.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write what was found on the way here, as a page for a browser, reproduced or not.
    #[arg(long, value_name = "FILE", requires = "output")]
    html: Option<PathBuf>,
    /// One object on standard output; docs/json/core.md tells its fields.
    #[arg(long)]
    json: bool,
    /// The program's arguments.
    #[arg(last = true, value_name = "ARGS", requires = "program")]
    arguments: Vec<OsString>,
}

/// What else can be done with a core.
#[derive(clap::Subcommand)]
enum Action {
    /// Write the core without its values, for others to look at.
    Anonymise(anonymising::Args),
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be read")]
pub struct Unreadable {
    path: String,
    source: std::io::Error,
}

impl Diagnosis for Unreadable {
    fn fault(&self) -> Fault {
        Fault::Input
    }
}

pub fn run(args: &Args) -> Outcome {
    if let Some(Action::Anonymise(args)) = &args.action {
        return anonymising::run(args);
    }
    let program = args.program.as_deref().map(as_file);
    let program = program.as_deref();
    if let (Some(at), Some(output), Some(program)) = (&args.at, &args.output, program) {
        let taken = taking::take(&taking::Request {
            at,
            program,
            arguments: &args.arguments,
            input: args.input.as_deref(),
            time: args.time,
            output,
        })?;
        let (core, program) = (taken.core.clone(), as_file(&taken.program));
        return reproduced(args, &core, output, &program, Some(taken));
    }
    let Some(core) = &args.core else {
        return Ok(ExitCode::SUCCESS);
    };
    if let (Some(output), Some(program)) = (&args.output, program) {
        return reproduced(args, core, output, program, None);
    }
    if let (Some(at), Some(path), Some(program)) = (args.checkpoint_at, &args.checkpoint, program) {
        return checkpoint::take_one(&request(args, core, path, program), at, args.json);
    }
    match &args.against {
        Some(other) => {
            let comparison = comparing::compare(core, other, program)?;
            tell(args, &comparison, comparing::text);
        }
        None => tell(args, &examine(core, program)?, text::text),
    }
    Ok(ExitCode::SUCCESS)
}

/// A file by a name that is not looked for among the system's programs.
fn as_file(path: &Path) -> PathBuf {
    match path.components().count() {
        1 => Path::new(".").join(path),
        _ => path.to_path_buf(),
    }
}

fn request<'a>(
    args: &'a Args,
    core: &'a Path,
    output: &'a Path,
    program: &'a Path,
) -> reproduce::Request<'a> {
    reproduce::Request {
        core,
        program,
        arguments: &args.arguments,
        input: args.input.as_deref(),
        guide: args.guide,
        align: args.align,
        points: args.preempt,
        preemptions: args.preemptions,
        model: args.model,
        time: args.time,
        from: args.from.as_deref(),
        output,
    }
}

fn reproduced(
    args: &Args,
    core: &Path,
    output: &Path,
    program: &Path,
    taken: Option<taking::Taken>,
) -> Outcome {
    let mut told = reproduce::reproduce(&request(args, core, output, program))?;
    told.taken = taken;
    if let Some(path) = &args.html {
        let page = reproduce::page(&told).as_html();
        write_whole(path, page.as_bytes()).map_err(|source| ExploreError::File {
            path: path.clone(),
            source,
        })?;
    }
    tell(args, &told, reproduce::text);
    Ok(ExitCode::from(u8::from(told.reproduced)))
}

fn tell<T: Serialize>(args: &Args, content: &T, text: impl Fn(&T) -> String) {
    match args.json {
        true => println!(
            "{}",
            serde_json::to_string_pretty(content).unwrap_or_default()
        ),
        false => print!("{}", text(content)),
    }
}

/// Opens a core with the files that belong to it.
fn opened<R>(
    core: &Path,
    program: Option<&Path>,
    action: impl FnOnce(&Dump<'_>, &[Loaded<'_>], &Files) -> R,
) -> Result<R, Failure> {
    opened_bytes(&read(core)?, program, action)
}

/// The bytes of a core, unpacked.
fn unpacked(core: &Path) -> Result<Vec<u8>, Failure> {
    Ok(unpack(&read(core)?, LARGEST)?.into_owned())
}

/// The same of the bytes of a core.
fn opened_bytes<R>(
    bytes: &[u8],
    program: Option<&Path>,
    action: impl FnOnce(&Dump<'_>, &[Loaded<'_>], &Files) -> R,
) -> Result<R, Failure> {
    let bytes = unpack(bytes, LARGEST)?;
    let mut dump = Dump::read(&bytes)?;
    let files = Files::find(&dump, program)?;
    let objects = loaded::load(&mut dump, &files.available())?;
    Ok(action(&dump, &objects, &files))
}

fn examine(core: &Path, program: Option<&Path>) -> Result<Report, Failure> {
    opened(core, program, |dump, objects, files| {
        Report::of(dump, objects, files.missing())
    })
}

/// The failure that left a core of this program.
pub fn likeness(core: &Path, program: &Path) -> Result<Likeness, Failure> {
    let report = examine(core, Some(program))?;
    Ok(likeness::of(&report)?)
}

/// A core that says nothing about a failure.
#[derive(Debug, thiserror::Error)]
pub enum Unlike {
    /// Neither did a thread fail, nor does every one wait.
    #[error(
        "the core tells neither of a crash in the program's own code nor of threads that cannot \
         go on"
    )]
    Nothing,
    /// Somebody has failed, and it is not known who.
    #[error("the thread that failed is not in the core")]
    FailedIsMissing,
}

impl Diagnosis for Unlike {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(String::from(match self {
            Unlike::Nothing => "see what it tells: bohr core CORE --program PROGRAM",
            Unlike::FailedIsMissing => {
                "leave cores whole; bohr core CORE --program PROGRAM tells where the other threads \
                 were, and bohr hunt -- PROGRAM looks for whatever fails"
            }
        }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Unreadable> {
    std::fs::read(path).map_err(|source| Unreadable {
        path: path.display().to_string(),
        source,
    })
}

impl Files {
    fn find(dump: &Dump<'_>, program: Option<&Path>) -> Result<Files, Unreadable> {
        let mut files = Files::default();
        let own = loaded::program(dump);
        for path in loaded::paths(dump) {
            match program.filter(|_| own == Some(path)) {
                Some(given) => files.add(path, given, read(given)?),
                None => files.look_for(path),
            }
        }
        Ok(files)
    }
}
