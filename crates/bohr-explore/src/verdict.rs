//! From what a run reported to whether it failed, and as which bug.

use crate::atlas::{Atlas, Spot};
use crate::bug_file::{Bug, Oracle, ThreadLine};
use crate::race;
use crate::ran::Ran;
use bohr_event::control::{Failure, Outcome, ThreadState};
use bohr_event::{EventKind, FailureKind, Frame, Place, PlaceNumber, Signature, ThreadPath};
use bohr_explain::races;
use bohr_program::{Libraries, Owner};
use std::io::Write;
use std::process::{Command, Stdio};

/// Frames that take part in a signature. More would tell callers apart, not bugs.
const FRAMES: usize = 3;

/// Functions that carry a panic or a sanitizer's finding to whoever reports it, a thread
/// to its body, or what is about to be accessed to bohr: of every failure and every thread
/// the same.
const CARRIERS: [&str; 14] = [
    "__bohr_thunk",
    "core::panicking",
    "std::panicking",
    "std::rt::",
    "__rustc::",
    "rust_begin_unwind",
    "rust_panic",
    "std::sys::backtrace",
    "core::ops::function",
    "core::option::unwrap_failed",
    "__asan",
    "__ubsan",
    "__sanitizer",
    "__interceptor",
];

/// A failure, as bohr tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Which bug.
    pub signature: Signature,
    /// What the program said, or what was expected of it.
    pub message: String,
    /// Every thread that was alive.
    pub threads: Vec<ThreadLine>,
}

impl Verdict {
    /// A bug as this run of its best schedule shows it: threads that were left out are
    /// not there, others stand elsewhere, and another one may fail in the same way than
    /// when it was found. What was done before, to a heap block, the runtime tells only
    /// once.
    #[must_use]
    pub fn shown_of(&self, bug: &Bug) -> Bug {
        let failed = |lines: &[ThreadLine]| {
            let failed = lines.iter().find(|line| line.doing == "failed");
            failed.map(|line| line.thread.clone())
        };
        let known = failed(&bug.threads);
        let same_thread = known.is_some() && known == failed(&self.threads);
        let without = bug.without().threads;
        let left_out: Vec<String> = without.iter().map(ToString::to_string).collect();
        let now = { self.threads.iter() }.filter(|line| !left_out.contains(&line.thread));
        let before = bug.threads.iter().filter(|line| line.is_earlier());
        Bug {
            message: match same_thread {
                true => bug.message.clone(),
                false => self.message.clone(),
            },
            threads: now.chain(before).cloned().collect(),
            ..bug.clone()
        }
    }
}

/// A short name of a signature, for people and for comparing results of
/// different machines: equal signatures have equal tags.
#[must_use]
pub fn signature_tag(signature: &Signature) -> String {
    let bytes = postcard::to_allocvec(signature).unwrap_or_default();
    blake3::hash(&bytes).to_hex()[..16].to_string()
}

/// Judges a run. `None` is a good run, or one that was ended for reasons that
/// are not the program's.
pub fn judge(report: &Ran, oracle: &Oracle, atlas: &mut Atlas) -> Option<Verdict> {
    judge_for(report, oracle, None, atlas)
}

/// The same with a bug in mind: of several races, the one that it is.
pub fn judge_against(report: &Ran, bug: &Bug, atlas: &mut Atlas) -> Option<Verdict> {
    judge_for(report, &bug.oracle, Some(&bug.signature), atlas)
}

fn judge_for(
    report: &Ran,
    oracle: &Oracle,
    wanted: Option<&Signature>,
    atlas: &mut Atlas,
) -> Option<Verdict> {
    let paths = report
        .detail
        .as_ref()
        .map_or(&[][..], |detail| &detail.threads);
    if let Some(detail) = &report.detail {
        atlas.update(&detail.objects);
    }
    match &report.outcome {
        Outcome::Failed(failure) => Some(verdict_on(failure, paths, atlas)),
        Outcome::Exited { code } if *code != oracle.exit_code => Some(plain(
            FailureKind::Exit { code: *code },
            format!("ended with exit code {code}, expected {}", oracle.exit_code),
        )),
        Outcome::Exited { .. } => {
            let output = report
                .detail
                .as_ref()
                .map_or(&[][..], |detail| &detail.output);
            match complaint(oracle, output) {
                Some(complaint) => Some(plain(FailureKind::Output, complaint)),
                None if oracle.needs_events() => raced(report, wanted, atlas),
                None => None,
            }
        }
        Outcome::Stopped(_) | Outcome::NoRoom | Outcome::Unsupported(_) | Outcome::Broken(_) => {
            None
        }
    }
}

