//! What the sides of a breakpoint bring along, and the conditions that come
//! ready-made.

/// An object, by its address: two threads are at the same one or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object(usize);

impl<T: ?Sized> From<&T> for Object {
    fn from(object: &T) -> Object {
        Object(std::ptr::from_ref(object).cast::<()>() as usize)
    }
}

impl Object {
    /// Nothing in particular: all who bring it are at the same.
    pub const NONE: Object = Object(0);

    /// Both are at the same object.
    #[must_use]
    pub fn same(one: &Object, other: &Object) -> bool {
        one == other
    }
}

/// A lock that a thread holds, and one that it is about to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locks {
    held: Object,
    wanted: Object,
}

impl Locks {
    /// Of a thread that holds `held` and will take `wanted`.
    #[must_use]
    pub fn new<T: ?Sized, U: ?Sized>(held: &T, wanted: &U) -> Locks {
        Locks {
            held: held.into(),
            wanted: wanted.into(),
        }
    }

    /// Each holds what the other wants.
    #[must_use]
    pub fn crossed(one: &Locks, other: &Locks) -> bool {
        one.held == other.wanted && one.wanted == other.held
    }
}
