//! Which parts of the heap are in use.

use super::memory::Memory;
use super::{Halt, Step};
use std::collections::{BTreeMap, HashMap};

/// Blocks by address, and free ones by size.
#[derive(Debug, Default)]
pub(super) struct Heap {
    live: HashMap<u64, u64>,
    free: BTreeMap<u64, Vec<u64>>,
}

const GRAIN: u64 = 16;

impl Heap {
    /// A block of zeroed bytes.
    pub(super) fn allocate(&mut self, memory: &mut Memory, size: u64, alignment: u64) -> Step<u64> {
        let room = size.max(1).checked_next_multiple_of(GRAIN);
        let room = room.ok_or(Halt::NotModelled("an allocation of all memory".into()))?;
        let fits = |address: &u64| address.is_multiple_of(alignment.max(1));
        let reused = self.free.get_mut(&room).and_then(|free| {
            let position = free.iter().rposition(fits)?;
            Some(free.swap_remove(position))
        });
        let address = match reused {
            Some(address) => {
                memory.bytes(address, room)?.fill(0);
                address
            }
            None => memory.heap.grow(room, alignment.max(GRAIN))?,
        };
        self.live.insert(address, size);
        Ok(address)
    }

    /// Gives a block back; null is allowed.
    pub(super) fn release(&mut self, address: u64) -> Step<()> {
        if address == 0 {
            return Ok(());
        }
        let size = self.live.remove(&address);
        let size = size.ok_or(Halt::Undefined("it frees what is not allocated"))?;
        let room = size.max(1).next_multiple_of(GRAIN);
        self.free.entry(room).or_default().push(address);
        Ok(())
    }

    /// A block of another size with the same content.
    pub(super) fn resize(&mut self, memory: &mut Memory, address: u64, size: u64) -> Step<u64> {
        let old = match address {
            0 => 0,
            _ => self.size(address)?,
        };
        let new = self.allocate(memory, size, GRAIN)?;
        memory.copy(new, address, old.min(size))?;
        self.release(address)?;
        Ok(new)
    }

    /// The size that was asked for.
    pub(super) fn size(&self, address: u64) -> Step<u64> {
        let size = self.live.get(&address).copied();
        size.ok_or(Halt::Undefined("it resizes what is not allocated"))
    }
}
