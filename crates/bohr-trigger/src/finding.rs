//! One of the findings of an explanation, by itself: breakpoints can be made from
//! it, whether a failure came of it or not.

use bohr_explain::{Explanation, Moment};

/// An explanation with nothing but its N-th finding, counted from 1 in the order in
/// which they are told; its races come behind, and then its lock orders.
#[must_use]
pub fn finding(all: &Explanation, number: usize) -> Option<Explanation> {
    findings(all).nth(number.checked_sub(1)?)
}

fn findings(all: &Explanation) -> impl Iterator<Item = Explanation> {
    let mut run = all.run.clone();
    // What others were about to do at the failure is no part of any finding.
    run.pending.clear();
    let bare = Explanation {
        run,
        ..Explanation::default()
    };
    let mut parts: Vec<Explanation> = Vec::new();
    let mut add = |fill: &dyn Fn(&mut Explanation)| {
        let mut part = bare.clone();
        fill(&mut part);
        parts.push(part);
    };
    if !all.circle.is_empty() {
        add(&|part| part.circle.clone_from(&all.circle));
    }
    if let Some(lifetime) = &all.lifetime {
        add(&|part| part.lifetime = Some(lifetime.clone()));
    }
    for chance in &all.chances {
        add(&|part| part.chances = vec![chance.clone()]);
    }
    for signal in &all.misdirected {
        add(&|part| part.misdirected = vec![signal.clone()]);
    }
    for stolen in &all.stolen {
        // Who has to come in between is told by the windows and orders that it stands for.
        add(&|part| {
            part.stolen = vec![stolen.clone()];
            part.windows.clone_from(&all.windows);
            part.orders.clone_from(&all.orders);
        });
    }
    for window in all.telling_windows() {
        add(&|part| part.windows = vec![window.clone()]);
    }
    for order in all.telling_orders() {
        add(&|part| part.orders = vec![order.clone()]);
    }
    for pair in &all.unordered {
        add(&|part| part.unordered = vec![pair.clone()]);
    }
    for unheard in all.telling_unheard() {
        add(&|part| part.unheard = vec![unheard.clone()]);
    }
    for race in &all.races {
        let pair = [race.first, race.second].map(|event| Moment::at(&all.run, event));
        add(&|part| part.unordered = vec![pair.clone()]);
    }
    for cycle in &all.lock_cycles {
        add(&|part| part.circle = cycle.as_circle(&all.run));
    }
    parts.into_iter()
}
