//! An explanation in words: what every form of output is made from.

use crate::columns::Columns;
use crate::finding::Finding;
use crate::told::{Teller, Told};
use bohr_event::control::Recorded;
use bohr_explain::{Explanation, LockCycle, Moment, Order, Race, Taking, Window};
use serde::Serialize;

/// The bug, as far as a story tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bug {
    /// Tag of its signature.
    pub signature: String,
    /// How it fails, in a word.
    pub kind: String,
    /// What is known without an explanation: message and stacks.
    pub description: String,
}

/// A window in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldWindow {
    thread: String,
    opens: Option<Told>,
    closes: Option<Told>,
    intrusion: Option<Told>,
    culprit: Option<ToldCulprit>,
    width: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ToldCulprit {
    before: Option<Told>,
    between: Told,
    then: Option<Told>,
    after: Option<Told>,
}

impl ToldWindow {
    fn of(window: &Window, teller: &mut dyn Teller) -> ToldWindow {
        let culprit = window.culprit.as_ref();
        let between = culprit.map(|culprit| teller.tell(&culprit.between));
        let mut tell = |moment: &Option<Moment>| moment.as_ref().map(|moment| teller.tell(moment));
        ToldWindow {
            thread: window.thread.to_string(),
            opens: tell(&window.opens),
            closes: tell(&window.closes),
            intrusion: tell(&window.intrusion),
            culprit: culprit.zip(between).map(|(culprit, between)| ToldCulprit {
                before: tell(&culprit.before),
                between,
                then: tell(&culprit.then),
                after: tell(&culprit.after),
            }),
            width: window.width,
        }
    }
}

/// Two moments in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldOrder {
    first: Told,
    second: Told,
}

/// A race in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldRace {
    /// The earlier access.
    pub first: Told,
    /// The later one.
    pub second: Told,
    /// How many there are at the two places.
    pub count: u64,
    /// Whether the failure needs it.
    pub needed: bool,
}

/// A thread that takes a lock and has another one, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldTaking {
    /// How it took the one that it has.
    pub holds: Told,
    /// How it takes the other one.
    pub takes: Told,
}

/// A lock order that can deadlock, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToldLockCycle {
    /// Each takes what the next one has, the last one what the first has.
    pub threads: Vec<ToldTaking>,
    /// How many there are at the same places.
    pub count: u64,
}

impl ToldLockCycle {
    fn of(cycle: &LockCycle, run: &Recorded, teller: &mut dyn Teller) -> ToldLockCycle {
        let mut tell = |event| teller.tell(&Moment::at(run, event));
        let mut taking = |link: &Taking| ToldTaking {
            holds: tell(link.held),
            takes: tell(link.wanted),
        };
        ToldLockCycle {
            threads: cycle.links.iter().map(&mut taking).collect(),
            count: cycle.count,
        }
    }

    /// Who takes what where, and since where has what.
    #[must_use]
    pub fn sentence(&self) -> String {
        let clauses = self.threads.iter().map(|ToldTaking { holds, takes }| {
            format!(
                "{} takes {} at {} and has {} since {}",
                takes.thread,
                takes.object,
                takes.place(),
                holds.object,
                holds.place()
            )
        });
        clauses.collect::<Vec<_>>().join("; ")
    }

    /// The moments that the sentence names, in its order.
    pub fn moments(&self) -> impl Iterator<Item = &Told> {
        self.threads.iter().flat_map(|one| [&one.takes, &one.holds])
    }
}

/// See the module.
pub struct Story {
    /// Which bug.
    pub bug: Bug,
    /// What it takes to fail, the most telling first.
    pub findings: Vec<Finding>,
    /// The preemptions that it takes.
    pub windows: Vec<ToldWindow>,
    /// Earlier preemptions, which were not looked at.
    pub unexamined: u64,
    /// The orders that it takes.
    pub orders: Vec<ToldOrder>,
    /// Accesses that nothing orders.
    pub races: Vec<ToldRace>,
    /// Lock orders that did not make it fail, and can make another run.
    pub lock_cycles: Vec<ToldLockCycle>,
    /// The simplest failing run.
    pub columns: Columns,
    /// Its events.
    pub events: usize,
    /// Its switches.
    pub switches: usize,
}

impl Story {
    /// Tells an explanation.
    pub fn new(bug: Bug, explanation: &Explanation, teller: &mut dyn Teller) -> Story {
        let run = &explanation.run;
        let windows = explanation.windows.iter();
        let windows = windows
            .map(|window| ToldWindow::of(window, teller))
            .collect();
        let orders = explanation.orders.iter().map(|order: &Order| ToldOrder {
            first: teller.tell(&order.first),
            second: teller.tell(&order.second),
        });
        let orders = orders.collect();
        let races = explanation.races.iter().map(|race: &Race| ToldRace {
            first: teller.tell(&Moment::at(run, race.first)),
            second: teller.tell(&Moment::at(run, race.second)),
            count: race.count,
            needed: race.needed,
        });
        let mut races: Vec<ToldRace> = races.collect();
        races.sort_by_key(|race| !race.needed);
        let cycles = explanation.lock_cycles.iter();
        let lock_cycles = cycles.map(|cycle| ToldLockCycle::of(cycle, run, teller));
        Story {
            lock_cycles: lock_cycles.collect(),
            bug,
            findings: findings(explanation, teller),
            windows,
            orders,
            races,
            unexamined: explanation.unexamined,
            columns: Columns::new(explanation, teller),
            events: run.steps.len(),
            switches: run.schedule.switches(),
        }
    }

    /// What it takes to fail, a sentence each.
    #[must_use]
    pub fn verdict(&self) -> Vec<&str> {
        let findings = self.findings.iter();
        findings.map(|finding| finding.sentence.as_str()).collect()
    }
}

fn findings(explanation: &Explanation, teller: &mut dyn Teller) -> Vec<Finding> {
    let mut found = Vec::new();
    if !explanation.circle.is_empty() {
        found.push(Finding::of_circle(&explanation.circle, teller));
    }
    let lifetime = explanation.lifetime.iter();
    found.extend(lifetime.map(|lifetime| Finding::of_lifetime(lifetime, teller)));
    let chances = explanation.chances.iter();
    found.extend(chances.map(|chance| Finding::of_chance(chance, teller)));
    let misdirected = explanation.misdirected.iter();
    found.extend(misdirected.map(|signal| Finding::of_misdirected(signal, teller)));
    let stolen = explanation.stolen.iter();
    found.extend(stolen.map(|stolen| Finding::of_stolen(stolen, teller)));
    let windows = explanation.telling_windows();
    found.extend(windows.map(|window| Finding::of_window(window, teller)));
    let orders = explanation.telling_orders();
    found.extend(orders.map(|order| Finding::of_order(order, teller)));
    let stale = explanation.stale.iter();
    found.extend(stale.map(|stale| Finding::of_stale(stale, teller)));
    let unordered = explanation.unordered.iter();
    found.extend(unordered.map(|pair| Finding::of_race(pair, teller)));
    let unheard = explanation.telling_unheard();
    found.extend(unheard.map(|unheard| Finding::of_unheard(unheard, teller)));
    found
}
