//! The window of a preemption: between which two moments of a thread another
//! one must come for the program to fail.
//!
//! The switch is moved to earlier and to later moments of the interrupted
//! thread, and the program run each time. The last moment before the window
//! *opens* it: without it, the interruption does no harm. The first moment
//! behind it *closes* it: once it is over, neither. What other threads did in
//! between and could not have left out is the *intrusion*. Together they are an
//! atomicity violation (Lu, Park, Seo and Zhou, "Learning from Mistakes", ASPLOS
//! 2008, call it that), found without knowing the program's variables or locks.

use crate::culprit::{Culprit, REACH, Surroundings};
use crate::directory::Directory;
use crate::experiment::{Experimenter, last_failing};
use crate::moment::Moment;
use bohr_event::control::{Recorded, Step};
use bohr_event::{EventKind, PlaceNumber, Schedule, Segment, ThreadPath};
use bohr_reduce::{Execution, preemptions};
use serde::Serialize;
use std::ops::Range;

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Who is interrupted.
    pub thread: ThreadPath,
    /// The last moment that has to be before the interruption; `None` if the
    /// thread need not have done anything.
    pub opens: Option<Moment>,
    /// The first moment that must not be before it; `None` if the thread ends
    /// or waits before anything makes a difference.
    pub closes: Option<Moment>,
    /// The last that another thread has to do in between.
    pub intrusion: Option<Moment>,
    /// The variable that it is about, if one can be told.
    pub culprit: Option<Culprit>,
    /// At how many moments the interruption shows the failure.
    pub width: u64,
    /// The run in which the interruption came too late to do harm, if that is
    /// what closes the window. What comes afterwards is told from it.
    #[serde(skip)]
    pub passing: Option<Recorded>,
    /// The run in which it came too early to do harm.
    #[serde(skip)]
    pub early: Option<Recorded>,
}

impl Window {
    /// The runs next to this one that do not fail.
    pub fn passing_runs(&self) -> impl Iterator<Item = &Recorded> {
        self.passing.iter().chain(&self.early)
    }

    /// What happened before, in between and afterwards: accesses to the variable that
    /// it is about, or else its edges. That a thread comes after its creation goes
    /// without saying.
    #[must_use]
    pub fn accesses(&self) -> [Option<&Moment>; 3] {
        let opens = self.opens.as_ref();
        let edges = [
            opens.filter(|opens| opens.operation.kind != EventKind::Fork),
            self.intrusion.as_ref(),
            self.closes.as_ref(),
        ];
        let Some(culprit) = &self.culprit else {
            return edges;
        };
        let between = Some(&culprit.between);
        let [before, after] = [&culprit.before, &culprit.after].map(Option::as_ref);
        [before.or(edges[0]), between, after.or(edges[2])]
    }

    /// All that is told of it: the accesses to the variable that it is about, and its
    /// edges where there are none.
    #[must_use]
    pub fn named(&self) -> Vec<&Moment> {
        let mut named: Vec<&Moment> = self.culprit.iter().flat_map(Culprit::named).collect();
        for moment in self.accesses().into_iter().flatten() {
            if !named.iter().any(|known| std::ptr::eq(*known, moment)) {
                named.push(moment);
            }
        }
        named
    }
}

/// Preemptions that are looked at. Each takes dozens of runs, and nobody reads a
/// story of more.
const MOST: usize = 32;

/// The windows of the last preemptions of a failing run, in the order in which they
/// open; and how many others it has.
///
/// # Errors
/// If the program cannot be run.
pub fn windows<E: Experimenter>(
    run: &Recorded,
    experimenter: &mut E,
) -> Result<(Vec<Window>, u64), E::Error> {
    let execution = Execution::recorded(run);
    let found = preemptions(execution);
    let directory = Directory::new(run);
    let (others, last) = found.split_at(found.len().saturating_sub(MOST));
    let windows = last
        .iter()
        .map(|&segment| window(&directory, segment, experimenter));
    Ok((windows.collect::<Result<_, _>>()?, others.len() as u64))
}

