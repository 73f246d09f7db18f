//! The candidates of each demand in words: places by file and line, refined to
//! the very visits that they are about, and to the author's own function where a
//! place lies in a library.

use crate::explain::stacks::Stacks;
use bohr_event::PlaceNumber;
use bohr_event::breakpoint::Rank;
use bohr_event::control::LoadedObject;
use bohr_explain::{Explanation, Moment};
use bohr_explore::Atlas;
use bohr_trigger::{
    Candidate, Demand, Expression, Place, Places, Refinement, Side, Visits, comers, is_library,
    visits_before,
};

/// Candidates of a demand that are looked at.
const CANDIDATES: usize = 24;

/// What is needed to put moments in words.
pub struct Words<'a> {
    pub explanation: &'a Explanation,
    pub places: Places<'a>,
    pub stacks: &'a Stacks,
    pub atlas: &'a mut Atlas,
}

/// The moments of candidates that are looked at.
pub fn moments(demands: &[Demand]) -> impl Iterator<Item = &Moment> {
    let candidates = demands
        .iter()
        .flat_map(|demand| demand.candidates.iter().take(CANDIDATES));
    candidates.flat_map(|candidate| &candidate.sides)
}

/// What a place of a process is called.
pub fn name(number: PlaceNumber, places: &Places<'_>, objects: &[LoadedObject]) -> Option<Place> {
    let object = objects.get(usize::from(number.object()))?;
    matches!(object, LoadedObject::Sites { .. }).then_some(())?;
    places.name(u32::try_from(number.offset()).ok()?)
}

/// See the module; demands without any such candidate are left out.
pub fn choices(demands: &[Demand], words: &mut Words<'_>) -> Vec<Vec<Expression>> {
    let mut all: Vec<Vec<Expression>> = Vec::new();
    for demand in demands {
        let mut choices: Vec<Expression> = Vec::new();
        for candidate in demand.candidates.iter().take(CANDIDATES) {
            for variant in words.expressions(candidate) {
                if !choices.contains(&variant) {
                    choices.push(variant);
                }
            }
        }
        all.push(choices);
    }
    all.retain(|choices| !choices.is_empty());
    all
}

/// How a variant of an expression tells visits apart.
type Counting = fn(Visits) -> Option<Refinement>;

/// Only the very visit of each thread.
fn nth(visits: Visits) -> Option<Refinement> {
    Some(Refinement::Nth(visits.own + 1))
}

/// All from the very visit on.
fn ignore_first(visits: Visits) -> Option<Refinement> {
    (visits.all > 0).then_some(Refinement::IgnoreFirst(visits.all))
}

/// As it is; with the last side's visits counted; with the first side's; with
/// everybody's; in either way.
fn variants(expression: &Expression, visits: &[Visits]) -> Vec<Expression> {
    let last = expression.sides.len() - 1;
    let counted = |counting: Counting, is_counted: &dyn Fn(usize) -> bool| {
        let mut variant = expression.clone();
        let sides = variant.sides.iter_mut().zip(visits).enumerate();
        for (_, (side, visits)) in sides.filter(|(position, _)| is_counted(*position)) {
            side.refinements.extend(counting(*visits));
        }
        variant
    };
    let mut variants = vec![expression.clone()];
    let mut add = |counting: Counting| {
        variants.push(counted(counting, &|side| side == last));
        variants.push(counted(counting, &|side| side == 0));
        variants.push(counted(counting, &|_| true));
    };
    if visits.iter().any(|visits| visits.own > 0) {
        add(nth);
    }
    if visits.iter().any(|visits| visits.all > visits.own) {
        add(ignore_first);
    }
    variants
}

/// With every side bound to its thread, if several run the code of the sides; as it is,
/// and with everybody's visits counted.
fn bound(expression: &Expression, visits: &[Visits], ranks: &[Rank]) -> Vec<Expression> {
    let mut bound = expression.clone();
    for (side, rank) in bound.sides.iter_mut().zip(ranks) {
        side.refinements.push(Refinement::Thread(*rank));
    }
    let mut counted = bound.clone();
    for (side, visits) in counted.sides.iter_mut().zip(visits) {
        side.refinements.extend(nth(*visits));
    }
    vec![bound, counted]
}

