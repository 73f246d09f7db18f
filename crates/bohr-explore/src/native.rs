//! Runs of a program with real, parallel threads, held up at breakpoints by
//! `libbohr_native.so`; nothing else is controlled.

mod board;
mod ending;
mod stall;
mod symbols;
mod taken;
mod watch;

pub use ending::{Ending, NativeRun, failure_of, shows};
pub use stall::Stall;
pub use symbols::program_symbols;
pub use taken::{Watched, command as traceable, take};
pub(crate) use watch::wait;

use crate::error::ExploreError;
use crate::server::{ServerError, Voice};
use crate::subject::Subject;
use crate::target::find_native;
use board::Board;
use bohr_event::FailureKind;
use bohr_event::breakpoint::{BOARD_VARIABLE, Breakpoint, Orders};
use bohr_program::{Program, SiteNumber};
use object::{Object, ObjectSection};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a program printed is kept up to here.
const PRINTED: u64 = 1 << 20;

/// A program that is ready to run natively.
pub struct Native<'a> {
    subject: &'a Subject,
    library: PathBuf,
    /// The program as its own build made it, without hooks: for comparison.
    plain: PathBuf,
    /// glibc fills freed blocks with a pattern, so that their use is seen.
    perturb: bool,
    /// Names the model whose sites breakpoints and `frees` are.
    identity: [u8; 32],
    /// Sites that free memory.
    frees: Vec<u32>,
}

impl<'a> Native<'a> {
    /// Of a program that was built with bohr.
    ///
    /// # Errors
    /// If it was not, or if the library is missing.
    pub fn new(subject: &'a Subject) -> Result<Native<'a>, ExploreError> {
        let model = subject.program_model();
        let program = model.ok_or(ExploreError::NotBuiltWithBohr)?;
        forbid_core_dumps();
        Ok(Native {
            subject,
            library: find_native()?,
            plain: PathBuf::from(OsStr::from_bytes(&subject.target.identity.path)),
            perturb: false,
            identity: program.identity,
            frees: frees(program),
        })
    }

    /// For bugs of this kind.
    #[must_use]
    pub fn looking_for(mut self, kind: &FailureKind) -> Native<'a> {
        self.perturb = matches!(kind, FailureKind::UseAfterFree | FailureKind::DoubleFree);
        self
    }

    /// Runs it once with these breakpoints. Without any, it is still the build
    /// that has room for them: what to compare the cost of breakpoints with.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run(
        &self,
        breakpoints: &[Breakpoint],
        voice: Voice,
        limit: Duration,
    ) -> Result<NativeRun, ExploreError> {
        let board = Board::new(&Orders {
            program: self.identity,
            breakpoints: breakpoints.to_vec(),
            frees: match breakpoints.iter().any(|one| one.same_object) {
                true => self.frees.clone(),
                false => Vec::new(),
            },
        })?;
        let command = self.command_with(&board)?;
        self.run_command(command, Some(board), voice, limit)
    }

    /// Runs once what the user built.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run_plain(&self, voice: Voice, limit: Duration) -> Result<NativeRun, ExploreError> {
        self.run_command(self.command(&self.plain)?, None, voice, limit)
    }

    /// Runs once another build, which has breakpoints in its sources, all of them
    /// armed.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn run_built(
        &self,
        program: &Path,
        voice: Voice,
        limit: Duration,
    ) -> Result<NativeRun, ExploreError> {
        let mut command = self.command(program)?;
        command
            .env("BOHR_BREAK", "all")
            .env("BOHR_BREAK_SUMMARY", "json");
        self.run_command(command, None, voice, limit)
    }

    fn run_command(
        &self,
        mut command: Command,
        board: Option<Board>,
        voice: Voice,
        limit: Duration,
    ) -> Result<NativeRun, ExploreError> {
        let mut output = tempfile::tempfile().map_err(ServerError::Start)?;
        let mut errors = tempfile::tempfile().map_err(ServerError::Start)?;
        let taken = self.subject.oracle.needs_output() || voice == Voice::Muted;
        command.stdout(match (taken, voice) {
            (true, _) => Stdio::from(output.try_clone().map_err(ServerError::Start)?),
            (false, Voice::Aside) => Stdio::from(std::io::stderr()),
            (false, _) => Stdio::inherit(),
        });
        if voice == Voice::Muted {
            // Nobody sees the stacks that a panic would take its time to print.
            command.env("RUST_BACKTRACE", "0");
            command.stderr(errors.try_clone().map_err(ServerError::Start)?);
        }
        let start = Instant::now();
        let mut child = command.spawn().map_err(ServerError::Start)?;
        let (ending, end) =
            wait(&mut child, start + limit, &|| true).map_err(ServerError::Start)?;
        let counts = board.map(|board| board.counts()).transpose()?;
        Ok(NativeRun {
            ending,
            time: end.duration_since(start),
            counts: counts.unwrap_or_default(),
            output: read(&mut output),
            errors: String::from_utf8_lossy(&read(&mut errors)).into_owned(),
        })
    }

    fn command(&self, program: &Path) -> Result<Command, ExploreError> {
        let invocation = &self.subject.invocation;
        let mut command = Command::new(program);
        command
            .args(
                invocation
                    .arguments
                    .iter()
                    .map(|word| OsStr::from_bytes(word)),
            )
            .env_clear()
            .process_group(0);
        for (name, value) in &invocation.environment {
            command.env(OsStr::from_bytes(name), OsStr::from_bytes(value));
        }
        if self.perturb {
            command.env("MALLOC_PERTURB_", "165");
        }
        command.stdin(crate::server::input(&invocation.input)?);
        Ok(command)
    }

    /// The build that has room for breakpoints.
    fn command_with(&self, board: &Board) -> Result<Command, ExploreError> {
        let mut command = self.command(&self.subject.target.executable)?;
        let mut preload = self.library.clone().into_os_string();
        let own = self.subject.invocation.environment.iter();
        for (_, value) in own.filter(|(name, _)| name == b"LD_PRELOAD") {
            preload.push(":");
            preload.push(OsStr::from_bytes(value));
        }
        command
            .env("LD_PRELOAD", preload)
            .env(BOARD_VARIABLE, board.path());
        Ok(command)
    }
}

