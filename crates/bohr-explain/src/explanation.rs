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

/// Explains a failing run; `failure` is what the runtime saw at its end, if it
/// was the runtime that saw it fail, and `locks` the orders in which it takes locks.
///
/// # Errors
/// If the program cannot be run.
pub fn explain<E: Experimenter>(
    run: Recorded,
    failure: Option<&Failure>,
    locks: LockOrders,
    experimenter: &mut E,
) -> Result<Explanation, E::Error> {
    let chances = chances(&run, experimenter)?;
    let (windows, unexamined) = windows(&run, experimenter)?;
    let mut found = Vec::new();
    if windows.is_empty() {
        found = orders(&run, experimenter)?;
        found.extend(absentees(&run, experimenter)?);
    }
    let states = failure.map_or(&[][..], |failure| &failure.states);
    let mut circle = circle(&run, states);
    if let Some(closed) = locks.closed.filter(|_| circle.is_empty()) {
        circle = closed.as_circle(&run);
    }
    let (unheard, misdirected) = match circle.is_empty() {
        true => (unheard(&run, states), misdirected(&run, states)),
        false => Default::default(),
    };
    let mut races = races(&run.steps);
    mark_needed(&mut races, &run, &windows, &found, &circle);
    Ok(Explanation {
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

/// Marks the races between places whose conflict was found to matter, about the same
/// variable.
fn mark_needed(
    races: &mut [Race],
    run: &Recorded,
    windows: &[Window],
    orders: &[Order],
    circle: &[Link],
) {
    let windows = windows.iter().filter(|window| !leads_into(circle, window));
    let culprits = windows.filter_map(|window| window.culprit.as_ref());
    let conflicts: Vec<[&Moment; 2]> = culprits
        .flat_map(Culprit::conflicts)
        .chain(orders.iter().map(|order| [&order.first, &order.second]))
        .collect();
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
        orders.filter(|order| !self.is_about_unseen(order.named()))
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
        let chances = self.chances.iter().map(|chance| &chance.ended);
        let windows = self.telling_windows().flat_map(Window::named);
        let orders = self.telling_orders().flat_map(Order::named);
        let stale = self.stale.iter();
        let stale = stale.flat_map(|stale| [&stale.store, &stale.read]);
        circle
            .chain(lifetime)
            .chain(unheard)
            .chain(misdirected)
            .chain(chances)
            .chain(windows)
            .chain(orders)
            .chain(self.unordered.iter().flatten())
            .chain(stale)
            .collect()
    }
}
