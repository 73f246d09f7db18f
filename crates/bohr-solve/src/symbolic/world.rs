//! What a thread meets when it is executed symbolically: its own memory, which is
//! known, and everybody's, which is not.

mod buffered;
mod places;

use super::knowledge::{Knowledge, Touch};
use crate::datum::Datum;
use crate::event::{
    Action, Buffered, Condition, Demand, Event, ReadPiece, Spot, Thread as Acting, WritePiece,
};
use crate::execute::{Halt, Moment, Step, World, handle_of, not_modelled, of_handle};
use crate::memory::{Memory, function_at, is_global};
use crate::path::Run;
use crate::sequence::is_recorded;
use crate::term::{Operator, ReadNumber, Reads, Scalar, Terms};
use bohr_event::{EventKind, ThreadPath};
use bohr_program::{FunctionNumber, IntegerPredicate};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Values of an address that are tried out.
const MOST_ADDRESSES: usize = 16;

/// Which accesses the runtime sees.
pub(super) type Sees<'k> = &'k dyn Fn(Spot) -> bool;

/// An access of the failing thread that may be the one that crashed.
pub(super) struct Suspect {
    pub(super) address: Scalar,
    /// Events of its thread before it.
    pub(super) events: usize,
    pub(super) spot: Spot,
}

/// A read that was known to give one value only.
pub(super) struct Resolved {
    /// Its thread and its number there.
    pub(super) origin: (usize, u32),
    /// Events of its thread before it.
    pub(super) event: usize,
    pub(super) address: Scalar,
    pub(super) size: u32,
}

/// What all threads have in common while they are executed one after the other.
pub(super) struct Shared<'k> {
    pub(super) terms: Terms,
    reads: Reads,
    /// Objects that more than one thread can find, as they were when that began.
    pub(super) initial: Memory,
    constants: BTreeSet<u64>,
    knowledge: &'k Knowledge,
    /// With store buffers: which accesses the runtime sees.
    sees: Option<Sees<'k>>,
    /// The main thread's memory, until it is executed.
    start: Option<Memory>,
    positions: HashMap<ThreadPath, usize>,
    paths: Vec<ThreadPath>,
    children: HashMap<usize, u32>,
    routines: HashMap<usize, (FunctionNumber, Vec<Datum>)>,
    pub(super) results: HashMap<usize, Scalar>,
    barriers: HashMap<u64, u32>,
    pub(super) semaphores: BTreeMap<u64, u64>,
    /// How often the main thread took locks or gave them back before there were others.
    pub(super) steps_alone: u64,
    pub(super) touches: Vec<Touch>,
    /// Which read piece of which thread a read is.
    pub(super) origins: HashMap<ReadNumber, (usize, u32)>,
    /// What a read can give, if that is known.
    possible: HashMap<ReadNumber, &'k [u128]>,
    /// The few numbers that addresses can be.
    pub(super) places: HashMap<Scalar, Option<Vec<u64>>>,
    /// Reads that were known to give one value only.
    pub(super) resolved: Vec<Resolved>,
    pub(super) suspect: Option<Suspect>,
    /// The first operation that was left out for now, and why.
    pub(super) put_off: Option<(Spot, String)>,
    failed: usize,
}

impl<'k> Shared<'k> {
    pub(super) fn new(
        run: &Run,
        memory: Memory,
        constants: BTreeSet<u64>,
        knowledge: &'k Knowledge,
        sees: Option<Sees<'k>>,
    ) -> Shared<'k> {
        let paths: Vec<ThreadPath> = run.threads.iter().map(|way| way.thread.clone()).collect();
        Shared {
            terms: Terms::default(),
            reads: Reads::default(),
            initial: Memory::default(),
            constants,
            knowledge,
            sees,
            start: Some(memory),
            positions: paths.iter().cloned().zip(0..).collect(),
            paths,
            children: HashMap::new(),
            routines: HashMap::new(),
            results: HashMap::new(),
            barriers: HashMap::new(),
            semaphores: BTreeMap::new(),
            steps_alone: 0,
            touches: Vec::new(),
            origins: HashMap::new(),
            possible: HashMap::new(),
            places: HashMap::new(),
            resolved: Vec::new(),
            suspect: None,
            put_off: None,
            failed: run.failed,
        }
    }

    /// The name of a thread.
    pub(super) fn path_of(&self, thread: usize) -> &ThreadPath {
        &self.paths[thread]
    }

    /// What a thread was created to do.
    pub(super) fn routine_of(&mut self, thread: usize) -> Option<(FunctionNumber, Vec<Datum>)> {
        self.routines.remove(&thread)
    }
}

