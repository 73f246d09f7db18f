//! A failure that was seen elsewhere: which of the failures of controlled runs is
//! the same? A core file has no sites and no thread paths, but signals, functions
//! and lines.

use crate::verdict::Verdict;
use bohr_event::FailureKind;

/// The exit code of a Rust program whose main thread panicked.
const PANIC_EXIT: i32 = 101;

/// Frames of a thread within which a place is looked for: runs stop in other
/// functions of libraries than processes do.
const NEAR: usize = 8;

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By this signal.
    Signal(i32),
    /// Not at all: its threads waited for each other.
    Hang,
    /// By itself, with this code.
    Exit(i32),
    /// By a check that was put before the line of its place.
    Check,
}

/// Where a thread was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenPlace {
    /// The function, as people write it.
    pub function: String,
    /// The line, as in `src/cache.c:43`.
    pub line: Option<String>,
}

/// A failure as it was seen.
///
/// ```
/// use bohr_explore::likeness::{Ending, Likeness, SeenPlace};
///
/// let seen = Likeness {
///     ending: Ending::Signal(11),
///     places: vec![SeenPlace {
///         function: "serve".to_string(),
///         line: Some("src/cache.c:43".to_string()),
///     }],
///     callers: Vec::new(),
/// };
/// assert_eq!(seen.to_string(), "signal 11 in serve at src/cache.c:43");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Likeness {
    /// How it ended.
    pub ending: Ending,
    /// Where: of a hang, where each of the threads was that waited for each other.
    pub places: Vec<SeenPlace>,
    /// Of a crash, who had called the function at its place, the nearest first.
    pub callers: Vec<SeenPlace>,
}

impl std::fmt::Display for Likeness {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ending {
            Ending::Signal(signal) => write!(out, "signal {signal}")?,
            Ending::Hang => write!(out, "a deadlock")?,
            Ending::Exit(code) => write!(out, "exit code {code}")?,
            Ending::Check => write!(out, "the check")?,
        }
        for (number, place) in self.places.iter().enumerate() {
            let word = if number == 0 { " in" } else { " and" };
            if self.ending != Ending::Check {
                write!(out, "{word} {}", place.function)?;
            }
            if let Some(line) = &place.line {
                write!(out, " at {line}")?;
            }
        }
        Ok(())
    }
}

impl Likeness {
    /// Whether this is the failure: of the same kind, and with threads at all of its
    /// places.
    #[must_use]
    pub fn fits(&self, verdict: &Verdict) -> bool {
        let ends_so = match self.ending {
            Ending::Signal(signal) => ends_by(&verdict.signature.kind, signal),
            Ending::Hang => verdict.signature.kind == FailureKind::Deadlock,
            Ending::Exit(code) => match verdict.signature.kind {
                FailureKind::Panic => code == PANIC_EXIT,
                FailureKind::Exit { code: own } => own == code,
                _ => false,
            },
            // A trap, or in Rust an abort.
            Ending::Check => {
                let kind = &verdict.signature.kind;
                *kind == FailureKind::Abort || ends_by(kind, ILLEGAL_INSTRUCTION)
            }
        };
        // Of a crash only the thread that failed counts.
        let counts = |doing: &str| self.ending == Ending::Hang || doing == "failed";
        let stacks = verdict.threads.iter();
        let stacks: Vec<&[String]> = stacks
            .filter(|thread| counts(&thread.doing))
            .map(|thread| &thread.stack[..thread.stack.len().min(NEAR)])
            .collect();
        let is_there = |place: &SeenPlace| {
            let mut frames = stacks.iter().copied().flatten();
            match self.ending {
                Ending::Check => frames.any(|frame| place.is_line_of(frame)),
                _ => frames.any(|frame| place.is_in(frame)),
            }
        };
        let failed = verdict.threads.iter().find(|thread| counts(&thread.doing));
        let innermost = failed.and_then(|thread| thread.stack.first());
        // It would have called the function with what it had read there.
        let comes_before = || {
            let mut callers = self.callers.iter();
            let stopped = innermost.is_some_and(|frame| callers.any(|caller| caller.is_in(frame)));
            stopped && is_seen_early(&verdict.signature.kind)
        };
        ends_so && (self.places.iter().all(is_there) || comes_before())
    }
}

impl SeenPlace {
    /// Whether a frame, as in `serve at src/cache.c:43`, is on this line.
    fn is_line_of(&self, frame: &str) -> bool {
        let own = self.line.as_deref().and_then(file_and_line);
        let told = frame.rsplit_once(" at ");
        own.is_some() && own == told.and_then(|(_, line)| file_and_line(line))
    }

    /// Whether a frame, as in `serve at src/cache.c:43`, is of this function.
    #[must_use]
    pub fn is_in(&self, frame: &str) -> bool {
        let function = frame.split(" at ").next().unwrap_or(frame);
        let name = |text: &str| {
            let text = text.trim_start_matches("in ");
            let end = text.find(['(', '<']).unwrap_or(text.len());
            text[..end].trim().to_string()
        };
        name(function) == name(&self.function)
    }
}

/// The name of the file, without its folders, and the line.
fn file_and_line(line: &str) -> Option<(&str, &str)> {
    let (file, line) = line.rsplit_once(':')?;
    Some((file.rsplit('/').next()?, line))
}

