//! Reasons in words.

use super::{Irregularity, Refusal};
use crate::graph::Edge;
use std::fmt;

impl fmt::Display for Irregularity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Irregularity::Endless => out.write_str("has no end"),
            Irregularity::Breaks(exits) => write!(out, "ends at {}", Exits(exits)),
            Irregularity::NoComparison(block) => {
                write!(
                    out,
                    "the end in {block} is not decided by comparing numbers"
                )
            }
            Irregularity::NoCounter(block) => {
                write!(
                    out,
                    "nothing compared in {block} changes once per iteration by one step"
                )
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Endless => out.write_str("has no end"),
            Refusal::Breaks(exits) => write!(out, "ends at {}", Exits(exits)),
            Refusal::DecidedInTheMiddle(block) => {
                write!(
                    out,
                    "the end is decided in {block}, in the middle of the iteration"
                )
            }
            Refusal::ConditionNeeds(number) => {
                write!(
                    out,
                    "the condition needs what {number} computes in the iteration"
                )
            }
            Refusal::NothingAdvances => {
                out.write_str("nothing that the condition depends on advances by itself")
            }
            Refusal::UsedAfter(number) => {
                write!(
                    out,
                    "code after the loop uses what {number} computes in the iteration"
                )
            }
            Refusal::EnteredByAddress => {
                out.write_str("it is entered by a jump to a computed address")
            }
            Refusal::BeginsWithCatch => {
                out.write_str("its iterations begin with the catching of an exception")
            }
        }
    }
}

struct Exits<'a>(&'a [Edge]);

impl fmt::Display for Exits<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut blocks: Vec<_> = self.0.iter().map(|edge| edge.from).collect();
        blocks.dedup();
        let names: Vec<String> = blocks.iter().map(|block| block.to_string()).collect();
        match blocks.len() {
            1 => write!(out, "{} in several ways", names[0]),
            count => write!(out, "{count} places: {}", names.join(", ")),
        }
    }
}
