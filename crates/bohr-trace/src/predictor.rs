//! What writer and reader expect of the next event, each by itself and both
//! alike, so that only surprises take bytes.
//!
//! A *context* is a place together with what is done there (kind, order, size)
//! and the lane of who does it: threads that do the same with different objects
//! do not confuse each other, unless there are very many of them. It remembers the two contexts that followed it last, the object it
//! touched, how far that moved, and the value it saw. Contexts lie in a table
//! with one slot for each hash, so finding one is a single look, and one that
//! meets a taken slot takes it over. All tables begin as zeros; an empty slot
//! is the context of place 0, and needs no special case.

use crate::writer::shape;
use alloc::boxed::Box;
use alloc::vec;
use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex};
use core::hint::select_unpredictable;

/// Where a context lies in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot(u16);

/// Kind, order, lane and size in one word: kind in the lowest byte, order in the
/// next, the thread's lane in the third, size in the upper half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape(pub u64);

const CONTEXT_BITS: u32 = 12;
const CONTEXTS: usize = 1 << CONTEXT_BITS;
const MEMORY_BITS: u32 = 12;
const CELLS: usize = 1 << MEMORY_BITS;
const THREADS: usize = 256;

/// One place and what is done there. One cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub place: u64,
    pub shape: Shape,
    /// The last object.
    pub object: u64,
    /// How far that was from the one before.
    pub stride: u64,
    /// How far it was from what the thread touched before.
    pub offset: u64,
    /// The last value.
    pub value: u64,
    /// How far that was from the one before.
    pub step: u64,
    /// What followed last, and what followed last other than that.
    next: [Slot; 2],
    /// Kind and order as the shape has them.
    pub kind: EventKind,
    pub order: MemoryOrder,
}

impl Default for Context {
    fn default() -> Context {
        let nothing = Operation {
            kind: EventKind::ALL[0],
            order: MemoryOrder::ALL[0],
            size: 0,
            object: 0,
            place: PlaceNumber(0),
        };
        Context::new(&nothing, Shape::default())
    }
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadState {
    object: u64,
    last: Slot,
}

/// What is known of memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    address: u64,
    value: u64,
}

/// All tables. Large, so it lives on the heap and is made there.
pub(crate) struct Predictor {
    contexts: Box<[Context; CONTEXTS]>,
    cells: Box<[Cell; CELLS]>,
    threads: Box<[ThreadState; THREADS]>,
    /// The last place that was spelt out.
    pub spelt: u64,
}

impl Shape {
    #[inline(always)]
    pub(crate) fn size(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

impl Slot {
    /// The slot with this number; `None` if there are not so many.
    #[inline(always)]
    pub(crate) fn from_number(number: u16) -> Option<Slot> {
        (usize::from(number) < CONTEXTS).then_some(Slot(number))
    }

    #[inline(always)]
    pub(crate) fn number(self) -> u16 {
        self.0
    }

    /// Where a context belongs.
    #[inline(always)]
    pub(crate) fn of(place: u64, shape: Shape) -> Slot {
        let word = place ^ shape.0.rotate_left(23);
        Slot((word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - CONTEXT_BITS)) as u16)
    }

    #[inline(always)]
    fn position(self) -> usize {
        usize::from(self.0) % CONTEXTS
    }
}

impl Predictor {
    pub(crate) fn new() -> Predictor {
        fn zeros<T: Clone + Default, const N: usize>() -> Box<[T; N]> {
            let Ok(array) = vec![T::default(); N].into_boxed_slice().try_into() else {
                unreachable!("the slice was made with the length of the array")
            };
            array
        }
        Predictor {
            contexts: zeros(),
            cells: zeros(),
            threads: zeros(),
            spelt: 0,
        }
    }

    /// Forgets everything: a new block begins.
    pub(crate) fn reset(&mut self) {
        self.contexts.fill(Context::default());
        self.cells.fill(Cell::default());
        self.threads.fill(ThreadState::default());
        self.spelt = 0;
    }

    /// What the thread is likely to do next, likeliest first.
    #[inline(always)]
    pub(crate) fn successors(&self, thread: ThreadIndex) -> [Slot; 2] {
        let last = self.threads[thread.position() % THREADS].last;
        self.contexts[last.position()].next
    }