/// The signal of a trap.
const ILLEGAL_INSTRUCTION: i32 = 4;

/// Whether bohr sees it at the access, where a process may go on for a while.
fn is_seen_early(kind: &FailureKind) -> bool {
    use FailureKind::{DoubleFree, Sanitizer, UseAfterFree};
    matches!(kind, DoubleFree | UseAfterFree | Sanitizer)
}

/// Whether a run of that kind would have ended by the signal without bohr. What bohr
/// sees at the access, a process may have noticed later: whoever uses freed memory
/// crashes, or the C library finds its heap damaged.
fn ends_by(kind: &FailureKind, signal: i32) -> bool {
    const ABORT: i32 = 6;
    const BUS_ERROR: i32 = 7;
    const SEGMENTATION_FAULT: i32 = 11;
    match kind {
        FailureKind::Crash { signal: own } => *own == signal,
        FailureKind::Assertion | FailureKind::Abort | FailureKind::Panic => signal == ABORT,
        early if is_seen_early(early) => [ABORT, BUS_ERROR, SEGMENTATION_FAULT].contains(&signal),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bug_file::ThreadLine;
    use bohr_event::Signature;

    fn verdict(kind: FailureKind, threads: &[(&str, &str)]) -> Verdict {
        let thread = |&(doing, frame): &(&str, &str)| ThreadLine {
            thread: String::from("0"),
            doing: String::from(doing),
            stack: vec![String::from(frame)],
        };
        Verdict {
            signature: Signature {
                kind,
                place: None,
                frames: Vec::new(),
                cycle: Vec::new(),
            },
            message: String::new(),
            threads: threads.iter().map(thread).collect(),
        }
    }

    fn seen(ending: Ending, functions: &[&str]) -> Likeness {
        let place = |&function: &&str| SeenPlace {
            function: String::from(function),
            line: None,
        };
        Likeness {
            ending,
            places: functions.iter().map(place).collect(),
            callers: Vec::new(),
        }
    }

    #[test]
    fn a_check_is_told_from_other_failures_by_its_line() {
        let asked = Likeness {
            ending: Ending::Check,
            places: vec![SeenPlace {
                function: String::new(),
                line: Some(String::from("src/cache.c:43")),
            }],
            callers: Vec::new(),
        };
        let trap = FailureKind::Crash { signal: 4 };
        let fits = |kind: &FailureKind, frame| asked.fits(&verdict(kind.clone(), &[frame]));
        assert!(fits(&trap, ("failed", "serve at /home/cache.c:43")));
        assert!(fits(&FailureKind::Abort, ("failed", "serve at cache.c:43")));
        assert!(!fits(&trap, ("failed", "serve at cache.c:44")));
        assert!(!fits(&trap, ("failed", "serve at xcache.c:43")));
        assert!(!fits(&trap, ("waiting", "serve at cache.c:43")));
        assert!(!fits(
            &FailureKind::Assertion,
            ("failed", "serve at cache.c:43")
        ));
    }

    #[test]
    fn a_use_of_freed_memory_is_seen_before_the_crash() {
        let called = Likeness {
            callers: seen(Ending::Hang, &["serve", "main"]).places,
            ..seen(Ending::Signal(11), &["lock"])
        };
        let at = |kind, frame| verdict(kind, &[("failed", frame)]);
        let freed = FailureKind::UseAfterFree;
        assert!(called.fits(&at(freed.clone(), "serve at cache.c:43")));
        assert!(!called.fits(&at(freed.clone(), "evict at cache.c:9")));
        // A crash is where it is.
        let crash = FailureKind::Crash { signal: 11 };
        assert!(!called.fits(&at(crash, "serve at cache.c:43")));
        // Somebody else's use of freed memory, far below.
        let mut deep = at(freed, "evict at cache.c:9");
        deep.threads[0].stack.push("main at cache.c:99".into());
        assert!(!called.fits(&deep));
    }

    #[test]
    fn a_crash_is_one_of_its_thread() {
        let crash = FailureKind::Crash { signal: 11 };
        let threads = [
            ("failed", "serve at cache.c:43"),
            ("waits", "evict at cache.c:9"),
        ];
        let verdict = verdict(crash, &threads);
        assert!(seen(Ending::Signal(11), &["serve"]).fits(&verdict));
        assert!(seen(Ending::Signal(11), &["serve(int)"]).fits(&verdict));
        assert!(!seen(Ending::Signal(11), &["evict"]).fits(&verdict));
        assert!(!seen(Ending::Signal(11), &["server"]).fits(&verdict));
        assert!(!seen(Ending::Signal(6), &["serve"]).fits(&verdict));
        assert!(!seen(Ending::Hang, &["serve"]).fits(&verdict));
    }

    #[test]
    fn a_hang_is_one_of_all_threads() {
        let threads = [("waits", "one at a.c:1"), ("waits", "two at a.c:2")];
        let verdict = verdict(FailureKind::Deadlock, &threads);
        assert!(seen(Ending::Hang, &["two", "one"]).fits(&verdict));
        assert!(!seen(Ending::Hang, &["two", "three"]).fits(&verdict));
        assert!(!seen(Ending::Signal(11), &["one"]).fits(&verdict));
    }
}
