//! What people call the addresses and places of a run.

use crate::atlas::{Atlas, Spot};
use crate::verdict::{is_library, is_written, written_spot};
use crate::vocabulary::Vocabulary;
use bohr_event::abi::{MAIN_STACK, THREAD_SLOTS};
use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, Stream, ThreadIndex, ThreadPath};
use bohr_explain::ObjectName;
use std::collections::{BTreeMap, HashMap};

/// See the module.
pub struct Names<'a> {
    atlas: &'a mut Atlas,
    threads: &'a [ThreadPath],
    allocations: Allocations,
    /// Who had blocks allocated, by where these begin: what the place of the
    /// allocation does not tell if a library made it.
    origins: HashMap<u64, Spot>,
    vocabulary: Vocabulary,
}

/// The heap blocks of a run, by where they begin; of those that begin at one
/// address, in the order in which they came.
#[derive(Default)]
struct Allocations {
    blocks: BTreeMap<u64, Vec<(usize, Operation)>>,
    /// Size of the largest.
    largest: u64,
}

impl Allocations {
    fn of(steps: &[Step]) -> Allocations {
        let mut found = Allocations::default();
        let operations = steps.iter().map(|step| step.operation).enumerate();
        for (event, operation) in operations.filter(|it| it.1.kind == EventKind::Alloc) {
            found.largest = found.largest.max(u64::from(operation.size));
            let here = found.blocks.entry(operation.object).or_default();
            // A block that is given out again and again is one.
            here.retain(|(_, older)| older.size > operation.size);
            here.push((event, operation));
        }
        found
    }

    /// The last allocation of the block that an address lies in.
    fn holding(&self, address: u64) -> Option<Operation> {
        let first = address.saturating_sub(self.largest);
        let near = self
            .blocks
            .range(first..=address)
            .flat_map(|(_, here)| here);
        let holding = near.filter(|(_, block)| address - block.object < u64::from(block.size));
        let last = holding.max_by_key(|(event, _)| *event);
        last.map(|(_, block)| *block)
    }
}

