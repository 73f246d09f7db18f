//! All that is found out about a failure.

use crate::chance::{Chance, chances};
use crate::circle::{Link, circle};
use crate::culprit::{Culprit, overlap};
use crate::experiment::Experimenter;
use crate::lifetime::{Lifetime, lifetime};
use crate::lock_order::{LockCycle, LockOrders};
use crate::misdirected::{Misdirected, misdirected};
use crate::moment::Moment;
use crate::notification::{Unheard, unheard};
use crate::order::{Order, absentees, orders};
use crate::race::{Race, races};
use crate::stale::{Stale, stale_reads};
use crate::stolen::{Stolen, stolen};
use crate::window::{Window, windows};
use bohr_event::Operation;
use bohr_event::control::{Failure, Recorded};
use std::collections::BTreeSet;

/// Races that are told one by one.
const SHOWN_RACES: usize = 3;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// The failing run that is explained.
    pub run: Recorded,
    /// Threads that wait for each other at its end.
    pub circle: Vec<Link>,
    /// Memory that it used after its end.
    pub lifetime: Option<Lifetime>,
    /// Notifications that the threads which wait at its end missed.
    pub unheard: Vec<Unheard>,
    /// Signals that woke others than threads which wait at its end and should go on.
    pub misdirected: Vec<Misdirected>,
    /// Wake-ups that others were quicker to use.
    pub stolen: Vec<Stolen>,
    /// Waits that had to end by chance.
    pub chances: Vec<Chance>,
    /// The preemptions that it takes.
    pub windows: Vec<Window>,
    /// Earlier preemptions, which were not looked at: the run has too many.
    pub unexamined: u64,
    /// The orders that it takes, if it takes no preemption.
    pub orders: Vec<Order>,
    /// Accesses that nothing orders.
    pub races: Vec<Race>,
    /// The first of these, where they are the failure themselves.
    pub unordered: Vec<[Moment; 2]>,
    /// Reads that missed stores which waited in buffers.
    pub stale: Vec<Stale>,
    /// Locks taken in orders that can make a circle, other than that of the failure.
    pub lock_cycles: Vec<LockCycle>,
}

/// Explains a failing run; `values` are what its events read or wrote, `failure` is what
/// the runtime saw at its end, if it was the runtime that saw it fail, and `locks` the
/// orders in which it takes locks.
///
/// # Errors
/// If the program cannot be run.
pub fn explain<E: Experimenter>(
    run: Recorded,
    values: &[Option<u64>],
    failure: Option<&Failure>,
    locks: LockOrders,
    experimenter: &mut E,
) -> Result<Explanation, E::Error> {
    let chances = chances(&run, experimenter)?;
    let (windows, unexamined) = windows(&run, experimenter)?;
    let states = failure.map_or(&[][..], |failure| &failure.states);
    let mut circle = circle(&run, states);
    if let Some(closed) = locks.closed.filter(|_| circle.is_empty()) {
        circle = closed.as_circle(&run);
    }
    let mut found = Vec::new();
    if windows.is_empty() {
        found = orders(&run, experimenter)?;
        // A circle tells better why its threads wait.
        let waiting = found.is_empty() && circle.is_empty();
        found.extend(absentees(&run, waiting, experimenter)?);
    }
    let (unheard, misdirected) = match circle.is_empty() {
        true => (unheard(&run, states), misdirected(&run, states)),
        false => Default::default(),
    };
    let mut races = races(&run.steps);
    let conflicts = conflicts(&windows, &found, &circle);
    mark_needed(&mut races, &run, &conflicts);
    let matters = |event: usize| {
        let mut sides = conflicts.iter().flatten();
        sides.any(|moment| moment.position(&run) == Some(event))
    };
    let stolen = stolen(&run, values, &matters);
    Ok(Explanation {
        stolen,
        misdirected,
        chances,
        unheard,
        lifetime: failure.and_then(|failure| lifetime(&run, failure)),
        windows,
        unexamined,
        orders: found,
        races,
        unordered: Vec::new(),
        stale: stale_reads(&run),
        lock_cycles: others(locks.cycles, &circle, &run),
        circle,
        run,
    })
}

/// The conflicts that were found to matter.
fn conflicts<'m>(
    windows: &'m [Window],
    orders: &'m [Order],
    circle: &[Link],
) -> Vec<[&'m Moment; 2]> {
    let windows = windows.iter().filter(|window| !leads_into(circle, window));
    let culprits = windows.filter_map(|window| window.culprit.as_ref());
    culprits
        .flat_map(Culprit::conflicts)
        .chain(orders.iter().map(|order| [&order.first, &order.second]))
        .collect()
}

