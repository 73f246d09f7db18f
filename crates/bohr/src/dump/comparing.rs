//! Two cores of one program, compared: what is not as it was in the good one.

use super::{opened_bytes, unpacked};
use crate::outcome::Failure;
use bohr_dump::variables::{Comparison, Information, Sections, Side};
use bohr_dump::{Dump, Frame, Loaded, Stacks, anonymous, loaded};
use bohr_event::{Diagnosis, Fault};
use std::fmt::Write;
use std::path::Path;

/// Differences that are told to people; `--json` has them all.
const MOST: usize = 60;

/// Why two cores cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum Incomparable {
    /// A core whose program is not at hand.
    #[error("the program of the core {0} is not to be found")]
    NoProgram(String),
    /// They are not of one program.
    #[error("the cores are of two programs: {0} and {1}")]
    OtherProgram(String, String),
    /// Nothing in them is alike.
    #[error("the cores were made anonymous by two keys")]
    OtherKey,
}

impl Diagnosis for Incomparable {
    fn fault(&self) -> Fault {
        Fault::Input
    }

    fn help(&self) -> Option<String> {
        Some(String::from(match self {
            Incomparable::OtherKey => {
                "make one of them as the other is: bohr core anonymise CORE --like OTHER -o FILE"
            }
            _ => {
                "give the build that both are of: bohr core CORE --against OTHER --program PROGRAM"
            }
        }))
    }
}

/// Compares a core with another one.
pub fn compare(core: &Path, other: &Path, program: Option<&Path>) -> Result<Comparison, Failure> {
    let [left, right] = alike([unpacked(core)?, unpacked(other)?])?;
    opened_bytes(&left, program, |left, left_objects, _| {
        opened_bytes(&right, program, |right, right_objects, _| {
            let own = program_of(left, left_objects, core)?;
            let others = program_of(right, right_objects, other)?;
            if own.path != others.path && program.is_none() {
                let (own, others) = (own.path.clone(), others.path.clone());
                return Err(Incomparable::OtherProgram(own, others).into());
            }
            let sections = [Sections::of(own), Sections::of(others)];
            let information = [
                Information::read(&sections[0], own.bias),
                Information::read(&sections[1], others.bias),
            ];
            let stacks = Stacks::new(&left.memory, left_objects);
            let frames = stacks.of(&left.threads[0].registers);
            let like = most_alike(&frames, own.bias, right, right_objects, others.bias);
            let frames = [&frames[..], &like];
            Ok(between(&information, [left, right], frames, &|_| false))
        })?
    })?
}

/// Of two cores of which one was made anonymous, the other one is, too.
fn alike([left, right]: [Vec<u8>; 2]) -> Result<[Vec<u8>; 2], Failure> {
    match (anonymous::key(&left), anonymous::key(&right)) {
        (Some(one), Some(other)) if one != other => Err(Incomparable::OtherKey.into()),
        (Some(key), None) => Ok([left, anonymous::anonymised(&right, &key)?]),
        (None, Some(key)) => Ok([anonymous::anonymised(&left, &key)?, right]),
        _ => Ok([left, right]),
    }
}

/// Compares a core with the state of another build of the same sources, by the frames
/// that both have in the program itself: of the core's thread at that position. Of the
/// state it is known which memory was given back.
pub fn compare_states(
    [core, program]: [&Path; 2],
    thread: usize,
    state: &[u8],
    state_program: &Path,
    is_freed: &dyn Fn(u64) -> bool,
) -> Result<Comparison, Failure> {
    let bytes = unpacked(core)?;
    // What others must not see is not seen on either side.
    let hidden = anonymous::key(&bytes).map(|key| anonymous::anonymised(state, &key));
    let hidden = hidden.transpose()?;
    let state = hidden.as_deref().unwrap_or(state);
    opened_bytes(&bytes, Some(program), |left, left_objects, _| {
        opened_bytes(state, Some(state_program), |right, right_objects, _| {
            let own = program_of(left, left_objects, core)?;
            let others = program_of(right, right_objects, state_program)?;
            let sections = [Sections::of(own), Sections::of(others)];
            let information = [
                Information::read(&sections[0], own.bias),
                Information::read(&sections[1], others.bias),
            ];
            let frames = own_frames(left, thread, left_objects, own, &information[0]);
            let other_frames = own_frames(right, 0, right_objects, others, &information[1]);
            let frames = [&frames[..], &other_frames];
            Ok(between(&information, [left, right], frames, is_freed))
        })?
    })?
}

