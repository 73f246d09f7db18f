//! What the aligned point depends on: a slice of a window of events before it, by
//! which accesses to critical variables are ranked.

use super::aligned::{Aligned, WINDOW};
use bohr_event::PlaceNumber;
use bohr_program::{Program, Sharing};
use bohr_reduce::Execution;
use bohr_slice::{Influences, Moment, Relevant, Trace};

/// See the module.
pub struct Window {
    /// The first event.
    from: usize,
    relevant: Relevant,
    /// Events of it.
    length: usize,
}

impl Window {
    /// The fewest dependences that lead from an event to the aligned point.
    pub fn distance(&self, event: usize) -> Option<u32> {
        let event = event.checked_sub(self.from)?;
        self.relevant.distance(u32::try_from(event).ok()?)
    }

    /// How many events it has.
    pub fn len(&self) -> usize {
        self.length
    }
}

/// The slice: what the thread did last before the aligned point, and what it would do
/// next, is what it goes back from.
pub fn slice(program: &Program, aligned: &Aligned) -> Window {
    let end = aligned.events.min(aligned.steps.len());
    let from = end.saturating_sub(WINDOW);
    let steps = &aligned.steps[from..end];
    let sharing = Sharing::of(program);
    let influences = Influences::new(program, &sharing);
    let site = |place: PlaceNumber| aligned.sites.get(&place).copied();
    let trace = Trace {
        execution: Execution {
            threads: &aligned.threads,
            ..Execution::of(steps)
        },
        site: &site,
        from: 0,
    };
    let is_own = |step: &bohr_event::control::Step| Some(step.thread) == aligned.thread;
    let last = steps.iter().rposition(&is_own);
    let last = last.map(|event| Moment::Event(event as u32));
    let next = aligned.steps[end..].iter().find(|step| is_own(step));
    let next = next.map(|step| Moment::End {
        thread: step.thread,
        site: site(step.operation.place),
    });
    let moments: Vec<Moment> = last.into_iter().chain(next).collect();
    Window {
        from,
        relevant: bohr_slice::slice(trace, &moments, |site| influences.of(site)),
        length: steps.len(),
    }
}
