//! Of a long run, the few events that names are made of: every access once for
//! each place and object, and everything else once for each object.

use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber};
use bohr_trace::{Trace, TraceError};
use std::collections::BTreeSet;
use std::ops::Range;

/// See the module. Allocations are all there, and behind each the first accesses to
/// what was allocated: another object may lie there now.
pub fn digest(trace: &Trace<'_>) -> Result<Vec<Step>, TraceError> {
    let mut known = Known::new();
    let mut steps = Vec::new();
    for event in trace.events() {
        let (_, record) = event?;
        let operation = record.operation;
        let kept = matches!(operation.kind, EventKind::Alloc | EventKind::Free);
        if operation.kind == EventKind::Alloc {
            let end = operation.object.saturating_add(u64::from(operation.size));
            known.forget(operation.object..end);
        }
        if known.is_new(&operation) || kept {
            steps.push(Step {
                thread: record.thread,
                operation,
            });
        }
    }
    Ok(steps)
}

/// What was seen: objects, and the places that they were touched at.
struct Known {
    all: BTreeSet<(u64, PlaceNumber)>,
    /// Loops come by the same places with the same objects again and again.
    recent: Vec<(u64, PlaceNumber)>,
}

const RECENT: usize = 1 << 14;

/// No operation has this place.
const NOTHING: (u64, PlaceNumber) = (0, PlaceNumber(u64::MAX));

impl Known {
    fn new() -> Known {
        Known {
            all: BTreeSet::new(),
            recent: vec![NOTHING; RECENT],
        }
    }

    /// Whether this object was not seen at this place before.
    fn is_new(&mut self, operation: &Operation) -> bool {
        let key = (operation.object, operation.place);
        let slot = &mut self.recent[slot(key)];
        if *slot == key {
            return false;
        }
        *slot = key;
        self.all.insert(key)
    }

    /// Forgets the objects in this memory.
    fn forget(&mut self, memory: Range<u64>) {
        let first = (memory.start, PlaceNumber(0));
        let gone: Vec<_> = self
            .all
            .range(first..(memory.end, PlaceNumber(0)))
            .copied()
            .collect();
        for key in gone {
            self.all.remove(&key);
            let slot = &mut self.recent[slot(key)];
            if *slot == key {
                *slot = NOTHING;
            }
        }
    }
}

fn slot((object, place): (u64, PlaceNumber)) -> usize {
    let mixed = (place.0.rotate_left(32) ^ object).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 50) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use EventKind::{Alloc, Free, Read};
    use bohr_event::ThreadIndex;
    use bohr_trace::{Record, Writer};

    fn digested(operations: &[(EventKind, u64, u64)]) -> Vec<(EventKind, u64, u64)> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for &(kind, object, place) in operations {
            let size = if kind == Alloc { 16 } else { 8 };
            writer.push(&Record {
                thread: ThreadIndex(0),
                operation: Operation::plain(kind, size, object, PlaceNumber(place)),
                value: None,
            });
        }
        let file = writer.finish();
        let steps = digest(&Trace::open(&file).unwrap()).unwrap();
        let operations = steps.iter().map(|step| step.operation);
        operations
            .map(|operation| (operation.kind, operation.object, operation.place.0))
            .collect()
    }

    #[test]
    fn what_happens_again_is_there_once() {
        let [one, two] = [(Read, 0x100, 1), (Read, 0x108, 1)];
        assert_eq!(digested(&[one, two, one, two, one]), [one, two]);
    }

    #[test]
    fn what_lies_in_new_memory_is_there_again() {
        let (block, end) = ((Alloc, 0x100, 7), (Free, 0x100, 8));
        let [inside, behind] = [(Read, 0x108, 1), (Read, 0x110, 1)];
        let round = [block, inside, behind, end];
        let again = [block, inside, end];
        assert_eq!(
            digested(&[round, round].concat()),
            [&round[..], &again].concat()
        );
    }
}
