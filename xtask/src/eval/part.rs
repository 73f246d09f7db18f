//! The parts of an evaluation of one exhibit, in their order.

use super::measure::Measured;
use super::settings::Settings;
use bohr_museum::{Exhibit, MemoryModel};

/// One part: what is measured and kept at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The exhibit and its twin, compiled.
    Build,
    /// The hunts of one strategy.
    Hunt(&'static str),
    /// What was found, again and again.
    Replay,
    /// LEAN.
    Reduce,
    /// SimTrace and what comes behind it, on the bug.
    Simplify,
    /// SimTrace alone, on a recorded run of the paper's size.
    Record,
    /// BTrigger.
    Break,
    /// The fixed twin.
    Twin,
}

impl Part {
    /// All parts that an exhibit goes through.
    pub fn all(settings: &Settings, exhibit: &Exhibit) -> impl Iterator<Item = Part> {
        // What takes store buffers or the language's rules no breakpoint brings about.
        let by_order = exhibit.manifest.memory_model == MemoryModel::Sc;
        let breaks = by_order && settings.breaks(exhibit);
        let hunts = settings.strategies.iter().copied().map(Part::Hunt);
        let rest = [
            Part::Replay,
            Part::Reduce,
            Part::Simplify,
            Part::Record,
            Part::Break,
            Part::Twin,
        ];
        let rest = rest.into_iter();
        let build = std::iter::once(Part::Build);
        build
            .chain(hunts)
            .chain(rest.filter(move |part| breaks || *part != Part::Break))
    }

    pub fn name(self) -> &'static str {
        match self {
            Part::Build => "build",
            Part::Hunt(strategy) => strategy,
            Part::Replay => "replay",
            Part::Reduce => "reduce",
            Part::Simplify => "simplify",
            Part::Record => "record",
            Part::Break => "break",
            Part::Twin => "twin",
        }
    }

    /// Whether it works on what the hunts found.
    pub fn needs_a_bug(self) -> bool {
        matches!(
            self,
            Part::Replay | Part::Reduce | Part::Simplify | Part::Break
        )
    }

    /// Whether an exhibit has been through it and nothing went wrong.
    pub fn is_done(self, measured: &Measured) -> bool {
        let is_there = match self {
            // Whatever is as new as its source is not compiled again.
            Part::Build => false,
            Part::Hunt(strategy) => measured.hunts.iter().any(|it| it.strategy == strategy),
            Part::Replay => measured.replays.is_some(),
            Part::Reduce => measured.reduced.is_some(),
            Part::Simplify => measured.simplified.is_some(),
            Part::Record => measured.recorded.is_some(),
            Part::Break => measured.broken.is_some(),
            Part::Twin => measured.twin.is_some(),
        };
        is_there && !measured.errors.contains_key(self.name())
    }
}