fn window<E: Experimenter>(
    directory: &Directory<'_>,
    segment: usize,
    experimenter: &mut E,
) -> Result<Window, E::Error> {
    let run = directory.run;
    let segments = run.schedule.segments();
    let interrupted = &segments[segment];
    let thread = &interrupted.thread;
    let before = events_before(segments, segment);
    let between = needed(run, segment, experimenter)?;
    let executed = before + interrupted.events;
    let mut early = None;
    let earlier = last_failing(interrupted.events, |distance| {
        let moved = shifted(&run.schedule, segment, -(distance as i64));
        let seen = experimenter.observe(&moved)?;
        // Where a lock keeps the others out, they come later: that is not earlier.
        let others = others_behind(&seen.run, thread, executed - distance);
        let fails = seen.fails;
        if !fails {
            early = Some(seen.run);
        }
        Ok(fails && others >= between.len())
    })?;
    let first = executed - earlier;
    let late = last_harmful(run, segment, experimenter)?;
    let opens = (earlier < interrupted.events).then(|| directory.moment(thread, first - 1));
    let intrusion = between.end - 1;
    let whole = between.start..between.start + others_behind(run, thread, executed);
    let mut window = Window {
        thread: thread.clone(),
        opens: opens.flatten(),
        closes: late.closes,
        intrusion: (intrusion >= between.start).then(|| directory.at(intrusion)),
        culprit: None,
        width: earlier + late.distance + 1,
        passing: late.passing,
        early,
    };
    let surroundings = Surroundings {
        directory,
        thread,
        opened: first,
        interrupted: executed,
        between,
        whole,
        after: late.after,
        importance: &|operation| experimenter.importance(operation),
    };
    window.culprit = surroundings.culprit();
    Ok(window)
}

/// The latest switch that does harm.
struct Late {
    /// How much later it is.
    distance: u64,
    /// The moment that is too late.
    closes: Option<Moment>,
    /// What the thread does from there on if it is not interrupted.
    after: Vec<Moment>,
    /// The run that shows both.
    passing: Option<Recorded>,
}

fn last_harmful<E: Experimenter>(
    run: &Recorded,
    segment: usize,
    experimenter: &mut E,
) -> Result<Late, E::Error> {
    let segments = run.schedule.segments();
    let interrupted = &segments[segment];
    let thread = &interrupted.thread;
    let intruder = segments.get(segment + 1).map(|next| &next.thread);
    let executed = events_before(segments, segment) + interrupted.events;
    let mut passing = None;
    let mut reached = u64::MAX;
    let distance = last_failing(u64::from(u32::MAX), |distance| {
        let mut at = distance;
        loop {
            if at > reached {
                return Ok(false);
            }
            let moved = shifted(&run.schedule, segment, at as i64);
            let seen = experimenter.observe(&moved)?;
            let ran = uninterrupted(&seen.run, thread, executed - 1);
            if ran < at {
                // The thread waits or ends before: later switches are this one.
                reached = reached.min(ran);
                return Ok(false);
            }
            if seen.fails {
                return Ok(true);
            }
            // Where the thread has a lock that the other needs, nobody can come:
            // the moment when it gives that back decides.
            let free =
                intruder.and_then(|other| free_again(&seen.run, thread, executed + at, other));
            match free.and_then(|events| events.checked_sub(executed)) {
                Some(later) if later > at => at = later,
                _ => {
                    passing = Some((distance, seen.run));
                    return Ok(false);
                }
            }
        }
    })?;
    let closing = passing.filter(|(passing, _)| *passing == distance + 1);
    let from = executed + distance;
    let later = closing.as_ref().map_or(run, |(_, run)| run);
    let mut after: Vec<Moment> = Moment::following(later, thread, from).take(REACH).collect();
    let closes = closing.as_ref().and_then(|_| after.first().cloned());
    if after.is_empty() {
        after.extend(about_to(run, thread, from));
    }
    Ok(Late {
        distance,
        closes,
        after,
        passing: closing.map(|(_, run)| run),
    })
}

/// How many events a thread has executed when it gives back the lock that kept
/// another one from doing what it was to do before event `number` of the first;
/// `None` if nothing did.
fn free_again(run: &Recorded, thread: &ThreadPath, number: u64, other: &ThreadPath) -> Option<u64> {
    use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
    let own = run.events_of(thread).skip(number as usize);
    let mut own = (number..).zip(own).peekable();
    let resumed = own.peek()?.1.0;
    let mut others = run.events_of(other);
    let (taken, acquired) = others.find(|event| event.0 > resumed)?;
    if !matches!(acquired.kind, Acquire | AcquireShared) {
        return None;
    }
    let (release, _) = own.find(|(_, (event, operation))| {
        let gives_back = matches!(operation.kind, Release | ReleaseShared);
        gives_back && operation.object == acquired.object && *event < taken
    })?;
    Some(release + 1)
}

