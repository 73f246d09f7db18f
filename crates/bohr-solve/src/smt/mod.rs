//! The constraints as a script in SMT-LIB 2, for any solver that knows integers and
//! bit vectors. Every event has a moment, an integer; every read a value, a vector of
//! bits. What is stated is what the ordering solver searches: [`super::order`] has the
//! words, [`crate::model`] the store buffers. All of it is stated at once, so the text
//! grows with the cube of the accesses to one place: it is meant for small cases.
//!
//! Floating-point numbers, and divisions and shifts by what is not known, are not
//! expressed; whoever needs them is told which.

mod term;
#[cfg(test)]
mod tests;

use crate::event::{Action, Demand, EventId, Problem};
use crate::model::{Chains, NodeNumber};
use crate::order::encode::{Choice, Choices, OddBarrier, Section, Write};
use crate::term::{ReadNumber, Scalar};
use bohr_event::MemoryModel;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use term::{Words, known};

/// Why there is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SmtError {
    /// A computation that is not expressed.
    #[error("not expressed in SMT-LIB: {0}; `bohr solve --by order` needs no words for it")]
    Inexpressible(String),
    /// A barrier that is not modelled.
    #[error(transparent)]
    Barrier(#[from] OddBarrier),
}

/// The largest object whose first contents are listed for an address that is not known.
const LARGEST: u64 = 1 << 12;

/// The constraints; with a bound, those on the number of preemptions, too.
///
/// # Errors
/// If something is not modelled or not expressed.
pub fn script(
    problem: &Problem,
    model: MemoryModel,
    bound: Option<usize>,
) -> Result<String, SmtError> {
    let chains = Chains::of(problem, model);
    let choices = Choices::of(problem, &chains, usize::MAX)?;
    let mut script = Script {
        problem,
        chains,
        choices,
        text: String::new(),
    };
    script.head(model);
    script.moments();
    script.values()?;
    script.reads()?;
    script.conditions()?;
    script.needs();
    script.locks();
    if let Some(bound) = bound {
        script.switches(bound);
    }
    script.text.push_str("(check-sat)\n(get-model)\n");
    Ok(script.text)
}

struct Script<'p> {
    problem: &'p Problem,
    chains: Chains,
    choices: Choices,
    text: String,
}

/// All of them; nothing is true.
fn all(parts: impl IntoIterator<Item = String>) -> String {
    joined("and", "true", parts)
}

/// One of them; nothing is false.
fn any(parts: impl IntoIterator<Item = String>) -> String {
    joined("or", "false", parts)
}

fn joined(word: &str, nothing: &str, parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().collect();
    match &parts[..] {
        [] => nothing.to_string(),
        [only] => only.clone(),
        _ => format!("({word} {})", parts.join(" ")),
    }
}

fn moment(node: NodeNumber) -> String {
    format!("m{}", node.0)
}

fn before(first: NodeNumber, second: NodeNumber) -> String {
    format!("(< {} {})", moment(first), moment(second))
}

fn implies(reason: &str, what: &str) -> String {
    match reason {
        "true" => what.to_string(),
        _ => format!("(=> {reason} {what})"),
    }
}

