//! Which bytes are one variable. Accesses of several sizes overlap in any way;
//! cutting memory at every address where some access begins or ends gives
//! pieces that each access takes whole or not at all.

use bohr_event::{Operation, control::Step};
use std::collections::HashMap;
use std::ops::Range;

/// A piece of memory, or a lock, a condition, a thread: what dependences are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableNumber(pub u32);

/// The pieces of all operations of a trace.
pub(crate) struct Variables {
    /// Where pieces begin and end, ascending.
    cuts: Vec<u64>,
    /// By piece, if pieces had to be joined: the number of the joint one, ascending.
    joined: Option<Vec<u32>>,
    /// By address and size of an operation.
    spans: HashMap<(u64, u32), Range<u32>>,
}

/// An operation takes so many pieces on average at most; beyond, overlapping
/// accesses are taken for one variable, which keeps the result sound and the
/// time linear.
const MOST_PIECES: u64 = 8;

impl Variables {
    /// Cuts memory. `touches` says which operations name memory or an object.
    pub(crate) fn new<'a>(
        steps: impl IntoIterator<Item = &'a Step>,
        touches: impl Fn(&Operation) -> bool,
    ) -> Variables {
        let mut counts: HashMap<(u64, u32), u64> = HashMap::new();
        let mut last: Option<((u64, u32), u64)> = None;
        let mut events = 0;
        for step in steps.into_iter().filter(|step| touches(&step.operation)) {
            events += 1;
            let key = (step.operation.object, step.operation.size.max(1));
            match &mut last {
                Some((same, count)) if *same == key => *count += 1,
                _ => {
                    if let Some((key, count)) = last.replace((key, 1)) {
                        *counts.entry(key).or_default() += count;
                    }
                }
            }
        }
        if let Some((key, count)) = last {
            *counts.entry(key).or_default() += count;
        }
        Variables::cut(&counts, events)
    }

    fn cut(counts: &HashMap<(u64, u32), u64>, events: u64) -> Variables {
        let end = |&(start, size): &(u64, u32)| start.saturating_add(u64::from(size));
        let mut cuts: Vec<u64> = counts.keys().flat_map(|key| [key.0, end(key)]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let mut keys: Vec<(&(u64, u32), &u64)> = counts.iter().collect();
        keys.sort_unstable();
        let mut spans: HashMap<(u64, u32), Range<u32>> = HashMap::with_capacity(keys.len());
        let (mut first, mut total) = (0, 0);
        for (key, count) in keys {
            first += cuts[first..].iter().take_while(|&&cut| cut < key.0).count();
            // Every piece has at least one byte.
            let near = &cuts[first..cuts.len().min(first + key.1 as usize + 1)];
            let pieces = near.partition_point(|&cut| cut < end(key));
            total += count * pieces as u64;
            spans.insert(*key, first as u32..(first + pieces) as u32);
        }
        let joined = (total > MOST_PIECES * events + 1024).then(|| join(&spans, cuts.len()));
        if let Some(joined) = &joined {
            for span in spans.values_mut() {
                let whole = joined[span.start as usize];
                *span = whole..whole + 1;
            }
        }
        Variables {
            cuts,
            joined,
            spans,
        }
    }

    /// How many variables there are; numbers are smaller.
    pub(crate) fn count(&self) -> u32 {
        self.cuts.len() as u32
    }

    /// The variables of an operation that was there when memory was cut.
    pub(crate) fn of(&self, operation: &Operation) -> Range<u32> {
        self.spans[&(operation.object, operation.size.max(1))].clone()
    }

    /// The first variable of an object, if some operation named it.
    pub(crate) fn of_object(&self, object: u64) -> Option<u32> {
        let span = self.spans.get(&(object, 1))?;
        Some(span.start)
    }

    /// The variables that lie in some bytes, wholly or in part.
    pub(crate) fn within(&self, start: u64, length: u64) -> Range<u32> {
        let end = start.saturating_add(length);
        let first = self
            .cuts
            .partition_point(|&cut| cut <= start)
            .saturating_sub(1);
        let behind = self.cuts.partition_point(|&cut| cut < end);
        let number = |piece: usize| match &self.joined {
            Some(joined) => joined.get(piece).copied(),
            None => Some(piece as u32),
        };
        match behind.checked_sub(1).filter(|&last| last >= first) {
            Some(last) => match (number(first), number(last)) {
                (Some(first), Some(last)) => first..last + 1,
                _ => 0..0,
            },
            None => 0..0,
        }
    }
}

/// By piece: the first piece of everything that overlaps with it, directly or
/// through others.
fn join(spans: &HashMap<(u64, u32), Range<u32>>, pieces: usize) -> Vec<u32> {
    // A piece hangs together with the one before it if some access has both.
    let mut hangs = vec![0i64; pieces + 1];
    for span in spans.values() {
        hangs[span.start as usize + 1] += 1;
        hangs[(span.end as usize).max(span.start as usize + 1)] -= 1;
    }
    let mut open = 0;
    let mut number = 0;
    let numbers = (0..pieces).map(|piece| {
        open += hangs[piece];
        if open == 0 {
            number = piece as u32;
        }
        number
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{EventKind, MemoryOrder, PlaceNumber, ThreadIndex};
    use proptest::prelude::*;

    fn step(object: u64, size: u32) -> Step {
        Step {
            thread: ThreadIndex(0),
            operation: Operation {
                kind: EventKind::Write,
                order: MemoryOrder::Plain,
                size,
                object,
                place: PlaceNumber(0),
            },
        }
    }

    fn meet(a: &Range<u32>, b: &Range<u32>) -> bool {
        a.start < b.end && b.start < a.end
    }

    proptest! {
        #[test]
        fn operations_share_a_variable_exactly_if_they_overlap(accesses in prop::collection::vec((0u64..60, 0u32..9), 1..20)) {
            let steps: Vec<Step> = accesses.iter().map(|&(object, size)| step(object, size)).collect();
            let variables = Variables::new(&steps, |_| true);
            for a in &steps {
                for b in &steps {
                    let shared = meet(&variables.of(&a.operation), &variables.of(&b.operation));
                    prop_assert_eq!(shared, a.operation.conflicts(&b.operation));
                }
                let inside = variables.within(a.operation.object, u64::from(a.operation.size.max(1)));
                prop_assert!(inside.start <= variables.of(&a.operation).start);
                prop_assert!(inside.end >= variables.of(&a.operation).end);
            }
        }

        #[test]
        fn joined_variables_are_the_connected_parts(accesses in prop::collection::vec((0u64..200, 1u32..9), 1..30)) {
            let counts: HashMap<(u64, u32), u64> = accesses.iter().map(|&key| (key, 1 << 40)).collect();
            let variables = Variables::cut(&counts, 1);
            prop_assume!(variables.joined.is_some());
            // The naive way: join until nothing changes.
            let mut parts: Vec<(u64, u64)> = counts.keys().map(|&(start, size)| (start, start + u64::from(size))).collect();
            while let Some((a, b)) = (0..parts.len()).flat_map(|a| (0..a).map(move |b| (a, b))).find(|&(a, b)| parts[a].0 < parts[b].1 && parts[b].0 < parts[a].1) {
                let (x, y) = (parts.remove(a), parts.remove(b));
                parts.push((x.0.min(y.0), x.1.max(y.1)));
            }
            for x in counts.keys() {
                for y in counts.keys() {
                    let same = parts.iter().any(|part| part.0 <= x.0 && x.0 < part.1 && part.0 <= y.0 && y.0 < part.1);
                    prop_assert_eq!(variables.spans[x] == variables.spans[y], same);
                }
            }
        }
    }
}