    #[inline(always)]
    pub(crate) fn context(&self, slot: Slot) -> &Context {
        &self.contexts[slot.position()]
    }

    /// Gives the slot to a context that was not there. It begins near to what
    /// the thread touched last.
    pub(crate) fn replace(&mut self, slot: Slot, thread: ThreadIndex, operation: &Operation) {
        self.spelt = operation.place.0;
        let near = Operation {
            object: self.last_object(thread),
            ..*operation
        };
        self.contexts[slot.position()] = Context::new(&near, shape(operation, thread));
    }

    /// What the thread touched last.
    #[inline(always)]
    pub(crate) fn last_object(&self, thread: ThreadIndex) -> u64 {
        self.threads[thread.position() % THREADS].object
    }

    /// What memory held at that address; 0 if nobody knows.
    #[inline(always)]
    pub(crate) fn remembered(&self, address: u64) -> u64 {
        self.cells[cell_position(address)].held(address)
    }

    /// Learns from an event.
    #[inline(always)]
    pub(crate) fn learn(
        &mut self,
        thread: ThreadIndex,
        slot: Slot,
        object: u64,
        value: Option<u64>,
    ) {
        self.follow(thread, slot);
        let (context, last) = self.touching(thread, slot);
        context.touch(object, last);
        if let Some(value) = value {
            let (context, cell) = self.holding(slot, object);
            context.hold(value);
            cell.hold(object, value);
        }
    }

    /// Learns which context the thread was in.
    #[inline(always)]
    pub(crate) fn follow(&mut self, thread: ThreadIndex, slot: Slot) {
        let state = &mut self.threads[thread.position() % THREADS];
        let next = &mut self.contexts[state.last.position()].next;
        if next[0] != slot {
            *next = [slot, next[0]];
        }
        state.last = slot;
    }

    /// Who learns from the object of an event: its context, and what its thread touched last.
    #[inline(always)]
    pub(crate) fn touching(&mut self, thread: ThreadIndex, slot: Slot) -> (&mut Context, &mut u64) {
        let state = &mut self.threads[thread.position() % THREADS];
        (&mut self.contexts[slot.position()], &mut state.object)
    }

    /// Who learns from its value: its context, and memory.
    #[inline(always)]
    pub(crate) fn holding(&mut self, slot: Slot, object: u64) -> (&mut Context, &mut Cell) {
        let context = &mut self.contexts[slot.position()];
        (context, &mut self.cells[cell_position(object)])
    }
}

impl Context {
    /// What is done there, by whoever does it for the first time.
    fn new(operation: &Operation, shape: Shape) -> Context {
        Context {
            place: operation.place.0,
            shape,
            object: operation.object,
            stride: 0,
            offset: 0,
            value: 0,
            step: 0,
            next: [Slot::default(); 2],
            kind: operation.kind,
            order: operation.order,
        }
    }

    /// Learns an object, and so does the thread, which touched another one last.
    #[inline(always)]
    pub(crate) fn touch(&mut self, object: u64, last: &mut u64) {
        self.stride = object.wrapping_sub(self.object);
        self.offset = object.wrapping_sub(*last);
        self.object = object;
        *last = object;
    }

    /// Learns a value.
    #[inline(always)]
    pub(crate) fn hold(&mut self, value: u64) {
        self.step = value.wrapping_sub(self.value);
        self.value = value;
    }
}

impl Cell {
    /// What memory held at that address; 0 if nobody knows.
    #[inline(always)]
    pub(crate) fn held(&self, address: u64) -> u64 {
        select_unpredictable(self.address == address, self.value, 0)
    }

    /// Learns it.
    #[inline(always)]
    pub(crate) fn hold(&mut self, address: u64, value: u64) {
        *self = Cell { address, value };
    }
}

#[inline(always)]
fn cell_position(address: u64) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - MEMORY_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_fills_one_cache_line() {
        assert_eq!(size_of::<Context>(), 64);
    }

    #[test]
    fn the_second_likeliest_is_kept() {
        let mut predictor = Predictor::new();
        let [a, b] = [Slot(1), Slot(2)];
        for slot in [a, b, a, a] {
            predictor.learn(ThreadIndex(3), slot, 8, None);
        }
        // After `a` came `b`, then `a`.
        assert_eq!(predictor.successors(ThreadIndex(3)), [a, b]);
    }
}
