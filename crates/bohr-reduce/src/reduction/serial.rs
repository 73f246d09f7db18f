//! Threads that cannot go, since somebody uses what they come to, and need not
//! be interleaved either: they run from their beginning to their end in one
//! piece, at their creation or when their creator is about to wait.
//!
//! A thread that runs in one piece in the middle of another one may be what the
//! failure is about. So nobody else may be under way at that moment but their
//! creator, and whoever asks for a serial thread has to see that a run in which
//! all others come one after the other does not fail with it at that moment.

use super::{Cut, Length, Reducer, Stage, Work};
use bohr_event::control::{Recorded, Step};
use bohr_event::{EventKind, ThreadIndex, ThreadPath};
use std::collections::{HashMap, HashSet};

/// Makes as many threads serial as it can.
pub(super) fn more<R: Reducer>(work: &mut Work<'_, R>, stage: &mut Stage) -> Result<(), R::Error> {
    let before = work.cut.clone();
    let candidate = |path: &ThreadPath| path.depth() > 0 && !before.serial.contains(path);
    let mut threads = work.reducer.threads();
    threads.retain(candidate);
    work.search(stage, threads.len(), Length::Longer, &|kept| {
        let mut cut = before.clone();
        let others = (0..threads.len()).filter(|position| kept.binary_search(position).is_err());
        cut.serial
            .extend(others.map(|position| threads[position].clone()));
        cut.serial.sort();
        cut
    })
}

/// Steps of a run with those of every serial thread in one piece, at the first
/// moment when that can be; `None` if there is none for one of them.
#[must_use]
pub fn place(steps: &[Step], run: &Recorded, cut: &Cut) -> Option<Vec<Step>> {
    let others = Others::new(steps, run, cut);
    // By place in the others' steps: the pieces that come right before it.
    let mut pieces: Vec<(usize, Vec<Step>)> = Vec::new();
    for thread in others.serial_in_order() {
        let own = steps.iter().filter(|step| step.thread == thread);
        let own: Vec<Step> = own.copied().collect();
        let at = others.moment(thread)?;
        // Who has not ended when others go on is under way.
        if at < others.steps.len() && !own.last().is_some_and(ends) {
            return None;
        }
        pieces.push((at, own));
    }
    pieces.sort_by_key(|(at, _)| *at);
    let mut placed = Vec::with_capacity(steps.len());
    let mut done = 0;
    for (at, piece) in pieces {
        placed.extend_from_slice(&others.steps[done..at]);
        placed.extend(piece);
        done = at;
    }
    placed.extend_from_slice(&others.steps[done..]);
    Some(placed)
}

/// Whether the serial threads of a cut are serial in a run.
#[must_use]
pub fn is_serial(run: &Recorded, cut: &Cut) -> bool {
    if cut.serial.is_empty() {
        return true;
    }
    let others = Others::new(&run.steps, run, cut);
    { others.serial.iter() }.all(|thread| others.is_one_piece(&run.steps, *thread))
}

/// The steps of all threads but the serial ones.
struct Others<'r> {
    steps: Vec<Step>,
    threads: &'r [ThreadPath],
    serial: HashSet<ThreadIndex>,
    /// Where the steps of each are; not of those that are left out, whose steps
    /// nobody takes.
    positions: HashMap<ThreadIndex, Vec<usize>>,
    /// Those that wait for another's end when the run is over.
    waiting: HashSet<ThreadIndex>,
    /// Whose step is the last of all.
    last: Option<ThreadIndex>,
}

