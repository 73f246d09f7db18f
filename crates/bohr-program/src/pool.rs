//! Lists of different lengths kept in one vector per function, so that an
//! instruction holds its operands in eight bytes.

use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// A list in a [`Pool`].
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct List<T> {
    start: u32,
    count: u32,
    #[serde(skip)]
    of: PhantomData<fn() -> T>,
}

// Derives would ask for `T: Copy` and so on, though a list holds no `T`.
impl<T> Clone for List<T> {
    fn clone(&self) -> List<T> {
        *self
    }
}

impl<T> Copy for List<T> {}

impl<T> PartialEq for List<T> {
    fn eq(&self, other: &List<T>) -> bool {
        (self.start, self.count) == (other.start, other.count)
    }
}

impl<T> Eq for List<T> {}

impl<T> std::fmt::Debug for List<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "[{}; {}]", self.start, self.count)
    }
}

impl<T> List<T> {
    /// The list of nothing.
    pub const EMPTY: List<T> = List {
        start: 0,
        count: 0,
        of: PhantomData,
    };

    /// How many elements.
    #[must_use]
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }
}

/// The elements of all lists of one kind in a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool<T> {
    all: Vec<T>,
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { all: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Adds a list.
    ///
    /// # Panics
    /// If the lists of one function together hold 2^32 elements.
    pub fn push(&mut self, elements: impl IntoIterator<Item = T>) -> List<T> {
        let start = self.all.len();
        self.all.extend(elements);
        let small =
            |number: usize| u32::try_from(number).expect("a function is below 2^32 operands");
        List {
            start: small(start),
            count: small(self.all.len() - start),
            of: PhantomData,
        }
    }

    /// The elements of a list.
    #[must_use]
    pub fn get(&self, list: List<T>) -> &[T] {
        &self.all[list.start as usize..][..list.len()]
    }

    /// The elements of all lists.
    #[must_use]
    pub fn all(&self) -> &[T] {
        &self.all
    }

    /// Whether the list lies in this pool.
    pub(crate) fn holds(&self, list: List<T>) -> bool {
        u64::from(list.start) + u64::from(list.count) <= self.all.len() as u64
    }

    /// Gives back what growing took too much.
    pub(crate) fn shrink(&mut self) {
        self.all.shrink_to_fit();
    }

    /// Bytes of memory taken.
    pub(crate) fn bytes(&self) -> usize {
        self.all.capacity() * size_of::<T>()
    }
}
