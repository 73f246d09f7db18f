//! From text to [`Expression`].

use crate::error::ExpressionError;
use crate::expression::{Expression, Place, Refinement, Side};
use bohr_event::breakpoint::{MOST_SIDES, Rank, Relation};
use std::str::FromStr;
use std::time::Duration;

/// Words that end the last side.
const OPTIONS: [&str; 4] = ["if", "at-most", "pause", "settle"];

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Expression, ExpressionError> {
        let (sides, options) = without_options(text);
        let sides: Vec<Side> = sides.split("->").map(side).collect::<Result<_, _>>()?;
        let mut expression = match sides.len() {
            1 => return Err(ExpressionError::OneSide(text.trim().to_string())),
            count if count > MOST_SIDES => {
                return Err(ExpressionError::TooManySides {
                    text: text.trim().to_string(),
                    sides: count,
                    most: MOST_SIDES,
                });
            }
            _ => Expression::new(sides, false),
        };
        let mut words = options.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_default();
            match word {
                "if" => match value() {
                    "same-object" => expression.same_object = true,
                    other => return Err(ExpressionError::Option(format!("if {other}"))),
                },
                "at-most" => expression.at_most = Some(number(value())?),
                "pause" => expression.pause = time(value())?,
                "settle" => expression.settle = time(value())?,
                other => return Err(ExpressionError::Option(other.to_string())),
            }
        }
        Ok(expression)
    }
}

/// The sides, and the words behind the last one.
fn without_options(text: &str) -> (&str, Vec<&str>) {
    // Brackets hold variables that may be called anything.
    let from = text.rfind(')').map_or(0, |bracket| bracket + 1);
    let words = text[from..].split_whitespace();
    let offset = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let first = words.clone().find(|word| OPTIONS.contains(word));
    match first.map(offset) {
        Some(end) => (&text[..end], text[end..].split_whitespace().collect()),
        None => (text, Vec::new()),
    }
}

fn side(text: &str) -> Result<Side, ExpressionError> {
    let text = text.trim();
    let (places, refinements) = match text.split_once('(') {
        Some((places, rest)) => {
            let Some(inside) = rest.trim_end().strip_suffix(')') else {
                return Err(ExpressionError::Bracket(text.to_string()));
            };
            let all = inside.split(',').map(refinement);
            (places.trim(), all.collect::<Result<_, _>>()?)
        }
        None => (text, Vec::new()),
    };
    let (at, until) = match places.split_once("..") {
        Some((at, until)) => (at, Some(place(until.trim())?)),
        None => (places, None),
    };
    Ok(Side {
        until,
        refinements,
        ..Side::at(place(at.trim())?)
    })
}

fn place(text: &str) -> Result<Place, ExpressionError> {
    let wrong = || ExpressionError::Place(text.to_string());
    let (name, site) = match text.rsplit_once('#') {
        Some((name, site)) => (name, Some(site.parse().map_err(|_| wrong())?)),
        None => (text, None),
    };
    if name.is_empty() || site == Some(0) || name.contains(char::is_whitespace) {
        return Err(wrong());
    }
    let line = name.rsplit_once(':');
    let line = line.and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
    match (line, site) {
        (Some((file, line)), site) if !file.is_empty() && line > 0 => Ok(Place::Line {
            file: file.to_string(),
            line,
            site: site.unwrap_or(1),
        }),
        (None, Some(site)) => Ok(Place::Function {
            name: name.to_string(),
            site,
        }),
        _ => Err(wrong()),
    }
}

fn refinement(text: &str) -> Result<Refinement, ExpressionError> {
    let text = text.trim();
    let wrong = || ExpressionError::Refinement(text.to_string());
    let compared = Relation::SIGNS.iter().find_map(|(sign, relation)| {
        let (name, value) = text.split_once(sign)?;
        Some((name.trim(), *relation, value.trim()))
    });
    if let Some((name, relation, value)) = compared {
        let value = value
            .parse()
            .map_err(|_| ExpressionError::Number(value.to_string()))?;
        return match name.is_empty() || name.contains(char::is_whitespace) {
            true => Err(wrong()),
            false => Ok(Refinement::When(name.to_string(), relation, value)),
        };
    }
    match text.split_once(char::is_whitespace) {
        Some(("ignore-first", count)) => Ok(Refinement::IgnoreFirst(number(count.trim())?)),
        Some(("nth", number_text)) => Ok(Refinement::Nth(number(number_text.trim())?)),
        Some(("thread", rank_text)) => Ok(Refinement::Thread(rank(rank_text)?)),
        Some(("holding", lock)) => Ok(Refinement::Holding(lock.trim().to_string())),
        Some(("within", function)) => Ok(Refinement::Within(function.trim().to_string())),
        _ => Err(wrong()),
    }
}

/// `2 of 3`.
fn rank(text: &str) -> Result<Rank, ExpressionError> {
    let wrong = || ExpressionError::Rank(text.trim().to_string());
    let small = |text: &str| text.trim().parse().map_err(|_| wrong());
    let (number, of) = text.split_once(" of ").ok_or_else(wrong)?;
    let rank = Rank {
        number: small(number)?,
        of: small(of)?,
    };
    rank.is_sound().then_some(rank).ok_or_else(wrong)
}