/// The verdict on a run that ended well, if it has a data race: the one that is
/// looked for, or else the first.
fn raced(run: &Ran, wanted: Option<&Signature>, atlas: &mut Atlas) -> Option<Verdict> {
    let found = races(run.steps());
    let mut signatures: Vec<Signature> = found
        .iter()
        .map(|race| Signature {
            kind: FailureKind::DataRace,
            place: None,
            frames: Vec::new(),
            cycle: race::places(race, run.steps(), atlas),
        })
        .collect();
    let position = signatures
        .iter()
        .position(|signature| Some(signature) == wanted);
    let position = position.unwrap_or(0);
    let told = race::told(found.get(position)?, run, atlas, &Default::default());
    Some(Verdict {
        signature: signatures.swap_remove(position),
        message: told.message(),
        threads: told.threads(),
    })
}

fn plain(kind: FailureKind, message: String) -> Verdict {
    Verdict {
        signature: Signature {
            kind,
            place: None,
            frames: Vec::new(),
            cycle: Vec::new(),
        },
        message,
        threads: Vec::new(),
    }
}

/// Whether a run printed what it should not.
pub(crate) fn output_is_wrong(oracle: &Oracle, output: &[u8]) -> bool {
    complaint(oracle, output).is_some()
}

/// What is wrong with the output of a run.
fn complaint(oracle: &Oracle, output: &[u8]) -> Option<String> {
    if let Some(expected) = &oracle.output
        && expected != output
    {
        let same = expected
            .iter()
            .zip(output)
            .take_while(|(a, b)| a == b)
            .count();
        let line = 1 + expected[..same]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        return Some(format!(
            "the output differs from the expected one in line {line}"
        ));
    }
    let check = oracle.check.as_ref()?;
    let passed = passes(check, output);
    (!passed).then(|| format!("`{check}` refused the output"))
}

/// Whether a shell command that reads the output ends with 0.
fn passes(check: &str, output: &[u8]) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", check]).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // A command that does not read all of it may still be content.
        let _ = input.write_all(output);
    }
    child.wait().is_ok_and(|status| status.success())
}

/// The verdict on what the runtime saw fail; `paths` are by thread index.
#[must_use]
pub fn verdict_on(failure: &Failure, paths: &[ThreadPath], atlas: &mut Atlas) -> Verdict {
    let failing = failure
        .states
        .iter()
        .find(|state| state.thread == failure.thread);
    let deadlocked = matches!(failure.kind, FailureKind::Deadlock | FailureKind::Livelock);
    let placeless = is_placeless(&failure.kind);
    let cycle = match deadlocked {
        true => cycle(&failure.states, atlas),
        false => Vec::new(),
    };
    let frames = match failing {
        Some(state) if !placeless => own_frames(state, atlas),
        _ => Vec::new(),
    };
    let exact = failure
        .place
        .filter(|place| atlas.is_own_code(*place) && !placeless);
    let place = exact
        .map(|place| atlas.lasting_place(place))
        .or_else(|| Some(frames.first()?.place.clone()));
    Verdict {
        signature: Signature {
            kind: failure.kind.clone(),
            place,
            frames,
            cycle,
        },
        message: failure.message.clone(),
        threads: failure
            .states
            .iter()
            .map(|state| line(state, failure, paths, atlas))
            .collect(),
    }
}

