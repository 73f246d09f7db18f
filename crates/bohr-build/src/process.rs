//! Starting the real tools.

use crate::error::BuildError;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus};

/// Becomes that program; comes back only if it cannot be started.
pub(crate) fn replace(mut command: Command) -> BuildError {
    let source = command.exec();
    not_started(&command, source)
}

/// Runs that program to its end.
pub(crate) fn run(mut command: Command) -> Result<ExitStatus, BuildError> {
    command
        .status()
        .map_err(|source| not_started(&command, source))
}

pub(crate) fn not_started(command: &Command, source: std::io::Error) -> BuildError {
    BuildError::Start {
        program: PathBuf::from(command.get_program()),
        source,
    }
}

/// The exit code that a shell would give for that end.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
