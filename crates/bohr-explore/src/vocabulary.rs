//! What the accesses of a run tell about its variables: what they are called,
//! and what they are worth as an explanation.

use crate::atlas::Atlas;
use crate::verdict::is_written;
use crate::worth::{OWNER_SOURCES, Touched};
use bohr_event::control::Step;
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};
use bohr_explain::{Importance, ObjectName, Objects};
use bohr_program::{Libraries, Owner};
use std::collections::{BTreeMap, HashMap, HashSet};

/// See the module.
#[derive(Default)]
pub struct Vocabulary {
    objects: Objects,
    /// By address; what is not in it is data.
    importance: HashMap<u64, Importance>,
}

/// Where the locks of Rust's own library are made.
const LOCK_SOURCES: [&str; 5] = [
    "library/std/src/sync/poison",
    "library/std/src/sync/barrier",
    "library/std/src/sync/once",
    "library/std/src/sync/lazy_lock",
    "library/std/src/sys/sync/",
];

/// Words in the names of the files and folders in which packages make theirs.
const LOCK_WORDS: [&str; 9] = [
    "barrier",
    "condvar",
    "lock",
    "mutex",
    "once",
    "parker",
    "parking",
    "rwlock",
    "semaphore",
];

/// Bytes of a pointer.
const POINTER_SIZE: u32 = 8;

/// What the variables of Rust's own libraries begin with.
const PRIVATE: [&str; 3] = ["std::", "core::", "alloc::"];

impl Vocabulary {
    /// Of a run with these events, and what they read or wrote, as far as it is known.
    pub fn of(atlas: &mut Atlas, steps: &[Step], values: &[Option<u64>]) -> Vocabulary {
        let mut objects = Objects::beside(atlas.libraries());
        let mut touched = Touched::default();
        let mut blocks = BTreeMap::new();
        let mut known = HashSet::new();
        for (event, step) in steps.iter().enumerate() {
            let Operation {
                kind,
                object,
                size,
                place,
                ..
            } = step.operation;
            touched.take_in(atlas, event, step);
            if kind == EventKind::Alloc {
                let end = object.saturating_add(u64::from(size));
                objects.forget(object..end);
                blocks.insert(object, end);
            }
            if !kind.is_access() {
                continue;
            }
            let site = atlas.site(place);
            if let Some((program, site)) = site {
                objects.learn(program, site, object);
            }
            // Heap blocks of libraries have no name but that of the field which points
            // to them. Fields on stacks do not count: other objects lie there later; nor
            // do those that point to themselves, as short strings do.
            let block = |address: u64| {
                let below = blocks.range(..=address).next_back();
                below.filter(|(_, end)| address < **end)
            };
            let value = values.get(event).copied().flatten();
            if let Some(pointer) = value.filter(|_| size == POINTER_SIZE)
                && let (Some(from), Some(to)) = (block(object), block(pointer))
                && from != to
                && known.insert((object, pointer))
            {
                objects.learn_pointer(site, object, pointer);
            }
        }
        learn_calls(&mut objects, atlas, steps);
        Vocabulary {
            importance: importance(&objects, atlas, &touched),
            objects,
        }
    }

    /// One event for each atomic variable of which types do not tell whether it
    /// belongs to a lock: in code that is not optimised, the functions of the library
    /// that make a lock are not put inline, and take a pointer to a number. Whoever
    /// called them tells more.
    pub fn doubtful(&self, atlas: &mut Atlas, steps: &[Step]) -> Vec<usize> {
        let mut first: HashMap<u64, (usize, ThreadIndex, bool)> = HashMap::new();
        let mut written: HashMap<PlaceNumber, bool> = HashMap::new();
        for (event, step) in steps.iter().enumerate() {
            let Operation { kind, place, .. } = step.operation;
            let atomic = step.operation.order > MemoryOrder::Plain;
            let known = self.importance.contains_key(&step.operation.object);
            if !kind.is_access() || !atomic || known {
                continue;
            }
            let is_written = written
                .entry(place)
                .or_insert_with(|| is_written(atlas, place));
            let entry = first.entry(step.operation.object);
            let (_, thread, wanted) = entry.or_insert((event, step.thread, false));
            *wanted |= *thread != step.thread && !*is_written;
        }
        let wanted = first.into_values().filter(|(_, _, wanted)| *wanted);
        let mut events: Vec<usize> = wanted.map(|(event, _, _)| event).collect();
        events.sort_unstable();
        events
    }