/// The event that accesses belong to.
struct Current {
    moment: Moment,
    reads: Vec<ReadPiece>,
    writes: Vec<WritePiece>,
    /// Where it writes, others notice it or not, and how many bytes.
    stored: Option<(Scalar, u32)>,
}

/// One thread's view.
pub(super) struct Unknown<'s, 'k> {
    shared: &'s mut Shared<'k>,
    thread: usize,
    pub(super) memory: Memory,
    /// Objects that no other thread can find.
    own: BTreeSet<u64>,
    /// No other thread exists yet.
    alone: bool,
    pub(super) events: Vec<Event>,
    conditions: Vec<Condition>,
    pub(super) certain: Option<usize>,
    current: Option<Current>,
    /// Visits of each spot by accesses so far.
    visits: HashMap<Spot, u32>,
    /// Operations of each kind so far.
    kinds: HashMap<EventKind, u32>,
    /// Pieces of memory read so far that others may know.
    pieces: u32,
}

impl<'s, 'k> Unknown<'s, 'k> {
    pub(super) fn new(shared: &'s mut Shared<'k>, thread: usize) -> Unknown<'s, 'k> {
        let memory = match thread {
            0 => shared.start.take().unwrap_or_default(),
            _ => Memory::default(),
        };
        let mut world = Unknown {
            shared,
            thread,
            memory,
            own: BTreeSet::new(),
            alone: thread == 0,
            events: Vec::new(),
            conditions: Vec::new(),
            certain: None,
            current: None,
            visits: HashMap::new(),
            kinds: HashMap::new(),
            pieces: 0,
        };
        if thread != 0 {
            world.push(
                Spot {
                    function: cranelift_entity::EntityRef::new(0),
                    instruction: cranelift_entity::EntityRef::new(0),
                },
                Action::Start,
            );
        }
        world
    }

    /// What the thread has been given is its own.
    pub(super) fn own_everything(&mut self, thread: usize) {
        if thread != 0 {
            self.own = self.memory.bases().collect();
        }
    }

    pub(super) fn finish_thread(self, path: ThreadPath) -> Acting {
        Acting {
            path,
            certain: self.certain.unwrap_or(self.events.len()),
            events: self.events,
            conditions: self.conditions,
        }
    }

    /// An operation is executed that is no access; which of its kind it is.
    fn count(&mut self, kind: Option<EventKind>) -> u32 {
        let Some(kind) = kind else {
            return 1;
        };
        let times = self.kinds.entry(kind).or_default();
        *times += 1;
        *times
    }

    fn push(&mut self, spot: Spot, action: Action) {
        let visit = self.count(action.kind());
        self.events.push(Event {
            action,
            spot,
            visit,
        });
    }

    /// From the first creation of a thread on, globals and what can be found from
    /// them are everybody's.
    fn end_alone(&mut self) {
        self.alone = false;
        let bases: Vec<u64> = self.memory.bases().collect();
        self.own = bases
            .iter()
            .copied()
            .filter(|base| !is_global(*base))
            .collect();
        for base in bases.into_iter().filter(|base| is_global(*base)) {
            self.publish(base);
        }
    }

    /// Others can find an object, and all that can be found from it.
    fn publish(&mut self, base: u64) {
        let mut open = vec![base];
        while let Some(base) = open.pop() {
            let Some(object) = self.memory.snapshot(base) else {
                continue;
            };
            for value in object.contents() {
                open.extend(self.found_by(value));
            }
            self.shared.initial.put(base, object);
        }
    }

    /// The thread's own objects that a value points into; they are its own no more.
    fn found_by(&mut self, value: Scalar) -> Vec<u64> {
        let leaves = match value {
            Scalar::Known(number) => vec![number],
            Scalar::Term(_) => self.shared.terms.leaves(value),
        };
        let mut found = Vec::new();
        for leaf in leaves {
            let object = u64::try_from(leaf)
                .ok()
                .and_then(|leaf| self.memory.object(leaf));
            if let Some((base, _)) = object
                && self.own.remove(&base)
            {
                found.push(base);
            }
        }
        found
    }

    fn give_away(&mut self, value: Scalar) {
        for base in self.found_by(value) {
            self.publish(base);
        }
    }

    /// Whether an address lies in the thread's own memory.
    fn is_own(&self, address: Scalar) -> bool {
        let object = self.memory.object_of(&self.shared.terms, address);
        self.alone || object.is_some_and(|(base, _)| self.own.contains(&base))
    }

