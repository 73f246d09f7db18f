//! An interleaving as a list of segments: the one form that strategies, solver,
//! reducer, simplifier and breakpoints all emit and that the runtime executes.

use crate::{Place, ThreadPath};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Where a segment ends, in words that survive a change of the program.
///
/// `P` is how places are written: [`Place`] in files, and
/// [`PlaceNumber`](crate::PlaceNumber) in what the runtime is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Anchor<P = Place> {
    /// The place of the segment's last event.
    pub place: P,
    /// How many events of the segment happened at that place, the last one included.
    pub visits: u32,
}

/// One thread's uninterrupted run.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Segment<P = Place> {
    /// Who runs.
    pub thread: ThreadPath,
    /// How many events it executes; at least 1. The switch comes after the last
    /// of them, when the thread announces its next operation, blocks or ends.
    pub events: u64,
    /// The last event's place. Exact replay counts events and checks this;
    /// tolerant replay goes by this and uses the count as a bound. `None` where
    /// nobody knows it yet, as in a schedule that a solver made.
    pub end: Option<Anchor<P>>,
}

/// A question about the outcome of an operation that the order of events leaves
/// open. Answer 0 is always the ordinary outcome. The numbers are part of the
/// schedule format: never renumber, only append.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceKind {
    /// Which of several waiters a signal wakes; 0 is the one that waits longest.
    Waiter = 0,
    /// Whether a waiter wakes without a signal; 0 is no.
    SpuriousWake = 1,
    /// Whether a weak compare-exchange fails although the value matches; 0 is no.
    WeakFailure = 2,
    /// Whether a timed wait expires although it could still be satisfied; 0 is no.
    TimeOut = 3,
    /// How many bytes short of the request a read or write stops; 0 is none.
    ShortTransfer = 4,
}

impl ChoiceKind {
    /// Every kind, by its number.
    pub const ALL: [ChoiceKind; 5] = [
        ChoiceKind::Waiter,
        ChoiceKind::SpuriousWake,
        ChoiceKind::WeakFailure,
        ChoiceKind::TimeOut,
        ChoiceKind::ShortTransfer,
    ];

    /// The kind with this number, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<ChoiceKind> {
        ChoiceKind::ALL.get(usize::from(number)).copied()
    }
}

/// An answer other than the ordinary one. It is named by the thread that asked
/// and the number of its question, so that removing another thread from the
/// execution leaves it in force.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Choice {
    /// Who asked.
    pub thread: ThreadPath,
    /// Which of that thread's questions, counted from 0, whatever their kind.
    pub number: u32,
    /// What was asked.
    pub kind: ChoiceKind,
    /// The answer; never 0.
    pub picked: u32,
}

/// A whole interleaving: together with the program and its input it determines
/// the run. Neighbouring segments belong to different threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Schedule<P = Place> {
    segments: Vec<Segment<P>>,
    /// Ordered by thread and number. A question that is not listed gets answer 0.
    choices: Vec<Choice>,
}

impl<P> Default for Schedule<P> {
    fn default() -> Schedule<P> {
        Schedule {
            segments: Vec::new(),
            choices: Vec::new(),
        }
    }
}

impl<P> Schedule<P> {
    /// Notes an answer; the ordinary one needs no note.
    pub fn choose(&mut self, choice: Choice) {
        if choice.picked == 0 {
            return;
        }
        let position =
            |noted: &Choice| (&noted.thread, noted.number).cmp(&(&choice.thread, choice.number));
        match self.choices.binary_search_by(position) {
            Ok(found) => self.choices[found] = choice,
            Err(gap) => self.choices.insert(gap, choice),
        }
    }

    /// The answers that are not ordinary, by thread and number.
    #[must_use]
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Appends a segment; one that continues the last thread is joined to it.
    ///
    /// Joined segments lose the first one's anchor, and with it the visits that
    /// the second one's anchor did not see, so the result has none unless the
    /// second was anchored alone.
    pub fn push(&mut self, segment: Segment<P>) {
        assert!(segment.events > 0, "a segment has at least one event");
        match self.segments.last_mut() {
            Some(last) if last.thread == segment.thread => {
                last.events += segment.events;
                last.end = None;
            }
            _ => self.segments.push(segment),
        }
    }

    /// The segments, in the order in which they run.
    #[must_use]
    pub fn segments(&self) -> &[Segment<P>] {
        &self.segments
    }

