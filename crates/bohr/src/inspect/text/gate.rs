//! What can be left out of an execution, for a terminal.

use super::super::facts::{GateFacts, ProgramFacts};
use super::{line, place};

/// How many gates there are, and which bodies of threads have none.
pub fn totals(out: &mut String, facts: &ProgramFacts) {
    let of = |kind: &str| facts.gates.iter().filter(|one| one.kind == kind).count();
    line!(out, "\ngates         {}", facts.gates.len());
    for (kind, words) in [
        ("body", "bodies of threads"),
        ("iteration", "loops: an iteration can be left out"),
        ("block", "marked blocks"),
    ] {
        line!(out, "  {:>8}  {words}", of(kind));
    }
    let silent = facts.loops.skippable - facts.loops.gated;
    if silent > 0 {
        line!(
            out,
            "  {silent:>8}  loops could have one, but nothing in them can be noticed by others"
        );
    }
    for shut in &facts.ungated {
        line!(
            out,
            "            thread body without one: {}: {}",
            shut.function,
            shut.reason
        );
    }
}

/// Every gate, by number.
pub fn list(out: &mut String, facts: &ProgramFacts) {
    line!(out, "\ngate  what          where");
    for gate in &facts.gates {
        line!(
            out,
            "{:>4}  {:<12}  {}  {}  {}{}",
            gate.number,
            what(gate),
            place(gate.place.as_ref()),
            gate.function,
            gate.id,
            if gate.forgets { FORGETS } else { "" }
        );
    }
}

/// A sender that is never dropped keeps its receiver waiting, for one.
const FORGETS: &str = "  (left out, it does not drop what its closure holds)";

fn what(gate: &GateFacts) -> String {
    match &gate.in_loop {
        Some(number) => number.clone(),
        None => gate.kind.to_owned(),
    }
}
