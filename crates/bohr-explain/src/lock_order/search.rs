//! Cycles among dependencies: the join of iGoodlock, depth first, along the locks.

use super::Taking;
use super::dependency::{Dependency, Hold, Lock, Watch};
use super::history::can_come;
use std::collections::HashMap;

/// Dependencies that are looked at as the next one of a chain, over all chains.
pub const MOST_LOOKS: usize = 1 << 20;

/// The cycles among all that was kept of an execution.
pub fn cycles(watch: &Watch) -> Vec<Vec<Taking>> {
    let all = &watch.dependencies;
    let left = trimmed(all);
    let mut holders: HashMap<Lock, Vec<usize>> = HashMap::new();
    for &number in &left {
        for hold in &all[number].held {
            holders.entry(hold.lock).or_default().push(number);
        }
    }
    let mut search = Search {
        watch,
        holders,
        looks: 0,
        found: Vec::new(),
    };
    for number in left {
        search.extend(&mut vec![&all[number]]);
    }
    search.found
}

/// The dependencies that are left when those are taken out, again and again, of which
/// nobody holds what they want or wants what they hold.
fn trimmed(all: &[Dependency]) -> Vec<usize> {
    let mut uses: HashMap<Lock, Uses> = HashMap::new();
    for (number, dependency) in all.iter().enumerate() {
        uses.entry(dependency.lock).or_default().wants.push(number);
        for hold in &dependency.held {
            uses.entry(hold.lock).or_default().holds.push(number);
        }
    }
    let mut count: HashMap<Lock, [usize; 2]> = { uses.iter() }
        .map(|(lock, uses)| (*lock, [uses.wants.len(), uses.holds.len()]))
        .collect();
    let mut is_left = vec![true; all.len()];
    let mut doubtful: Vec<usize> = (0..all.len()).collect();
    while let Some(number) = doubtful.pop() {
        let Dependency { lock, held, .. } = &all[number];
        let leads_on = count[lock][1] > 0;
        let led_to = held.iter().any(|hold| count[&hold.lock][0] > 0);
        if !is_left[number] || leads_on && led_to {
            continue;
        }
        is_left[number] = false;
        let mut take_out = |lock: &Lock, which: usize| {
            let left = count.get_mut(lock).map_or(0, |count| {
                count[which] -= 1;
                count[which]
            });
            left == 0
        };
        if take_out(lock, 0) {
            doubtful.extend(&uses[lock].holds);
        }
        for hold in held {
            if take_out(&hold.lock, 1) {
                doubtful.extend(&uses[&hold.lock].wants);
            }
        }
    }
    (0..all.len()).filter(|number| is_left[*number]).collect()
}

/// The dependencies that are about a lock.
#[derive(Default)]
struct Uses {
    wants: Vec<usize>,
    holds: Vec<usize>,
}

struct Search<'a> {
    watch: &'a Watch,
    /// By what they hold.
    holders: HashMap<Lock, Vec<usize>>,
    looks: usize,
    found: Vec<Vec<Taking>>,
}

impl<'a> Search<'a> {
    /// Goes on with a chain: each wants what the next one holds. The first of a chain
    /// is of the smallest thread, so that every cycle is met once.
    fn extend(&mut self, chain: &mut Vec<&'a Dependency>) {
        let last = chain[chain.len() - 1];
        let next = self.holders.get(&last.lock).cloned().unwrap_or_default();
        for number in next {
            self.looks += 1;
            if self.looks > MOST_LOOKS {
                return;
            }
            let next = &self.watch.dependencies[number];
            if next.thread <= chain[0].thread || !self.fits(chain, next) {
                continue;
            }
            chain.push(next);
            match what_keeps_out(next, chain[0]) {
                Some(_) => self.close(chain),
                None => self.extend(chain),
            }
            chain.pop();
        }
    }

    /// Whether a dependency can be the next one of a chain: what the last one wants it
    /// holds, and it can be there while all the others are.
    fn fits(&self, chain: &[&Dependency], next: &Dependency) -> bool {
        what_keeps_out(chain[chain.len() - 1], next).is_some()
            && chain.iter().all(|other| self.can_be_at_once(other, next))
    }

    fn can_be_at_once(&self, one: &Dependency, other: &Dependency) -> bool {
        let excluded = |hold: &Hold| {
            let mut held = other.held.iter();
            held.any(|theirs| theirs.excludes(hold.lock, hold.shared))
        };
        let points = [one, other].map(|dependency| (dependency.thread, dependency.event));
        one.thread != other.thread
            && !one.held.iter().any(excluded)
            && !self.watch.timeline.precedes(points[0], points[1])
            && !self.watch.timeline.precedes(points[1], points[0])
    }

    fn close(&mut self, chain: &[&Dependency]) {
        if !can_come(self.watch, chain) {
            return;
        }
        let links = chain.iter().enumerate().filter_map(|(position, own)| {
            let before = chain[(position + chain.len() - 1) % chain.len()];
            Some(Taking {
                held: what_keeps_out(before, own)?.event as usize,
                wanted: own.event as usize,
            })
        });
        self.found.push(links.collect());
    }
}

/// What one wants and the other holds.
fn what_keeps_out<'h>(one: &Dependency, other: &'h Dependency) -> Option<&'h Hold> {
    let mut held = other.held.iter();
    held.find(|hold| hold.excludes(one.lock, one.shared))
}
