//! Generated traces of the sizes in Table 1 of the SimTrace paper: time, memory,
//! reduction, distance from the bound, and what the paper's greedy merging gives.
//! How rare critical sections are is the one thing that the table does not tell;
//! each model says what it assumes.

use super::generator::generate;
use super::{MOST_MEGABYTES, MOST_SECONDS, Measured, measure};
use bohr_event::control::Step;
use bohr_museum::Papers;
use bohr_reduce::{Chains, Execution, Report, footprint::Footprints, graph::Graph, merge};
use std::time::Duration;

/// What the search may take of the time; the rest is for graph and proof.
const SEARCH: Duration = Duration::from_millis(400);

/// A trace to generate.
#[derive(Clone, Copy)]
pub struct Model {
    pub name: &'static str,
    pub events: usize,
    pub threads: u32,
    pub locks: u64,
    /// Shared variables, each under one of the locks.
    pub variables: u64,
    /// Events between two switches, on average.
    pub mean_run: u64,
    /// Events between two critical sections of a thread, on average.
    pub between_sections: u64,
    /// The row of the paper's table that it has the size of.
    pub row: &'static str,
}

/// Philosopher, TSP, Cache4j and OpenJMS of Table 1, by size.
pub const MODELS: [Model; 4] = [
    Model {
        name: "philosopher-like",
        events: 131,
        threads: 6,
        locks: 1,
        variables: 1,
        mean_run: 2,
        between_sections: 8,
        row: "Philosopher",
    },
    Model {
        name: "tsp-like",
        events: 636_499,
        threads: 5,
        locks: 3,
        variables: 234,
        mean_run: 55,
        between_sections: 300,
        row: "TSP",
    },
    Model {
        name: "cache4j-like",
        events: 1_225_167,
        threads: 4,
        locks: 1,
        variables: 5,
        mean_run: 2_200,
        between_sections: 40_000,
        row: "Cache4j",
    },
    Model {
        name: "openjms-like",
        events: 376_187,
        threads: 32,
        locks: 40,
        variables: 365,
        mean_run: 4,
        between_sections: 15,
        row: "OpenJMS",
    },
];

/// Prints the table; what misses its target.
pub fn run(papers: &Papers) -> Vec<String> {
    println!(
        "generated; targets: {MOST_SECONDS} s and {MOST_MEGABYTES} MB each, reduction at least the paper's\n"
    );
    println!(
        "{:17} {:>9} {:>7} {:>6} {:>8} {:>8} {:>7} {:>7} {:>7} {:>10} {:>7} {:>6} {:>8} {:>8}",
        "trace",
        "events",
        "threads",
        "vars",
        "nodes",
        "switches",
        "after",
        "bound",
        "merging",
        "reduction",
        "paper",
        "MB",
        "seconds",
        "paper"
    );
    let rows = MODELS.iter().filter_map(|model| row(model, papers).err());
    rows.collect()
}

fn row(model: &Model, papers: &Papers) -> Result<(), String> {
    let figure = |column: &str| {
        let table = papers.table("simtrace", "1")?;
        table.cell(model.row, column)?.number()
    };
    let missing = || format!("papers.toml has no row {}", model.row);
    let paper_reduction = figure("reduction %").ok_or_else(missing)?;
    let paper_seconds = figure("time").ok_or_else(missing)?;
    let steps = generate(model, 1);
    let Measured {
        report,
        seconds,
        megabytes,
    } = measure(&steps, SEARCH)?;
    let reduction = 100.0 * (1.0 - report.switches_after as f64 / report.switches_before as f64);
    println!(
        "{:17} {:9} {:7} {:6} {:8} {:8} {:7} {:7} {:>7} {reduction:8.1} % {paper_reduction:5.0} % {megabytes:6} {seconds:8.3} {paper_seconds:8.3}",
        model.name,
        report.events,
        report.threads,
        report.shared_variables,
        report.graph_nodes,
        report.switches_before,
        report.switches_after,
        report.fewest_possible,
        merged(&steps, &report),
    );
    if seconds > MOST_SECONDS || megabytes > MOST_MEGABYTES {
        return Err(format!(
            "{} takes {seconds:.2} s and {megabytes} MB",
            model.name
        ));
    }
    if reduction < paper_reduction {
        return Err(format!(
            "{} is reduced by {reduction:.1} % only",
            model.name
        ));
    }
    Ok(())
}

/// What the paper's greedy merging gives, where its quadratic time allows.
fn merged(steps: &[Step], report: &Report) -> String {
    if report.graph_nodes > 6_000 {
        return "-".to_string();
    }
    let chains = Chains::new(steps);
    let graph = Graph::new(
        &chains,
        &Footprints::new(Execution::of(steps), &chains),
        true,
    );
    merge::switches_after_merging(&graph, |_| {}).to_string()
}
