//! What people call the addresses and places of a run.

use crate::atlas::{Atlas, Spot};
use crate::verdict::written_spot;
use crate::vocabulary::Vocabulary;
use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex, ThreadPath};

/// See the module.
pub struct Names<'a> {
    atlas: &'a mut Atlas,
    threads: &'a [ThreadPath],
    steps: &'a [Step],
    vocabulary: Vocabulary,
}

impl<'a> Names<'a> {
    /// Of a run with these threads and events.
    pub fn new(atlas: &'a mut Atlas, threads: &'a [ThreadPath], steps: &'a [Step]) -> Names<'a> {
        let vocabulary = Vocabulary::of(atlas, steps);
        Names::with(atlas, threads, steps, vocabulary)
    }

    /// The same with what the events tell.
    pub fn with(
        atlas: &'a mut Atlas,
        threads: &'a [ThreadPath],
        steps: &'a [Step],
        vocabulary: Vocabulary,
    ) -> Names<'a> {
        Names {
            atlas,
            threads,
            steps,
            vocabulary,
        }
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
        self.atlas
            .global(address)
            .or_else(|| self.part(operation))
            .or_else(|| self.block(address))
            .unwrap_or_else(|| format!("{address:#x}"))
    }

    /// The field of the object that an address lies in; which element, if there
    /// are several in one block.
    fn part(&mut self, operation: &Operation) -> Option<String> {
        let found = self.vocabulary.part(self.atlas, operation)?;
        let element = found.object.and_then(|(start, size)| {
            let block = self.allocation(start)?;
            let several = u64::from(block.size) >= 2 * size;
            let position = (start - block.object) / size.max(1);
            several.then(|| format!(" [{position}]"))
        });
        Some(format!("{}{}", found.name, element.unwrap_or_default()))
    }

    /// The last allocation of the block that an address lies in.
    fn allocation(&self, address: u64) -> Option<Operation> {
        let holds = |operation: &Operation| {
            let end = operation.object + u64::from(operation.size);
            operation.kind == EventKind::Alloc && (operation.object..end).contains(&address)
        };
        let steps = self.steps.iter();
        steps.map(|step| step.operation).rfind(|step| holds(step))
    }

    /// The heap block that an address lies in, by who points to it or by where it
    /// came from.
    fn block(&mut self, address: u64) -> Option<String> {
        let allocation = self.allocation(address)?;
        if let Some(pointer) = self.vocabulary.pointer_into(&allocation) {
            return Some(pointer);
        }
        let spot = self.spot(allocation.place);
        let offset = address - allocation.object;
        Some(format!(
            "byte {offset} of the {} bytes allocated by {spot}",
            allocation.size
        ))
    }
}