    /// Takes in who called what accessed an address: the author's own code, or the
    /// library for a lock.
    pub fn learn_stack(&mut self, atlas: &mut Atlas, address: u64, frames: &[PlaceNumber]) {
        let packages = atlas.libraries() == Libraries::Packages;
        for &frame in frames {
            for line in atlas.spots(frame).into_iter().filter_map(|spot| spot.line) {
                let from = |sources: &[&str]| sources.iter().any(|part| line.contains(part));
                if from(&LOCK_SOURCES) || packages && makes_lock(&line) {
                    self.importance.insert(address, Importance::Lock);
                    return;
                }
                if from(&OWNER_SOURCES) {
                    self.importance.insert(address, Importance::Private);
                    return;
                }
            }
            if is_written(atlas, frame) {
                return;
            }
        }
    }

    /// The part of an object on heap or stack.
    pub fn part(&mut self, atlas: &Atlas, operation: &Operation) -> Option<ObjectName> {
        self.objects
            .name(atlas.site(operation.place), operation.object)
    }

    /// The pointer by which some access got into a block.
    #[must_use]
    pub fn pointer_into(&self, block: &Operation) -> Option<String> {
        let end = block.object + u64::from(block.size);
        let name = self.objects.pointer_into(block.object..end)?;
        Some(name.to_string())
    }

    /// What an access is worth as an explanation.
    #[must_use]
    pub fn importance(&self, operation: &Operation) -> Importance {
        let known = self.importance.get(&operation.object);
        known.copied().unwrap_or(Importance::Data)
    }
}

/// Whether a line belongs to a package's way to lock something.
fn makes_lock(line: &str) -> bool {
    let inside = line.rsplit_once("/src/").map_or("", |(_, inside)| inside);
    let mut words = inside.split(|letter: char| !letter.is_ascii_alphanumeric());
    Owner::of_file(line) == Owner::Fetched && words.any(|word| LOCK_WORDS.contains(&word))
}

/// What calls tell about the locks and conditions that they were given.
fn learn_calls(objects: &mut Objects, atlas: &mut Atlas, steps: &[Step]) {
    let models = atlas.models().to_vec();
    let mut known = HashSet::new();
    for operation in steps.iter().map(|step| &step.operation) {
        let outside = !operation.kind.is_access() && operation.kind.takes_object();
        let new = outside && known.insert((operation.place, operation.kind, operation.object));
        if new && atlas.is_own_code(operation.place) {
            let spots = atlas.spots(operation.place).into_iter();
            let lines: Vec<String> = spots.filter_map(|spot| spot.line).collect();
            for model in &models {
                objects.learn_call(model, &lines, operation.kind, operation.object);
            }
        }
    }
}

/// The importance of all addresses that are worth less than data.
fn importance(objects: &Objects, atlas: &mut Atlas, touched: &Touched) -> HashMap<u64, Importance> {
    let nobodys = touched.of_nobody();
    let private = |name: String| PRIVATE.iter().any(|start| name.starts_with(start));
    let mut found = HashMap::new();
    for address in touched.addresses() {
        if nobodys.contains(&address) || atlas.global(address).is_some_and(private) {
            found.insert(address, Importance::Private);
        } else if objects.is_lock(address) {
            found.insert(address, Importance::Lock);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_make_locks_where_they_say_so() {
        let package = |file: &str| format!("/home/me/.cargo/registry/src/mirror-1f/p-0.1/{file}:7");
        for file in [
            "src/raw_mutex.rs",
            "src/mutex/spin.rs",
            "src/thread_parker/linux.rs",
            "src/sharded_lock.rs",
            "src/parking_lot.rs",
        ] {
            assert!(makes_lock(&package(file)), "{file}");
        }
        for file in ["src/block.rs", "src/clock.rs", "src/queue.rs"] {
            assert!(!makes_lock(&package(file)), "{file}");
        }
        assert!(!makes_lock("/home/me/program/src/mutex.rs:7"));
    }
}