    /// How many events all segments have together.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.segments.iter().map(|segment| segment.events).sum()
    }

    /// The beginning of the schedule, up to so many events. A segment that is cut
    /// loses its anchor.
    #[must_use]
    pub fn prefix(&self, events: u64) -> Schedule<P>
    where
        P: Clone,
    {
        let mut left = events;
        let mut segments = Vec::new();
        for segment in &self.segments {
            if left == 0 {
                break;
            }
            let whole = segment.events <= left;
            segments.push(Segment {
                thread: segment.thread.clone(),
                events: segment.events.min(left),
                end: segment.end.clone().filter(|_| whole),
            });
            left = left.saturating_sub(segment.events);
        }
        Schedule {
            segments,
            choices: self.choices.clone(),
        }
    }

    /// What follows on so many events, with the choices of the whole. A segment that is
    /// cut loses its anchor, whose visits begin where it did.
    #[must_use]
    pub fn suffix(&self, events: u64) -> Schedule<P>
    where
        P: Clone,
    {
        let mut before = events;
        let mut segments = Vec::new();
        for segment in &self.segments {
            let cut = segment.events.min(before);
            before -= cut;
            if cut < segment.events {
                segments.push(Segment {
                    thread: segment.thread.clone(),
                    events: segment.events - cut,
                    end: segment.end.clone().filter(|_| cut == 0),
                });
            }
        }
        Schedule {
            segments,
            choices: self.choices.clone(),
        }
    }

    /// How many times the processor passes from one thread to another.
    #[must_use]
    pub fn switches(&self) -> usize {
        self.segments.len().saturating_sub(1)
    }

    /// The same schedule with its places written another way. Where `rename`
    /// does not know a place, the segment loses its anchor and keeps its count.
    #[must_use]
    pub fn with_places<Q>(&self, mut rename: impl FnMut(&P) -> Option<Q>) -> Schedule<Q> {
        let segments = self.segments.iter().map(|segment| Segment {
            thread: segment.thread.clone(),
            events: segment.events,
            end: segment.end.as_ref().and_then(|end| {
                Some(Anchor {
                    place: rename(&end.place)?,
                    visits: end.visits,
                })
            }),
        });
        Schedule {
            segments: segments.collect(),
            choices: self.choices.clone(),
        }
    }
}

impl<P> FromIterator<Segment<P>> for Schedule<P> {
    fn from_iter<I: IntoIterator<Item = Segment<P>>>(segments: I) -> Schedule<P> {
        let mut schedule = Schedule::default();
        segments
            .into_iter()
            .for_each(|segment| schedule.push(segment));
        schedule
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn neighbours_differ_and_no_event_is_lost(runs in prop::collection::vec((1u32..4, 1u64..9), 0..40)) {
            let total: u64 = runs.iter().map(|run| run.1).sum();
            let schedule: Schedule = runs
                .iter()
                .map(|&(child, events)| Segment { thread: ThreadPath::MAIN.child(child), events, end: None })
                .collect();
            prop_assert_eq!(schedule.events(), total);
            prop_assert!(schedule.segments().windows(2).all(|pair| pair[0].thread != pair[1].thread));
        }
    }
    proptest! {
        #[test]
        fn the_last_answer_to_a_question_stands(answers in prop::collection::vec((1u32..4, 0u32..5, 1u32..4), 0..30)) {
            let mut schedule = Schedule::<Place>::default();
            let mut expected = alloc::collections::BTreeMap::new();
            for (child, number, picked) in answers {
                let thread = ThreadPath::MAIN.child(child);
                expected.insert((thread.clone(), number), picked);
                schedule.choose(Choice { thread, number, kind: ChoiceKind::Waiter, picked });
            }
            let noted: Vec<_> = schedule.choices().iter().map(|c| ((c.thread.clone(), c.number), c.picked)).collect();
            prop_assert_eq!(noted, expected.into_iter().collect::<Vec<_>>());
        }
    }

    proptest! {
        /// Who runs at each event, and where segments end that are whole.
        #[test]
        fn a_schedule_is_its_beginning_and_the_rest(
            runs in prop::collection::vec((1u32..4, 1u64..9), 0..20),
            cut in 0u64..100,
        ) {
            let place = |end: u64| Some(Anchor { place: end, visits: 1 });
            let schedule: Schedule<u64> = { runs.iter().enumerate() }
                .map(|(end, &(child, events))| Segment {
                    thread: ThreadPath::MAIN.child(child),
                    events,
                    end: place(end as u64),
                })
                .collect();
            let each = |schedule: &Schedule<u64>| {
                let segments = schedule.segments().to_vec().into_iter();
                let turns = segments.flat_map(|segment| {
                    (0..segment.events).map(move |_| segment.thread.clone())
                });
                turns.collect::<Vec<_>>()
            };
            let (before, rest) = (schedule.prefix(cut), schedule.suffix(cut));
            prop_assert_eq!([each(&before), each(&rest)].concat(), each(&schedule));
            let ends = |schedule: &Schedule<u64>| {
                let segments = schedule.segments().iter();
                segments.filter_map(|segment| segment.end.clone()).collect::<Vec<_>>()
            };
            let (all, kept) = (ends(&schedule), [ends(&before), ends(&rest)].concat());
            prop_assert!(all.len() - kept.len() <= 1);
            prop_assert!(kept.iter().all(|end| all.contains(end)));
        }
    }

    #[test]
    fn choice_numbers_name_their_kind() {
        for (number, kind) in (0u8..).zip(ChoiceKind::ALL) {
            assert_eq!(kind as u8, number);
            assert_eq!(ChoiceKind::from_number(number), Some(kind));
        }
    }

    #[test]
    fn an_unknown_place_costs_the_anchor_only() {
        let end = |offset| {
            Some(Anchor {
                place: offset,
                visits: 1,
            })
        };
        let segment = |child, end| Segment {
            thread: ThreadPath::MAIN.child(child),
            events: 2,
            end,
        };
        let schedule: Schedule<u64> = [segment(1, end(7)), segment(2, end(8))]
            .into_iter()
            .collect();
        let renamed = schedule.with_places(|&place| (place == 7).then_some('x'));
        assert_eq!(
            renamed.segments()[0].end,
            Some(Anchor {
                place: 'x',
                visits: 1
            })
        );
        assert_eq!(
            (renamed.segments()[1].events, &renamed.segments()[1].end),
            (2, &None)
        );
    }
}
