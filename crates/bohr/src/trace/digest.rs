//! Of a long run, the few events that names are made of: every access once for
//! each place and object, and everything else once for each object.

use bohr_event::control::Step;
use bohr_event::{EventKind, PlaceNumber};
use bohr_trace::{Trace, TraceError};
use std::collections::HashSet;

/// See the module. Allocations are all there: the last one counts.
pub fn digest(trace: &Trace<'_>) -> Result<Vec<Step>, TraceError> {
    let mut known: HashSet<(PlaceNumber, u64)> = HashSet::new();
    let mut steps = Vec::new();
    // Loops come by the same places with the same objects again and again.
    let mut recent = [(PlaceNumber(u64::MAX), 0); RECENT];
    for event in trace.events() {
        let (_, record) = event?;
        let operation = record.operation;
        let key = (operation.place, operation.object);
        let slot = &mut recent[slot(key)];
        let kept = matches!(operation.kind, EventKind::Alloc | EventKind::Free);
        if *slot == key && !kept {
            continue;
        }
        *slot = key;
        if known.insert(key) || kept {
            steps.push(Step {
                thread: record.thread,
                operation,
            });
        }
    }
    Ok(steps)
}

const RECENT: usize = 1 << 14;

fn slot((place, object): (PlaceNumber, u64)) -> usize {
    let mixed = (place.0.rotate_left(32) ^ object).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 50) as usize
}
