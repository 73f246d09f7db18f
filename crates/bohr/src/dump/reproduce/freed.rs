//! Which blocks of memory a good run had given back when it came to the aligned point.
//! What still points there says nothing about a variable: in a good run nobody follows
//! it, and debug information goes on to tell of variables that were moved from.

use bohr_event::EventKind;
use bohr_event::control::Step;
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Freed {
    /// Size by first address, of blocks that are not in use.
    blocks: BTreeMap<u64, u64>,
}

impl Freed {
    /// After these events.
    pub fn after(steps: &[Step]) -> Freed {
        let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
        let mut freed = Freed::default();
        for step in steps {
            let (start, size) = (step.operation.object, u64::from(step.operation.size));
            match step.operation.kind {
                EventKind::Alloc => {
                    sizes.insert(start, size);
                    freed.take(start, size);
                }
                EventKind::Free => {
                    let size = sizes.remove(&start).unwrap_or(size);
                    freed.blocks.insert(start, size);
                }
                _ => {}
            }
        }
        freed
    }

    /// Whether an address lies in one of them.
    pub fn contains(&self, address: u64) -> bool {
        let before = self.blocks.range(..=address).next_back();
        before.is_some_and(|(start, size)| address - start < (*size).max(1))
    }

    /// Forgets what is in use again.
    fn take(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size.max(1));
        let before = self.blocks.range(..end).rev();
        let again: Vec<u64> = before
            .take_while(|(first, length)| *first + **length > start)
            .map(|(first, _)| *first)
            .collect();
        for first in again {
            self.blocks.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{Operation, PlaceNumber, ThreadIndex};

    fn step(kind: EventKind, object: u64, size: u32) -> Step {
        Step {
            thread: ThreadIndex(0),
            operation: Operation::plain(kind, size, object, PlaceNumber(1)),
        }
    }

    #[test]
    fn what_is_in_use_again_is_not_free() {
        use EventKind::{Alloc, Free};
        let mut steps = vec![
            step(Alloc, 100, 16),
            step(Alloc, 200, 8),
            step(Free, 100, 16),
        ];
        let freed = Freed::after(&steps);
        let inside: Vec<u64> = (90..210).filter(|&at| freed.contains(at)).collect();
        assert_eq!(inside, (100..116).collect::<Vec<u64>>());
        steps.extend([step(Free, 200, 8), step(Alloc, 108, 100)]);
        let freed = Freed::after(&steps);
        assert!((90..210).all(|at| !freed.contains(at)), "{freed:?}");
    }
}
