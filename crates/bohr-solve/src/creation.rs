//! What comes before what in every execution: creations come before what is created
//! does, and all that a thread did before its join.

use crate::event::{Action, EventId, Problem};

/// What comes before what because of creations and joins.
pub(crate) struct CreationOrder {
    /// By thread and event: how many events of each thread come before.
    clocks: Vec<Vec<Vec<u32>>>,
    /// The same of the moment before each event, and of the one behind the last: what a
    /// join waits for is not in it yet.
    moments: Vec<Vec<Vec<u32>>>,
}

impl CreationOrder {
    pub(crate) fn of(problem: &Problem) -> CreationOrder {
        let count = problem.threads.len();
        let mut clocks: Vec<Vec<Vec<u32>>> = vec![Vec::new(); count];
        let mut moments = clocks.clone();
        let mut now = vec![vec![0u32; count]; count];
        let mut started: Vec<Option<Vec<u32>>> = vec![None; count];
        started[0] = Some(vec![0; count]);
        let mut progress = true;
        while progress {
            progress = false;
            for thread in 0..count {
                let Some(first) = started[thread].clone() else {
                    continue;
                };
                if clocks[thread].is_empty() {
                    now[thread] = first;
                }
                while let Some(event) = problem.threads[thread].events.get(clocks[thread].len()) {
                    let before = now[thread].clone();
                    if let Action::Join(child) = event.action
                        && let Some(other) = problem.threads.get(child)
                    {
                        if clocks[child].len() < other.events.len() {
                            break;
                        }
                        let end = now[child].clone();
                        merge(&mut now[thread], &end);
                    }
                    moments[thread].push(before);
                    clocks[thread].push(now[thread].clone());
                    now[thread][thread] += 1;
                    if let Action::Fork(child) = event.action
                        && child < count
                    {
                        started[child] = Some(now[thread].clone());
                    }
                    progress = true;
                }
            }
        }
        for (moments, now) in moments.iter_mut().zip(now) {
            moments.push(now);
        }
        CreationOrder { clocks, moments }
    }

    /// Whether an event surely comes before the moment right before another, or behind
    /// the last of that thread.
    pub(crate) fn is_before_moment(&self, first: EventId, moment: EventId) -> bool {
        if first.thread == moment.thread {
            return first.event < moment.event;
        }
        let clock = self.moments[moment.thread].get(moment.event);
        clock.is_some_and(|clock| clock[first.thread] as usize > first.event)
    }

    /// Whether an event surely comes before another.
    pub(crate) fn is_before(&self, first: EventId, second: EventId) -> bool {
        if first.thread == second.thread {
            return first.event < second.event;
        }
        let clock = self.clocks[second.thread].get(second.event);
        clock.is_some_and(|clock| clock[first.thread] as usize > first.event)
    }
}

fn merge(into: &mut [u32], other: &[u32]) {
    for (into, other) in into.iter_mut().zip(other) {
        *into = (*into).max(*other);
    }
}