/// Compares two states, by these frames of each. Of the second it is known which
/// memory was given back.
fn between<'d>(
    information: &[Information<'d>; 2],
    dumps: [&Dump<'d>; 2],
    frames: [&[Frame]; 2],
    is_freed: &dyn Fn(u64) -> bool,
) -> Comparison {
    let [left, right] = [0, 1].map(|side| Side {
        information: &information[side],
        memory: &dumps[side].memory,
        frames: frames[side],
        is_freed: match side {
            0 => &|_| false,
            _ => is_freed,
        },
    });
    Comparison::of(left, right)
}

/// The frames of a thread that are in what the program's author wrote.
fn own_frames(
    dump: &Dump<'_>,
    thread: usize,
    objects: &[Loaded<'_>],
    own: &Loaded<'_>,
    information: &Information<'_>,
) -> Vec<Frame> {
    let stacks = Stacks::new(&dump.memory, objects);
    let frames = stacks.of(&dump.threads[thread].registers).into_iter();
    frames
        .filter(|frame| own.range.contains(&frame.instruction()))
        .filter(|frame| !information.calls(frame).is_empty())
        .collect()
}

fn program_of<'o, 'a>(
    dump: &Dump<'_>,
    objects: &'o [Loaded<'a>],
    core: &Path,
) -> Result<&'o Loaded<'a>, Failure> {
    let path = loaded::program(dump);
    let found = objects.iter().find(|object| Some(&*object.path) == path);
    Ok(found.ok_or_else(|| Incomparable::NoProgram(core.display().to_string()))?)
}

/// Of the other core's stacks, the one that has the most calls in common with this.
fn most_alike(
    frames: &[Frame],
    bias: u64,
    other: &Dump<'_>,
    objects: &[Loaded<'_>],
    other_bias: u64,
) -> Vec<Frame> {
    let stacks = Stacks::new(&other.memory, objects);
    let all = other
        .threads
        .iter()
        .map(|thread| stacks.of(&thread.registers));
    let common = |stack: &Vec<Frame>| {
        let places = |frames: &[Frame], bias: u64| -> Vec<u64> {
            let outermost_first = frames.iter().rev();
            outermost_first
                .map(|frame| frame.place().wrapping_sub(bias))
                .collect()
        };
        let (own, others) = (places(frames, bias), places(stack, other_bias));
        own.iter()
            .zip(&others)
            .take_while(|(one, other)| one == other)
            .count()
    };
    // The first of several.
    let mut best: Option<(usize, Vec<Frame>)> = None;
    for stack in all {
        let count = common(&stack);
        if best.as_ref().is_none_or(|(most, _)| count > *most) {
            best = Some((count, stack));
        }
    }
    best.map_or_else(Vec::new, |(_, stack)| stack)
}

/// What came of it, for people.
pub fn text(comparison: &Comparison) -> String {
    let count = comparison.differences.len();
    let mut text = format!("{} values compared, {count} differ\n", comparison.values);
    for difference in comparison.differences.iter().take(MOST) {
        let (left, right) = (&difference.left, &difference.right);
        let _ = writeln!(text, "  {} = {left}, in the other {right}", difference.path);
    }
    if count > MOST {
        let _ = writeln!(text, "  … {} more", count - MOST);
    }
    if comparison.cut_short {
        text.push_str("note: there is more than was compared\n");
    }
    text
}
