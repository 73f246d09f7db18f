//! Concurrent breakpoints under control (Park and Sen, "Concurrent Breakpoints",
//! UCB/EECS-2011-159): a thread at one side of a breakpoint is postponed until
//! its partners come, and then they go on in the order of the sides. The rest is
//! up to another strategy.
//!
//! What deviates from the paper: a postponement has no length. It ends when
//! nobody else can do anything useful, so it costs no time, and the partner comes
//! if any schedule of the others brings it.

use crate::{Decision, Grant, Strategy, View, report};
use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};
use bohr_event::breakpoint::{Breakpoint, Counts, Side, same_memory};
use bohr_event::{ChoiceKind, EventKind, Operation, PlaceNumber, ThreadIndex, ThreadPath};

/// Events that a statement without an end is given before the next side goes on.
const SETTLE: u32 = 64;

/// Where a thread stands with regard to the breakpoints.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// Whether its pending operation has been looked at.
    seen: bool,
    /// The side at which it is postponed, and since when.
    held: Option<(usize, usize, u64)>,
    /// It waits for this thread, which goes first.
    behind: Option<ThreadIndex>,
    /// In the middle of the statement of a side; events that it has left.
    inside: Option<(usize, usize, u32)>,
    /// Locks that it holds.
    locks: Vec<u64>,
    /// Its visits, by breakpoint and side.
    visits: BTreeMap<(usize, usize), u64>,
}

/// See the module.
pub struct Postponing<'a> {
    breakpoints: &'a [Breakpoint<PlaceNumber>],
    strategy: Box<dyn Strategy + 'a>,
    threads: Vec<Standing>,
    /// Visits by breakpoint and side.
    visits: Vec<Vec<u64>>,
    counts: Vec<Counts>,
    enabled: Vec<ThreadIndex>,
    /// Decisions so far.
    time: u64,
    /// What was granted last: who, and what it was about to do.
    granted: Option<(ThreadIndex, Operation)>,
    learnt: Vec<u8>,
}

