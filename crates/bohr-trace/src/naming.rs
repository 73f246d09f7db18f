//! Names for addresses that hold in every run: the global and the offset in
//! it, the heap object by who allocated it where and for the how-manieth time,
//! the stack by its thread. Computed after the run, from the events alone and
//! from what the caller knows about the layout of memory.
//!
//! Stack variables are named by their distance from the top of the stack; the
//! frame they belong to would take an unwinder, which a trace is not.

use crate::{Record, Sequence};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use bohr_event::{EventKind, PlaceNumber, ThreadIndex, ThreadPath};
use core::fmt;
use serde::{Deserialize, Serialize};

/// A part of memory that was there before the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// Length in bytes.
    pub length: u64,
    /// What it is.
    pub kind: RegionKind,
}

/// What a region is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegionKind {
    /// A global variable, or a section of an object without symbols.
    Global(String),
    /// The stack of a thread.
    Stack(ThreadPath),
}

/// What lies where; regions do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionTable {
    /// By first address.
    regions: Vec<Region>,
}

impl RegionTable {
    /// Sorts the regions. Of two that overlap, the one that begins later is
    /// found in the part they share.
    #[must_use]
    pub fn new(mut regions: Vec<Region>) -> RegionTable {
        regions.sort_by_key(|region| region.start);
        RegionTable { regions }
    }

    /// The region of an address.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Region> {
        let after = self
            .regions
            .partition_point(|region| region.start <= address);
        let region = self.regions.get(after.checked_sub(1)?)?;
        (address - region.start < region.length).then_some(region)
    }
}

/// The name of a byte of memory, or of a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Variable {
    /// In a global variable.
    Global {
        /// Its name.
        name: String,
        /// Bytes from its start.
        offset: u64,
    },
    /// In a heap object, live or freed.
    Heap {
        /// Who allocated it; the main thread if nobody said who it was.
        thread: ThreadPath,
        /// Where.
        place: PlaceNumber,
        /// The how-manieth of that thread at that place, from 0.
        count: u64,
        /// Bytes from its start.
        offset: u64,
    },
    /// On a stack.
    Stack {
        /// Whose.
        thread: ThreadPath,
        /// Bytes below the top.
        depth: u64,
    },
    /// A thread as an object that others create and join.
    Thread(ThreadPath),
    /// Nobody knows: memory from the program's own mappings.
    Unnamed(u64),
}

impl Variable {
    /// The name, with the place of an allocation as the caller puts it.
    #[must_use]
    pub fn told(&self, place: &dyn Fn(PlaceNumber) -> String) -> String {
        match self {
            Variable::Global { name, offset: 0 } => name.clone(),
            Variable::Global { name, offset } => format!("{name}+{offset}"),
            Variable::Heap {
                thread,
                place: allocation,
                count,
                offset,
            } => format!("heap({thread}, {}, {count})+{offset}", place(*allocation)),
            Variable::Stack { thread, depth } => format!("stack({thread})-{depth}"),
            Variable::Thread(thread) => format!("thread {thread}"),
            Variable::Unnamed(address) => format!("{address:#x}"),
        }
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.told(&|place| format!("{:#x}", place.0)))
    }
}

struct HeapObject {
    length: u64,
    thread: ThreadPath,
    place: PlaceNumber,
    count: u64,
}

/// The names at one point of a run; moves on with the events.
///
/// ```
/// use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex, ThreadPath};
/// use bohr_trace::{Names, Record, RegionTable, Sequence};
/// let regions = RegionTable::default();
/// let threads = vec![(Sequence(0), ThreadIndex::MAIN, ThreadPath::MAIN)];
/// let mut names = Names::new(&regions, threads);
/// let alloc = Operation {
///     kind: EventKind::Alloc, order: MemoryOrder::Plain, size: 24, object: 0x1000, place: PlaceNumber(5),
/// };
/// names.observe(Sequence(0), &Record { thread: ThreadIndex::MAIN, operation: alloc, value: None });
/// assert_eq!(names.name(0x1008).to_string(), "heap(0, 0x5, 0)+8");
/// ```
pub struct Names<'a> {
    regions: &'a RegionTable,
    /// Still to come, latest first.
    arrivals: Vec<(Sequence, ThreadIndex, ThreadPath)>,
    threads: BTreeMap<ThreadIndex, ThreadPath>,
    /// Threads as objects of operations that are no index: handles. From the
    /// start of a thread until its handle is given to another.
    handles: BTreeMap<u64, ThreadPath>,
    heap: BTreeMap<u64, HeapObject>,
    counts: BTreeMap<(ThreadPath, PlaceNumber), u64>,
}

