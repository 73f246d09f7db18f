//! Slices of random executions against their definition: an event is relevant
//! if it is a moment, or if a relevant later one depends on it directly.

use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use bohr_program::SiteNumber;
use bohr_reduce::Execution;
use bohr_slice::{Influence, Moment, Reach, Trace, slice};
use cranelift_entity::EntityRef;
use proptest::prelude::*;

const SITES: usize = 5;

fn site(place: PlaceNumber) -> Option<SiteNumber> {
    let number = place.offset() as usize;
    (number < SITES).then(|| SiteNumber::new(number))
}

fn step(thread: u32, kind: EventKind, object: u64, place: u32) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation::plain(kind, 4, object, PlaceNumber(place.into())),
    }
}

/// Accesses of four variables, and well-formed use of two locks.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let event = (0u32..3, 0u8..5, 0u64..4, 0u32..SITES as u32 + 1);
    prop::collection::vec(event, 1..40).prop_map(|events| {
        let mut owner: [Option<u32>; 2] = [None; 2];
        let mut steps = Vec::new();
        for (thread, kind, object, place) in events {
            let lock = (object % 2) as usize;
            let (kind, object) = match (kind, owner[lock]) {
                (0 | 1, _) => (EventKind::Read, 0x100 + 8 * object),
                (2 | 3, _) => (EventKind::Write, 0x100 + 8 * object),
                (_, None) => {
                    owner[lock] = Some(thread);
                    (EventKind::Acquire, 0x200 + 64 * lock as u64)
                }
                (_, Some(holder)) if holder == thread => {
                    owner[lock] = None;
                    (EventKind::Release, 0x200 + 64 * lock as u64)
                }
                _ => continue,
            };
            steps.push(step(thread, kind, object, place));
        }
        steps
    })
}

/// By site: the sites that decide about it.
fn influences() -> impl Strategy<Value = Vec<Vec<Influence>>> {
    let influence = (0..SITES, any::<bool>()).prop_map(|(site, all)| Influence {
        site: SiteNumber::new(site),
        reach: if all { Reach::All } else { Reach::Latest },
    });
    prop::collection::vec(prop::collection::vec(influence, 0..3), SITES)
}

/// Whether the later event depends directly on the earlier one.
fn depends(steps: &[Step], by_site: &[Vec<Influence>], earlier: usize, later: usize) -> bool {
    let (one, other) = (&steps[earlier], &steps[later]);
    let reads = |step: &Step| step.operation.kind == EventKind::Read;
    let same = |step: &Step| step.operation.object == one.operation.object;
    let between = &steps[earlier + 1..later];
    let overwritten = between.iter().any(|step| same(step) && !reads(step));
    let mut between = between.iter();
    if one.thread != other.thread {
        let read_again = between.any(|step| same(step) && step.thread == one.thread);
        return same(other) && !overwritten && !(reads(one) && (reads(other) || read_again));
    }
    let is_read = reads(other) && !reads(one) && same(other) && !overwritten;
    let is_held = one.operation.kind == EventKind::Acquire
        && !between.any(|step| same(step) && step.operation.kind == EventKind::Release);
    let Some(there) = site(other.operation.place) else {
        return true;
    };
    let is_latest = |place| {
        let mut between = steps[earlier + 1..later].iter();
        !between.any(|step| step.thread == one.thread && step.operation.place == place)
    };
    let influences = by_site[there.index()].iter();
    let mut influences =
        influences.filter(|one| Some(one.site) == site(steps[earlier].operation.place));
    is_read
        || is_held
        || influences.any(|influence| match influence.reach {
            Reach::All => true,
            Reach::Latest => is_latest(one.operation.place),
        })
}

proptest! {
    #[test]
    fn exactly_what_a_path_leads_from_is_relevant(
        steps in steps(),
        by_site in influences(),
        from in 0u32..10,
    ) {
        prop_assume!(!steps.is_empty());
        let last = steps.len() - 1;
        let mut expected = vec![false; steps.len()];
        expected[last] = true;
        for later in (from as usize..steps.len()).rev() {
            for earlier in from as usize..later {
                expected[earlier] |= expected[later] && depends(&steps, &by_site, earlier, later);
            }
        }
        // The last event is looked at whatever the window is.
        prop_assume!((from as usize) < steps.len());
        let trace = Trace { execution: Execution::of(&steps), site: &site, from };
        let relevant = slice(trace, &[Moment::Event(last as u32)], |site| &by_site[site.index()]);
        let found: Vec<bool> = (0..steps.len() as u32).map(|event| relevant.has(event)).collect();
        prop_assert_eq!(found, expected);
    }

    /// The end of a thread is a moment like an event there that touches nothing.
    #[test]
    fn the_end_of_a_thread_is_a_moment(steps in steps(), by_site in influences(), place in 0..SITES) {
        let thread = ThreadIndex(0);
        let fence = step(0, EventKind::Fence, 0, place as u32);
        let longer = [&steps[..], &[fence]].concat();
        let of = |steps, moment| {
            let trace = Trace { execution: Execution::of(steps), site: &site, from: 0 };
            slice(trace, &[moment], |site| &by_site[site.index()])
        };
        let end = of(&steps, Moment::End { thread, site: Some(SiteNumber::new(place)) });
        let event = of(&longer, Moment::Event(steps.len() as u32));
        let before = event.iter().filter(|event| (*event as usize) < steps.len());
        prop_assert_eq!(end.iter().collect::<Vec<_>>(), before.collect::<Vec<_>>());
    }
}