impl<'a> Postponing<'a> {
    /// Has `strategy` decide about those who are not postponed.
    #[must_use]
    pub fn new(
        breakpoints: &'a [Breakpoint<PlaceNumber>],
        strategy: Box<dyn Strategy + 'a>,
    ) -> Postponing<'a> {
        Postponing {
            breakpoints,
            strategy,
            threads: Vec::new(),
            visits: breakpoints
                .iter()
                .map(|one| vec![0; one.sides.len()])
                .collect(),
            counts: vec![Counts::default(); breakpoints.len()],
            enabled: Vec::new(),
            time: 0,
            granted: None,
            learnt: Vec::new(),
        }
    }

    fn thread(&mut self, thread: ThreadIndex) -> &mut Standing {
        let needed = thread.position() + 1;
        if self.threads.len() < needed {
            self.threads.resize_with(needed, Standing::default);
        }
        &mut self.threads[thread.position()]
    }

    /// What has become of the last grant.
    fn account(&mut self, view: &View<'_>) {
        let Some((thread, operation)) = self.granted.take() else {
            return;
        };
        let ran = view
            .last
            .is_some_and(|last| last.thread == thread && last.events > 0);
        if !ran {
            return;
        }
        let standing = self.thread(thread);
        standing.seen = false;
        match operation.kind {
            EventKind::Acquire => standing.locks.push(operation.object),
            EventKind::Release => standing.locks.retain(|lock| *lock != operation.object),
            EventKind::Free => self.free(&operation, view),
            _ => {}
        }
        let standing = self.thread(thread);
        if let Some((_, _, left)) = &mut standing.inside {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.finish(thread);
            }
        }
    }

    /// Memory was freed: who is postponed for it will find something else there.
    fn free(&mut self, freed: &Operation, view: &View<'_>) {
        let memory = |operation: &Operation| (operation.object, u64::from(operation.size));
        for (position, standing) in self.threads.iter().enumerate() {
            let Some((number, side, _)) = standing.held else {
                continue;
            };
            let held = view.operation(ThreadIndex(position as u32));
            let known = held.object != 0 && freed.object != 0;
            let same = known && same_memory(memory(freed), memory(held));
            if same && self.breakpoints[number].same_object {
                let counts = &mut self.counts[number];
                counts.freed += 1;
                counts.freed_at = u32::try_from(freed.place.offset()).ok();
                counts.freed_side = side as u64;
            }
        }
    }

    /// The statement of a side is over: who waits for it may go on.
    fn finish(&mut self, thread: ThreadIndex) {
        self.thread(thread).inside = None;
        for standing in &mut self.threads {
            if standing.behind == Some(thread) {
                standing.behind = None;
            }
        }
    }

    /// Looks at every operation that is pending for the first time.
    fn arrivals(&mut self, view: &View<'_>) {
        for position in 0..view.pending.len() {
            let thread = ThreadIndex(position as u32);
            let standing = self.thread(thread);
            if standing.seen {
                continue;
            }
            standing.seen = true;
            // A breakpoint is for who stores, not for the buffer that writes later.
            if view.is_buffer(thread) {
                continue;
            }
            self.arrive(thread, view.operation(thread).place, view);
        }
    }

    fn arrive(&mut self, thread: ThreadIndex, place: PlaceNumber, view: &View<'_>) {
        let breakpoints = self.breakpoints;
        for (number, breakpoint) in breakpoints.iter().enumerate() {
            let sides = breakpoint.sides.iter().enumerate();
            let at = |side: &Side<PlaceNumber>| side.sites.contains(&place);
            let open: Vec<usize> = sides
                .filter(|(_, side)| at(side))
                .map(|(side, _)| side)
                .collect();
            let inside = self
                .thread(thread)
                .inside
                .filter(|(one, _, _)| *one == number);
            let ends = |side: usize| breakpoint.sides[side].until.contains(&place);
            if inside.is_some_and(|(_, side, _)| ends(side)) {
                self.finish(thread);
            }
            if !open.is_empty() && self.thread(thread).held.is_none() {
                self.reach(thread, number, &open, view);
            }
        }
    }

    fn reach(&mut self, thread: ThreadIndex, number: usize, sides: &[usize], view: &View<'_>) {
        self.counts[number].visits += 1;
        for side in sides {
            self.counts[number].side_visits[*side] += 1;
        }
        let open: Vec<usize> = sides
            .iter()
            .copied()
            .filter(|side| self.counts_at(thread, number, *side))
            .collect();
        let open: Vec<usize> = open
            .into_iter()
            .filter(|side| !self.is_kept(thread, number, *side))
            .collect();
        if open.is_empty() || self.is_asleep(number) {
            return;
        }
        let complete = open
            .iter()
            .find_map(|side| self.partners(thread, number, *side, view));
        match complete {
            Some(partners) => self.meet(number, &partners),
            None => {
                // One waits at each side; who comes after it may be the partner at
                // another.
                let vacant = |side: &usize| self.waiting_at(thread, number, *side, view).is_none();
                if let Some(side) = open.iter().copied().find(vacant) {
                    self.counts[number].postponed += 1;
                    let held = (number, side, self.time);
                    self.thread(thread).held = Some(held);
                }
            }
        }
    }

    fn is_asleep(&self, number: usize) -> bool {
        let bound = self.breakpoints[number].at_most;
        bound.is_some_and(|bound| self.counts[number].hits >= bound)
    }

    /// Whether a thread has met others there at another side, and the side after its own
    /// has not begun. That it comes by belongs to that meeting: it meets nobody else there.
    fn is_kept(&self, thread: ThreadIndex, number: usize, from: usize) -> bool {
        let mut others = self.threads.iter();
        let inside = self.threads[thread.position()].inside;
        inside.is_some_and(|(one, side, _)| one == number && side != from)
            && others.any(|other| other.behind == Some(thread))
    }

    /// Whether a visit of a side counts.
    fn counts_at(&mut self, thread: ThreadIndex, number: usize, side: usize) -> bool {
        self.visits[number][side] += 1;
        let own = self
            .thread(thread)
            .visits
            .entry((number, side))
            .or_default();
        *own += 1;
        let own = *own;
        let wanted = &self.breakpoints[number].sides[side];
        let locks = &self.threads[thread.position()].locks;
        let holds = wanted.holding.iter().all(|lock| locks.contains(lock));
        let its_turn = wanted.nth.is_none_or(|nth| nth == own);
        holds && its_turn && self.visits[number][side] > wanted.ignore_first
    }

    fn meet(&mut self, number: usize, partners: &[ThreadIndex]) {
        self.counts[number].hits += 1;
        let breakpoint = &self.breakpoints[number];
        for (order, &who) in partners.iter().enumerate() {
            let exact = !breakpoint.sides[order].until.is_empty();
            let standing = self.thread(who);
            standing.held = None;
            standing.inside = Some((number, order, if exact { u32::MAX } else { SETTLE }));
            standing.behind = order.checked_sub(1).map(|before| partners[before]);
        }
    }

    /// Who waits at a side and could meet a thread.
    fn waiting_at(
        &self,
        own: ThreadIndex,
        number: usize,
        side: usize,
        view: &View<'_>,
    ) -> Option<ThreadIndex> {
        let breakpoint = &self.breakpoints[number];
        let memory = |thread: ThreadIndex| {
            let operation = view.operation(thread);
            (operation.object, u64::from(operation.size))
        };
        let mut others = self.threads.iter().enumerate().filter(|(_, standing)| {
            let held = standing.held;
            held.is_some_and(|(one, two, _)| (one, two) == (number, side))
        });
        let found = others.find(|(position, _)| {
            let other = ThreadIndex(*position as u32);
            !breakpoint.same_object || same_memory(memory(own), memory(other))
        });
        found.map(|(position, _)| ThreadIndex(position as u32))
    }

    /// Who meets, by side, if somebody is at every other one.
    fn partners(
        &self,
        own: ThreadIndex,
        number: usize,
        side: usize,
        view: &View<'_>,
    ) -> Option<Vec<ThreadIndex>> {
        let sides = 0..self.breakpoints[number].sides.len();
        let at = |wanted: usize| match wanted == side {
            true => Some(own),
            false => self.waiting_at(own, number, wanted, view),
        };
        sides.map(at).collect()
    }

    /// Keeps those who are not postponed; if nobody of them can do anything
    /// useful, lets somebody go.
    fn choose_enabled(&mut self, view: &View<'_>) {
        loop {
            let free = |thread: &ThreadIndex| {
                let standing = &self.threads[thread.position()];
                standing.held.is_none() && standing.behind.is_none()
            };
            let free: Vec<ThreadIndex> = view.enabled.iter().copied().filter(free).collect();
            let useful = free.iter().any(|thread| !view.spins(*thread));
            self.enabled = free;
            if useful || !self.release(view) {
                return;
            }
        }
    }

    /// Lets go of somebody who could go on: who waits for its turn, or else who
    /// was postponed first.
    fn release(&mut self, view: &View<'_>) -> bool {
        let standings = || {
            view.enabled
                .iter()
                .map(|thread| (thread, &self.threads[thread.position()]))
        };
        let behind = standings().find(|(_, standing)| standing.behind.is_some());
        if let Some((&thread, _)) = behind {
            self.thread(thread).behind = None;
            return true;
        }
        let held = standings().filter_map(|(thread, standing)| Some((standing.held?, *thread)));
        let Some(((number, _, _), thread)) = held.min_by_key(|((_, _, since), _)| *since) else {
            return false;
        };
        self.counts[number].timed_out += 1;
        self.thread(thread).held = None;
        true
    }
}

