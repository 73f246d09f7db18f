//! Recorded runs: real, parallel threads that write down the way they go, or the
//! order in which they meet, by `libbohr_recorder.so` and a profile of the program;
//! nothing is controlled.

mod errors;
mod spent;
mod storage;

pub use spent::Spent;
pub use storage::StorageError;

use crate::bug_file::Invocation;
use crate::error::ExploreError;
use crate::native::{Ending, forbid_core_dumps, wait};
use crate::server::{ServerError, Voice};
use crate::target::find_recorder;
use bohr_event::recording::{RECORDING_VARIABLE, WITH_ORDER};
use bohr_log::raw::Raw;
use bohr_log::{End, LogKind, Recording};
use errors::Errors;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use storage::Storage;

/// A program that is ready to be recorded.
pub struct Recorder {
    /// The program as its own build made it.
    pub program: PathBuf,
    /// What is recorded.
    pub kind: LogKind,
    /// The profile of the program that records it.
    pub profile: PathBuf,
    /// Hash of its bundle.
    pub bundle: [u8; 32],
    /// What it is started with.
    pub invocation: Invocation,
    /// Exit code of a good run.
    pub good_exit: i32,
    /// Longest time of a run.
    pub limit: Duration,
    /// Where the log grows while the program runs.
    pub folder: PathBuf,
}

/// A run that was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The log.
    pub recording: Recording,
    /// What the run took.
    pub spent: Spent,
}

impl Recorder {
    /// Records one run; `None` if somebody asked for the end.
    ///
    /// # Errors
    /// If the program cannot be started, or what it left cannot be read.
    pub fn record(
        &self,
        voice: Voice,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Recorded>, ExploreError> {
        let wishes = match self.kind {
            LogKind::Path => 0,
            LogKind::PathAndSync | LogKind::Order => WITH_ORDER,
        };
        let storage = Storage::in_folder(&self.folder, wishes)?;
        let mut command = self.command(&self.profile)?;
        let own = self.invocation.environment.iter();
        let own = own.filter(|(name, _)| name == b"LD_PRELOAD");
        let mut preload = find_recorder()?.into_os_string();
        for (_, value) in own {
            preload.push(":");
            preload.push(OsStr::from_bytes(value));
        }
        command.env("LD_PRELOAD", preload);
        command.env(RECORDING_VARIABLE, storage.path());
        let (ending, spent, said) = self.run(command, voice, go_on)?;
        if !go_on() {
            return Ok(None);
        }
        let raw = storage.read()?;
        let recording = self.recording(raw, ending, said);
        Ok(Some(Recorded { recording, spent }))
    }

    /// What the program takes as its own build made it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn time_natively(&self, go_on: &dyn Fn() -> bool) -> Result<Spent, ExploreError> {
        let command = self.command(&self.program)?;
        Ok(self.run(command, Voice::Muted, go_on)?.1)
    }

    fn run(
        &self,
        mut command: Command,
        voice: Voice,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Ending, Spent, String), ExploreError> {
        command.stdout(match voice {
            Voice::Heard => Stdio::inherit(),
            Voice::Aside => Stdio::from(std::io::stderr()),
            Voice::Muted => Stdio::null(),
        });
        command.stderr(Stdio::piped());
        let before = spent::by_children();
        let start = Instant::now();
        let mut child = command.spawn().map_err(ServerError::Start)?;
        let errors = child.stderr.take().map(|pipe| Errors::of(pipe, voice));
        let ended = wait(&mut child, start + self.limit, go_on).map_err(ServerError::Start);
        let (ending, end) = ended?;
        let said = errors.map(Errors::said).unwrap_or_default();
        let spent = Spent {
            time: end.duration_since(start),
            processor: spent::by_children().saturating_sub(before),
        };
        Ok((ending, spent, said))
    }

    fn command(&self, program: &Path) -> Result<Command, ExploreError> {
        forbid_core_dumps();
        let arguments = self.invocation.arguments.iter();
        let environment = self.invocation.environment.iter();
        let mut command = Command::new(program);
        command
            .arg0(&self.program)
            .args(arguments.map(|word| OsStr::from_bytes(word)))
            .env_clear()
            .envs(
                environment
                    .map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value))),
            )
            .process_group(0)
            .stdin(crate::server::input(&self.invocation.input)?);
        Ok(command)
    }

    fn recording(&self, raw: Raw, ending: Ending, message: String) -> Recording {
        let shared = self.invocation.without_secrets();
        Recording {
            writer: env!("CARGO_PKG_VERSION").into(),
            bundle: self.bundle,
            program: self.program.as_os_str().as_bytes().to_vec(),
            arguments: shared.arguments,
            environment: shared.environment,
            input: shared.input,
            good_exit: self.good_exit,
            kind: self.kind,
            end: end(&raw, &ending),
            threads: raw.threads,
            message,
        }
    }
}

fn end(raw: &Raw, ending: &Ending) -> End {
    match ending {
        Ending::Exited(code) => End::Exit(*code),
        Ending::Stalled(_) => End::Standstill,
        Ending::Endless => End::Endless,
        Ending::Signalled(number) => {
            let noted = raw.fatal.clone().filter(|fatal| fatal.signal == *number);
            End::Signal {
                number: *number,
                thread: noted.as_ref().and_then(|fatal| fatal.thread.clone()),
                code: noted.as_ref().map_or(0, |fatal| fatal.code),
                address: noted.as_ref().map_or(0, |fatal| fatal.address),
            }
        }
    }
}