/// The innermost frames that the program's author wrote; if there are none, as
/// in a program without line tables, the innermost outside the system's libraries.
fn own_frames(state: &ThreadState, atlas: &mut Atlas) -> Vec<Frame> {
    let outside: Vec<PlaceNumber> = state
        .frames
        .iter()
        .copied()
        .filter(|&frame| atlas.is_own_code(frame))
        .collect();
    let written: Vec<PlaceNumber> = outside
        .iter()
        .copied()
        .filter(|&frame| !is_library(&outermost(atlas, frame)))
        .collect();
    let frames = if written.is_empty() { outside } else { written };
    let frames = frames.into_iter().take(FRAMES);
    frames
        .map(|number| Frame {
            function: atlas.function(number),
            place: atlas.lasting_place(number),
        })
        .collect()
}

/// The function that a frame really is, with all that is inlined into it.
fn outermost(atlas: &mut Atlas, number: PlaceNumber) -> Spot {
    atlas.spots(number).pop().unwrap_or_default()
}

/// The line of a place, or, if a library's code was put inline there, the line
/// of the author's own code that it was put into.
#[must_use]
pub fn written_spot(atlas: &mut Atlas, number: PlaceNumber) -> Spot {
    let mut spots = atlas.spots(number);
    let libraries = atlas.libraries();
    let written = spots.iter().position(|spot| !is_in(libraries, spot));
    spots.swap_remove(written.unwrap_or(0))
}

/// Whether a place lies in code that the program's author wrote, or in a library's
/// code that was put inline there.
pub fn is_written(atlas: &mut Atlas, number: PlaceNumber) -> bool {
    let libraries = atlas.libraries();
    let mut spots = atlas.spots(number).into_iter();
    atlas.is_own_code(number) && spots.any(|spot| !is_in(libraries, &spot))
}

/// Whether code belongs to the library of its language.
#[must_use]
pub fn is_library(spot: &Spot) -> bool {
    is_in(Libraries::System, spot)
}

fn is_in(libraries: Libraries, spot: &Spot) -> bool {
    let function = spot.function.as_deref().unwrap_or_default();
    let owner = spot.line.as_deref().map(Owner::of_file);
    owner.is_some_and(|owner| libraries.include(owner))
        || CARRIERS.iter().any(|part| function.contains(part))
}

/// What counts as a library to whoever looks for the reason of a failure: packages of
/// others too, unless the run failed in one of them.
#[must_use]
pub fn libraries_of(failure: Option<&Failure>, atlas: &mut Atlas) -> Libraries {
    let failing = failure.and_then(|failure| {
        let mut states = failure.states.iter();
        states.find(|state| state.thread == failure.thread && !is_placeless(&failure.kind))
    });
    let frames = failing.map_or(&[][..], |state| &state.frames);
    let own = frames.iter().filter(|frame| atlas.is_own_code(**frame));
    let own: Vec<PlaceNumber> = own.copied().collect();
    let mut spots = own.into_iter().flat_map(|frame| atlas.spots(frame));
    let innermost = spots.find(|spot| !is_library(spot));
    match innermost.and_then(|spot| spot.line) {
        Some(line) if Owner::of_file(&line) == Owner::Fetched => Libraries::System,
        _ => Libraries::Packages,
    }
}

/// Where a run happened to be when it stood still, or its time was up, says nothing
/// about the bug.
fn is_placeless(kind: &FailureKind) -> bool {
    matches!(
        kind,
        FailureKind::Deadlock | FailureKind::Livelock | FailureKind::TimeLimit
    )
}

/// A stack for people: what the author wrote, and of each stretch of library
/// code in between only the call that leads into it.
pub(crate) fn stack(frames: &[PlaceNumber], place: PlaceNumber, atlas: &mut Atlas) -> Vec<String> {
    let mut spots = Vec::new();
    for &frame in frames {
        if atlas.is_own_code(frame) {
            spots.extend(atlas.spots(frame));
        }
    }
    // Where nobody tells a line, as in what calls `main` in Rust, an address says nothing
    // beside the lines of others.
    if spots.iter().any(Spot::has_line) {
        spots.retain(Spot::has_line);
    }
    let last_written = spots.iter().rposition(|spot| !is_library(spot));
    spots.truncate(last_written.map_or(1, |last| last + 1));
    let mut shown = Vec::new();
    for (position, spot) in spots.iter().enumerate() {
        let leads_in = spots
            .get(position + 1)
            .is_none_or(|outer| !is_library(outer));
        let carrier = CARRIERS
            .iter()
            .any(|part| spot.function.as_deref().unwrap_or("").contains(part));
        if !is_library(spot) || leads_in && !carrier {
            shown.push(spot.to_string());
        }
    }
    if shown.is_empty() {
        shown.push(atlas.spot(place).to_string());
    }
    shown
}

