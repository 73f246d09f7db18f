//! What the engine does where programs leave it open, as the job says.

use crate::carrier::CarrierOnly;
use bohr_event::control::Policy;
use core::cell::Cell;

#[unsafe(link_section = "bohr_hot")]
static POLICY: CarrierOnly<Cell<Option<Policy>>> = CarrierOnly::new(Cell::new(None));

/// Sets it for this run.
pub fn set(policy: Policy) {
    POLICY.set(Some(policy));
}

/// The policy of this run.
pub fn get() -> Policy {
    POLICY.get().unwrap_or_default()
}
