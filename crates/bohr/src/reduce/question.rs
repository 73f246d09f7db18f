//! What is asked about a candidate, and how much an answer may cost.

use super::criterion::Criterion;
use super::examiner::LONG;
use bohr_event::control::{Omissions, Recorded};
use bohr_reduce::reduction::{Block, Cut, Length, Turns};
use bohr_schedule::{Plan, Rule};

/// How many times as many events a run may have for a thread less. A thread that
/// is gone can put off the failure by the whole work of the others.
const GROWTH: u64 = 2;

/// The same for a run of which only the order of magnitude is known.
const ABOUT: u64 = 4;

/// How many times as long as in the best run somebody goes on who is interrupted by
/// chance in a long one.
const CALM: u64 = 2;

/// Events after which a run that is too long is ended.
pub const BEYOND: u64 = 1000;

/// What is asked about a candidate.
pub struct Question<'q> {
    pub cut: Cut,
    /// The best run so far.
    pub base: &'q Base,
    pub criterion: &'q Criterion,
    /// Other schedules to try where the best run's does not show the failure.
    pub chances: u64,
    /// Whether the best run's schedule is known not to lead there.
    pub is_off_the_way: bool,
    /// How long an answer may be.
    pub length: Length,
    /// Whether it has to replay every time; otherwise somebody asks that later.
    pub surely: bool,
}

/// A failing run, event for event, and the blocks that its threads came by.
#[derive(Clone, Debug)]
pub struct Base {
    pub run: Recorded,
    /// What is left out of it.
    pub without: Omissions,
    /// Calls that can be left out are among them, and stores once some are.
    pub blocks: Vec<Block>,
    pub turns: Turns,
    /// Events of the longest run without what is left out that was looked at, good or
    /// failing; 0 if none was but this.
    pub longest: u64,
}

impl Question<'_> {
    /// Events that an answer may have.
    pub fn most_events(&self) -> u64 {
        let events = self.base.run.steps.len() as u64;
        match self.length {
            Length::Shorter => events,
            Length::Longer => GROWTH * events,
            Length::About(left) => ABOUT * left + BEYOND,
        }
    }

    /// The same of runs that do not fail: what is left out may be what ends a loop.
    pub fn most_events_of_good_runs(&self) -> u64 {
        GROWTH.saturating_mul(self.base.longest)
    }

    /// Chance does not keep threads in one piece.
    pub fn number_of_chances(&self) -> u64 {
        match self.cut.serial.is_empty() {
            true => self.chances,
            false => 0,
        }
    }

    /// Plans that might show the failure, by few switches or by many, and how many
    /// seeds of each to try.
    pub fn plans(&self) -> [(Plan, u64); 2] {
        let length = match self.length {
            Length::About(left) => left,
            _ => self.base.run.steps.len() as u64,
        };
        let seeds = self.number_of_chances().div_ceil(2);
        // A long run that switches all the time cannot be made calmer afterwards.
        let switches = self.base.run.schedule.switches() as u64;
        let many = match length > LONG {
            true => Rule::Slices {
                mean: CALM * length / switches.max(1),
            },
            false => Rule::Random,
        };
        [Rule::Pct { depth: 3, length }, many].map(|rule| (Plan::new(rule), seeds))
    }
}
