//! How strategies write down what they learnt, and how searches read it. The
//! bytes have crossed a process that may have been corrupted by the bug under
//! test, so reading fails without harm.

use alloc::vec::Vec;
use serde::{Serialize, de::DeserializeOwned};

/// The bytes of one report.
pub(crate) fn write<T: Serialize>(report: &T) -> Vec<u8> {
    postcard::to_allocvec(report).expect("reports hold nothing that cannot be written")
}

/// What was reported; `None` if these are not the bytes of such a report.
#[must_use]
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(bytes) {
        Ok((report, [])) => Some(report),
        _ => None,
    }
}
