//! Concurrent breakpoints under control (Park and Sen, "Concurrent Breakpoints",
//! UCB/EECS-2011-159): a thread at one side of a breakpoint is postponed until
//! its partners come, and then they go on in the order of the sides. The rest is
//! up to another strategy.
//!
//! What deviates from the paper: a postponement has no length. It ends when
//! nobody else can do anything useful, so it costs no time, and the partner comes
//! if any schedule of the others brings it.

mod roll;

use crate::{Decision, Grant, Strategy, View, report};
use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};
use bohr_event::breakpoint::{Breakpoint, Counts, Side, same_memory};
use bohr_event::{ChoiceKind, EventKind, Operation, PlaceNumber, ThreadIndex, ThreadPath};
use roll::Roll;

/// Events that a statement without an end is given before the next side goes on.
const SETTLE: u32 = 64;

/// Where a thread stands with regard to the breakpoints.
#[derive(Clone, Debug, Default)]
struct Standing {
    /// Threads that were created before it.
    created: u64,
    /// Whether its pending operation has been looked at.
    seen: bool,
    /// The side at which it is postponed, and since when.
    held: Option<(usize, usize, u64)>,
    /// It waits until all that run the same code have come, since then.
    called: Option<u64>,
    /// Of those who run the same code, this one goes before it for a moment.
    after: Option<ThreadIndex>,
    /// Events that are left of the moment that it has before the next of them.
    leads: u32,
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
    /// Threads that run the same code, by their number.
    rolls: BTreeMap<u32, Roll>,
    created: u64,
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
            rolls: BTreeMap::new(),
            created: 0,
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
        standing.leads = match operation.kind {
            EventKind::Exit => 0,
            _ => standing.leads.saturating_sub(1),
        };
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

    /// Looks at every operation that is pending for the first time; who comes may have
    /// others looked at again.
    fn arrivals(&mut self, view: &View<'_>) {
        let all = || (0..view.pending.len()).map(|position| ThreadIndex(position as u32));
        while let Some(thread) = all().find(|thread| !self.thread(*thread).seen) {
            self.thread(thread).seen = true;
            // A breakpoint is for who stores, not for the buffer that writes later.
            if !view.is_buffer(thread) {
                self.arrive(thread, view.operation(thread).place, view);
            }
        }
    }

    fn arrive(&mut self, thread: ThreadIndex, place: PlaceNumber, view: &View<'_>) {
        let breakpoints = self.breakpoints;
        if let Some((number, side, _)) = self.thread(thread).inside
            && breakpoints[number].sides[side].until.contains(&place)
        {
            self.finish(thread);
        }
        if !self.is_told_apart(thread, place) {
            return;
        }
        for (number, breakpoint) in breakpoints.iter().enumerate() {
            let sides = breakpoint.sides.iter().enumerate();
            let at = |side: &Side<PlaceNumber>| side.sites.contains(&place);
            let open: Vec<usize> = sides
                .filter(|(_, side)| at(side))
                .map(|(side, _)| side)
                .collect();
            if !open.is_empty() && self.thread(thread).held.is_none() {
                self.reach(thread, number, &open, view);
            }
        }
    }

    /// Whether it is known which thread this is, or nobody asks there. Who comes before
    /// all are there is held up, and looked at again then.
    fn is_told_apart(&mut self, thread: ThreadIndex, place: PlaceNumber) -> bool {
        let sides = self.breakpoints.iter().flat_map(|one| &one.sides);
        let here = sides.filter(|side| side.sites.contains(&place));
        let ranks: Vec<u32> = here.filter_map(|side| Some(side.rank?.of)).collect();
        // Before there are others, whoever comes is none of those who are alike.
        let alone = self.created < 2;
        let own = self.thread(thread).created;
        for of in ranks.into_iter().filter(|_| !alone) {
            let roll = self.rolls.entry(of).or_insert_with(|| Roll::new(of));
            if roll.has(own) {
                continue;
            }
            let was_open = roll.is_open();
            roll.join(own);
            if was_open && roll.has(own) {
                self.threads[thread.position()].called = Some(self.time);
                self.go_on_after_calls();
                return false;
            }
        }
        true
    }