impl<'r> Others<'r> {
    fn new(steps: &[Step], run: &'r Recorded, cut: &Cut) -> Others<'r> {
        let threads = &run.threads[..];
        let last = steps.last().map(|step| step.thread);
        let waiting = run.pending.iter().filter(|step| waits(step));
        let is_in = |paths: &[ThreadPath], thread: ThreadIndex| {
            let path = threads.get(thread.position());
            path.is_some_and(|path| paths.binary_search(path).is_ok())
        };
        let all = (0..threads.len() as u32).map(ThreadIndex);
        let serial: HashSet<ThreadIndex> =
            all.filter(|thread| is_in(&cut.serial, *thread)).collect();
        let steps: Vec<Step> = { steps.iter() }
            .filter(|step| !serial.contains(&step.thread))
            .copied()
            .collect();
        let mut positions: HashMap<ThreadIndex, Vec<usize>> = HashMap::new();
        for (position, step) in steps.iter().enumerate() {
            positions.entry(step.thread).or_default().push(position);
        }
        positions.retain(|thread, _| !is_in(&cut.without.threads, *thread));
        Others {
            steps,
            threads,
            serial,
            positions,
            waiting: waiting.map(|step| step.thread).collect(),
            last,
        }
    }

    /// The serial threads that are created, in that order.
    fn serial_in_order(&self) -> Vec<ThreadIndex> {
        let created = self.steps.iter().filter_map(created);
        let mut known = HashSet::new();
        created
            .filter(|thread| self.serial.contains(thread) && known.insert(*thread))
            .collect()
    }

    /// The first moment between creation and join at which a thread can be serial.
    fn moment(&self, thread: ThreadIndex) -> Option<usize> {
        let created = |step: &Step| created(step) == Some(thread);
        let created = self.steps.iter().position(created)? + 1;
        let joined = |step: &Step| {
            waits(step) && ThreadIndex::from_object(step.operation.object) == Some(thread)
        };
        let joined = self.steps.iter().position(joined);
        let joined = joined.unwrap_or(self.steps.len());
        let own = self.positions.get(&self.creator(thread)?)?;
        let waiting = own.iter().copied();
        let waiting =
            waiting.filter(|&at| (created..joined).contains(&at) && waits(&self.steps[at]));
        // Whoever comes after the end of the run is in nobody's way, unless the run
        // ends with it.
        let afterwards = joined == self.steps.len() && self.last != Some(thread);
        { [created].into_iter().chain(waiting).chain([joined]) }
            .find(|&at| self.is_moment(thread, at))
            .or_else(|| afterwards.then_some(joined))
    }

    /// Whether a thread may run in one piece before the step at `at`: nobody else
    /// is under way but its creator, who has just created it or is about to wait.
    fn is_moment(&self, thread: ThreadIndex, at: usize) -> bool {
        let before = at.checked_sub(1).map(|last| &self.steps[last]);
        let just_created = before.is_some_and(|step| created(step) == Some(thread));
        let creator = self.creator(thread).filter(|_| just_created);
        self.positions.iter().all(|(other, positions)| {
            let next = positions.partition_point(|position| *position < at);
            let begun = next > 0;
            let is_done = match positions.get(next) {
                Some(&next) => waits(&self.steps[next]),
                // The run was over before it could go on, unless it has ended.
                None => self.waiting.contains(other) || self.has_ended(positions),
            };
            !begun || is_done || Some(*other) == creator
        })
    }

    fn has_ended(&self, positions: &[usize]) -> bool {
        positions
            .last()
            .is_some_and(|&last| ends(&self.steps[last]))
    }

    /// Whether a thread of the run whose steps these are is serial in it.
    fn is_one_piece(&self, steps: &[Step], thread: ThreadIndex) -> bool {
        let own = |step: &Step| step.thread == thread;
        let Some(first) = steps.iter().position(own) else {
            return true;
        };
        let last = steps.iter().rposition(own).unwrap_or(first);
        let is_other = |step: &&Step| !self.serial.contains(&step.thread);
        if !ends(&steps[last]) && steps[last..].iter().any(|step| is_other(&step)) {
            return false;
        }
        let together = !steps[first..=last].iter().any(|step| is_other(&step));
        together && self.is_moment(thread, steps[..first].iter().filter(is_other).count())
    }

    fn creator(&self, thread: ThreadIndex) -> Option<ThreadIndex> {
        let parent = self.threads.get(thread.position())?.parent()?;
        let index = self.threads.iter().position(|path| *path == parent)?;
        Some(ThreadIndex(index as u32))
    }
}

fn waits(step: &Step) -> bool {
    step.operation.kind == EventKind::Join
}

fn ends(step: &Step) -> bool {
    step.operation.kind == EventKind::Exit
}

/// Whom a step creates.
fn created(step: &Step) -> Option<ThreadIndex> {
    let is_creation = step.operation.kind == EventKind::Fork;
    ThreadIndex::from_object(step.operation.object).filter(|_| is_creation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::step;
    use EventKind::{Exit, Fork, Join, Write};

    fn threads() -> Vec<ThreadPath> {
        ["0", "0:1", "0:2", "0:3"]
            .map(|path| path.parse().unwrap())
            .to_vec()
    }

    fn serial(path: &str) -> Cut {
        Cut {
            serial: vec![path.parse().unwrap()],
            ..Cut::default()
        }
    }

    /// Thread 1 and 2 take turns; 3 comes in between. All are created first.
    fn interleaved() -> Vec<Step> {
        let fork = |child| step(0, Fork, ThreadIndex(child).object());
        let join = |child| step(0, Join, ThreadIndex(child).object());
        let exit = |thread| step(thread, Exit, ThreadIndex(thread).object());
        vec![
            fork(1),
            step(1, Write, 0x10),
            fork(2),
            fork(3),
            step(2, Write, 0x10),
            step(3, Write, 0x20),
            step(1, Write, 0x10),
            exit(1),
            step(3, Write, 0x20),
            step(2, Write, 0x10),
            exit(2),
            exit(3),
            join(1),
            join(2),
            join(3),
            step(0, Write, 0x30),
        ]
    }

    fn run(steps: Vec<Step>) -> Recorded {
        Recorded {
            threads: threads(),
            steps,
            ..Recorded::default()
        }
    }

    fn order(steps: &[Step]) -> Vec<u32> {
        let mut order: Vec<u32> = steps.iter().map(|step| step.thread.0).collect();
        order.dedup();
        order
    }

    #[test]
    fn a_serial_thread_waits_until_nobody_is_under_way() {
        let steps = interleaved();
        // Not at its creation, where 1 has begun; when main waits, 1 and 2 have ended.
        let placed = place(&steps, &run(Vec::new()), &serial("0:3")).unwrap();
        assert_eq!(order(&placed), [0, 1, 0, 2, 1, 2, 3, 0]);
        assert!(is_serial(&run(placed), &serial("0:3")));
        assert!(!is_serial(&run(steps), &serial("0:3")));
    }

    #[test]
    fn nobody_is_serial_in_the_middle_of_another() {
        let mut steps = interleaved();
        // Without its end, 1 is under way until the run is over.
        let last = step(1, Write, 0x10);
        steps.truncate(12);
        steps.push(last);
        let mut one_piece = [&steps[..4], &[step(3, Write, 0x20), last]].concat();
        assert!(!is_serial(&run(one_piece.clone()), &serial("0:3")));
        // Nor where the run is over before 1 could go on: 3 may have failed since 1
        // was not done.
        one_piece.pop();
        assert!(!is_serial(&run(one_piece.clone()), &serial("0:3")));
        // Main, who waits for them, is in nobody's way.
        let ended = [steps[0], steps[1], steps[7], steps[3], steps[2]];
        let after = [&ended[..], &[step(3, Write, 0x20)]].concat();
        assert!(!is_serial(&run(after.clone()), &serial("0:3")));
        let waiting = Recorded {
            pending: vec![step(0, Join, ThreadIndex(2).object())],
            ..run(after)
        };
        assert!(is_serial(&waiting, &serial("0:3")));
        // Who has not ended when others go on is under way.
        let mut unfinished = waiting.clone();
        unfinished.steps.push(step(2, Write, 0x10));
        assert!(!is_serial(&unfinished, &serial("0:3")));
        assert_eq!(place(&unfinished.steps, &unfinished, &serial("0:3")), None);
    }

    #[test]
    fn who_comes_after_the_end_of_the_run_is_in_nobodys_way() {
        let all = interleaved();
        let own = step(3, Write, 0x20);
        let steps = [all[0], all[1], all[3], own, all[6]];
        let placed = place(&steps, &run(Vec::new()), &serial("0:3")).unwrap();
        assert_eq!(order(&placed), [0, 1, 0, 1, 3]);
        // Unless the run ends with it.
        let steps = [all[0], all[1], all[3], all[6], own];
        assert_eq!(place(&steps, &run(Vec::new()), &serial("0:3")), None);
    }
}
