//! Reads and writes at places that follow from what others read. Once a place is known,
//! the rules of [`super::readings`] hold there, too, with whatever the place rests on
//! among the reasons. They are looked up write by write: such places are few.

use super::closure::Place;
use super::graph::Way;
use super::theory::{Consistency, Ways};
use super::values::Located;
use batsat::{Lit, TheoryArg, lbool};
use std::collections::HashMap;

/// Ways, and the choice and the writes of which the places matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    ways: [Option<Way>; 2],
    choice: usize,
    writes: [Option<usize>; 2],
}

impl Consistency<'_> {
    /// The literals for which something holds of reads and writes at these places.
    pub(super) fn blame_placed(&self, placed: &Placed) -> Vec<Lit> {
        let ways: Vec<Way> = placed.ways.into_iter().flatten().collect();
        let mut blame = self.graph.blame(&[], &ways);
        for write in placed.writes.into_iter().flatten() {
            let places = self
                .values
                .blame_places(&self.choices, placed.choice, write);
            blame.extend(places);
        }
        blame
    }

    /// Looks at those whose places have become known, and at whom they concern.
    pub(super) fn consider_located(&mut self, acts: &mut TheoryArg<'_>) -> Result<(), Vec<Lit>> {
        while let Some(located) = self.values.located(self.located).first().copied() {
            self.located += 1;
            match located {
                Located::Choice(choice) => self.readings.open(choice),
                Located::Write(write) => self.located_write(acts, write)?,
            }
        }
        Ok(())
    }

    /// Reads elsewhere get nothing from a write; the others have to be looked at.
    fn located_write(&mut self, acts: &mut TheoryArg<'_>, write: usize) -> Result<(), Vec<Lit>> {
        for index in 0..self.vague.len() {
            let choice = self.vague[index];
            match self.is_over(write, choice) {
                None => {}
                Some(true) => self.readings.open(choice),
                Some(false) => {
                    let what = &self.choices.choices[choice];
                    if let Some(candidate) = what.candidate(Some(write)) {
                        let literal = self.takes[choice][candidate];
                        let placed = elsewhere(choice, write);
                        self.infer(acts, !literal, Ways::Placed(placed))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a write is to the place of a choice, if both places are known.
    fn is_over(&self, write: usize, choice: usize) -> Option<bool> {
        let start = self.values.place_of_choice(&self.choices, choice)?;
        let end = start + u64::from(self.choices.choices[choice].size);
        let place = self.values.place_of_write(write)?;
        let size = u64::from(self.choices.writes[write].size);
        Some(place <= start && end <= place + size)
    }

    /// What order and places say of a read that may get something from writes at places
    /// that are not known from the beginning.
    pub(super) fn examine_vague(
        &mut self,
        acts: &mut TheoryArg<'_>,
        choice: usize,
    ) -> Result<(), Vec<Lit>> {
        if !self.choices.choices[choice].vague
            || self.values.place_of_choice(&self.choices, choice).is_none()
        {
            return Ok(());
        }
        let known = self.known_writes(choice);
        for candidate in 0..self.takes[choice].len() {
            let literal = self.takes[choice][candidate];
            let rules_out = acts.value(literal.var()) == lbool::UNDEF
                || self.values.chosen[choice].is_some_and(|chosen| chosen.0 == candidate);
            let why = rules_out
                .then(|| self.why_not(choice, candidate, &known))
                .flatten();
            if let Some(placed) = why {
                self.infer(acts, !literal, Ways::Placed(placed))?;
            }
        }
        Ok(())
    }

    /// The last writes to the place of a read that come before it, by chain.
    fn known_writes(&self, choice: usize) -> Vec<(usize, Place, Option<Way>)> {
        let what = &self.choices.choices[choice];
        let read = self.graph.place(self.chains.event(what.id));
        let start = self.values.place_of_choice(&self.choices, choice);
        let near = start.and_then(|start| self.choices.known.get(&start));
        let all = near.into_iter().chain([&self.choices.unknown]).flatten();
        let mut last: HashMap<u32, (usize, Place, Option<Way>)> = HashMap::new();
        for write in all.copied() {
            let id = self.choices.writes[write].id;
            let place = self.graph.place(self.chains.visible(id));
            let own = id.thread == what.id.thread && id < what.id;
            let way = self.graph.way(place, read).filter(|_| id != what.id);
            let later = last.get(&place.chain).is_some_and(|last| last.1 >= place);
            if !later && (own || way.is_some()) && self.is_over(write, choice) == Some(true) {
                last.insert(place.chain, (write, place, way.filter(|_| !own)));
            }
        }
        last.into_values().collect()
    }

    /// Why a read does not get its bytes from a candidate, if it does not.
    fn why_not(
        &self,
        choice: usize,
        candidate: usize,
        known: &[(usize, Place, Option<Way>)],
    ) -> Option<Placed> {
        let what = &self.choices.choices[choice];
        let placed = |ways, writes| Placed {
            ways,
            choice,
            writes,
        };
        let Some(write) = what.candidates[candidate] else {
            let (over, _, way) = known.first()?;
            return Some(placed([*way, None], [Some(*over), None]));
        };
        if self.is_over(write, choice) == Some(false) {
            return Some(elsewhere(choice, write));
        }
        let id = self.choices.writes[write].id;
        let here = self.graph.place(self.chains.visible(id));
        let read = self.graph.place(self.chains.event(what.id));
        if id.thread != what.id.thread
            && let Some(way) = self.graph.way(read, here)
        {
            return Some(placed([Some(way), None], [None; 2]));
        }
        known.iter().find_map(|(over, place, to_read)| {
            let way = self.graph.way(here, *place)?;
            Some(placed([Some(way), *to_read], [Some(*over), None]))
        })
    }
}

/// A read and a write at different places.
fn elsewhere(choice: usize, write: usize) -> Placed {
    Placed {
        ways: [None; 2],
        choice,
        writes: [Some(write), None],
    }
}
