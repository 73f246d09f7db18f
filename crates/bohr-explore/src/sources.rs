//! Places as lines of the source, which outlive a rebuild: what the schedule of
//! an old bug is carried over to a changed program by.

use crate::atlas::Atlas;
use bohr_event::control::Step;
use bohr_event::{Place, PlaceNumber};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A place with its line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The place in one build.
    pub place: Place,
    /// The function that it lies in; empty if not known.
    pub function: String,
    /// File and line; empty if not known.
    pub line: String,
}

/// The places of a trace, in the order of the program.
#[must_use]
pub fn gather(trace: &[Step], atlas: &mut Atlas) -> Vec<Source> {
    let numbers: BTreeSet<PlaceNumber> = trace.iter().map(|step| step.operation.place).collect();
    let source = |number: PlaceNumber| {
        let spot = atlas.spot(number);
        Source {
            place: atlas.place(number),
            function: spot.function.unwrap_or_default(),
            line: spot.line.unwrap_or_default(),
        }
    };
    numbers.into_iter().map(source).collect()
}

/// Which place of the new build each place of the old one has become.
///
/// In order: the same line of the same function; the same position among the
/// places of a function that has as many of them as it had. Where several
/// places share a line, they are told apart by their order. A place that fits
/// neither way has become none.
#[must_use]
pub fn carry_over(old: &[Source], new: &[Source]) -> BTreeMap<Place, Place> {
    let mut carried = BTreeMap::new();
    by_rank(
        &mut carried,
        old,
        new,
        |source| source.function.clone(),
        true,
    );
    let line = |source: &Source| format!("{}\0{}", source.function, source.line);
    by_rank(&mut carried, old, new, line, false);
    carried
}

/// Pairs the places of equal groups in their order. Later calls overrule.
fn by_rank(
    carried: &mut BTreeMap<Place, Place>,
    old: &[Source],
    new: &[Source],
    group: impl Fn(&Source) -> String,
    only_equal_counts: bool,
) {
    let grouped = |sources: &[Source]| {
        let mut groups = BTreeMap::<String, Vec<Place>>::new();
        for source in sources.iter().filter(|source| !source.function.is_empty()) {
            groups
                .entry(group(source))
                .or_default()
                .push(source.place.clone());
        }
        groups
    };
    let present = grouped(new);
    for (name, places) in grouped(old) {
        let Some(now) = present.get(&name) else {
            continue;
        };
        if !only_equal_counts || now.len() == places.len() {
            carried.extend(places.into_iter().zip(now.iter().cloned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(offset: u64, function: &str, line: u32) -> Source {
        Source {
            place: place(offset),
            function: function.to_string(),
            line: format!("a.c:{line}"),
        }
    }

    fn place(offset: u64) -> Place {
        Place::Code {
            object: "a".to_string(),
            offset,
        }
    }

    #[test]
    fn lines_first_then_the_order_within_the_function() {
        let old = [
            source(1, "push", 10),
            source(2, "push", 12),
            source(3, "push", 12),
            source(4, "pop", 20),
            source(5, "pop", 21),
            source(6, "gone", 30),
        ];
        // `push` has moved in the file, `pop` has got a new call in front.
        let new = [
            source(11, "push", 15),
            source(12, "push", 17),
            source(13, "push", 17),
            source(14, "pop", 19),
            source(15, "pop", 20),
            source(16, "pop", 21),
        ];
        let carried = carry_over(&old, &new);
        let became = |offset| carried.get(&place(offset)).cloned();
        assert_eq!(
            [1, 2, 3].map(became),
            [11, 12, 13].map(|offset| Some(place(offset)))
        );
        assert_eq!(
            [4, 5].map(became),
            [15, 16].map(|offset| Some(place(offset)))
        );
        assert_eq!(became(6), None);
    }
}
