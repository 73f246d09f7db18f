//! The candidates of each demand in words: places by file and line, refined to
//! the very visits that they are about, and to the author's own function where a
//! place lies in a library.

use crate::explain::stacks::Stacks;
use bohr_event::PlaceNumber;
use bohr_event::control::LoadedObject;
use bohr_explain::Moment;
use bohr_explore::Atlas;
use bohr_trigger::{Candidate, Demand, Expression, Place, Places, Refinement, Side, is_library};

/// Candidates of a demand that are looked at.
const CANDIDATES: usize = 24;

/// What is needed to put moments in words.
pub struct Words<'a> {
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

/// All places that have the same name as one.
pub fn copies(
    number: PlaceNumber,
    places: &Places<'_>,
    objects: &[LoadedObject],
) -> Vec<PlaceNumber> {
    let sites = name(number, places, objects).and_then(|name| places.find(&name).ok());
    let same = |site: u32| PlaceNumber::new(number.object(), u64::from(site));
    sites.unwrap_or_default().into_iter().map(same).collect()
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
            let Some(expression) = words.expression(candidate) else {
                continue;
            };
            for variant in variants(&expression, &candidate.nth) {
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

/// As it is; with the last side's visit counted; with everybody's.
fn variants(expression: &Expression, nth: &[u64]) -> Vec<Expression> {
    let last = expression.sides.len() - 1;
    let counted = |is_counted: &dyn Fn(usize) -> bool| {
        let mut variant = expression.clone();
        let sides = variant.sides.iter_mut().zip(nth).enumerate();
        for (_, (side, nth)) in sides.filter(|(position, _)| is_counted(*position)) {
            side.refinements.push(Refinement::Nth(*nth));
        }
        variant
    };
    let mut variants = vec![expression.clone()];
    if nth.iter().any(|nth| *nth > 1) {
        variants.push(counted(&|side| side == last));
        variants.push(counted(&|side| side == 0));
        variants.push(counted(&|_| true));
    }
    variants
}

impl Words<'_> {
    fn expression(&mut self, candidate: &Candidate) -> Option<Expression> {
        let mut sides = Vec::new();
        for moment in &candidate.sides {
            sides.push(self.side(moment)?);
        }
        if let Some(until) = &candidate.until {
            sides[0].until = Some(self.place(until.operation.place)?);
        }
        Some(Expression::new(sides, candidate.same_object))
    }

    fn place(&self, number: PlaceNumber) -> Option<Place> {
        name(number, &self.places, self.atlas.objects())
    }

    fn side(&mut self, moment: &Moment) -> Option<Side> {
        let mut side = Side::at(self.place(moment.operation.place)?);
        let in_library = matches!(&side.at, Place::Line { file, .. } if is_library(file));
        if in_library && let Some((function, source)) = self.own_frame(moment) {
            side.source = Some(source);
            side.refinements.extend(function.map(Refinement::Within));
        }
        Some(side)
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

fn is_plain(name: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    name.chars().all(fits)
}
