//! `bohr replay --gdb`: a debugger at the failing event.

use crate::control::{describe_bug, interruption};
use crate::outcome::Outcome;
use bohr_event::control::FAILED_THREAD;
use bohr_event::{Diagnosis, Fault};
use bohr_explore::Subject;
use bohr_explore::bug_file::Bug;
use bohr_explore::replay::hold;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;

/// Why there is nothing to debug.
#[derive(Debug, thiserror::Error)]
enum GdbError {
    #[error("gdb cannot be started")]
    Start(#[source] std::io::Error),
    #[error("the replay ended by itself: a failure of this kind has no moment to stop at")]
    NoMoment,
}

impl Diagnosis for GdbError {
    fn fault(&self) -> Fault {
        match self {
            GdbError::Start(_) => Fault::Input,
            GdbError::NoMoment => Fault::Unsupported,
        }
    }

    fn help(&self) -> Option<String> {
        Some(match self {
            GdbError::Start(_) => "install it: apt-get install gdb".to_string(),
            GdbError::NoMoment => "`bohr replay BUG` shows what happens".to_string(),
        })
    }
}

/// Without it gdb would begin in the main thread.
fn to_failed_thread() -> String {
    let name = FAILED_THREAD.to_string_lossy();
    format!("python [t.switch() for t in gdb.selected_inferior().threads() if t.name == '{name}']")
}

/// Replays the bug, stops where it fails, and leaves the rest to gdb.
pub fn run(bug: &Bug, subject: &Subject) -> Outcome {
    eprintln!("{}", describe_bug(bug));
    let interrupted = interruption();
    let mut started = Ok(());
    let held = hold(
        subject,
        bug,
        &|| !interrupted.load(Ordering::Relaxed),
        |run| {
            let process = run.as_raw_nonzero().to_string();
            let mut gdb = Command::new("gdb");
            gdb.args(["-q", "-p", &process, "-ex", &to_failed_thread()]);
            started = gdb.status().map(drop);
        },
    )?;
    started.map_err(GdbError::Start)?;
    match held {
        true => Ok(ExitCode::SUCCESS),
        false => Err(GdbError::NoMoment.into()),
    }
}