    /// Whether an address is one that earlier executions found nobody else to touch,
    /// or nobody to write. Its object is then in the thread's memory.
    fn is_quiet(&mut self, address: Scalar, size: u32, writes: bool) -> bool {
        let object = self.shared.initial.object_of(&self.shared.terms, address);
        let object = object.or_else(|| self.memory.object_of(&self.shared.terms, address));
        let Some((base, length)) = object else {
            return false;
        };
        let constant = !writes && self.shared.constants.contains(&base);
        let known = self.shared.knowledge;
        let quiet = constant
            || match address {
                Scalar::Known(address) => {
                    known.is_quiet(self.thread, address as u64, size.into(), writes)
                }
                Scalar::Term(_) => known.is_quiet(self.thread, base, length, writes),
            };
        if quiet && self.memory.object(base).is_none_or(|found| found.0 != base) {
            match self.shared.initial.snapshot(base) {
                Some(object) => self.memory.put(base, object),
                None => return false,
            }
        }
        quiet
    }

    fn settled(&mut self, address: Scalar) -> Step<Scalar> {
        match (&self.current, address) {
            (Some(current), Scalar::Term(_)) => self.settle(current.moment.spot, address),
            _ => Ok(address),
        }
    }

    /// Whether an access may be the one that the run crashed at.
    fn may_be_last(&self) -> bool {
        self.thread == self.shared.failed && self.certain.is_some()
    }

    /// The only number that an address can be with which the thread goes on, which it
    /// does unless it is about to crash.
    fn only_address(&mut self, address: Scalar) -> Option<u128> {
        if address.known().is_some() || self.may_be_last() {
            return None;
        }
        match self.shared.addresses(address)?[..] {
            [only] => Some(only.into()),
            _ => None,
        }
    }

    fn touch(&mut self, address: Scalar, size: u32, writes: bool) {
        let object = self.shared.initial.object_of(&self.shared.terms, address);
        let places = match address {
            Scalar::Known(address) => Some(vec![address as u64]),
            Scalar::Term(_) => self.shared.addresses(address),
        };
        self.shared.touches.push(Touch {
            thread: self.thread,
            places,
            size,
            writes,
            object,
        });
        if address.known().is_none()
            && self.may_be_last()
            && self.shared.suspect.is_none()
            && let Some(current) = &self.current
        {
            self.shared.suspect = Some(Suspect {
                address,
                events: self.events.len(),
                spot: current.moment.spot,
            });
        }
    }
}

impl World for Unknown<'_, '_> {
    fn terms(&mut self) -> &mut Terms {
        &mut self.shared.terms
    }

    fn begins(&mut self) {
        // Constructors have no place in the recorded order of locks.
        if self.alone {
            self.kinds.clear();
        }
    }

    fn begin(&mut self, moment: Moment) {
        if moment.counts > 0 {
            *self.visits.entry(moment.spot).or_default() += moment.counts;
        }
        self.current = Some(Current {
            moment,
            reads: Vec::new(),
            writes: Vec::new(),
            stored: None,
        });
    }

    fn finish(&mut self) {
        let Some(current) = self.current.take() else {
            return;
        };
        let buffer = self.buffered(&current);
        let spot = current.moment.spot;
        if !current.reads.is_empty() || !current.writes.is_empty() {
            let action = Action::Access {
                reads: current.reads,
                writes: current.writes,
                order: current.moment.order,
                buffer,
            };
            let visit = self.visits.get(&spot).copied().unwrap_or(0);
            self.events.push(Event {
                action,
                spot,
                visit,
            });
        } else if buffer == Buffered::Empty {
            self.drain(spot);
        }
    }

    fn load(&mut self, address: Scalar, size: u32) -> Step<Scalar> {
        let address = self.settled(address)?;
        if self.is_own(address) {
            return self.memory.load(&mut self.shared.terms, address, size);
        }
        let number = self.pieces;
        self.pieces += 1;
        self.touch(address, size, false);
        if self.is_quiet(address, size, false) {
            return self.memory.load(&mut self.shared.terms, address, size);
        }
        if let Some(value) = self.shared.knowledge.resolved(self.thread, number) {
            let event = self.events.len();
            self.shared.resolved.push(Resolved {
                origin: (self.thread, number),
                event,
                address,
                size,
            });
            return Ok(value);
        }
        let Some(current) = &mut self.current else {
            return not_modelled("shared memory that is read on the side");
        };
        let read = self.shared.reads.next();
        self.shared.origins.insert(read, (self.thread, number));
        if let Some(values) = self.shared.knowledge.possible(self.thread, number) {
            self.shared.possible.insert(read, values);
        }
        current.reads.push(ReadPiece {
            address,
            size,
            read,
        });
        Ok(self.shared.terms.read(read))
    }