impl<'a> Names<'a> {
    /// Before the first event. `threads` is what [`Trace::threads`](crate::Trace::threads) gives.
    #[must_use]
    pub fn new(
        regions: &'a RegionTable,
        mut threads: Vec<(Sequence, ThreadIndex, ThreadPath)>,
    ) -> Names<'a> {
        threads.sort_by_key(|arrival| core::cmp::Reverse(arrival.0));
        Names {
            regions,
            arrivals: threads,
            threads: BTreeMap::new(),
            handles: BTreeMap::new(),
            heap: BTreeMap::new(),
            counts: BTreeMap::new(),
        }
    }

    /// Moves on past an event. Events come in order.
    pub fn observe(&mut self, sequence: Sequence, record: &Record) {
        while let Some((_, index, path)) = self.arrivals.pop_if(|next| next.0 <= sequence) {
            self.threads.insert(index, path);
        }
        let object = record.operation.object;
        match record.operation.kind {
            EventKind::Alloc => self.allocate(record),
            EventKind::Fork => drop(self.handles.remove(&object)),
            EventKind::Start => {
                let thread = self.thread(record.thread).cloned();
                self.handles.extend(thread.map(|thread| (object, thread)));
            }
            _ => {}
        }
    }

    /// The thread that an index stands for now, if anybody said.
    #[must_use]
    pub fn thread(&self, index: ThreadIndex) -> Option<&ThreadPath> {
        self.threads.get(&index)
    }

    /// The name of an object of an operation. A freed heap object keeps its
    /// name until its memory is given out again.
    #[must_use]
    pub fn name(&self, object: u64) -> Variable {
        if let Some(index) = ThreadIndex::from_object(object) {
            let thread = self.thread(index).cloned();
            return thread.map_or(Variable::Unnamed(object), Variable::Thread);
        }
        if let Some(thread) = self.handles.get(&object) {
            return Variable::Thread(thread.clone());
        }
        if let Some((start, heap)) = self.heap.range(..=object).next_back()
            && object - start < heap.length
        {
            return Variable::Heap {
                thread: heap.thread.clone(),
                place: heap.place,
                count: heap.count,
                offset: object - start,
            };
        }
        match self.regions.find(object) {
            None => Variable::Unnamed(object),
            Some(region) => match &region.kind {
                RegionKind::Global(name) => Variable::Global {
                    name: name.clone(),
                    offset: object - region.start,
                },
                RegionKind::Stack(thread) => Variable::Stack {
                    thread: thread.clone(),
                    depth: region.start + region.length - object,
                },
            },
        }
    }

    fn allocate(&mut self, record: &Record) {
        let (start, place) = (record.operation.object, record.operation.place);
        let length = u64::from(record.operation.size.max(1));
        let thread = self.thread(record.thread).cloned().unwrap_or_default();
        let number = self.counts.entry((thread.clone(), place)).or_default();
        let count = *number;
        *number += 1;
        self.forget(start, start.saturating_add(length));
        let object = HeapObject {
            length,
            thread,
            place,
            count,
        };
        self.heap.insert(start, object);
    }

    /// Takes the names away from freed objects whose memory is used again.
    fn forget(&mut self, start: u64, end: u64) {
        while let Some((&before, object)) = self.heap.range(..end).next_back()
            && before.saturating_add(object.length) > start
        {
            self.heap.remove(&before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use bohr_event::{MemoryOrder, Operation};

    fn record(thread: u32, kind: EventKind, object: u64, size: u32, place: u64) -> Record {
        Record {
            thread: ThreadIndex(thread),
            operation: Operation {
                kind,
                order: MemoryOrder::Plain,
                size,
                object,
                place: PlaceNumber(place),
            },
            value: None,
        }
    }

    #[test]
    fn memory_is_named_by_what_it_is_now() {
        let regions = RegionTable::new(alloc::vec![
            Region {
                start: 0x500,
                length: 0x100,
                kind: RegionKind::Stack(ThreadPath::MAIN.child(2))
            },
            Region {
                start: 0x100,
                length: 8,
                kind: RegionKind::Global("map".to_string())
            },
        ]);
        let worker = ThreadIndex(1);
        let threads = alloc::vec![
            (Sequence(0), ThreadIndex::MAIN, ThreadPath::MAIN),
            (Sequence(2), worker, ThreadPath::MAIN.child(1)),
            (Sequence(4), worker, ThreadPath::MAIN.child(2)),
        ];
        let mut names = Names::new(&regions, threads);
        let events = [
            // event, address to name afterwards, its name
            (
                record(0, EventKind::Alloc, 0x1000, 16, 7),
                0x1004,
                "heap(0, 0x7, 0)+4",
            ),
            (
                record(0, EventKind::Alloc, 0x1010, 16, 7),
                0x1010,
                "heap(0, 0x7, 1)+0",
            ),
            (
                record(1, EventKind::Free, 0x1000, 0, 9),
                0x1000,
                "heap(0, 0x7, 0)+0",
            ),
            (
                record(1, EventKind::Alloc, 0x1008, 8, 7),
                0x1008,
                "heap(0:1, 0x7, 0)+0",
            ),
            (record(1, EventKind::Read, 0x104, 4, 7), 0x1004, "0x1004"),
        ];
        for (sequence, (event, address, name)) in (0..).zip(events) {
            names.observe(Sequence(sequence), &event);
            assert_eq!(names.name(address).to_string(), name);
        }
        assert_eq!(names.name(0x104).to_string(), "map+4");
        assert_eq!(names.name(0x5f8).to_string(), "stack(0:2)-8");
        assert_eq!(names.name(worker.object()).to_string(), "thread 0:2");
        assert_eq!(names.name(0x108).to_string(), "0x108");
    }

    #[test]
    fn a_handle_names_its_thread_until_it_is_given_away() {
        let regions = RegionTable::default();
        let [first, second] = [1, 2].map(|child| ThreadPath::MAIN.child(child));
        let threads = alloc::vec![
            (Sequence(0), ThreadIndex(1), first),
            (Sequence(3), ThreadIndex(2), second),
        ];
        let mut names = Names::new(&regions, threads);
        let handle = 0x7f00;
        let events = [
            (record(0, EventKind::Fork, handle, 0, 1), "0x7f00"),
            (record(1, EventKind::Start, handle, 0, 2), "thread 0:1"),
            (record(0, EventKind::Join, handle, 0, 3), "thread 0:1"),
            (record(0, EventKind::Fork, handle, 0, 1), "0x7f00"),
            (record(2, EventKind::Start, handle, 0, 2), "thread 0:2"),
        ];
        for (sequence, (event, name)) in (0..).zip(events) {
            names.observe(Sequence(sequence), &event);
            assert_eq!(names.name(handle).to_string(), name);
        }
    }
}