impl<'a> Names<'a> {
    /// Of a run with these threads and events.
    pub fn new(atlas: &'a mut Atlas, threads: &'a [ThreadPath], steps: &[Step]) -> Names<'a> {
        let vocabulary = Vocabulary::of(atlas, steps, &[]);
        Names::with(atlas, threads, steps, vocabulary)
    }

    /// The same with what the events tell.
    pub fn with(
        atlas: &'a mut Atlas,
        threads: &'a [ThreadPath],
        steps: &[Step],
        vocabulary: Vocabulary,
    ) -> Names<'a> {
        Names {
            atlas,
            threads,
            allocations: Allocations::of(steps),
            origins: HashMap::new(),
            vocabulary,
        }
    }

    /// Takes in whose code had the block allocated that begins at an address.
    pub fn learn_origin(&mut self, block: u64, origin: Spot) {
        self.origins.insert(block, origin);
    }

    /// The name of a thread.
    #[must_use]
    pub fn thread(&self, thread: ThreadIndex) -> String {
        match self.threads.get(thread.position()) {
            Some(path) => path.to_string(),
            None => format!("#{}", thread.0),
        }
    }

    /// The line of the source, in the program's own code if it can be.
    pub fn spot(&mut self, place: PlaceNumber) -> Spot {
        written_spot(self.atlas, place)
    }

    /// Whether a place lies in the program's own code.
    #[must_use]
    pub fn is_own_code(&self, place: PlaceNumber) -> bool {
        self.atlas.is_own_code(place)
    }

    /// The same spot with its file called as the model calls it. Line tables have
    /// whole paths where the model has what the compiler was told.
    #[must_use]
    pub fn as_modelled(&self, spot: Spot) -> Spot {
        let Some(line) = spot.line.as_ref().filter(|line| line.starts_with('/')) else {
            return spot;
        };
        let files = self.atlas.models().iter().flat_map(|model| {
            let paths = model.files.values();
            paths.map(|file| model.texts[file.path].as_ref())
        });
        let same = |file: &&str| {
            let (path, _) = line.rsplit_once(':').unwrap_or((line, ""));
            let rest = path.strip_suffix(file);
            rest.is_some_and(|folder| folder.ends_with('/')) && !file.is_empty()
        };
        let Some(file) = files.filter(same).max_by_key(|file| file.len()) else {
            return spot;
        };
        let number = line.rsplit(':').next().unwrap_or_default();
        Spot {
            line: Some(format!("{file}:{number}")),
            ..spot
        }
    }

    /// Whether a place lies in code that the program's author wrote, or in a
    /// library's code that was put inline there.
    pub fn is_written(&mut self, place: PlaceNumber) -> bool {
        is_written(self.atlas, place)
    }

    /// The line of a place and of the calls that were put inline around it.
    pub fn chain(&mut self, place: PlaceNumber) -> Vec<String> {
        let spots = self.atlas.spots(place).into_iter();
        spots.filter_map(|spot| spot.line).collect()
    }

    /// The variable, lock or thread that an operation is about.
    pub fn object(&mut self, operation: &Operation) -> String {
        let address = operation.object;
        if let Some(thread) = ThreadIndex::from_object(address) {
            return format!("thread {}", self.thread(thread));
        }
        if let Some(stream) = spoken_stream(operation) {
            return stream;
        }
        if let Some(global) = self.atlas.global(address) {
            return global;
        }
        let found = self.vocabulary.part(self.atlas, operation);
        // The place in a block tells which of several it is.
        let (vague, exact) = match found {
            Some(found) if found.is_vague => (Some(found.name), None),
            exact => (None, exact),
        };
        exact
            .map(|found| self.part(&found))
            .or_else(|| self.block(address))
            .or(vague)
            .unwrap_or_else(|| format!("{address:#x}"))
    }

    /// Where an address lies that nothing else is known of.
    #[must_use]
    pub fn region(&self, address: u64) -> String {
        if MAIN_STACK.contains(&address) {
            return "a variable on the stack of thread 0".to_string();
        }
        if THREAD_SLOTS.contains(&address) {
            return "a variable on the stack of a thread".to_string();
        }
        match self.atlas.file_around(address) {
            Some(file) => format!("a variable of {file}"),
            None => format!("{address:#x}"),
        }
    }

    /// The name of an operation's object, or else in which memory it lies: an address
    /// says nothing to anybody.
    pub fn object_or_region(&mut self, operation: &Operation) -> String {
        let name = self.object(operation);
        match name == format!("{:#x}", operation.object) {
            true => self.region(operation.object),
            false => name,
        }
    }

    /// What bears the name of an operation's object, where others may be called the same: the
    /// variable or object that it is a part of, a lock itself, or the heap block that it
    /// lies in.
    pub fn bearer(&mut self, operation: &Operation) -> Option<u64> {
        use EventKind::{Acquire, AcquireShared, Release, ReleaseShared};
        if let Some(start) = self.atlas.global_start(operation.object) {
            return Some(start);
        }
        let found = self.vocabulary.part(self.atlas, operation);
        if let Some((start, _)) = found.and_then(|found| found.object) {
            return Some(start);
        }
        match operation.kind {
            Acquire | AcquireShared | Release | ReleaseShared => Some(operation.object),
            _ => {
                let block = self.allocations.holding(operation.object)?;
                Some(block.object)
            }
        }
    }

    /// A part of an object; which element, if there are several in one block.
    fn part(&mut self, found: &ObjectName) -> String {
        let element = found.object.and_then(|(start, size)| {
            let block = self.allocations.holding(start)?;
            let several = u64::from(block.size) >= 2 * size;
            let position = (start - block.object) / size.max(1);
            several.then(|| format!(" [{position}]"))
        });
        format!("{}{}", found.name, element.unwrap_or_default())
    }

    /// The heap block that an address lies in, by who points to it or by where it
    /// came from.
    fn block(&mut self, address: u64) -> Option<String> {
        let allocation = self.allocations.holding(address)?;
        if let Some(pointer) = self.vocabulary.pointer_into(&allocation) {
            return Some(pointer);
        }
        let known = self.origins.get(&allocation.object).cloned();
        let spot = known.unwrap_or_else(|| self.spot(allocation.place));
        let (offset, size) = (address - allocation.object, allocation.size);
        // That a library has memory allocated somewhere says nothing.
        Some(match is_library(&spot) {
            true => format!("byte {offset} of a block of {size} bytes"),
            false => format!("byte {offset} of the {size} bytes (from {spot})"),
        })
    }
}

/// How a pipe or the like is called that an operation is about.
#[must_use]
pub fn spoken_stream(operation: &Operation) -> Option<String> {
    if operation.is_on_streams() {
        return Some("any stream".to_string());
    }
    let Stream(number) = Stream::from_object(operation.object)?;
    Some(format!("stream {}", number + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bohr_event::MemoryOrder;
    use proptest::prelude::*;

    fn allocation(object: u64, size: u32, place: u64) -> Step {
        Step {
            thread: ThreadIndex(0),
            operation: Operation {
                kind: EventKind::Alloc,
                order: MemoryOrder::Plain,
                size,
                object,
                place: PlaceNumber(place),
            },
        }
    }

    proptest! {
        #[test]
        fn the_last_block_that_holds_an_address_is_found(
            blocks in prop::collection::vec((0u64..60, 0u32..20), 0..30),
            address in 0u64..90,
        ) {
            let numbered = (0..).zip(&blocks);
            let steps: Vec<Step> = numbered
                .map(|(number, &(object, size))| allocation(object, size, number))
                .collect();
            let holds = |step: &&Step| {
                let end = step.operation.object + u64::from(step.operation.size);
                (step.operation.object..end).contains(&address)
            };
            let expected = steps.iter().rfind(holds).map(|step| step.operation);
            prop_assert_eq!(Allocations::of(&steps).holding(address), expected);
        }
    }
}
