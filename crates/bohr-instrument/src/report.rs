//! What was made, in numbers: `report.json` beside every profile.

use crate::gates::{ReportedGate, Ungated};
use crate::production::Added;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

/// What a profile contains and what it took to make it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Which profile.
    pub profile: String,
    /// Functions with a body.
    pub functions: u32,
    /// Sites, hooked or not.
    pub sites: u32,
    /// Sites with a hook.
    pub hooked: u32,
    /// Sites without, by reason.
    pub unhooked: BTreeMap<String, u32>,
    /// Hooks in the machine code: unrolling makes more, unused code fewer.
    pub stubs: u32,
    /// Gates, by number.
    pub gates: Vec<ReportedGate>,
    /// Calls that can be left out, by the number of their gates.
    pub calls: Vec<ReportedGate>,
    /// Thread bodies that cannot be left out.
    pub ungated: Vec<Ungated>,
    /// Constructs that the model knows only by name, and how often they occur.
    pub opaque: BTreeMap<String, u64>,
    /// Parts whose code has no hooks.
    pub uninstrumented: Vec<Uninstrumented>,
    /// Inline assembly: what it touches is not known.
    pub inline_assembly: Vec<Assembly>,
    /// What a program for production carries.
    pub production: Added,
    /// Seconds by step.
    pub seconds: BTreeMap<&'static str, f64>,
    /// The most memory that was in use, in bytes.
    pub peak_memory: u64,
}

/// A part without hooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uninstrumented {
    /// Where it came from.
    pub part: String,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Uninstrumented {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.part, self.reason)
    }
}

/// Inline assembly in a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assembly {
    /// The function.
    pub function: String,
    /// How many times.
    pub count: u32,
}

/// Takes the time of each step.
pub struct Clock {
    last: Instant,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock {
            last: Instant::now(),
        }
    }
}

impl Clock {
    /// Seconds since the last step ended.
    pub fn step(&mut self) -> f64 {
        let now = Instant::now();
        let passed: Duration = now - self.last;
        self.last = now;
        passed.as_secs_f64()
    }
}

/// The high-water mark of this process, 0 where the system does not tell.
#[must_use]
pub fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes * 1024)
}
