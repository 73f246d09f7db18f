//! Moments in words: names of what is touched, lines of the source, stacks.

use super::source::Sources;
use super::stacks::Stacks;
use bohr_explain::Moment;
use bohr_explore::{Names, Spot};
use bohr_report::{Teller, Told};

/// See the module.
pub struct Telling<'a> {
    pub names: Names<'a>,
    pub stacks: Stacks,
    pub sources: Sources,
}

impl Teller for Telling<'_> {
    fn tell(&mut self, moment: &Moment) -> Told {
        let operation = &moment.operation;
        let spot = self.spot(moment);
        Told {
            thread: moment.thread.to_string(),
            number: moment.number,
            kind: operation.kind.verb().to_string(),
            object: self.names.object(operation),
            takes_object: operation.kind.takes_object(),
            function: spot.function,
            line: spot.line,
            lines: self.lines(moment),
        }
    }

    fn source(&mut self, line: &str) -> Option<String> {
        self.sources.text(line)
    }
}

impl Telling<'_> {
    /// The line of the source, in the program's own code if it can be.
    fn spot(&mut self, moment: &Moment) -> Spot {
        let place = moment.operation.place;
        if self.names.is_own_code(place) {
            let spot = self.names.spot(place);
            if spot.line.is_some() {
                return spot;
            }
        }
        let mut frames = self.stacks.at(moment).iter().copied();
        let own = frames.find(|frame| self.names.is_own_code(*frame));
        self.names.spot(own.unwrap_or(place))
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
