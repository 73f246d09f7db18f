//! Data that only the carrier touches.
//!
//! Under control one thread of the system runs everything, so the runtime needs
//! no locks; with the baton back end whoever holds the baton is the carrier.

use core::ops::Deref;

/// A value of which only the carrier makes use. Inner mutability is up to the
/// value: cells and `RefCell`s, which notice a runtime that re-enters itself.
#[derive(Debug)]
pub struct CarrierOnly<T>(T);

// SAFETY: parked threads run no code, and before control begins the program is
// in its loader, on its first thread.
unsafe impl<T> Sync for CarrierOnly<T> {}

impl<T> CarrierOnly<T> {
    /// Wraps it.
    pub const fn new(value: T) -> CarrierOnly<T> {
        CarrierOnly(value)
    }
}

impl<T> Deref for CarrierOnly<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
