//! Short names that hold within one run of a program, cheap enough for every
//! event. Their long-lived counterparts are [`ThreadPath`](crate::ThreadPath)
//! and [`Place`](crate::Place).

use crate::{EventKind, MemoryOrder};
use serde::{Deserialize, Serialize};

/// A thread of one run: the position in the runtime's thread table. An index
/// may be given again after its thread has ended, so across time the path is
/// the name, and the index only the place where the thread now sits.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ThreadIndex(pub u32);

impl ThreadIndex {
    /// The main thread's.
    pub const MAIN: ThreadIndex = ThreadIndex(0);

    /// The thread as the object of an operation: no address of the program.
    #[must_use]
    pub fn object(self) -> u64 {
        1 << 63 | u64::from(self.0)
    }

    /// The thread that an operation's object stands for; `None` for an address.
    #[must_use]
    pub fn from_object(object: u64) -> Option<ThreadIndex> {
        let index = u32::try_from(object ^ 1 << 63).ok()?;
        Some(ThreadIndex(index))
    }

    /// For use with slices that are kept per thread.
    #[must_use]
    pub fn position(self) -> usize {
        self.0 as usize
    }
}

/// A pipe, a socket or the like of one run, in the order in which the program came to
/// use them. All sockets are one: nobody knows who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream(pub u32);

impl Stream {
    const FIRST: u64 = 0xf << 60;
    const DISTANCE: u64 = 16;

    /// The stream as the object of an operation: no address of the program.
    ///
    /// ```
    /// use bohr_event::Stream;
    /// assert_eq!(Stream::from_object(Stream(3).object()), Some(Stream(3)));
    /// assert_eq!(Stream::from_object(0x7fff_0000_1000), None);
    /// ```
    #[must_use]
    pub const fn object(self) -> u64 {
        Stream::FIRST + Stream::DISTANCE * self.0 as u64
    }

    /// The stream that an operation's object stands for; `None` for all else.
    #[must_use]
    pub fn from_object(object: u64) -> Option<Stream> {
        let number = object.checked_sub(Stream::FIRST)? / Stream::DISTANCE;
        u32::try_from(number).ok().map(Stream)
    }
}

/// A place in the program as one number: the number of a loaded object in the
/// upper 16 bits, the site number or code offset within it below. Equal in all
/// runs of the same program that load the same objects in the same order; the
/// runtime's object table tells which [`Place`](crate::Place) it stands for.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct PlaceNumber(pub u64);

impl PlaceNumber {
    const OFFSET_BITS: u32 = 48;

    /// The place at `offset` of the loaded object with this number.
    #[must_use]
    pub const fn new(object: u16, offset: u64) -> PlaceNumber {
        PlaceNumber((object as u64) << Self::OFFSET_BITS | offset & (u64::MAX >> 16))
    }

    /// The number of the loaded object.
    #[must_use]
    pub const fn object(self) -> u16 {
        (self.0 >> Self::OFFSET_BITS) as u16
    }

    /// The site number or code offset within the object.
    #[must_use]
    pub const fn offset(self) -> u64 {
        self.0 & (u64::MAX >> 16)
    }
}

/// What a thread is about to do or has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Operation {
    /// What kind of step.
    pub kind: EventKind,
    /// With which memory order.
    pub order: MemoryOrder,
    /// How many bytes from `object` on it touches; 0 where that says nothing. See
    /// [`is_permit`](Operation::is_permit) and [`is_bounded`](Operation::is_bounded).
    pub size: u32,
    /// On what: the address accessed, the lock, the condition. The start and
    /// exit of a thread, its creation and a join of it all name that thread, by
    /// [`ThreadIndex::object`].
    pub object: u64,
    /// Where in the program.
    pub place: PlaceNumber,
}

impl Operation {
    /// One without a memory order: an access that is not atomic, or a call.
    #[must_use]
    pub const fn plain(kind: EventKind, size: u32, object: u64, place: PlaceNumber) -> Operation {
        Operation {
            kind,
            order: MemoryOrder::Plain,
            size,
            object,
            place,
        }
    }

    /// One that concerns all streams, as waiting for any of several does.
    #[must_use]
    pub const fn on_streams(kind: EventKind, place: PlaceNumber) -> Operation {
        Operation::plain(kind, u32::MAX, Stream(0).object(), place)
    }