impl Strategy for Postponing<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        *self.thread(thread) = Standing::default();
        self.strategy.thread_started(thread, path);
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.time += 1;
        self.account(view);
        self.arrivals(view);
        self.choose_enabled(view);
        let enabled = core::mem::take(&mut self.enabled);
        let decision = self.strategy.decide(&View {
            enabled: match enabled.is_empty() {
                true => view.enabled,
                false => &enabled,
            },
            ..*view
        });
        self.enabled = enabled;
        let Decision::Run(grant) = decision else {
            return decision;
        };
        self.granted = Some((grant.thread, *view.operation(grant.thread)));
        // Every operation has to be seen before it happens.
        Decision::Run(Grant::once(grant.thread))
    }

    fn is_asked_alone(&self) -> bool {
        true
    }

    fn choose(&mut self, thread: ThreadIndex, kind: ChoiceKind, options: u32) -> u32 {
        self.strategy.choose(thread, kind, options)
    }

    /// The [`Counts`] of all breakpoints.
    fn report(&mut self, _: &View<'_>) -> &[u8] {
        self.learnt = report::write(&self.counts);
        &self.learnt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Outcome, Program, Step, Step::*, run};
    use crate::walk::RandomWalk;

    /// Before a step of a toy thread.
    fn at(thread: u16, step: u64) -> Side<PlaceNumber> {
        Side {
            sites: vec![PlaceNumber::new(thread, step)],
            ..Side::default()
        }
    }

    fn breakpoint(sides: Vec<Side<PlaceNumber>>) -> Vec<Breakpoint<PlaceNumber>> {
        vec![Breakpoint {
            sides,
            same_object: true,
            ..Breakpoint::default()
        }]
    }

    fn outcome(
        program: &Program,
        breakpoints: &[Breakpoint<PlaceNumber>],
        seed: u64,
    ) -> (Outcome, Vec<Counts>) {
        let mut strategy = Postponing::new(breakpoints, Box::new(RandomWalk::new(seed)));
        let outcome = run(program, &mut strategy).outcome;
        let view = View {
            pending: &[],
            enabled: &[],
            last: None,
        };
        (outcome, report::read(strategy.report(&view)).unwrap())
    }

    /// Two threads that add 1 to a variable; the last digit of a place is its step.
    fn lost_update() -> Program {
        let add: Vec<Step> = vec![Set(1, 1), Read(0), Add(0, 1), Set(2, 1)];
        vec![vec![Fork(1), Fork(2), Join(1), Join(2)], add.clone(), add]
    }

    /// Where the toy machine says that a thread is about to do its `step`-th.
    fn place_of(program: &Program, thread: u32, wanted: EventKind, nth: usize) -> PlaceNumber {
        let run = run(program, &mut RandomWalk::new(1));
        let own = run.machine.trace.iter().filter(|(who, operation)| {
            who.0 == thread && operation.kind == wanted && operation.object == 0
        });
        own.map(|(_, operation)| operation.place).nth(nth).unwrap()
    }

    #[test]
    fn an_update_is_lost_every_time() {
        let program = lost_update();
        let side = |thread: u32| {
            let place = place_of(&program, thread, EventKind::Write, 0);
            at(place.object(), place.offset())
        };
        let breakpoints = breakpoint(vec![side(1), side(2)]);
        for seed in 0..50 {
            let (outcome, counts) = outcome(&program, &breakpoints, seed);
            let Outcome::Ended(variables) = outcome else {
                panic!("{outcome:?}")
            };
            assert_eq!((variables[0], counts[0].hits), (1, 1), "seed {seed}");
        }
        let none = (0..50)
            .filter(|seed| outcome(&program, &[], *seed).0 == outcome(&program, &breakpoints, 0).0);
        assert!(none.count() < 50, "by chance it is not");
    }

    #[test]
    fn who_has_gone_first_passes_the_later_side() {
        let add: Vec<Step> = vec![Set(0, 1), Set(1, 1)];
        let program: Program = vec![vec![Fork(1), Fork(2), Join(1), Join(2)], add.clone(), add];
        let places = |object: u64| {
            let run = run(&program, &mut RandomWalk::new(1));
            let own = run.machine.trace.iter();
            let own = own.filter(|(_, operation)| {
                operation.kind == EventKind::Write && operation.object == object
            });
            let mut sites: Vec<PlaceNumber> = own.map(|(_, operation)| operation.place).collect();
            sites.sort_unstable();
            sites.dedup();
            Side {
                sites,
                ..Side::default()
            }
        };
        let breakpoints = [Breakpoint {
            sides: vec![places(0), places(1)],
            ..Breakpoint::default()
        }];
        for seed in 0..50 {
            let (_, counts) = outcome(&program, &breakpoints, seed);
            let Counts {
                postponed,
                hits,
                side_visits,
                ..
            } = counts[0];
            assert_eq!((postponed, hits), (1, 1), "seed {seed}");
            assert_eq!(side_visits[..2], [2, 2], "seed {seed}");
        }
    }

    #[test]
    fn a_thread_whose_partner_does_not_come_goes_on() {
        let program: Program = vec![
            vec![Fork(1), Set(0, 1), Join(1)],
            vec![Set(1, 1), Set(0, 2)],
        ];
        let place = place_of(&program, 1, EventKind::Write, 0);
        let breakpoints = breakpoint(vec![at(place.object(), place.offset()), at(7, 7)]);
        for seed in 0..20 {
            let (outcome, counts) = outcome(&program, &breakpoints, seed);
            assert!(matches!(outcome, Outcome::Ended(_)), "{outcome:?}");
            let Counts {
                postponed,
                hits,
                timed_out,
                ..
            } = counts[0];
            assert_eq!((postponed, hits, timed_out), (1, 0, 1), "seed {seed}");
        }
    }
}
