//! The explanation for programs; `docs/json/explain.md` describes it.

use crate::story::Story;
use serde_json::{Value, json};

impl Story {
    /// One object.
    #[must_use]
    pub fn as_json(&self) -> Value {
        json!({
            "signature": self.bug.signature,
            "verdict": self.verdict(),
            "findings": self.findings,
            "events": self.events,
            "switches": self.switches,
            "windows": self.windows,
            "orders": self.orders,
            "races": self.races,
            "lock_cycles": self.lock_cycles,
            "unexamined_preemptions": self.unexamined,
        })
    }
}
