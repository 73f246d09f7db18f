//! What `inspect` tells about a program, as plain data. The field names are the
//! JSON's; docs/json/inspect.md describes them.

use serde::Serialize;
use std::collections::BTreeMap;

/// A whole program.
#[derive(Debug, Serialize)]
pub struct ProgramFacts {
    /// Version of this form; rises when a field changes its meaning.
    pub version: u32,
    pub identity: String,
    pub languages: BTreeMap<&'static str, LanguageFacts>,
    pub totals: Totals,
    pub sharing: SharingFacts,
    pub loops: LoopTotals,
    /// Blocks by what decides whether they run.
    pub nesting: BTreeMap<&'static str, usize>,
    /// What can be left out of an execution, by number.
    pub gates: Vec<GateFacts>,
    /// Bodies of threads that cannot.
    pub ungated: Vec<UngatedFacts>,
    pub functions: Vec<FunctionFacts>,
    /// As the profile's report tells: parts without hooks, assembly, gates.
    pub profile: serde_json::Value,
}

#[derive(Debug, Default, Serialize)]
pub struct LanguageFacts {
    pub functions: usize,
    pub instructions: usize,
}

#[derive(Debug, Default, Serialize)]
pub struct Totals {
    pub functions: usize,
    pub declared_functions: usize,
    pub blocks: usize,
    pub instructions: usize,
    pub sites: usize,
    pub sites_by_kind: BTreeMap<String, usize>,
    pub indirect_calls: usize,
    pub unresolved_calls: usize,
}

#[derive(Debug, Default, Serialize)]
pub struct SharingFacts {
    /// Accesses that may meet another thread's.
    pub shared: usize,
    /// Calls and fences that matter to other threads.
    pub synchronises: usize,
    /// Accesses that cannot, by reason.
    pub private: BTreeMap<String, usize>,
    /// Functions that may run outside the main thread.
    pub functions_in_threads: usize,
}

#[derive(Debug, Default, Serialize)]
pub struct LoopTotals {
    pub loops: usize,
    pub deepest: u32,
    pub repetitive: usize,
    pub skippable: usize,
    pub irreducible_regions: usize,
    pub not_repetitive: BTreeMap<&'static str, usize>,
    pub not_skippable: BTreeMap<&'static str, usize>,
    /// Loops with a gate; the other skippable ones do nothing that others notice.
    pub gated: usize,
}

/// A gate; its number is its position.
#[derive(Debug, Serialize)]
pub struct GateFacts {
    pub number: u32,
    /// `body`, `iteration` or `block`.
    pub kind: &'static str,
    /// Equal in every build of the same sources.
    pub id: String,
    pub function: String,
    /// Of a loop, its number within the function.
    pub in_loop: Option<String>,
    /// A closure that is left out does not drop what it holds.
    pub forgets: bool,
    pub place: Option<PlaceFacts>,
}

/// A thread's body without a gate.
#[derive(Debug, Serialize)]
pub struct UngatedFacts {
    pub function: String,
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub struct FunctionFacts {
    pub id: String,
    pub name: String,
    pub linkage_name: String,
    pub language: &'static str,
    pub file: Option<String>,
    pub line: u32,
    pub blocks: usize,
    pub instructions: usize,
    pub runs_in_threads: bool,
    pub sites: Vec<SiteFacts>,
    pub loops: Vec<LoopFacts>,
}

#[derive(Debug, Serialize)]
pub struct SiteFacts {
    pub id: String,
    pub kind: String,
    pub order: String,
    /// `None` where only the program knows.
    pub size: Option<u16>,
    pub block: String,
    pub sharing: &'static str,
    pub reason: Option<String>,
    /// Of a store that can be left out, the number that stands for its gate.
    pub gate: Option<u32>,
    /// Innermost first: where the code was written, then where that was inlined.
    pub places: Vec<PlaceFacts>,
}

#[derive(Debug, Serialize)]
pub struct PlaceFacts {
    pub function: String,
    pub file: String,
    pub line: u32,
    pub column: u16,
}

#[derive(Debug, Serialize)]
pub struct LoopFacts {
    pub number: String,
    pub place: Option<PlaceFacts>,
    pub header: String,
    pub latches: Vec<String>,
    pub exits: Vec<String>,
    pub blocks: usize,
    pub depth: u32,
    pub parent: Option<String>,
    pub repetitive: bool,
    pub not_repetitive: Option<String>,
    /// What counts the iterations of a repetitive loop.
    pub counter: Option<String>,
    pub skippable: bool,
    pub not_skippable: Option<String>,
    /// The number of its gate.
    pub gate: Option<u32>,
    pub not_gated: Option<String>,
}
