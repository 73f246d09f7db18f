//! Recorded runs: real, parallel threads that write down the way they go, by
//! `libbohr_recorder.so` and the path profile of the program; nothing is
//! controlled.

mod errors;
mod storage;

pub use storage::StorageError;

use crate::bug_file::Invocation;
use crate::error::ExploreError;
use crate::native::{Ending, forbid_core_dumps, wait};
use crate::server::{ServerError, Voice};
use crate::target::find_recorder;
use bohr_event::recording::RECORDING_VARIABLE;
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
    /// Its path profile.
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
    /// How long the run took.
    pub time: Duration,
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
        let storage = Storage::in_folder(&self.folder)?;
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
        let (ending, time, said) = self.run(command, voice, go_on)?;
        if !go_on() {
            return Ok(None);
        }
        let raw = storage.read()?;
        let recording = self.recording(raw, ending, said);
        Ok(Some(Recorded { recording, time }))
    }

    /// How long the program takes as its own build made it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn time_natively(&self, go_on: &dyn Fn() -> bool) -> Result<Duration, ExploreError> {
        let command = self.command(&self.program)?;
        Ok(self.run(command, Voice::Muted, go_on)?.1)
    }

    fn run(
        &self,
        mut command: Command,
        voice: Voice,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Ending, Duration, String), ExploreError> {
        command.stdout(match voice {
            Voice::Heard => Stdio::inherit(),
            Voice::Aside => Stdio::from(std::io::stderr()),
            Voice::Muted => Stdio::null(),
        });
        command.stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().map_err(ServerError::Start)?;
        let errors = child.stderr.take().map(|pipe| Errors::of(pipe, voice));
        let ended = wait(&mut child, start + self.limit, go_on).map_err(ServerError::Start);
        let (ending, end) = ended?;
        let said = errors.map(Errors::said).unwrap_or_default();
        Ok((ending, end.duration_since(start), said))
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
            kind: LogKind::Path,
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
