//! From what people write to what the program meets.

use crate::error::PlaceError;
use crate::expression::{Expression, Refinement, Side};
use crate::places::{Places, similar};
use bohr_event::breakpoint::{Breakpoint, Comparison, Side as FoundSide};

/// Something with a name in the program's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// As its author wrote it.
    pub name: String,
    /// Where it is loaded.
    pub address: u64,
    /// How long it is.
    pub size: u64,
    /// Whether it is code; a variable if not.
    pub is_code: bool,
}

/// All of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols(pub Vec<Symbol>);

impl Symbols {
    fn named(&self, name: &str, code: bool) -> Vec<&Symbol> {
        let suffix = format!("::{name}");
        let is_it = |known: &str| known == name || known.ends_with(&suffix);
        let all = self.0.iter();
        all.filter(|symbol| symbol.is_code == code && is_it(&symbol.name))
            .collect()
    }

    fn variable(&self, name: &str) -> Result<&Symbol, PlaceError> {
        let found = self.named(name, false);
        found.first().copied().ok_or_else(|| {
            let known = self.0.iter().filter(|symbol| !symbol.is_code);
            PlaceError::UnknownVariable {
                name: name.to_string(),
                similar: similar(name, known.map(|symbol| symbol.name.as_str())),
            }
        })
    }

    fn function(&self, name: &str) -> Result<Vec<(u64, u64)>, PlaceError> {
        let found = self.named(name, true);
        if found.is_empty() {
            let known = self.0.iter().filter(|symbol| symbol.is_code);
            return Err(PlaceError::UnknownFunction {
                name: name.to_string(),
                similar: similar(name, known.map(|symbol| symbol.name.as_str())),
            });
        }
        let range = |symbol: &&Symbol| (symbol.address, symbol.address + symbol.size);
        Ok(found.iter().map(range).collect())
    }
}

/// The breakpoint in a program.
///
/// # Errors
/// If something that it names is not there.
pub fn resolve(
    expression: &Expression,
    places: &Places<'_>,
    symbols: &Symbols,
) -> Result<Breakpoint, PlaceError> {
    let sides = expression.sides.iter();
    let sides: Vec<FoundSide> = sides
        .map(|side| found(side, places, symbols))
        .collect::<Result<_, _>>()?;
    for (number, one) in sides.iter().enumerate() {
        let same = |other: &FoundSide| one.rank.is_some() && one.rank == other.rank;
        if let Some(other) = sides[..number].iter().position(same) {
            return Err(PlaceError::SameThread {
                one: expression.sides[other].to_string(),
                other: expression.sides[number].to_string(),
            });
        }
    }
    let nanoseconds =
        |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Ok(Breakpoint {
        sides,
        same_object: expression.same_object,
        at_most: expression.at_most,
        pause: nanoseconds(expression.pause),
        settle: nanoseconds(expression.settle),
    })
}

fn found(side: &Side, places: &Places<'_>, symbols: &Symbols) -> Result<FoundSide, PlaceError> {
    let until = side.until.as_ref().map(|until| places.find(until));
    let mut found = FoundSide {
        sites: places.find(&side.at)?,
        until: until.transpose()?.unwrap_or_default(),
        ..FoundSide::default()
    };
    for refinement in &side.refinements {
        match refinement {
            Refinement::IgnoreFirst(count) => found.ignore_first = *count,
            Refinement::Nth(number) => found.nth = Some(*number),
            Refinement::Thread(rank) => found.rank = Some(*rank),
            Refinement::Holding(lock) => found.holding.push(symbols.variable(lock)?.address),
            Refinement::Within(function) => found.within.push(symbols.function(function)?),
            Refinement::When(name, relation, value) => {
                found
                    .when
                    .push(comparison(symbols.variable(name)?, *relation, *value)?);
            }
        }
    }
    Ok(found)
}

fn comparison(
    variable: &Symbol,
    relation: bohr_event::breakpoint::Relation,
    value: i64,
) -> Result<Comparison, PlaceError> {
    match variable.size {
        1 | 2 | 4 | 8 => Ok(Comparison {
            address: variable.address,
            size: variable.size as u8,
            relation,
            value,
        }),
        size => Err(PlaceError::NotANumber {
            name: variable.name.clone(),
            size,
        }),
    }
}
