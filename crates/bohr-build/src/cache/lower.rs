//! Runs `bohr-lower`, which makes profiles.

use super::Wanted;
use crate::error::BuildError;
use crate::{process, toolchain};
use bohr_event::Fault;
use std::env;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

const PROGRAM: &str = "bohr-lower";

/// The signals with which people and terminals end programs.
const ENDINGS: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// The program that makes profiles.
pub(super) struct Maker {
    path: PathBuf,
}

impl Maker {
    /// `$BOHR_LOWER`, or beside this program, or on the path.
    pub(super) fn find() -> Result<Maker, BuildError> {
        let path = env::var_os("BOHR_LOWER")
            .map(PathBuf::from)
            .or_else(beside_this_program)
            .or_else(|| toolchain::on_path(PROGRAM))
            .ok_or(BuildError::MissingProgram {
                program: PROGRAM.into(),
                package: "bohr itself: bohr-lower belongs beside the program bohr",
            })?;
        Ok(Maker { path })
    }

    /// Changes when the program changes.
    pub(super) fn identity(&self) -> String {
        match self.path.metadata() {
            Ok(data) => format!("{} {} {}", data.len(), data.mtime(), data.mtime_nsec()),
            Err(_) => String::new(),
        }
    }

    /// Makes a profile in an empty directory.
    pub(super) fn make(
        &self,
        wanted: &Wanted<'_>,
        directory: &Path,
        interrupted: &AtomicBool,
    ) -> Result<(), BuildError> {
        let mut command = Command::new(&self.path);
        command
            .arg(wanted.program)
            .arg(directory)
            .arg("--profile")
            .arg(wanted.profile.to_string())
            .stdin(Stdio::null());
        if let Some(name) = wanted.asked_for {
            command.arg("--asked-for").arg(name);
        }
        let (status, said) = run(command, interrupted)?;
        if status.success() {
            // The summary of what was left uninstrumented.
            eprint!("{said}");
            return Ok(());
        }
        Err(BuildError::Lower {
            program: wanted.program.to_owned(),
            fault: fault_of(status),
            message: message_of(status, said.trim()),
        })
    }
}

/// Runs it to its end, or ends it; tells how it ended and what it said.
fn run(mut command: Command, interrupted: &AtomicBool) -> Result<(ExitStatus, String), BuildError> {
    const GLANCE: Duration = Duration::from_millis(20);
    let started = command.stderr(Stdio::piped()).spawn();
    let mut child = started.map_err(|source| process::not_started(&command, source))?;
    let stderr = child.stderr.take();
    let (send, receive) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        // What was read before a failure is still worth telling.
        let _ = stderr.map(|mut stderr| stderr.read_to_end(&mut said));
        let _ = send.send(());
        said
    });
    while receive.recv_timeout(GLANCE) == Err(RecvTimeoutError::Timeout) {
        if interrupted.load(Ordering::Relaxed) {
            // An interruption from the terminal has reached it as well.
            let _ = child.kill();
        }
    }
    let ended = child.wait();
    let status = ended.map_err(|source| process::not_started(&command, source))?;
    // It may have died of what reaches this program only now.
    let ended_by_user = status
        .signal()
        .is_some_and(|signal| ENDINGS.contains(&signal));
    if ended_by_user || interrupted.load(Ordering::Relaxed) && !status.success() {
        return Err(BuildError::Interrupted);
    }
    let said = reader.join().unwrap_or_default();
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

fn beside_this_program() -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    let directory = own.parent()?;
    // Tests and benchmarks lie one directory deeper than programs.
    [directory, directory.parent()?]
        .map(|directory| directory.join(PROGRAM))
        .into_iter()
        .find(|path| path.is_file())
}

fn fault_of(status: ExitStatus) -> Fault {
    [Fault::Input, Fault::Unsupported]
        .into_iter()
        .find(|fault| status.code() == Some(i32::from(fault.exit_code())))
        .unwrap_or(Fault::Internal)
}

/// The last lines matter: LLVM prints a stack trace before it gives up.
fn message_of(status: ExitStatus, said: &str) -> String {
    match status.signal() {
        Some(signal) => format!("{PROGRAM} died of signal {signal}: {said}"),
        None => said.to_owned(),
    }
}