/// Marks the races between places whose conflict was found to matter, about the same
/// variable.
fn mark_needed(races: &mut [Race], run: &Recorded, conflicts: &[[&Moment; 2]]) {
    for race in races {
        let pair = [race.first, race.second].map(|event| &run.steps[event].operation);
        race.needed = conflicts.iter().any(|conflict| {
            let [one, two] = conflict.map(|moment| &moment.operation);
            let is = |one: &Operation, two: &Operation| {
                one.place == pair[0].place && two.place == pair[1].place
            };
            overlap(one, pair[0]) && (is(one, two) || is(two, one))
        });
    }
}

/// Whether a thread has to be interrupted once it has what another one of a circle of
/// waiting threads waits for: the circle says it better.
fn leads_into(circle: &[Link], window: &Window) -> bool {
    let holds = circle.iter().filter_map(|link| link.holds.as_ref());
    let opens = window.opens.as_ref();
    opens.is_some_and(|opens| {
        let mut same = holds.filter(|holds| holds.number == opens.number);
        same.any(|holds| holds.thread == opens.thread)
    })
}

/// Explains a run whose failure is a data race: no schedule makes that go away.
#[must_use]
pub fn explain_race(run: Recorded, locks: LockOrders) -> Explanation {
    let mut races = races(&run.steps);
    races.iter_mut().for_each(|race| race.needed = true);
    let shown = races.iter().take(SHOWN_RACES);
    let unordered =
        shown.map(|race| [race.first, race.second].map(|event| Moment::at(&run, event)));
    Explanation {
        unordered: unordered.collect(),
        races,
        lock_cycles: locks.cycles,
        run,
        ..Explanation::default()
    }
}

/// The cycles of other locks than those of which the threads of a circle wait.
fn others(cycles: Vec<LockCycle>, circle: &[Link], run: &Recorded) -> Vec<LockCycle> {
    let waits = circle.iter().map(|link| link.waits.operation.object);
    let waited_for: BTreeSet<u64> = waits.collect();
    let wanted = |cycle: &LockCycle| -> BTreeSet<u64> {
        let links = cycle.links.iter();
        links
            .map(|link| run.steps[link.wanted].operation.object)
            .collect()
    };
    let mut cycles = cycles;
    cycles.retain(|cycle| wanted(cycle) != waited_for);
    cycles
}

impl Explanation {
    /// How the locks of the first of these cycles were taken.
    #[must_use]
    pub fn lock_moments(&self, most: usize) -> Vec<Moment> {
        let cycles = self.lock_cycles.iter().take(most);
        let links = cycles.flat_map(|cycle| &cycle.links);
        let events = links.flat_map(|link| [link.held, link.wanted]);
        events.map(|event| Moment::at(&self.run, event)).collect()
    }

    /// The preemptions that nothing else tells better: where threads wait for each
    /// other in a circle, or for a signal that woke somebody else, an interruption that is
    /// about locks is how they came there;
    /// and one that only lets another thread come first is part of what happens to that.
    pub fn telling_windows(&self) -> impl Iterator<Item = &Window> {
        let by_locks = |window: &Window| window.culprit.as_ref().is_none_or(|it| it.by_locks);
        let told = !(self.circle.is_empty() && self.misdirected.is_empty());
        let windows = self.windows.iter();
        let windows = windows.filter(move |window| !(told && by_locks(window)));
        let windows = windows.filter(|window| !leads_into(&self.circle, window));
        let windows =
            windows.filter(|window| !self.is_about_unseen(window.accesses().into_iter().flatten()));
        let windows = windows.filter(|window| {
            let between = window.culprit.as_ref().map(|culprit| &culprit.between);
            !between.is_some_and(|between| self.is_stolen(between))
        });
        let windows = windows.filter(|window| !self.leads_to_unheard(window));
        windows.filter(|window| !self.is_part_of_another(window))
    }

    /// The orders that nothing else tells better, likewise.
    pub fn telling_orders(&self) -> impl Iterator<Item = &Order> {
        let told = !self.misdirected.is_empty();
        let about_data = |order: &Order| {
            let both = [&order.first, &order.second];
            both.iter().all(|moment| moment.operation.kind.is_access())
        };
        let orders = self.orders.iter();
        let orders = orders.filter(move |order| !told || about_data(order));
        let orders = orders.filter(|order| !self.is_stolen(&order.first));
        orders.filter(|order| !self.is_about_unseen(order.named()))
    }

    /// Whether something is what another thread did with a wake-up.
    fn is_stolen(&self, moment: &Moment) -> bool {
        let mut all = self.stolen.iter();
        all.any(|stolen| {
            stolen.taken.thread == moment.thread && stolen.taken.number == moment.number
        })
    }

    /// Whether a window, in which a thread need not have done anything, says no more than
    /// that somebody notified it before it waited.
    fn leads_to_unheard(&self, window: &Window) -> bool {
        let by = window.intrusion.as_ref().map(|intrusion| &intrusion.thread);
        let [before, ..] = window.accesses();
        before.is_none()
            && self.telling_unheard().any(|unheard| {
                unheard.waits.thread == window.thread && Some(&unheard.notified.thread) == by
            })
    }

