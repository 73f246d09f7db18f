//! Moments in words: names of what is touched, lines of the source, stacks.

use super::source::Sources;
use super::stacks::Stacks;
use bohr_event::{EventKind, Operation, PlaceNumber};
use bohr_explain::Moment;
use bohr_explore::{Names, Spot};
use bohr_report::{Teller, Told};
use std::collections::HashMap;

/// See the module.
pub struct Telling<'a> {
    pub names: Names<'a>,
    pub stacks: Stacks,
    pub sources: Sources,
    /// Places that were asked about: whether the author wrote what is there.
    written: HashMap<PlaceNumber, bool>,
    /// Of what was told, its parts apart: what bears the name, in that order.
    bearers: HashMap<String, HashMap<u64, usize>>,
}

impl Teller for Telling<'_> {
    fn tell(&mut self, moment: &Moment) -> Told {
        let operation = &moment.operation;
        let mut spot = self.spot(moment);
        if operation.kind == EventKind::Start && !self.names.is_own_code(operation.place) {
            // Where a library begins a thread says nothing.
            spot = Spot::default();
        }
        Told {
            thread: moment.thread.to_string(),
            number: moment.number,
            kind: operation.verb().to_string(),
            object: self.object(operation),
            takes_object: operation.kind.takes_object(),
            function: spot.function,
            line: spot.line,
            lines: self.lines(moment),
        }
    }

    fn source(&mut self, line: &str) -> Option<String> {
        self.sources.text(line)
    }

    fn is_written(&mut self, moment: &Moment) -> bool {
        let operation = &moment.operation;
        // Accesses without lines are the compiler's own.
        let is_told =
            !operation.kind.is_access() || self.names.spot(operation.place).line.is_some();
        is_told && self.is_written_at(operation.place)
    }
}

impl<'a> Telling<'a> {
    pub fn new(names: Names<'a>, stacks: Stacks, sources: Sources) -> Telling<'a> {
        Telling {
            names,
            stacks,
            sources,
            written: HashMap::new(),
            bearers: HashMap::new(),
        }
    }

    /// Has blocks told by the line of the author's that had them allocated.
    pub fn learn_origins(&mut self, allocations: &[Moment]) {
        for allocation in allocations {
            let origin = self.spot(allocation);
            self.names.learn_origin(allocation.operation.object, origin);
        }
    }

    /// What an operation is about. Things of one name are told apart by their numbers,
    /// which all fields of an object have in common.
    pub fn object(&mut self, operation: &Operation) -> String {
        let mut name = self.names.object(operation);
        let mut bearer = self.names.bearer(operation);
        if name == format!("{:#x}", operation.object) {
            name = self.names.region(operation.object);
            bearer = Some(operation.object);
        }
        let Some(bearer) = bearer else {
            return name;
        };
        let known = self.bearers.entry(whole(&name).to_string()).or_default();
        let next = known.len() + 1;
        match *known.entry(bearer).or_insert(next) {
            1 => name,
            number => format!("{name} #{number}"),
        }
    }

    fn is_written_at(&mut self, place: PlaceNumber) -> bool {
        let names = &mut self.names;
        let known = self.written.entry(place);
        *known.or_insert_with(|| names.is_written(place))
    }

    /// The line of the source: the author's own, or else the innermost of the calls
    /// into a library that the author wrote, or else what there is.
    fn spot(&mut self, moment: &Moment) -> Spot {
        let place = moment.operation.place;
        let spot = self.names.spot(place);
        if spot.line.is_some() && self.is_written_at(place) {
            return spot;
        }
        let frames = self.stacks.at(moment).to_vec();
        for &frame in &frames {
            if self.is_written_at(frame) {
                let called = self.names.spot(frame);
                if called.line.is_some() {
                    return self.names.as_modelled(called);
                }
            }
        }
        if spot.line.is_some() && self.names.is_own_code(place) {
            return spot;
        }
        let own = frames.iter().find(|frame| self.names.is_own_code(**frame));
        self.names.spot(own.copied().unwrap_or(place))
    }

    /// The line of a place, those of the calls that were put inline around it,
    /// and those of the frames below.
    fn lines(&mut self, moment: &Moment) -> Vec<String> {
        let places = std::iter::once(&moment.operation.place).chain(self.stacks.at(moment));
        let all: Vec<String> = places.flat_map(|place| self.names.chain(*place)).collect();
        let mut lines: Vec<String> = Vec::new();
        // The model and the line table may write folders in different ways.
        let name = |line: &str| line.rsplit('/').next().map(str::to_string);
        for line in all {
            if !lines.iter().any(|known| name(known) == name(&line)) {
                lines.push(line);
            }
        }
        lines
    }
}

/// The name of what something is a part of, if it is one.
fn whole(name: &str) -> &str {
    let end = [".", "::", "["].iter().filter_map(|mark| name.rfind(mark));
    end.max().map_or(name, |end| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn parts_belong_to_what_has_them() {
        for (name, of) in [
            ("account.lock", "account"),
            ("Cache::entries", "Cache"),
            ("cells[3].next", "cells[3]"),
            ("forks[…]", "forks"),
            ("counter", "counter"),
        ] {
            assert_eq!(whole(name), of);
        }
    }
}