impl Script<'_> {
    fn assert(&mut self, what: &str) {
        let _ = writeln!(self.text, "(assert {what})");
    }

    fn group(&mut self, name: &str) {
        let _ = writeln!(self.text, "; {name}");
    }

    fn head(&mut self, model: MemoryModel) {
        let _ = writeln!(
            self.text,
            "; an order of recorded events that shows the recorded failure, under {model}\n\
             (set-option :produce-models true)\n(set-logic ALL)"
        );
    }

    /// Whether an event happens.
    fn present(&self, id: EventId) -> String {
        match id.event < self.problem.threads[id.thread].certain {
            true => "true".to_string(),
            false => format!("p{}_{}", id.thread, id.event),
        }
    }

    /// It happens, or nothing is said.
    fn absent(&self, id: EventId) -> Option<String> {
        let present = self.present(id);
        (present != "true").then(|| format!("(not {present})"))
    }

    /// Each thread's own order, creations, joins, barriers and store buffers.
    fn moments(&mut self) {
        self.group("memory order");
        for number in 0..self.chains.nodes.len() {
            let node = self.chains.nodes[number];
            let path = &self.problem.threads[node.event.thread].path;
            let what = if node.commits { "commit of " } else { "" };
            let _ = writeln!(
                self.text,
                "(declare-const {} Int) ; {what}event {} of thread {path}",
                moment(NodeNumber(number)),
                node.event.event,
            );
        }
        let mut edges: Vec<(NodeNumber, NodeNumber)> = Vec::new();
        for chain in &self.chains.chains {
            edges.extend(chain.windows(2).map(|pair| (pair[0], pair[1])));
        }
        edges.extend(&self.chains.fixed);
        edges.extend(&self.choices.barriers);
        for (first, second) in edges {
            self.assert(&before(first, second));
        }
        for (thread, acting) in self.problem.threads.iter().enumerate() {
            for event in acting.certain..acting.events.len() {
                let _ = writeln!(self.text, "(declare-const p{thread}_{event} Bool)");
                if event > acting.certain {
                    let earlier = event - 1;
                    self.assert(&format!("(=> p{thread}_{event} p{thread}_{earlier})"));
                }
            }
        }
    }

    /// What reads give, and what is computed of it.
    fn values(&mut self) -> Result<(), SmtError> {
        self.group("values");
        let mut sizes: BTreeMap<ReadNumber, u32> = BTreeMap::new();
        for (_, event) in self.problem.events() {
            if let Action::Access { reads, .. } = &event.action {
                sizes.extend(reads.iter().map(|piece| (piece.read, piece.size)));
            }
        }
        let wanted = self.wanted();
        let mut words = Words::new(&self.problem.terms);
        for value in wanted {
            words.define(value, &sizes)?;
        }
        self.text.push_str(&words.text);
        // A read that nothing depends on still gets what was written.
        for (read, size) in sizes {
            if !words.has_read(read) {
                self.text.push_str(&term::declare(read, size));
            }
        }
        Ok(())
    }

    /// Everything that is spoken of.
    fn wanted(&self) -> BTreeSet<Scalar> {
        let mut wanted = BTreeSet::new();
        for thread in &self.problem.threads {
            wanted.extend(thread.conditions.iter().map(|one| one.holds));
        }
        for write in &self.choices.writes {
            wanted.extend([write.address, write.value]);
        }
        for choice in &self.choices.choices {
            wanted.insert(choice.address);
            for address in self.first_places(choice).unwrap_or_default() {
                let bytes = 0..u64::from(choice.size);
                wanted.extend(bytes.map(|at| self.problem.initial_byte(address + at)));
            }
        }
        wanted
    }

    /// Where a choice may find what was there in the beginning, if it may.
    fn first_places(&self, choice: &Choice) -> Option<Vec<u64>> {
        if !choice.candidates.contains(&None) {
            return Some(Vec::new());
        }
        let offset = u64::from(choice.offset);
        match choice.address {
            Scalar::Known(address) => Some(vec![address as u64 + offset]),
            Scalar::Term(_) => {
                let initial = &self.problem.initial;
                let (base, size) = initial.object_of(&self.problem.terms, choice.address)?;
                let last = size.checked_sub(u64::from(choice.size))?;
                (size <= LARGEST).then(|| (0..=last).map(|at| base + at).collect())
            }
        }
    }

    /// Each read gets what was written last.
    fn reads(&mut self) -> Result<(), SmtError> {
        self.group("read-write");
        for number in 0..self.choices.choices.len() {
            let choice = self.choices.choices[number].clone();
            let mut ways = Vec::new();
            for candidate in &choice.candidates {
                ways.push(match candidate {
                    Some(write) => self.gets_write(&choice, &self.choices.writes[*write]),
                    None => self.gets_first(&choice)?,
                });
            }
            let present = self.present(choice.id);
            self.assert(&implies(&present, &any(ways)));
        }
        Ok(())
    }

    /// The part of a read that a choice is about.
    fn part(&self, choice: &Choice) -> String {
        term::slice(&term::read(choice.read), choice.offset * 8, choice.size * 8)
    }

    fn gets_write(&self, choice: &Choice, write: &Write) -> String {
        let read = self.chains.event(choice.id);
        let visible = self.chains.visible(write.id);
        let value = known(write.value);
        let (mut parts, skipped) = match (choice.address, write.address) {
            (Scalar::Known(at), Scalar::Known(from)) => {
                let start = at as u64 + u64::from(choice.offset);
                (Vec::new(), start.saturating_sub(from as u64) as u32)
            }
            (at, from) => (
                vec![format!("(= {} {})", known(at), known(from))],
                choice.offset,
            ),
        };
        let written = term::slice(&value, skipped * 8, choice.size * 8);
        parts.push(format!("(= {} {written})", self.part(choice)));
        let present = self.present(write.id);
        parts.extend((present != "true").then_some(present));
        let own = write.id.thread == choice.id.thread;
        // A thread's own store may still wait in its buffer.
        let waits = own && self.chains.stores.contains_key(&write.id);
        let waiting = waits.then(|| before(read, visible));
        if !own {
            parts.push(before(visible, read));
        }
        for other in self.others(choice, Some(write.id)) {
            let mine = other.id.thread == choice.id.thread;
            let seen = self.chains.visible(other.id);
            let mut allowed = self.apart(choice, other);
            allowed.extend(self.absent(other.id));
            match (own, mine) {
                (true, true) if other.id < write.id => continue,
                (true, true) => {}
                (true, false) => {
                    allowed.extend(waiting.clone());
                    allowed.extend([before(seen, visible), before(read, seen)]);
                }
                (false, true) => allowed.push(before(seen, visible)),
                (false, false) => allowed.extend([before(seen, visible), before(read, seen)]),
            }
            parts.push(any(allowed));
        }
        all(parts)
    }

    fn gets_first(&self, choice: &Choice) -> Result<String, SmtError> {
        let read = self.chains.event(choice.id);
        let places = self.first_places(choice).ok_or_else(|| {
            SmtError::Inexpressible("what lay at an address that may be anywhere".to_string())
        })?;
        let found = places.into_iter().map(|place| {
            let bytes = (0..choice.size).map(|at| {
                let byte = known(self.problem.initial_byte(place + u64::from(at)));
                let part = term::slice(&term::read(choice.read), (choice.offset + at) * 8, 8);
                format!("(= {part} {byte})")
            });
            let there = match choice.address {
                Scalar::Known(_) => None,
                address => {
                    let start = place - u64::from(choice.offset);
                    Some(format!("(= {} {})", known(address), known(start.into())))
                }
            };
            all(there.into_iter().chain(bytes))
        });
        let mut parts = vec![any(found)];
        for other in self.others(choice, None) {
            let mut allowed = self.apart(choice, other);
            allowed.extend(self.absent(other.id));
            if other.id.thread != choice.id.thread {
                allowed.push(before(read, self.chains.visible(other.id)));
            }
            parts.push(any(allowed));
        }
        Ok(all(parts))
    }

    /// Writes to the place of a choice that do not surely come behind it, but for one.
    fn others<'s>(
        &'s self,
        choice: &'s Choice,
        but: Option<EventId>,
    ) -> impl Iterator<Item = &'s Write> + 's {
        self.choices.writes.iter().filter(move |write| {
            let late = self.choices.before.is_before(choice.id, write.id);
            let same = write.id == choice.id || Some(write.id) == but;
            !late && !same && self.may_meet(choice, write)
        })
    }

    fn may_meet(&self, choice: &Choice, write: &Write) -> bool {
        let object = |address| self.problem.initial.object_of(&self.problem.terms, address);
        match (choice.address, write.address) {
            (Scalar::Known(at), Scalar::Known(from)) => {
                let start = at as u64 + u64::from(choice.offset);
                let from = from as u64;
                start < from + u64::from(write.size) && from < start + u64::from(choice.size)
            }
            (at, from) => match (object(at), object(from)) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            },
        }
    }

    /// That a choice and a write are about different places, if that depends.
    fn apart(&self, choice: &Choice, write: &Write) -> Vec<String> {
        if choice.address.known().is_some() && write.address.known().is_some() {
            return Vec::new();
        }
        let start = term::plus(&known(choice.address), choice.offset);
        let from = known(write.address);
        vec![
            format!("(bvuge {start} {})", term::plus(&from, write.size)),
            format!("(bvuge {from} {})", term::plus(&start, choice.size)),
        ]
    }

    /// The threads go the way they went, and the failure is the recorded one.
    fn conditions(&mut self) -> Result<(), SmtError> {
        for (name, demand) in [("path", Demand::Path), ("bug", Demand::Bug)] {
            self.group(name);
            for (thread, acting) in self.problem.threads.iter().enumerate() {
                for condition in acting.conditions.iter().filter(|one| one.demand == demand) {
                    let last = condition.after.checked_sub(1);
                    let present = last.map(|event| self.present(EventId { thread, event }));
                    let present = present.unwrap_or_else(|| "true".to_string());
                    let holds = format!("(= {} {})", known(condition.holds), known(1u64.into()));
                    self.assert(&implies(&present, &holds));
                }
            }
        }
        Ok(())
    }

    /// Waiters need a signal each, takers of a semaphore a permit.
    fn needs(&mut self) {
        self.group("synchronisation");
        let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (number, need) in std::mem::take(&mut self.choices.needs)
            .into_iter()
            .enumerate()
        {
            let mut some = Vec::new();
            for (index, (provider, single)) in need.providers.into_iter().enumerate() {
                let name = format!("s{number}_{index}");
                let _ = writeln!(self.text, "(declare-const {name} Bool)");
                let mut parts = vec![before(provider, need.node)];
                parts.extend(need.behind.map(|behind| before(behind, provider)));
                let present = self.present(self.chains.node(provider).event);
                parts.extend((present != "true").then_some(present));
                self.assert(&implies(&name, &all(parts)));
                if single {
                    users
                        .entry(moment(provider))
                        .or_default()
                        .push(name.clone());
                }
                some.push(name);
            }
            for (semaphore, permit) in need.permits {
                let name = format!("s{number}_of{semaphore}_{permit}");
                let _ = writeln!(self.text, "(declare-const {name} Bool)");
                let key = format!("{semaphore}_{permit}");
                users.entry(key).or_default().push(name.clone());
                some.push(name);
            }
            let present = self.present(self.chains.node(need.node).event);
            self.assert(&implies(&present, &any(some)));
        }
        for names in users.into_values() {
            for (index, one) in names.iter().enumerate() {
                for other in &names[index + 1..] {
                    self.assert(&format!("(not (and {one} {other}))"));
                }
            }
        }
    }

    /// A lock has one holder.
    fn locks(&mut self) {
        let sections = std::mem::take(&mut self.choices.sections);
        let sections: BTreeMap<u64, Vec<Section>> = sections.into_iter().collect();
        for all in sections.values() {
            for (index, first) in all.iter().enumerate() {
                for second in &all[index + 1..] {
                    if first.thread != second.thread && !(first.shared && second.shared) {
                        let apart = self.exclusion(first, second);
                        self.assert(&apart);
                    }
                }
            }
        }
    }

    fn exclusion(&self, first: &Section, second: &Section) -> String {
        let mut ways = Vec::new();
        for (one, other) in [(first, second), (second, first)] {
            ways.extend(self.absent(self.chains.node(one.taken).event));
            if let Some(given) = one.given {
                let mut parts = vec![before(given, other.taken)];
                let present = self.present(self.chains.node(given).event);
                parts.extend((present != "true").then_some(present));
                ways.push(all(parts));
            }
        }
        any(ways)
    }

    /// At most so many events are not right behind the one before them.
    fn switches(&mut self, bound: usize) {
        self.group("bound on preemptions");
        let mut counted = Vec::new();
        for chain in 0..self.chains.threads {
            for position in 1..self.chains.chains[chain].len() {
                let nodes = &self.chains.chains[chain];
                let (earlier, node) = (nodes[position - 1], nodes[position]);
                let id = self.chains.node(node).event;
                if crate::order::waits(&self.problem.event(id).action) {
                    continue;
                }
                let name = format!("w{chain}_{position}");
                let _ = writeln!(self.text, "(declare-const {name} Bool)");
                let others = (0..self.chains.threads).filter(|other| *other != chain);
                let others: Vec<NodeNumber> = others
                    .flat_map(|other| self.chains.chains[other].iter().copied())
                    .collect();
                for other in others {
                    let mut ways = vec![name.clone(), before(other, earlier), before(node, other)];
                    ways.extend(self.absent(self.chains.node(other).event));
                    ways.extend(self.absent(id));
                    self.assert(&any(ways));
                }
                counted.push(format!("(ite {name} 1 0)"));
            }
        }
        if !counted.is_empty() {
            self.assert(&format!("(<= (+ 0 {}) {bound})", counted.join(" ")));
        }
    }
}
