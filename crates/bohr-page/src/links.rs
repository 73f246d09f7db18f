//! Which earlier event of another thread each event comes after: the arrows.
//!
//! An access comes after the last access of another thread that it conflicts
//! with. What takes over from another thread (the start of a thread, a lock, a
//! wake-up, a message) comes after what was passed on last on the same object.

use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, ThreadIndex};
use std::collections::HashMap;

/// For every event the earlier one that an arrow comes from, if there is one.
#[must_use]
pub fn links(steps: &[Step]) -> Vec<Option<usize>> {
    let mut memory: HashMap<u64, Vec<Piece>> = HashMap::new();
    let mut passed: HashMap<(u64, Channel), Recent> = HashMap::new();
    let events = steps.iter().enumerate();
    let link = |(event, step): (usize, &Step)| {
        let operation = &step.operation;
        if operation.kind.is_access() {
            return access(&mut memory, event, step.thread, operation);
        }
        let (channel, takes) = channel(operation.kind)?;
        let recent = passed.entry((operation.object, channel)).or_default();
        if takes {
            return recent.by_another(step.thread);
        }
        recent.note(event, step.thread);
        None
    };
    events.map(link).collect()
}

/// What is passed on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Channel {
    Lock,
    Wakeup,
    Message,
    Birth,
    Death,
    Barrier,
}

/// The channel of a kind of event, and whether the event is its taking end.
fn channel(kind: EventKind) -> Option<(Channel, bool)> {
    use EventKind::*;
    match kind {
        Release | ReleaseShared => Some((Channel::Lock, false)),
        Acquire | AcquireShared => Some((Channel::Lock, true)),
        Signal | Broadcast => Some((Channel::Wakeup, false)),
        Wait => Some((Channel::Wakeup, true)),
        Send => Some((Channel::Message, false)),
        Receive => Some((Channel::Message, true)),
        Fork => Some((Channel::Birth, false)),
        Start => Some((Channel::Birth, true)),
        Exit => Some((Channel::Death, false)),
        Join => Some((Channel::Death, true)),
        Arrive => Some((Channel::Barrier, false)),
        Depart => Some((Channel::Barrier, true)),
        Read | Write | Update | Fence | Alloc | Free | Yield | Sleep | Handle | External
        | Store | Look => None,
    }
}

/// The last event, and the last of another thread than that one's.
#[derive(Clone, Copy, Default)]
struct Recent {
    last: Option<(usize, ThreadIndex)>,
    other: Option<usize>,
}

impl Recent {
    fn note(&mut self, event: usize, thread: ThreadIndex) {
        if let Some((before, whose)) = self.last
            && whose != thread
        {
            self.other = Some(before);
        }
        self.last = Some((event, thread));
    }

    fn by_another(&self, thread: ThreadIndex) -> Option<usize> {
        match self.last {
            Some((event, whose)) if whose != thread => Some(event),
            _ => self.other,
        }
    }
}

/// Bytes of one word that were accessed together.
struct Piece {
    first: u64,
    end: u64,
    accesses: Recent,
    writes: Recent,
}

impl Piece {
    fn new(first: u64, end: u64) -> Piece {
        Piece {
            first,
            end,
            accesses: Recent::default(),
            writes: Recent::default(),
        }
    }
}

/// Bytes that are looked up together.
const WORD: u64 = 8;

fn access(
    memory: &mut HashMap<u64, Vec<Piece>>,
    event: usize,
    thread: ThreadIndex,
    operation: &Operation,
) -> Option<usize> {
    let first = operation.object;
    let end = first.saturating_add(u64::from(operation.size.max(1)));
    let writes = operation.kind.writes();
    let mut found = None;
    for word in first / WORD..=(end - 1) / WORD {
        let pieces = memory.entry(word).or_default();
        for piece in pieces
            .iter()
            .filter(|piece| piece.first < end && first < piece.end)
        {
            let recent = if writes {
                &piece.accesses
            } else {
                &piece.writes
            };
            found = found.max(recent.by_another(thread));
        }
        let known = pieces
            .iter()
            .position(|piece| (piece.first, piece.end) == (first, end));
        let position = known.unwrap_or(pieces.len());
        if known.is_none() {
            pieces.push(Piece::new(first, end));
        }
        let piece = &mut pieces[position];
        piece.accesses.note(event, thread);
        if writes {
            piece.writes.note(event, thread);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{MemoryOrder, PlaceNumber};
    use proptest::prelude::*;

    /// The definition, event by event.
    fn naive(steps: &[Step], event: usize) -> Option<usize> {
        let step = &steps[event];
        (0..event).rev().find(|&earlier| {
            let other = &steps[earlier];
            if other.thread == step.thread {
                return false;
            }
            let (one, two) = (&other.operation, &step.operation);
            if two.kind.is_access() {
                return one.kind.is_access() && one.conflicts(two);
            }
            let (from, to) = (channel(one.kind), channel(two.kind));
            one.object == two.object
                && from
                    .zip(to)
                    .is_some_and(|((from, takes), (to, wants))| from == to && !takes && wants)
        })
    }

    proptest! {
        #[test]
        fn arrows_come_from_the_last_event_that_matters(
            events in prop::collection::vec((0u32..3, 0u8..25, 0u64..20, 0u32..12), 0..80),
        ) {
            let step = |&(thread, kind, object, size): &(u32, u8, u64, u32)| Step {
                thread: ThreadIndex(thread),
                operation: Operation {
                    kind: EventKind::from_number(kind).unwrap(),
                    order: MemoryOrder::Plain,
                    size,
                    object,
                    place: PlaceNumber(0),
                },
            };
            let steps: Vec<Step> = events.iter().map(step).collect();
            let expected: Vec<_> = (0..steps.len()).map(|event| naive(&steps, event)).collect();
            prop_assert_eq!(links(&steps), expected);
        }
    }
}
