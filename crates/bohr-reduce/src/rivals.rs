//! Whether threads do anything that could come in another order and matter.
//!
//! Two events of different threads are *rivals* if they depend on each other (see
//! [`footprint`](crate::footprint)) and nothing but chance has ordered them: not the
//! creation of a thread, nor the wait for its end. A run that ended by itself and has
//! no rivals is the only one that its threads can make: each of them finds what it
//! found, whoever goes first.

use crate::footprint::Footprints;
use crate::order::{Chains, Execution};
use bohr_event::{EventKind, ThreadIndex};
use std::collections::HashMap;

/// Of more threads, nobody asks: there are rivals.
const MOST_CHAINS: usize = 32;

/// The last events of all chains, by chain, plus one: what somebody has seen.
type Seen = Vec<u32>;

/// Whether an execution has rivals.
#[must_use]
pub fn has_rivals(execution: Execution<'_>) -> bool {
    let chains = Chains::new(execution.steps);
    if chains.count() > MOST_CHAINS {
        return true;
    }
    let footprints = Footprints::new(execution, &chains);
    let nobody: Seen = vec![0; chains.count()];
    let mut seen: Vec<Seen> = vec![nobody.clone(); chains.count()];
    // Of those who have been created and have not begun, and of those who have ended.
    let mut created: HashMap<ThreadIndex, Seen> = HashMap::new();
    let mut ended: HashMap<ThreadIndex, Seen> = HashMap::new();
    // By variable: who has written and who has touched it last.
    let mut written: HashMap<u32, Seen> = HashMap::new();
    let mut touched: HashMap<u32, Seen> = HashMap::new();
    for (event, (step, chain)) in (1u32..).zip(execution.steps.iter().zip(&chains.of)) {
        let own = chain.position();
        let other = ThreadIndex::from_object(step.operation.object);
        if let Some(creator) = created.remove(&step.thread) {
            merge(&mut seen[own], &creator);
        }
        if step.operation.kind == EventKind::Join
            && let Some(joined) = other.and_then(|other| ended.get(&other))
        {
            merge(&mut seen[own], joined);
        }
        seen[own][own] = event;
        for touch in footprints.touches(event as usize - 1) {
            let before = match touch.writes {
                true => touched.get(&touch.variable.0),
                false => written.get(&touch.variable.0),
            };
            let is_known =
                |before: &Seen| before.iter().zip(&seen[own]).all(|(it, mine)| it <= mine);
            if !before.is_none_or(is_known) {
                return true;
            }
            let lists = [Some(&mut touched), touch.writes.then_some(&mut written)];
            for list in lists.into_iter().flatten() {
                list.entry(touch.variable.0)
                    .or_insert_with(|| nobody.clone())[own] = event;
            }
        }
        match (step.operation.kind, other) {
            (EventKind::Fork, Some(child)) => {
                created.insert(child, seen[own].clone());
            }
            (EventKind::Exit, _) => {
                ended.insert(step.thread, seen[own].clone());
            }
            _ => {}
        }
    }
    // Whoever main does not wait for may be cut short by the end of the program.
    let main = chains
        .threads
        .iter()
        .position(|thread| *thread == ThreadIndex::MAIN);
    let mut last = nobody;
    for (event, chain) in (1u32..).zip(&chains.of) {
        last[chain.position()] = event;
    }
    main.is_none_or(|main| seen[main] != last)
}

fn merge(mine: &mut Seen, others: &Seen) {
    for (mine, other) in mine.iter_mut().zip(others) {
        *mine = (*mine).max(*other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::step;
    use EventKind::{Acquire, Exit, Fork, Join, Read, Release, Start, Write};
    use bohr_event::control::Step;
    use bohr_event::{Operation, PlaceNumber};

    /// Two threads, each between its creation and its end.
    fn run(first: &[(EventKind, u64)], second: &[(EventKind, u64)], together: bool) -> Vec<Step> {
        let of = |thread: u32, kind| {
            let who = if matches!(kind, Fork | Join) {
                0
            } else {
                thread
            };
            let object = ThreadIndex(thread).object();
            Step {
                thread: ThreadIndex(who),
                operation: Operation::plain(kind, 0, object, PlaceNumber(0)),
            }
        };
        let body = |thread: u32, events: &[(EventKind, u64)]| {
            let events = events
                .iter()
                .map(|&(kind, object)| step(thread, kind, object));
            let whole: Vec<Step> = std::iter::once(of(thread, Start))
                .chain(events)
                .chain([of(thread, Exit)])
                .collect();
            whole
        };
        let mut steps = vec![step(0, Write, 0x100), of(1, Fork)];
        steps.extend(together.then(|| of(2, Fork)));
        steps.extend(body(1, first));
        steps.push(of(1, Join));
        steps.extend((!together).then(|| of(2, Fork)));
        steps.extend(body(2, second));
        steps.push(of(2, Join));
        steps.push(step(0, Read, 0x100));
        steps
    }

    #[test]
    fn who_touches_the_same_at_the_same_time_are_rivals() {
        let rivals = |first: &[_], second: &[_], together| {
            has_rivals(Execution::of(&run(first, second, together)))
        };
        let (writes, reads) = ([(Write, 0x100)], [(Read, 0x100)]);
        assert!(rivals(&writes, &reads, true));
        assert!(rivals(&writes, &writes, true));
        assert!(!rivals(&reads, &reads, true), "both only look");
        assert!(!rivals(&writes, &[(Write, 0x200)], true));
        assert!(
            !rivals(&writes, &writes, false),
            "the second begins after the first"
        );
        let steps = run(&writes, &reads, false);
        let unjoined = &steps[..steps.len() - 2];
        assert!(
            has_rivals(Execution::of(unjoined)),
            "the end comes when it comes"
        );
        // Who takes a lock first is a matter of chance.
        let locked = [(Acquire, 0x300), (Release, 0x300)];
        assert!(rivals(&locked, &locked, true));
        assert!(!rivals(&locked, &locked, false));
    }
}