fn number(text: &str) -> Result<u64, ExpressionError> {
    text.parse()
        .map_err(|_| ExpressionError::Number(text.to_string()))
}

fn time(text: &str) -> Result<Duration, ExpressionError> {
    let wrong = || ExpressionError::Time(text.to_string());
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let count: u64 = digits.parse().map_err(|_| wrong())?;
    let unit = match &text[digits.len()..] {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        _ => return Err(wrong()),
    };
    let microseconds = count.checked_mul(unit).ok_or_else(wrong)?;
    Ok(Duration::from_micros(microseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::breakpoint::MOST_ALIKE;
    use proptest::prelude::*;

    #[test]
    fn everything_in_the_grammar_is_understood() {
        for text in [
            "a.c:15 -> b.c:20",
            "a.c:15 -> b.c:20 if same-object",
            "src/main.rs:3#2..src/main.rs:9 -> Cache::get#4",
            "a.c:1 (ignore-first 7200) -> a.c:2 (holding caret, within paint, level >= -3) if same-object at-most 4 pause 1s settle 500us",
            "a.c:1 -> a.c:1 -> a.c:1",
            "a.c:1 (nth 3, thread 1 of 2) -> a.c:2 (thread 2 of 2)",
        ] {
            let expression: Expression = text.parse().unwrap();
            assert_eq!(expression.to_string(), text);
        }
    }

    #[test]
    fn whatever_is_wrong_is_named() {
        use ExpressionError as E;
        let at = |text: &str| text.parse::<Expression>().unwrap_err();
        assert_eq!(at("a.c:15"), E::OneSide("a.c:15".into()));
        assert_eq!(at("a.c:15 -> b.c"), E::Place("b.c".into()));
        assert_eq!(at("a.c:0 -> b.c:1"), E::Place("a.c:0".into()));
        assert_eq!(at("a.c:1 -> b.c:1#0"), E::Place("b.c:1#0".into()));
        assert_eq!(at("a.c:1 (often) -> b.c:1"), E::Refinement("often".into()));
        assert_eq!(at("a.c:1 (x < y) -> b.c:1"), E::Number("y".into()));
        assert_eq!(
            at("a.c:1 (x < 1 -> b.c:1"),
            E::Bracket("a.c:1 (x < 1".into())
        );
        assert_eq!(at("a.c:1 -> b.c:1 if equal"), E::Option("if equal".into()));
        assert_eq!(at("a.c:1 -> b.c:1 pause long"), E::Time("long".into()));
        for rank in ["1", "0 of 2", "3 of 2", "1 of 1", "1 of 17", "one of 2"] {
            let text = format!("a.c:1 (thread {rank}) -> b.c:1");
            assert_eq!(at(&text), E::Rank(rank.into()), "{text}");
        }
        let many = ["a.c:1"; 9].join(" -> ");
        assert!(matches!(at(&many), E::TooManySides { sides: 9, .. }));
    }

    fn places() -> impl Strategy<Value = Place> {
        let line = ("[a-z]{1,8}\\.(c|rs)", 1..999_u32, 1..9_u32);
        let line = line.prop_map(|(file, line, site)| Place::Line { file, line, site });
        let function = ("[a-z]{1,5}(::[a-z]{1,5})?", 1..9_u32);
        line.boxed().prop_union(
            function
                .prop_map(|(name, site)| Place::Function { name, site })
                .boxed(),
        )
    }

    fn refinements() -> impl Strategy<Value = Refinement> {
        let name = || "[a-z_]{1,8}";
        let sign = prop::sample::select(Relation::SIGNS.to_vec());
        prop_oneof![
            any::<u64>().prop_map(Refinement::IgnoreFirst),
            any::<u64>().prop_map(Refinement::Nth),
            (2..=MOST_ALIKE).prop_flat_map(|of| {
                (1..=of).prop_map(move |number| Refinement::Thread(Rank { number, of }))
            }),
            name().prop_map(Refinement::Holding),
            name().prop_map(Refinement::Within),
            (name(), sign, any::<i64>())
                .prop_map(|(name, sign, value)| Refinement::When(name, sign.1, value)),
        ]
    }

    fn sides() -> impl Strategy<Value = Side> {
        let refinements = prop::collection::vec(refinements(), 0..3);
        (places(), prop::option::of(places()), refinements).prop_map(|(at, until, refinements)| {
            Side {
                until,
                refinements,
                ..Side::at(at)
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            sides in prop::collection::vec(sides(), 2..=MOST_SIDES),
            same_object: bool,
            at_most in prop::option::of(any::<u64>()),
            pause in 0..u64::from(u32::MAX),
            settle in 0..u64::from(u32::MAX),
        ) {
            let expression = Expression {
                at_most,
                pause: Duration::from_micros(pause),
                settle: Duration::from_micros(settle),
                ..Expression::new(sides, same_object)
            };
            prop_assert_eq!(expression.to_string().parse(), Ok(expression));
        }

        #[test]
        fn any_text_is_an_expression_or_an_error(text in "[ -~]{0,60}") {
            let _ = text.parse::<Expression>();
        }
    }
}
