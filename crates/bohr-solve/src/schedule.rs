//! An order of events as turns that the runtime follows: who runs, and up to what.
//! The runtime has more events than a problem has; what nobody else can notice was
//! left out of it, so turns end at visits of sites and at operations by their kind
//! and number, which are the same in both.

use crate::check::Turn;
use crate::event::{Action, Buffered, EventId, Problem};
use crate::model::stores;
use bohr_event::{MemoryModel, ThreadPath};
use bohr_program::{Program, SiteNumber};
use bohr_schedule::{Due, Turns, Until, Wakes};
use std::collections::{BTreeSet, HashMap};

/// The turns of an order of events. `hooked` tells which sites the runtime sees.
#[must_use]
pub fn turns(
    program: &Program,
    problem: &Problem,
    model: MemoryModel,
    order: &[Turn],
    hooked: &dyn Fn(SiteNumber) -> bool,
) -> Turns {
    let stores = stores(problem, model);
    // The runtime may have what is taken for visible at once wait.
    let is_prompt = |id: &EventId| {
        let action = &problem.event(*id).action;
        let waits = matches!(
            action,
            Action::Access {
                buffer: Buffered::Waits,
                ..
            }
        );
        model.has_buffers() && waits && !stores.contains_key(id)
    };
    let mut turns: Vec<Due> = Vec::new();
    // Whether the last turn is one that the next of the same thread includes.
    let mut open = false;
    // Nobody is asked before there is a second thread.
    for turn in &order[1.min(order.len())..] {
        let Some(due) = due(program, problem, turn, &is_prompt, hooked) else {
            continue;
        };
        let is_event = matches!(turn, Turn::Event(id) if !is_prompt(id));
        match turns.last_mut() {
            Some(last) if open && is_event && last.thread == due.thread => *last = due,
            _ => turns.push(due),
        }
        open = is_event;
    }
    Turns {
        object: 0,
        turns,
        wakes: wakes(problem, order),
    }
}

fn path(problem: &Problem, id: EventId) -> ThreadPath {
    problem.threads[id.thread].path.clone()
}

/// What a step of an order is about, if the runtime can tell.
fn due(
    program: &Program,
    problem: &Problem,
    turn: &Turn,
    is_prompt: &dyn Fn(&EventId) -> bool,
    hooked: &dyn Fn(SiteNumber) -> bool,
) -> Option<Due> {
    let (Turn::Event(id) | Turn::Commit(id)) = *turn;
    let event = problem.event(id);
    let number = event.visit;
    let site = || {
        let site = program.site_at(event.spot.function, event.spot.instruction);
        site.filter(|site| hooked(*site)).map(SiteNumber::as_u32)
    };
    let until = match (turn, &event.action) {
        (Turn::Commit(_), _) => Until::Visible {
            site: site()?,
            number,
        },
        (_, Action::Fail) => Until::End,
        (Turn::Event(id), _) if is_prompt(id) => Until::Visible {
            site: site()?,
            number,
        },
        (_, Action::Access { .. }) => Until::Visit {
            site: site()?,
            number,
        },
        (_, action) => Until::Kind {
            kind: action.kind()?,
            number,
        },
    };
    let thread = path(problem, id);
    Some(Due { thread, until })
}

/// Whom each signal wakes, if somebody goes on with it: the waiter that comes next
/// of those who waited then.
fn wakes(problem: &Problem, order: &[Turn]) -> Vec<Wakes> {
    let mut sleepers: HashMap<u64, BTreeSet<usize>> = HashMap::new();
    let mut signals: HashMap<u64, Vec<(EventId, BTreeSet<usize>)>> = HashMap::new();
    let mut woken: BTreeSet<usize> = BTreeSet::new();
    let mut found = Vec::new();
    let events = order.iter().filter_map(|turn| match turn {
        Turn::Event(id) => Some(*id),
        Turn::Commit(_) => None,
    });
    for id in events {
        match &problem.event(id).action {
            Action::Sleep { condition, .. } => {
                sleepers.entry(*condition).or_default().insert(id.thread);
            }
            Action::Signal(condition) => {
                let waiting = sleepers.entry(*condition).or_default().clone();
                signals.entry(*condition).or_default().push((id, waiting));
            }
            Action::Broadcast(condition) => {
                woken.extend(sleepers.remove(condition).unwrap_or_default());
            }
            Action::Wake { condition, alone } => {
                sleepers.entry(*condition).or_default().remove(&id.thread);
                let signals = signals.entry(*condition).or_default();
                if !alone && !woken.remove(&id.thread) {
                    let usable = signals.iter().position(|(_, it)| it.contains(&id.thread));
                    if let Some((signal, _)) = usable.map(|at| signals.remove(at)) {
                        found.push(Wakes {
                            thread: path(problem, signal),
                            number: problem.event(signal).visit,
                            waiter: path(problem, id),
                        });
                    }
                }
                for (_, waiting) in signals {
                    waiting.remove(&id.thread);
                }
            }
            _ => {}
        }
    }
    found
}