    /// Those who waited until all had come go on one after the other, if all have.
    fn go_on_after_calls(&mut self) {
        let mut ready: Vec<(u64, usize)> = Vec::new();
        for (position, standing) in self.threads.iter_mut().enumerate() {
            let mut rolls = self.rolls.values();
            let waits = rolls.any(|roll| roll.is_open() && roll.has(standing.created));
            if standing.called.is_some() && !waits {
                standing.called = None;
                ready.push((standing.created, position));
            }
        }
        ready.sort_unstable();
        for (number, (_, position)) in ready.iter().enumerate() {
            let before = number.checked_sub(1).map(|before| ready[before].1);
            let standing = &mut self.threads[*position];
            standing.leads = SETTLE;
            standing.after = before.map(|before| ThreadIndex(before as u32));
            standing.seen = before.is_some();
        }
    }

    /// Has those look who come after one that has had its moment, or is held up itself.
    fn follow(&mut self) {
        for position in 0..self.threads.len() {
            let Some(before) = self.threads[position].after else {
                continue;
            };
            let leader = &self.threads[before.position()];
            if leader.leads == 0 || leader.held.is_some() {
                self.threads[position].after = None;
                self.threads[position].seen = false;
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
        let is_it = wanted.rank.is_none_or(|rank| {
            let roll = self.rolls.get(&rank.of);
            let created = self.threads[thread.position()].created;
            roll.is_some_and(|roll| roll.number(created) == Some(rank.number))
        });
        holds && its_turn && is_it && self.visits[number][side] > wanted.ignore_first
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
                let comes_after = standing.behind.is_some() || standing.after.is_some();
                standing.called.is_none() && standing.held.is_none() && !comes_after
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
        // Whoever comes next: of those whom it waits for nobody waits for another.
        let is_next = |standing: &Standing| {
            let before = standing
                .behind
                .map(|before| &self.threads[before.position()]);
            before.is_some_and(|before| before.behind.is_none())
        };
        let next = standings().find(|(_, standing)| is_next(standing));
        let behind = next.or_else(|| standings().find(|(_, one)| one.behind.is_some()));
        if let Some((&thread, _)) = behind {
            self.thread(thread).behind = None;
            return true;
        }
        // The first of them, whose leader cannot go on.
        let after = standings().filter(|(_, standing)| standing.after.is_some());
        if let Some((&thread, _)) = after.min_by_key(|(_, standing)| standing.created) {
            self.thread(thread).after = None;
            self.thread(thread).seen = false;
            self.arrivals(view);
            return true;
        }
        let since = |standing: &Standing| {
            let held = standing.held.map(|(_, _, since)| since);
            held.into_iter().chain(standing.called).min()
        };
        let held = standings().filter_map(|(thread, standing)| Some((since(standing)?, *thread)));
        let Some((_, thread)) = held.min_by_key(|(since, _)| *since) else {
            return false;
        };
        if self.thread(thread).called.is_some() {
            let created = self.thread(thread).created;
            let open = self.rolls.values_mut().filter(|roll| roll.has(created));
            open.for_each(Roll::close);
            self.go_on_after_calls();
            self.arrivals(view);
            return true;
        }
        if let Some((number, _, _)) = self.thread(thread).held.take() {
            self.counts[number].timed_out += 1;
        }
        true
    }
}

impl Strategy for Postponing<'_> {
    fn thread_started(&mut self, thread: ThreadIndex, path: &ThreadPath) {
        *self.thread(thread) = Standing {
            created: self.created,
            ..Standing::default()
        };
        self.created += 1;
        self.strategy.thread_started(thread, path);
    }

    fn decide(&mut self, view: &View<'_>) -> Decision {
        self.time += 1;
        self.account(view);
        self.follow();
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
mod tests;
