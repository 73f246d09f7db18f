//! A run as the explorer has it: what the runtime reported, and the trace that
//! the run has left, decoded when somebody wants to see it.

use crate::stored::{StoredTrace, StoredTraceError};
use bohr_event::control::{Detail, Outcome, RunReport, Step, ThreadState};
use bohr_event::{Anchor, PlaceNumber, Schedule, Segment};
use bohr_trace::{Completeness, Trace};
use std::cell::OnceCell;
use std::ops::Deref;

/// See the module.
#[derive(Debug)]
pub struct Ran {
    report: RunReport,
    trace: Option<StoredTrace>,
    events: OnceCell<Events>,
}

/// What a trace holds.
#[derive(Debug, Default)]
struct Events {
    steps: Vec<Step>,
    /// What each of them read or wrote.
    values: Vec<Option<u64>>,
    /// Whether that is all that happened.
    whole: bool,
}

impl Deref for Ran {
    type Target = RunReport;

    fn deref(&self) -> &RunReport {
        &self.report
    }
}

impl Ran {
    /// A run with its trace, if it has one.
    #[must_use]
    pub fn new(report: RunReport, trace: Option<StoredTrace>) -> Ran {
        Ran {
            report,
            trace,
            events: OnceCell::new(),
        }
    }

    /// Every event, in order, as far as the trace can be read; none if there is
    /// no trace.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.events().steps
    }

    /// What each of them read or wrote, as far as it is known.
    #[must_use]
    pub fn values(&self) -> &[Option<u64>] {
        &self.events().values
    }

    /// Whether the trace has every event of the run.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.events().whole
    }

    /// Events that happened and are not in the trace, if there is one.
    #[must_use]
    pub fn missing(&self) -> u64 {
        match self.trace {
            Some(_) => {
                { self.report.events }.saturating_sub(self.report.begun + self.steps().len() as u64)
            }
            None => 0,
        }
    }

    /// The trace, with all that it holds.
    #[must_use]
    pub fn trace(&self) -> Option<&StoredTrace> {
        self.trace.as_ref()
    }

    /// What the threads that had not failed were about to do when a failure ended
    /// the run.
    #[must_use]
    pub fn pending(&self) -> Vec<Step> {
        let Outcome::Failed(failure) = &self.report.outcome else {
            return Vec::new();
        };
        let waits = |state: &&ThreadState| !state.enabled || state.thread != failure.thread;
        let step = |state: &ThreadState| Step {
            thread: state.thread,
            operation: state.operation,
        };
        failure.states.iter().filter(waits).map(step).collect()
    }

    /// The schedule, with anchors where the trace has the events.
    #[must_use]
    pub fn schedule(&self) -> Schedule<PlaceNumber> {
        let Some(detail) = &self.report.detail else {
            return Schedule::default();
        };
        match self.trace {
            None => detail.schedule.clone(),
            Some(_) => anchored(&detail.schedule, self.report.begun, self.steps()),
        }
    }

    /// What the runtime told, the events, and what each of them read or wrote.
    #[must_use]
    pub fn into_parts(self) -> (RunReport, Vec<Step>, Vec<Option<u64>>) {
        self.events();
        let events = self.events.into_inner().unwrap_or_default();
        (self.report, events.steps, events.values)
    }

    /// All that is kept of the run; empty if nobody asked for it.
    #[must_use]
    pub fn into_detail(self) -> Detail {
        self.report.detail.unwrap_or_default()
    }

    fn events(&self) -> &Events {
        self.events.get_or_init(|| {
            let trace = self.trace.as_ref().map(decode);
            // A run that has overwritten its trace has none.
            trace.and_then(Result::ok).unwrap_or_default()
        })
    }
}

fn decode(stored: &StoredTrace) -> Result<Events, StoredTraceError> {
    let bytes = stored.read()?;
    let trace = Trace::open(&bytes)?;
    let mut events = Events {
        steps: Vec::with_capacity(usize::try_from(trace.len()).unwrap_or_default()),
        values: Vec::with_capacity(usize::try_from(trace.len()).unwrap_or_default()),
        whole: trace.completeness() == Completeness::Complete,
    };
    for event in trace.events() {
        let Ok((_, record)) = event else {
            events.whole = false;
            break;
        };
        events.values.push(record.value);
        events.steps.push(Step {
            thread: record.thread,
            operation: record.operation,
        });
    }
    Ok(events)
}

/// Anchors every segment whose events are known at the place of its last event. The
/// first `begun` events are not.
fn anchored(schedule: &Schedule<PlaceNumber>, begun: u64, steps: &[Step]) -> Schedule<PlaceNumber> {
    let mut anchored = Schedule::default();
    let mut from = 0;
    let position = |event: u64| Some(event.checked_sub(begun)? as usize);
    for segment in schedule.segments() {
        let to = from + segment.events;
        let known = position(from).zip(position(to));
        let end = known.and_then(|(from, to)| steps.get(from..to).and_then(anchor));
        from = to;
        anchored.push(Segment {
            end,
            ..segment.clone()
        });
    }
    for choice in schedule.choices() {
        anchored.choose(choice.clone());
    }
    anchored
}

fn anchor(steps: &[Step]) -> Option<Anchor<PlaceNumber>> {
    let place = steps.last()?.operation.place;
    let visits = steps.iter().filter(|step| step.operation.place == place);
    Some(Anchor {
        place,
        visits: visits.count() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::{EventKind, Operation, ThreadIndex, ThreadPath};

    #[test]
    fn segments_are_anchored_where_they_end() {
        let steps: Vec<Step> = [7, 8, 7, 9, 7]
            .map(|place| Step {
                thread: ThreadIndex(0),
                operation: Operation::plain(EventKind::Read, 4, 0, PlaceNumber(place)),
            })
            .into();
        let segment = |child, events| Segment {
            thread: ThreadPath::MAIN.child(child),
            events,
            end: None,
        };
        let schedule = [segment(1, 3), segment(2, 1), segment(1, 5)]
            .into_iter()
            .collect();
        let anchored = anchored(&schedule, 0, &steps);
        let ends = anchored.segments().iter().map(|segment| {
            let end = segment.end.as_ref();
            end.map(|end| (end.place.0, end.visits))
        });
        // The last segment goes further than what is known.
        assert_eq!(ends.collect::<Vec<_>>(), [Some((7, 2)), Some((9, 1)), None]);
    }
}