impl Words<'_> {
    /// A candidate in words: by the lines that its moments are in, by lines that a
    /// patch can tell from others, by the lines of calls; each with its visits
    /// counted and without.
    fn expressions(&mut self, candidate: &Candidate) -> Vec<Expression> {
        let sides = candidate.sides.iter().map(|moment| self.sides(moment));
        let sides: Vec<Vec<Side>> = sides.collect();
        if sides.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let ways: [fn(&[Side]) -> &Side; 3] =
            [|sides| &sides[0], kept, |sides| &sides[sides.len() - 1]];
        let mut all: Vec<Expression> = Vec::new();
        for way in ways {
            let mut chosen: Vec<Side> = sides.iter().map(|sides| way(sides).clone()).collect();
            if let Some((side, until)) = &candidate.until {
                let Some(place) = self.place(until.operation.place) else {
                    continue;
                };
                chosen[*side].until = Some(place);
            }
            let moments = candidate.sides.iter().zip(&chosen);
            let visits = moments.map(|(moment, side)| self.visits(moment, side));
            let visits: Vec<Visits> = visits.collect();
            let ranks = self.ranks(candidate, &chosen);
            let expression = Expression::new(chosen, candidate.same_object);
            all.extend(variants(&expression, &visits));
            if let Some(ranks) = ranks {
                all.extend(bound(&expression, &visits, &ranks));
            }
        }
        all
    }

    /// Which of the threads that come by the sides of a candidate each of its own is, if
    /// anybody else could take its side.
    fn ranks(&self, candidate: &Candidate, sides: &[Side]) -> Option<Vec<Rank>> {
        let moments = candidate.sides.iter().zip(sides);
        let numbers = moments.map(|(moment, side)| self.numbers(moment, side));
        let numbers: Vec<Vec<PlaceNumber>> = numbers.collect();
        let alike = comers(self.explanation, &numbers.concat());
        let of = u32::try_from(alike.len()).ok()?;
        let rank = |moment: &Moment| {
            let position = alike.iter().position(|path| *path == moment.thread)?;
            let number = position as u32 + 1;
            Some(Rank { number, of }).filter(|rank| rank.is_sound())
        };
        let own: Vec<Rank> = candidate.sides.iter().map(rank).collect::<Option<_>>()?;
        let by_several = |places: &Vec<PlaceNumber>| comers(self.explanation, places).len() > 1;
        numbers.iter().any(by_several).then_some(own)
    }

    fn place(&self, number: PlaceNumber) -> Option<Place> {
        name(number, &self.places, self.atlas.objects())
    }

    /// The visits of a side's place before a moment.
    fn visits(&self, moment: &Moment, side: &Side) -> Visits {
        visits_before(self.explanation, moment, &self.numbers(moment, side))
    }

    /// A side's place in the numbers of the process that a moment is of.
    fn numbers(&self, moment: &Moment, side: &Side) -> Vec<PlaceNumber> {
        let object = moment.operation.place.object();
        let sites = self.places.find(&side.at).unwrap_or_default();
        let numbers = sites
            .into_iter()
            .map(|site| PlaceNumber::new(object, u64::from(site)));
        numbers.collect()
    }

    /// Ways to say where a thread is at a moment: by its own line, by the beginning
    /// of it, by the lines of the calls through which it was put inline.
    fn sides(&mut self, moment: &Moment) -> Vec<Side> {
        let number = moment.operation.place;
        let Some(place) = self.place(number) else {
            return Vec::new();
        };
        let in_library = matches!(&place, Place::Line { file, .. } if is_library(file));
        let mut side = Side::at(place);
        if in_library {
            if let Some((function, source)) = self.own_frame(moment) {
                side.source = Some(source);
                side.refinements.extend(function.map(Refinement::Within));
            }
            return vec![side];
        }
        let site = u32::try_from(number.offset()).unwrap_or(u32::MAX);
        let calls = self.places.own_names(site).into_iter().skip(1);
        let begins = match &side.at {
            Place::Line { file, line, .. } => Some(Place::Line {
                file: file.clone(),
                line: *line,
                site: 1,
            }),
            Place::Function { .. } => None,
        };
        let mut sides = vec![side];
        for place in begins.into_iter().chain(calls) {
            let side = Side::at(place);
            if !sides.contains(&side) {
                sides.push(side);
            }
        }
        sides
    }

    /// The innermost line of the author's own code on the stack of a moment, and
    /// the function around it, if it can be written.
    fn own_frame(&mut self, moment: &Moment) -> Option<(Option<String>, Place)> {
        for frame in self.stacks.at(moment) {
            let spots = self.atlas.spots(*frame);
            let own = spots.iter().position(|spot| {
                let line = spot.line.as_deref().and_then(|line| line.rsplit_once(':'));
                line.is_some_and(|(file, _)| !is_library(file))
            });
            let Some(own) = own else { continue };
            let (file, line) = spots[own].line.as_deref()?.rsplit_once(':')?;
            let source = Place::Line {
                file: file.to_string(),
                line: line.parse().ok()?,
                site: 1,
            };
            // What was put inline has no code of its own to be within.
            let function = spots.last()?.function.clone();
            return Some((function.filter(|name| is_plain(name)), source));
        }
        None
    }
}

/// The first side that a patch can tell from others: a call of the library stands
/// before the first site of a line.
fn kept(sides: &[Side]) -> &Side {
    let is_first = |side: &&Side| matches!(side.at, Place::Line { site: 1, .. });
    sides.iter().find(is_first).unwrap_or(&sides[0])
}

fn is_plain(name: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    name.chars().all(fits)
}
