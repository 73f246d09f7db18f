//! What people call the addresses and places of a run.

use crate::atlas::{Atlas, Spot};
use crate::verdict::written_spot;
use bohr_event::control::Step;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex, ThreadPath};

/// See the module.
pub struct Names<'a> {
    atlas: &'a mut Atlas,
    threads: &'a [ThreadPath],
    steps: &'a [Step],
}

impl<'a> Names<'a> {
    /// Of a run with these threads and events.
    pub fn new(atlas: &'a mut Atlas, threads: &'a [ThreadPath], steps: &'a [Step]) -> Names<'a> {
        Names {
            atlas,
            threads,
            steps,
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
            .or_else(|| self.block(address))
            .unwrap_or_else(|| format!("{address:#x}"))
    }

    /// The heap block that an address lies in, by where it came from.
    fn block(&mut self, address: u64) -> Option<String> {
        let holds = |operation: &Operation| {
            let end = operation.object + u64::from(operation.size);
            operation.kind == EventKind::Alloc && (operation.object..end).contains(&address)
        };
        let steps = self.steps.iter();
        let allocation = steps.map(|step| step.operation).rfind(|step| holds(step))?;
        let spot = self.spot(allocation.place);
        let offset = address - allocation.object;
        Some(format!(
            "byte {offset} of the {} bytes allocated by {spot}",
            allocation.size
        ))
    }
}
