//! Where threads can be held up that are in the middle of something: of a wait, in which
//! nobody can, or of their beginning.

use bohr_event::EventKind;
use bohr_event::control::Recorded;
use bohr_explain::Moment;

/// The moment at which a thread can be held up that is in the middle of a wait, or
/// about to start: before the call, or before the first thing that it does.
pub(super) fn begin(runs: &[&Recorded], moment: &Moment) -> Option<Moment> {
    let number = match moment.operation.kind {
        EventKind::Start => moment.number + 1,
        EventKind::Wait => moment.number.checked_sub(1)?,
        _ => return None,
    };
    let of = |run: &&Recorded| Moment::of(run, &moment.thread, number);
    let found = runs.iter().find_map(of)?;
    let one_call = found.operation.kind == EventKind::Release
        && found.operation.place == moment.operation.place;
    (moment.operation.kind == EventKind::Start || one_call).then_some(found)
}

/// Where a thread can be held up that is in the middle of a wait, or takes its lock
/// again behind it: where it had taken it before. Any other moment is as good as it is.
pub(super) fn before_wait(
    runs: &[&Recorded],
    moment: &Moment,
    taken: impl Fn(&Moment) -> Vec<(u64, Moment)>,
) -> Moment {
    let (wait, lock) = match moment.operation.kind {
        EventKind::Wait => {
            let wait = begin(runs, moment);
            let lock = wait.as_ref().map(|wait| wait.operation.object);
            (wait, lock)
        }
        _ => (wait_before(runs, moment), Some(moment.operation.object)),
    };
    let taken = wait.map(|wait| taken(&wait)).unwrap_or_default();
    let own = |(held, _): &&(u64, Moment)| Some(*held) == lock;
    let found = taken.iter().rev().find(own);
    found.map_or_else(|| moment.clone(), |(_, taken)| taken.clone())
}

/// The wait that a thread has come out of if it takes its lock again at this moment.
fn wait_before(runs: &[&Recorded], moment: &Moment) -> Option<Moment> {
    let taken = moment.operation.kind == EventKind::Acquire;
    let number = moment.number.checked_sub(1).filter(|_| taken)?;
    let before = runs
        .iter()
        .find_map(|run| Moment::of(run, &moment.thread, number))?;
    (before.operation.kind == EventKind::Wait).then_some(before)
}

/// Who woke the thread that takes its lock again at this moment, before it does:
/// inside of a wait nobody can be held up.
pub(super) fn waker(runs: &[&Recorded], moment: &Moment) -> Option<Moment> {
    let run = runs.iter().find(|run| moment.position(run).is_some())?;
    let before = wait_before(&[run], moment)?;
    let woken = before.position(run)?;
    let wakes = |event: &usize| {
        let operation = &run.steps[*event].operation;
        let kind = matches!(operation.kind, EventKind::Signal | EventKind::Broadcast);
        kind && operation.object == before.operation.object
    };
    let signal = (0..woken).rev().find(wakes)?;
    Some(Moment::at(run, signal))
}

/// What a thread does after it has woken others at this moment: until then they
/// should have come to where they wait next.
pub(super) fn awakened(runs: &[&Recorded], moment: &Moment) -> Option<Moment> {
    let kind = moment.operation.kind;
    let wakes = matches!(kind, EventKind::Signal | EventKind::Broadcast);
    let next = moment.number + 1;
    let mut found = runs
        .iter()
        .filter_map(|run| Moment::of(run, &moment.thread, next));
    found.next().filter(|_| wakes)
}