/// What a thread would have done next when the run ended.
fn about_to(run: &Recorded, thread: &ThreadPath, number: u64) -> Option<Moment> {
    let own = |step: &&Step| run.threads.get(step.thread.position()) == Some(thread);
    let step = run.pending.iter().find(own)?;
    Some(Moment {
        thread: thread.clone(),
        number,
        operation: step.operation,
    })
}

/// How many events a thread executes in a row behind its event `number`.
fn uninterrupted(run: &Recorded, thread: &ThreadPath, number: u64) -> u64 {
    let Some((start, _)) = run.events_of(thread).nth(number as usize) else {
        return 0;
    };
    let behind = run.steps.len() - start - 1;
    let mine = (0..behind).take_while(|&distance| run.path(start + 1 + distance) == thread);
    mine.count() as u64
}

/// The events of others behind a switch without which the run does not fail:
/// up to where the interrupted thread has to go on, or to the end.
fn needed<E: Experimenter>(
    run: &Recorded,
    segment: usize,
    experimenter: &mut E,
) -> Result<Range<usize>, E::Error> {
    let segments = run.schedule.segments();
    let events = |segments: &[Segment<PlaceNumber>]| {
        let lengths = segments.iter().map(|segment| segment.events);
        lengths.sum::<u64>() as usize
    };
    let start = events(&segments[..=segment]);
    let Some(resumes) = next_of(segments, segment) else {
        return Ok(start..run.steps.len());
    };
    let intruder = resumes - 1;
    let thread = &segments[segment].thread;
    let executed = events_before(segments, segment) + segments[segment].events;
    let mut shortest = events(&segments[segment + 1..resumes]);
    last_failing(segments[intruder].events - 1, |distance| {
        let moved = shifted(&run.schedule, intruder, -(distance as i64));
        let seen = experimenter.observe(&moved)?;
        if seen.fails {
            // Perhaps more than asked for: whoever waits for a lock lets its
            // holder go on.
            shortest = shortest.min(others_behind(&seen.run, thread, executed));
        }
        Ok(seen.fails)
    })?;
    Ok(start..start + shortest)
}

/// How many events others execute before a thread that has executed `number` of
/// its own goes on.
fn others_behind(run: &Recorded, thread: &ThreadPath, number: u64) -> usize {
    let mut own = run.events_of(thread).map(|event| event.0);
    let start = match number {
        0 => 0,
        _ => own
            .nth(number as usize - 1)
            .map_or(run.steps.len(), |last| last + 1),
    };
    own.next().unwrap_or(run.steps.len()).saturating_sub(start)
}

fn events_before(segments: &[Segment<PlaceNumber>], segment: usize) -> u64 {
    let same = |other: &&Segment<PlaceNumber>| other.thread == segments[segment].thread;
    let earlier = segments[..segment].iter().filter(same);
    earlier.map(|other| other.events).sum()
}

/// The next segment of the same thread.
pub(crate) fn next_of(segments: &[Segment<PlaceNumber>], segment: usize) -> Option<usize> {
    let thread = &segments[segment].thread;
    let behind = segments[segment + 1..]
        .iter()
        .position(|other| other.thread == *thread)?;
    Some(segment + 1 + behind)
}

/// The schedule with the end of a segment moved: what its thread does more or
/// less there, it does less or more in its next one.
fn shifted(
    schedule: &Schedule<PlaceNumber>,
    segment: usize,
    distance: i64,
) -> Schedule<PlaceNumber> {
    let mut segments = schedule.segments().to_vec();
    let next = next_of(&segments, segment);
    let mut change = |position: usize, distance: i64| {
        let changed = &mut segments[position];
        changed.events = changed.events.saturating_add_signed(distance);
        changed.end = None;
    };
    change(segment, distance);
    if let Some(next) = next {
        change(next, -distance);
    }
    let kept = segments.into_iter().filter(|segment| segment.events > 0);
    let mut moved: Schedule<PlaceNumber> = kept.collect();
    for choice in schedule.choices() {
        moved.choose(choice.clone());
    }
    moved
}

#[cfg(test)]
mod tests;
