//! A package of somebody else's, as cargo would have fetched it.

pub mod mutex;
pub use mutex::Mutex;

/// Fails where others can see it, in a line of this package.
pub fn demand(holds: bool) {
    assert!(holds, "demanded");
}