    /// The notifications that were missed, but for those of conditions of which the last
    /// signal woke the wrong thread: who came too late for that need not have.
    pub fn telling_unheard(&self) -> impl Iterator<Item = &Unheard> {
        let object = |moment: &Moment| moment.operation.object;
        self.unheard.iter().filter(move |unheard| {
            let mut signals = self.misdirected.iter();
            signals.all(|signal| object(&signal.signalled) != object(&unheard.notified))
        })
    }

    /// Whether some of these moments are about what a waiting thread would have seen, had
    /// the signal for that woken it.
    fn is_about_unseen<'m>(&self, mut moments: impl Iterator<Item = &'m Moment>) -> bool {
        moments.any(|moment| {
            let signals = self.misdirected.iter();
            let mut unseen = signals.filter_map(|signal| signal.written.as_ref());
            unseen.any(|written| overlap(&moment.operation, &written.operation))
        })
    }

    /// Whether a window is nothing but the first two accesses of another one.
    fn is_part_of_another(&self, window: &Window) -> bool {
        let [None, Some(first), Some(second)] = window.accesses() else {
            return false;
        };
        let same = |one: Option<&Moment>, other: &Moment| {
            one.is_some_and(|one| {
                one.thread == other.thread
                    && one.operation.place == other.operation.place
                    && overlap(&one.operation, &other.operation)
            })
        };
        let others = self.windows.iter().map(Window::accesses);
        { others }.any(|[before, between, _]| same(before, first) && same(between, second))
    }

    /// The moments that matter.
    #[must_use]
    pub fn named(&self) -> Vec<&Moment> {
        let circle = self.circle.iter();
        let circle = circle.flat_map(|link| link.holds.iter().chain([&link.waits]));
        let lifetime = self.lifetime.iter().flat_map(|lifetime| {
            let allocated = lifetime.allocated.iter();
            allocated.chain([&lifetime.freed, &lifetime.used])
        });
        let unheard = self.telling_unheard();
        let unheard = unheard.flat_map(|unheard| [&unheard.notified, &unheard.waits]);
        let misdirected = self.misdirected.iter().flat_map(|signal| {
            let ends = [&signal.signalled, &signal.woken, &signal.waits];
            ends.into_iter().chain(&signal.written)
        });
        let stolen = self.stolen.iter().flat_map(|stolen| {
            let ends = [&stolen.signalled, &stolen.taken];
            ends.into_iter().chain([&stolen.woken, &stolen.used])
        });
        let chances = self.chances.iter().map(|chance| &chance.ended);
        let windows = self.telling_windows().flat_map(Window::named);
        let orders = self.telling_orders().flat_map(Order::named);
        let stale = self.stale.iter();
        let stale = stale.flat_map(|stale| [&stale.store, &stale.read]);
        circle
            .chain(lifetime)
            .chain(unheard)
            .chain(misdirected)
            .chain(stolen)
            .chain(chances)
            .chain(windows)
            .chain(orders)
            .chain(self.unordered.iter().flatten())
            .chain(stale)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::recorded;
    use EventKind::{Acquire, Fork, Read, Signal, Wait, Write};
    use bohr_event::EventKind;
    use bohr_event::ThreadPath;

    /// The main thread is interrupted after `opens`, and misses a signal.
    fn missed(opens: EventKind) -> Explanation {
        let run = recorded(&[
            (0, opens, 0x40, 4),
            (1, Write, 0x30, 4),
            (1, Signal, 0x20, 0),
            (0, Acquire, 0x10, 0),
            (0, Wait, 0x20, 0),
        ]);
        let at = |event| Moment::at(&run, event);
        let window = Window {
            thread: ThreadPath::MAIN,
            opens: Some(at(0)),
            closes: Some(at(3)),
            intrusion: Some(at(2)),
            culprit: None,
            width: 1,
            passing: None,
            early: None,
        };
        Explanation {
            unheard: vec![Unheard {
                notified: at(2),
                waits: at(4),
            }],
            windows: vec![window],
            run,
            ..Explanation::default()
        }
    }

    #[test]
    fn that_somebody_came_before_a_wait_is_told_once() {
        assert_eq!(missed(Fork).telling_windows().count(), 0);
        // What the thread looked at before is more than that.
        assert_eq!(missed(Read).telling_windows().count(), 1);
    }

    #[test]
    fn what_was_done_with_a_wake_up_is_told_as_that() {
        let mut explanation = missed(Read);
        explanation.unheard.clear();
        let at = |event| Moment::at(&explanation.run, event);
        let order = Order {
            first: at(1),
            second: at(4),
            earlier: None,
            passing: None,
        };
        let stolen = Stolen {
            signalled: at(2),
            taken: at(1),
            woken: at(4),
            used: at(4),
        };
        explanation.orders.push(order);
        assert_eq!(explanation.telling_orders().count(), 1);
        explanation.stolen.push(stolen);
        assert_eq!(explanation.telling_orders().count(), 0);
    }
}