    /// Whether it concerns all streams.
    #[must_use]
    pub const fn is_on_streams(&self) -> bool {
        self.size == u32::MAX && self.object == Stream(0).object()
    }

    /// Whether it gives or takes a permit of a semaphore. Events of those touch the
    /// semaphore's first byte, events of streams no memory.
    #[must_use]
    pub const fn is_permit(&self) -> bool {
        matches!(self.kind, EventKind::Send | EventKind::Receive) && self.size == 1
    }

    /// Whether it has taken a lock without being ready to wait for it for ever: an
    /// attempt, or one with a time limit. Only events tell, and what is about to happen
    /// does not.
    #[must_use]
    pub const fn is_bounded(&self) -> bool {
        matches!(self.kind, EventKind::Acquire | EventKind::AcquireShared) && self.size == 1
    }

    /// The same operation, if it takes a lock, as one that does not wait for it for ever.
    #[must_use]
    pub const fn bounded(self) -> Operation {
        match self.kind {
            EventKind::Acquire | EventKind::AcquireShared => Operation { size: 1, ..self },
            _ => self,
        }
    }

    /// Whether the order of the two can matter: both touch the same thing, and
    /// not both of them leave it as it is. Two steps that do not conflict
    /// commute, unless they belong to one thread.
    ///
    /// Steps on the world outside conflict with each other, whatever they touch.
    ///
    /// ```
    /// use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber};
    /// let access = |kind, object| Operation {
    ///     kind, order: MemoryOrder::Plain, size: 4, object, place: PlaceNumber(0),
    /// };
    /// let read = access(EventKind::Read, 0x10);
    /// assert!(read.conflicts(&access(EventKind::Write, 0x12)));
    /// assert!(!read.conflicts(&access(EventKind::Write, 0x14)));
    /// assert!(!read.conflicts(&access(EventKind::Read, 0x10)));
    /// ```
    #[must_use]
    pub fn conflicts(&self, other: &Operation) -> bool {
        if self.kind == EventKind::External && other.kind == EventKind::External {
            return true;
        }
        self.touches() && other.touches() && !(self.observes() && other.observes()) && {
            let end = |operation: &Operation| {
                operation
                    .object
                    .saturating_add(u64::from(operation.size.max(1)))
            };
            self.object < end(other) && other.object < end(self)
        }
    }

    /// Whether `object` names something that others can touch as well.
    fn touches(&self) -> bool {
        use EventKind::*;
        !matches!(
            self.kind,
            Fence | Yield | Sleep | Handle | External | Alloc | Store
        )
    }

    /// Whether it leaves what it touches as it was.
    fn observes(&self) -> bool {
        use EventKind::*;
        matches!(self.kind, Read | AcquireShared | ReleaseShared | Join)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn operation() -> impl Strategy<Value = Operation> {
        (0..EventKind::ALL.len(), 0u64..40, 0u32..9).prop_map(|(kind, object, size)| Operation {
            kind: EventKind::ALL[kind],
            order: MemoryOrder::Plain,
            size,
            object,
            place: PlaceNumber(0),
        })
    }

    proptest! {
        #[test]
        fn threads_as_objects_are_no_addresses(index: u32, address in 0u64..1 << 48) {
            let thread = ThreadIndex(index);
            prop_assert_eq!(ThreadIndex::from_object(thread.object()), Some(thread));
            prop_assert_eq!(ThreadIndex::from_object(address), None);
        }

        #[test]
        fn place_numbers_keep_their_parts(object: u16, offset in 0u64..1 << 48) {
            let place = PlaceNumber::new(object, offset);
            prop_assert_eq!((place.object(), place.offset()), (object, offset));
        }

        #[test]
        fn conflict_is_symmetric_and_means_a_shared_byte(a in operation(), b in operation()) {
            prop_assert_eq!(a.conflicts(&b), b.conflicts(&a));
            let bytes = |o: &Operation| o.object..o.object + u64::from(o.size.max(1));
            if a.kind.is_access() && b.kind.is_access() {
                let shared = bytes(&a).any(|byte| bytes(&b).contains(&byte));
                prop_assert_eq!(a.conflicts(&b), shared && (a.kind.writes() || b.kind.writes()));
            }
        }
    }
}
