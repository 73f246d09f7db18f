//! Graphs for Graphviz: `bohr inspect PROGRAM --dot | dot -Tsvg`.

use super::gather::places;
use super::{name, text};
use bohr_program::graph::Next;
use bohr_program::{
    CallGraph, Certainty, FunctionFlow, FunctionNumber, Operation, Program, Sharing, SiteNumber,
    Verdict,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A function: solid edges are branches, dashed ones lead to the immediate
/// post-dominator, dotted ones come from the branch that decides about a block.
/// Loop headers are framed twice, blocks with shared accesses are filled.
pub fn function(program: &Program, number: FunctionNumber) -> String {
    let facts = &program.functions[number];
    let body = facts.body.as_ref().expect("it has a body");
    let flow = FunctionFlow::new(program, number).expect("it has a body");
    let sharing = Sharing::of(program);
    let title = name::readable(&program.texts[facts.name]);
    let mut out = format!(
        "digraph {} {{\n  node [shape=box, fontname=monospace];\n",
        quoted(&title)
    );
    for block in flow.graph.blocks() {
        let location = body.block(block).find_map(|(_, one)| one.location.expand());
        let place = text::place(places(program, location).last());
        let sites = program.sites_of(number).filter(|&site| {
            let site = SiteNumber::from_u32(site as u32);
            let here = body.block_of(program.sites[site].instruction) == block;
            here && sharing.verdict(site) == Verdict::Shared
        });
        let shared = sites.count();
        let label = format!("{block}\n{place}\n{shared} shared");
        let header = flow.loops.iter().any(|(_, shape)| shape.header == block);
        let frame = if header { ", peripheries=2" } else { "" };
        let fill = if shared > 0 {
            ", style=filled, fillcolor=lightyellow"
        } else {
            ""
        };
        let _ = writeln!(out, "  {block} [label={}{frame}{fill}];", quoted(&label));
    }
    out.push_str("  exit [shape=ellipse];\n");
    for block in flow.graph.blocks() {
        let branches = flow.graph.edges(block).nth(1).is_some();
        for (edge, to) in flow.graph.edges(block) {
            let label = if branches {
                format!(" [label=\"{}\"]", edge.outcome.0)
            } else {
                String::new()
            };
            let _ = writeln!(out, "  {block} -> {to}{label};");
        }
        if matches!(body.terminator(block).operation, Operation::Return { .. }) {
            let _ = writeln!(out, "  {block} -> exit;");
        }
        if let Some(next) = flow.post_dominators.immediate(block) {
            let next = match next {
                Next::Block(next) => next.to_string(),
                Next::Exit => "exit".to_owned(),
            };
            let _ = writeln!(
                out,
                "  {block} -> {next} [style=dashed, color=blue, constraint=false];"
            );
        }
        for edge in flow.dependence.of(block) {
            let _ = writeln!(
                out,
                "  {} -> {block} [style=dotted, color=red, constraint=false, label=\"{}\"];",
                edge.from, edge.outcome.0
            );
        }
    }
    out + "}\n"
}

/// All calls: dashed edges are calls through pointers, dotted ones those that
/// only fit. Functions that may run outside the main thread are filled.
pub fn calls(program: &Program) -> String {
    let sharing = Sharing::of(program);
    let graph = CallGraph::new(program, Some(&sharing));
    let mut out = String::from("digraph calls {\n  node [shape=box, fontname=monospace];\n");
    for (number, facts, _) in program.bodies() {
        let label = quoted(&name::short(&program.texts[facts.name]));
        let fill = match sharing.runs_in_thread(number) {
            true => ", style=filled, fillcolor=lightyellow",
            false => "",
        };
        let _ = writeln!(out, "  {number} [label={label}{fill}];");
    }
    let mut edges: BTreeMap<(FunctionNumber, FunctionNumber), Certainty> = BTreeMap::new();
    for (caller, edge) in graph.edges() {
        if program.functions[edge.callee].body.is_some() {
            let certainty = edges.entry((caller, edge.callee)).or_insert(edge.certainty);
            *certainty = (*certainty).min(edge.certainty);
        }
    }
    for ((caller, callee), certainty) in edges {
        let style = match certainty {
            Certainty::Named => "",
            Certainty::Reaches => " [style=dashed]",
            Certainty::Fits => " [style=dotted]",
        };
        let _ = writeln!(out, "  {caller} -> {callee}{style};");
    }
    out + "}\n"
}

fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}