    fn store(&mut self, address: Scalar, size: u32, value: Scalar) -> Step<()> {
        let address = self.settled(address)?;
        if let Some(current) = &mut self.current {
            let (_, sum) = current.stored.get_or_insert((address, 0));
            *sum = sum.saturating_add(size);
        }
        if self.is_own(address) {
            return self
                .memory
                .store(&mut self.shared.terms, address, size, value);
        }
        self.give_away(value);
        self.touch(address, size, true);
        if self.is_quiet(address, size, true) {
            return self
                .memory
                .store(&mut self.shared.terms, address, size, value);
        }
        let Some(current) = &mut self.current else {
            return not_modelled("shared memory that is written on the side");
        };
        current.writes.push(WritePiece {
            address,
            size,
            value,
        });
        Ok(())
    }

    fn add(&mut self, address: u64, size: u64) -> Step<()> {
        self.memory.add(address, size)?;
        if !self.alone {
            self.own.insert(address);
        }
        Ok(())
    }

    fn act(&mut self, moment: Moment, action: Action) -> Step<()> {
        match self.alone {
            _ if action == Action::Drain => self.drain(moment.spot),
            true => drop(self.count(action.kind())),
            false => self.push(moment.spot, action),
        }
        Ok(())
    }

    fn fork(&mut self, moment: Moment, routine: Scalar, arguments: Vec<Scalar>) -> Step<u64> {
        let was_alone = self.alone;
        if was_alone {
            self.end_alone();
        }
        for argument in &arguments {
            self.give_away(*argument);
        }
        let shared = &mut *self.shared;
        let child = shared.children.entry(self.thread).or_default();
        *child += 1;
        let path = shared.paths[self.thread].child(*child);
        let next = shared.paths.len();
        let position = *shared.positions.entry(path.clone()).or_insert(next);
        if position == next {
            shared.paths.push(path);
        }
        let function = match routine {
            Scalar::Known(address) => function_at(address as u64, usize::MAX),
            Scalar::Term(_) => None,
        };
        let Some(function) = function else {
            return not_modelled("a thread whose routine depends on what others wrote");
        };
        let arguments = arguments.into_iter().map(Datum::from).collect();
        shared.routines.insert(position, (function, arguments));
        self.push(moment.spot, Action::Fork(position));
        // Schedules begin behind the first creation; so do counts.
        if was_alone {
            self.visits.clear();
            let steps = self.kinds.drain().filter(|(kind, _)| is_recorded(*kind));
            self.shared.steps_alone = steps.map(|(_, count)| u64::from(count)).sum();
        }
        Ok(handle_of(position))
    }

    fn join(&mut self, moment: Moment, handle: Scalar) -> Step<Scalar> {
        const WHAT: &str = "a join of a thread that depends on what others wrote";
        let Scalar::Known(handle) = handle else {
            self.puts_off(moment.spot, WHAT);
            return Ok(Scalar::Known(0));
        };
        let Some(thread) = of_handle(handle as u64) else {
            return not_modelled("a join of something that is no thread");
        };
        self.push(moment.spot, Action::Join(thread));
        // The child is executed after its parent; what it returned is known from the
        // execution before.
        let known = self.shared.results.get(&thread).copied();
        Ok(known.unwrap_or(self.shared.knowledge.result(thread)))
    }

    fn demand(&mut self, spot: Spot, holds: Scalar) -> Step<()> {
        match holds {
            Scalar::Known(0) => Err(Halt::OffPath(
                "the log goes another way than the values say".into(),
            )),
            Scalar::Known(_) => Ok(()),
            Scalar::Term(_) => {
                self.conditions.push(Condition {
                    holds,
                    after: self.events.len(),
                    spot,
                    demand: Demand::Path,
                });
                Ok(())
            }
        }
    }

    fn settle(&mut self, spot: Spot, address: Scalar) -> Step<Scalar> {
        let Some(only) = self.only_address(address) else {
            return Ok(address);
        };
        let equal = Operator::CompareIntegers(IntegerPredicate::Equal, 64);
        let operands = [address, Scalar::Known(only)];
        let holds = self.shared.terms.compute(equal, &operands)?;
        self.demand(spot, holds)?;
        Ok(Scalar::Known(only))
    }

    fn puts_off(&mut self, spot: Spot, what: &str) -> bool {
        // What comes behind the crash did not happen.
        if self.may_be_last() && self.shared.suspect.is_some() {
            return true;
        }
        let put_off = &mut self.shared.put_off;
        put_off.get_or_insert_with(|| (spot, what.to_string()));
        true
    }

    fn set_barrier(&mut self, barrier: u64, count: u32) {
        self.shared.barriers.insert(barrier, count);
    }

    fn barrier(&self, barrier: u64) -> u32 {
        self.shared.barriers.get(&barrier).copied().unwrap_or(1)
    }

    fn set_semaphore(&mut self, semaphore: u64, value: u64) {
        self.shared.semaphores.insert(semaphore, value);
    }
}
