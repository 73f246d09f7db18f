//! Calls of the library in C and C++.

use super::{Language, PatchError, Visit, counting, in_turn, milliseconds};
use crate::expression::{Expression, Place};
use bohr_event::breakpoint::Rank;

/// A call of the library. At a place of several sides, threads take turns.
pub(super) fn in_c(visit: &Visit<'_>, language: Language) -> Result<String, PatchError> {
    let name = &visit.name;
    let options = match language {
        Language::Cpp => options_in_cpp(visit)?,
        Language::C | Language::Rust => options_in_c(visit)?,
    };
    let reach = |side: &str| match language {
        Language::Cpp => {
            let object = visit.object.as_deref().unwrap_or("nullptr");
            format!("bohr::reach({side}, \"{name}\", {object}, {{{options}}});")
        }
        _ => {
            let object = visit.object.as_deref().unwrap_or("NULL");
            format!("(void)BOHR_BREAK_REACH(\"{name}\", {side}, {object}{options});")
        }
    };
    let mut counters = String::new();
    let counting = counting(visit)?;
    if counting.nth.is_some() {
        counters += "static __thread unsigned long bohr_visits; ";
    }
    if counting.ignored > 0 {
        counters += "static unsigned long bohr_visitors; ";
    }
    let call = match &visit.sides[..] {
        [side] => reach(&side.to_string()),
        sides => {
            counters += "static unsigned bohr_side; ";
            reach(&in_turn(
                "__atomic_fetch_add(&bohr_side, 1, __ATOMIC_RELAXED)",
                sides,
            ))
        }
    };
    Ok(match counters.is_empty() {
        true => call,
        false => format!("{{ {counters}{call} }}"),
    })
}

fn options_in_c(visit: &Visit<'_>) -> Result<String, PatchError> {
    let mut options = String::new();
    let mut option = |name: &str, value: u128| options += &format!(", .{name} = {value}");
    if visit.of > 2 {
        option("sides", visit.of as u128);
    }
    option("pause", milliseconds(visit.expression.pause));
    // As in runs with `--break`.
    option("one_waits", 1);
    if let Some(bound) = visit.expression.at_most {
        option("at_most", u128::from(bound));
    }
    if let Some(unless) = unless(visit, Language::C)? {
        options += &format!(", .unless = {unless}");
    }
    Ok(options)
}

/// When a visit passes, in C. Visits are counted where they are made: those of the
/// whole breakpoint would be of all its sides.
fn unless(visit: &Visit<'_>, language: Language) -> Result<Option<String>, PatchError> {
    let counting = counting(visit)?;
    let another = counting.rank.map(|Rank { number, of }| {
        let (roll, pause) = (&visit.roll, milliseconds(visit.expression.pause));
        match language {
            Language::Cpp => format!(
                "(bohr::which(\"{roll}-{of}\", {of}, std::chrono::milliseconds({pause})) != {number})"
            ),
            Language::C | Language::Rust => format!(
                "(BOHR_BREAK_WHICH(\"{roll}-{of}\", {of}, .pause = {pause}) != {number})"
            ),
        }
    });
    let ignored = (counting.ignored > 0).then(|| {
        let count = counting.ignored;
        format!("(__atomic_fetch_add(&bohr_visitors, 1, __ATOMIC_RELAXED) < {count})")
    });
    let nth = counting.nth.map(|nth| format!("(++bohr_visits != {nth})"));
    let all: Vec<String> = another.into_iter().chain(ignored).chain(nth).collect();
    Ok((!all.is_empty()).then(|| all.join(" | ")))
}

/// The fields of `bohr::Options` in their order: designators are for C++20.
fn options_in_cpp(visit: &Visit<'_>) -> Result<String, PatchError> {
    let pause = milliseconds(visit.expression.pause);
    let bound = visit.expression.at_most.unwrap_or(0);
    let mut options = format!(
        "{}, std::chrono::milliseconds({pause}), 0, {bound}",
        visit.of
    );
    // Several conditions together are a number, which braces do not take for one.
    let unless = unless(visit, Language::Cpp)?.map(|all| format!("({all}) != 0"));
    let unless = unless.unwrap_or("false".to_string());
    options += &format!(", nullptr, {unless}, nullptr, true");
    Ok(options)
}

/// Where the last side's statement ends it is held up for a moment, by a breakpoint
/// of its own that nobody else comes to: the line, and the call.
pub(super) fn moment_behind(
    breakpoint: &str,
    expression: &Expression,
    visit: &Visit<'_>,
    own_file: &str,
) -> Option<(u32, String)> {
    let last = expression.sides.len() - 1;
    let until = visit
        .side
        .until
        .as_ref()
        .filter(|_| visit.sides.contains(&last));
    let Some(Place::Line { file, line, .. }) = until else {
        return None;
    };
    let call = match Language::of(own_file)? {
        Language::C => {
            format!("(void)BOHR_BREAK_REACH(\"{breakpoint}-behind\", 0, NULL, .pause = 1);")
        }
        Language::Cpp => format!(
            "bohr::reach(0, \"{breakpoint}-behind\", nullptr, {{2, std::chrono::milliseconds(1)}});"
        ),
        Language::Rust => return None,
    };
    (file == own_file).then_some((*line, call))
}
