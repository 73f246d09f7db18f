//! One run of an exhibit as anybody would run it, and what came of it.

use crate::{Error, Exhibit, machine};
use bohr_event::FailureKind;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The signal of `abort`.
const SIGABRT: i32 = 6;

/// The exit code of a Rust program whose main thread panicked.
const PANIC_EXIT: i32 = 101;

/// A run that is neither over nor stuck by then is given up.
const LIMIT: Duration = Duration::from_secs(30);

/// How long nothing may move before a run counts as stuck.
const STUCK: Duration = Duration::from_millis(400);

/// What a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Ended with exit code 0.
    Passed,
    /// Failed in the way that the manifest says.
    Failed,
    /// Failed in another way: the exhibit is not what it claims to be.
    Surprised(String),
}

/// What a run did and how long it took.
#[derive(Clone, Debug)]
pub struct Run {
    /// What it did.
    pub outcome: Outcome,
    /// How long that took.
    pub time: Duration,
}

/// What the measuring environment adds. Memory bugs need it: glibc then fills
/// freed blocks with a pattern, so that a use after free is seen.
pub(crate) fn environment(kind: &FailureKind) -> Option<(&'static str, &'static str)> {
    matches!(kind, FailureKind::UseAfterFree | FailureKind::DoubleFree)
        .then_some(("MALLOC_PERTURB_", "165"))
}

/// Runs a program once.
///
/// # Errors
/// If it cannot be started.
pub fn run_once(exhibit: &Exhibit, program: &Path, arguments: &[u64]) -> Result<Run, Error> {
    let kind = &exhibit.manifest.failure.kind;
    // The shell is there to forbid core dumps, a thousand of which fill a disk.
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -c 0; exec \"$0\" \"$@\""])
        .arg(program)
        .args(arguments.iter().map(u64::to_string))
        .envs(environment(kind))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let start = Instant::now();
    let told = |cause| Error::Start {
        program: program.display().to_string(),
        cause,
    };
    let mut child = command.spawn().map_err(told)?;
    let end = wait(&mut child, start).map_err(told)?;
    let time = start.elapsed();
    let mut words = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut words);
    }
    let outcome = classify(kind, end, &words);
    Ok(Run { outcome, time })
}

/// How a run came to its end.
#[derive(Clone, Copy, Debug)]
enum End {
    Exited(ExitStatus),
    /// All threads asleep and no processor time used: it will wait for ever.
    Stuck,
    /// Still busy at the limit.
    Endless,
}

/// Waits for the end, and makes one if none is coming.
fn wait(child: &mut Child, start: Instant) -> std::io::Result<End> {
    let mut pause = Duration::from_micros(200);
    let mut last_ticks = None;
    let mut still_since = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Exited(status));
        }
        let ticks = machine::sleeping_ticks(child.id());
        if ticks.is_none() || ticks != last_ticks {
            still_since = Instant::now();
            last_ticks = ticks;
        }
        let stuck = still_since.elapsed() > STUCK;
        if stuck || start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Ok(if stuck { End::Stuck } else { End::Endless });
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn classify(kind: &FailureKind, end: End, words: &str) -> Outcome {
    let status = match end {
        End::Exited(status) if status.success() => return Outcome::Passed,
        End::Exited(status) => status,
        End::Stuck if *kind == FailureKind::Deadlock => return Outcome::Failed,
        End::Endless if *kind == FailureKind::Livelock => return Outcome::Failed,
        End::Stuck | End::Endless => return Outcome::Surprised(format!("{end:?}")),
    };
    let (code, signal) = (status.code(), status.signal());
    let expected = match kind {
        FailureKind::Crash { signal: wanted } => signal == Some(*wanted),
        FailureKind::Assertion => signal == Some(SIGABRT) && words.contains("Assertion"),
        FailureKind::Abort => signal == Some(SIGABRT),
        FailureKind::Panic => code == Some(PANIC_EXIT) || words.contains("panicked at"),
        FailureKind::Exit { code: wanted } => code == Some(*wanted),
        FailureKind::UseAfterFree | FailureKind::DoubleFree => signal.is_some(),
        // Natively these show as something else or not at all.
        FailureKind::Deadlock
        | FailureKind::Livelock
        | FailureKind::TimeLimit
        | FailureKind::Output
        | FailureKind::Sanitizer
        | FailureKind::DataRace => false,
    };
    if expected {
        Outcome::Failed
    } else {
        Outcome::Surprised(format!("{status}: {}", words.trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait status as the kernel gives it: signal in the low bits, code above.
    fn ended(raw: i32) -> End {
        End::Exited(ExitStatus::from_raw(raw))
    }

    #[test]
    fn runs_are_told_apart() {
        use FailureKind::*;
        let assertion = "main: Assertion `x' failed.";
        for (kind, end, words, expected) in [
            (Assertion, ended(0), "", Some(Outcome::Passed)),
            (Assertion, ended(6), assertion, Some(Outcome::Failed)),
            (Assertion, ended(6), "terminate called", None),
            (Crash { signal: 11 }, ended(11), "", Some(Outcome::Failed)),
            (Crash { signal: 11 }, ended(8), "", None),
            (Panic, ended(101 << 8), "", Some(Outcome::Failed)),
            (Exit { code: 3 }, ended(3 << 8), "", Some(Outcome::Failed)),
            (Deadlock, End::Stuck, "", Some(Outcome::Failed)),
            (Deadlock, End::Endless, "", None),
            (Assertion, End::Stuck, "", None),
        ] {
            let came = classify(&kind, end, words);
            match expected {
                Some(expected) => assert_eq!(came, expected, "{kind:?} {end:?}"),
                None => assert!(matches!(came, Outcome::Surprised(_)), "{kind:?} {end:?}"),
            }
        }
    }

    /// A process that sleeps for ever is stuck; one that ends is not.
    #[test]
    fn a_sleeper_is_stuck() {
        let philosophers = crate::named("philosophers").unwrap();
        let run = |program, arguments: &[u64]| {
            let run = run_once(&philosophers, Path::new(program), arguments);
            run.unwrap().outcome
        };
        assert_eq!(run("/bin/sleep", &[1000]), Outcome::Failed);
        assert_eq!(run("/bin/true", &[]), Outcome::Passed);
        assert!(matches!(run("/bin/false", &[]), Outcome::Surprised(_)));
    }
}
