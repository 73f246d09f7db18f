//! Calls of the library in Rust, and the breakpoints that they are about.

use super::{Counting, PatchError, Visit, counting, in_turn, milliseconds, visits};
use crate::expression::{Expression, Refinement};
use bohr_event::breakpoint::Rank;
use std::collections::BTreeMap;
use std::time::Duration;

/// A call of the library, in a block with what it counts.
pub(super) fn in_rust(visit: &Visit<'_>) -> Result<String, PatchError> {
    let item = item_name(visit.number);
    let object = visit
        .object
        .as_deref()
        .unwrap_or("bohr_break::Object::NONE");
    let call = match &visit.sides[..] {
        [side] => format!("{item}.reach({side}, {object});"),
        sides => {
            let count = format!("{item}_SIDE.fetch_add(1, std::sync::atomic::Ordering::Relaxed)");
            format!("{item}.reach({}, {object});", in_turn(&count, sides))
        }
    };
    let Counting { ignored, nth, rank } = counting(visit)?;
    let (mut statics, mut conditions) = (String::new(), Vec::new());
    if let Some(Rank { number, of }) = rank {
        conditions.push(format!("({}.which() == Some({number}))", roll_name(of)));
    }
    if ignored > 0 {
        statics += "static VISITORS: std::sync::atomic::AtomicU64 = \
                    std::sync::atomic::AtomicU64::new(0); ";
        let count = "VISITORS.fetch_add(1, std::sync::atomic::Ordering::Relaxed)";
        conditions.push(format!("({count} >= {ignored})"));
    }
    if let Some(nth) = nth {
        statics += "thread_local!(static VISITS: std::cell::Cell<u64> = \
                    const { std::cell::Cell::new(0) }); VISITS.set(VISITS.get() + 1); ";
        conditions.push(format!("(VISITS.get() == {nth})"));
    }
    Ok(match conditions.is_empty() {
        true => call,
        false => format!("{{ {statics}if {} {{ {call} }} }}", conditions.join(" & ")),
    })
}

fn item_name(number: usize) -> String {
    format!("BOHR_BREAK_{}", number + 1)
}

fn roll_name(of: u32) -> String {
    format!("BOHR_BREAK_OF_{of}")
}

/// The rolls by which breakpoints tell threads apart, with the longest of their pauses.
pub(super) fn rolls<'a>(name: &str, set: impl Iterator<Item = &'a Expression>) -> Vec<String> {
    let mut pauses: BTreeMap<u32, Duration> = BTreeMap::new();
    for expression in set {
        let sides = expression.sides.iter();
        for refinement in sides.flat_map(|side| &side.refinements) {
            if let Refinement::Thread(rank) = refinement {
                let pause = pauses.entry(rank.of).or_default();
                *pause = expression.pause.max(*pause);
            }
        }
    }
    let declared = pauses.into_iter().map(|(of, pause)| {
        format!(
            "\nstatic {}: bohr_break::Roll =\n    \
             bohr_break::Roll::of(\"{name}-of-{of}\", {of}).pause(std::time::Duration::from_millis({}));",
            roll_name(of),
            milliseconds(pause)
        )
    });
    declared.collect()
}

/// The breakpoint itself, and what its sides share.
pub(super) fn breakpoint(name: &str, number: usize, expression: &Expression) -> String {
    let item = item_name(number);
    let mut text = format!(
        "\nstatic {item}: bohr_break::Breakpoint =\n    \
         bohr_break::Breakpoint::conflict(\"{name}-{}\")",
        number + 1
    );
    if expression.sides.len() > 2 {
        text += &format!(".sides({})", expression.sides.len());
    }
    let pause = milliseconds(expression.pause);
    text += &format!(".pause(std::time::Duration::from_millis({pause})).one_waits()");
    if let Some(bound) = expression.at_most {
        text += &format!(".at_most({bound})");
    }
    for visit in visits(name, number, expression) {
        if visit.sides.len() > 1 {
            let side = format!(
                "\nstatic {item}_SIDE: std::sync::atomic::AtomicUsize =\n    \
                 std::sync::atomic::AtomicUsize::new(0);"
            );
            text = side + &text;
        }
    }
    text + ";"
}
