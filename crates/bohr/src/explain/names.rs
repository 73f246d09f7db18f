//! What people call the addresses and places of a run.

use bohr_event::control::{LoadedObject, Recorded};
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use bohr_explain::Globals;
use bohr_explore::{Atlas, Spot, written_spot};
use std::collections::HashMap;

/// See the module.
pub struct Names<'a> {
    atlas: &'a mut Atlas,
    run: &'a Recorded,
    /// By path of the object.
    globals: HashMap<String, Option<Globals>>,
}

impl<'a> Names<'a> {
    pub fn new(atlas: &'a mut Atlas, run: &'a Recorded) -> Names<'a> {
        Names {
            atlas,
            run,
            globals: HashMap::new(),
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
            return match self.run.threads.get(thread.position()) {
                Some(path) => format!("thread {path}"),
                None => "a thread".to_string(),
            };
        }
        self.global(address)
            .or_else(|| self.block(address))
            .unwrap_or_else(|| format!("{address:#x}"))
    }

    fn global(&mut self, address: u64) -> Option<String> {
        let (path, start) = self
            .atlas
            .objects()
            .iter()
            .find_map(|object| match object {
                LoadedObject::Code { path, start, end } if (*start..*end).contains(&address) => {
                    Some((path.clone(), *start))
                }
                _ => None,
            })?;
        let read = |path: &String| Globals::read(&std::fs::read(path).ok()?);
        let globals = self.globals.entry(path);
        let globals = globals.or_insert_with_key(read).as_ref()?;
        globals.name(address - start)
    }

    /// The heap block that an address lies in, by where it came from.
    fn block(&mut self, address: u64) -> Option<String> {
        let holds = |operation: &Operation| {
            let end = operation.object + u64::from(operation.size);
            operation.kind == EventKind::Alloc && (operation.object..end).contains(&address)
        };
        let steps = self.run.steps.iter();
        let allocation = steps.map(|step| step.operation).rfind(|step| holds(step))?;
        let spot = self.spot(allocation.place);
        let offset = address - allocation.object;
        Some(format!(
            "byte {offset} of the {} bytes allocated by {spot}",
            allocation.size
        ))
    }
}