/// The places at which the threads of a cycle wait, beginning with the smallest.
/// Where nobody is known to hold anything (a wake-up that never comes), the
/// places of all that wait.
fn cycle(states: &[ThreadState], atlas: &mut Atlas) -> Vec<Place> {
    let state = |thread| states.iter().find(|state| state.thread == thread);
    for start in states {
        let mut round = vec![start];
        while let Some(next) = round[round.len() - 1].holder.and_then(state) {
            if next.thread == start.thread {
                let places = round
                    .iter()
                    .map(|state| waiting_place(state, atlas))
                    .collect();
                return smallest_first(places);
            }
            if round.iter().any(|seen| seen.thread == next.thread) {
                break;
            }
            round.push(next);
        }
    }
    let blocked = states.iter().filter(|state| !state.enabled);
    let mut places: Vec<Place> = blocked.map(|state| waiting_place(state, atlas)).collect();
    places.sort();
    places.dedup();
    places
}

/// Where a thread waits, in the program's own words if it waits in a library.
fn waiting_place(state: &ThreadState, atlas: &mut Atlas) -> Place {
    let own = state.frames.iter().find(|frame| atlas.is_own_code(**frame));
    let number = match atlas.is_own_code(state.operation.place) {
        true => state.operation.place,
        false => own.copied().unwrap_or(state.operation.place),
    };
    atlas.lasting_place(number)
}

fn smallest_first(mut places: Vec<Place>) -> Vec<Place> {
    let smallest = (0..places.len()).min_by_key(|&position| &places[position]);
    places.rotate_left(smallest.unwrap_or(0));
    places
}

fn line(
    state: &ThreadState,
    failure: &Failure,
    paths: &[ThreadPath],
    atlas: &mut Atlas,
) -> ThreadLine {
    let name = |thread: bohr_event::ThreadIndex| match paths.get(thread.position()) {
        Some(path) => path.to_string(),
        None => format!("#{}", thread.0),
    };
    let is_buffer = |path: &ThreadPath| path.buffer_of().is_some();
    let waits_in_buffer = paths.get(state.thread.position()).is_some_and(is_buffer);
    let doing = match (state.thread == failure.thread, state.enabled) {
        _ if waits_in_buffer => "still held a store".to_string(),
        (true, _) if failure.kind == FailureKind::TimeLimit => "was running".to_string(),
        (true, _) if failure.kind != FailureKind::Deadlock => "failed".to_string(),
        (_, true) => format!("was about to {}", state.operation.intention()),
        (_, false) => match (state.operation.kind, state.holder) {
            (EventKind::Join, Some(joined)) => format!("waits for the end of {}", name(joined)),
            (_, Some(holder)) => {
                let intention = state.operation.intention();
                format!("waits to {intention}, held by {}", name(holder))
            }
            (_, None) => format!("waits to {}", state.operation.intention()),
        },
    };
    ThreadLine {
        thread: name(state.thread),
        doing,
        stack: stack(&state.frames, state.operation.place, atlas),
    }
}

#[cfg(test)]
mod tests {
    use super::{Spot, is_library};

    #[test]
    fn what_the_compiler_of_rust_puts_between_is_no_code_of_the_author() {
        let spot = |function: &str| Spot {
            function: Some(function.to_string()),
            line: Some("program+0x26c47".to_string()),
        };
        assert!(is_library(&spot("__rustc::__rust_dealloc")));
        // What bohr puts before copies and comparisons is nobody's either.
        assert!(is_library(&spot("__bohr_thunk_copy")));
        assert!(!is_library(&spot("dealloc")));
    }
}