/// Calls that give memory back to the C library: of its own `free`, and of C++'s
/// `delete`, unless the program has one of its own.
fn frees(program: &Program) -> Vec<u32> {
    let is_free = |site: &SiteNumber| {
        let known = &program.sites[*site];
        let body = program.functions[known.function].body.as_ref();
        let callee = body.and_then(|body| body.named_callee(program, known.instruction));
        callee.is_some_and(|callee| {
            let callee = &program.functions[callee];
            let name = &program.texts[callee.symbol];
            let known =
                *name == *"free" || name.starts_with("_ZdlPv") || name.starts_with("_ZdaPv");
            callee.body.is_none() && known
        })
    };
    let sites = program.sites.keys().filter(is_free);
    sites.map(|site| site.as_u32()).collect()
}

/// A hundred of them fill a disk. Processes pass the limit on to those that they
/// start.
pub(crate) fn forbid_core_dumps() {
    let limit = Rlimit {
        current: Some(0),
        ..getrlimit(Resource::Core)
    };
    // Less than before is always allowed.
    let _ = setrlimit(Resource::Core, limit);
}

fn read(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = file.rewind();
    let _ = file.take(PRINTED).read_to_end(&mut bytes);
    bytes
}

/// The sites of a profile that have a hook.
///
/// # Errors
/// If the file is not one.
pub fn hooked_sites(profile: &Path) -> Result<BTreeSet<u32>, ExploreError> {
    const STUB: usize = size_of::<bohr_event::abi::Stub>();
    let bytes = std::fs::read(profile).map_err(|source| ExploreError::File {
        path: profile.to_path_buf(),
        source,
    })?;
    let file = object::File::parse(&*bytes).map_err(|_| ExploreError::NotHooked)?;
    let section = file.section_by_name("bohr_stubs");
    let stubs = section.and_then(|section| section.data().ok());
    let stubs = stubs.ok_or(ExploreError::NotHooked)?.chunks_exact(STUB);
    Ok(stubs.filter_map(site_of_stub).collect())
}

/// `pushq $site` comes behind the distance to the site's instruction.
fn site_of_stub(stub: &[u8]) -> Option<u32> {
    let code = stub.get(4..)?;
    let number = code.strip_prefix(&[0x68])?.first_chunk()?;
    Some(u32::from_le_bytes(*number))
}
