//! One function: its blocks, what follows from what, its loops.

use super::facts::{FunctionFacts, PlaceFacts};
use super::gather::{Known, class, function_facts, places};
use super::text;
use bohr_program::graph::{Edge, Nesting, Next};
use bohr_program::{
    BlockNumber, FunctionFlow, FunctionNumber, GateSearch, Gates, Program, Sharing, Type, Verdict,
    repetitions,
};
use serde::Serialize;
use std::fmt::Write;

/// A function with its graph.
#[derive(Debug, Serialize)]
pub struct GraphFacts {
    #[serde(flatten)]
    pub function: FunctionFacts,
    pub graph: Vec<BlockFacts>,
    pub irreducible_regions: Vec<Vec<String>>,
}

/// A block, and what is known about it.
#[derive(Debug, Serialize)]
pub struct BlockFacts {
    pub block: String,
    pub reachable: bool,
    pub place: Option<PlaceFacts>,
    pub successors: Vec<String>,
    /// `exit` is the end of the function.
    pub immediate_post_dominator: Option<String>,
    pub immediate_dominator: Option<String>,
    /// Edges `block.outcome`, one of which has to be taken for the block to run.
    pub control_dependences: Vec<String>,
    pub nesting: &'static str,
    /// Of dependences that cannot be put together: what all of them nest in.
    pub ancestor: Option<String>,
    pub innermost_loop: Option<String>,
}

/// Everything about one function.
pub fn gather(
    program: &Program,
    sharing: &Sharing,
    report: &[u8],
    number: FunctionNumber,
) -> GraphFacts {
    let flow = FunctionFlow::new(program, number).expect("it has a body");
    let repetitions = repetitions(program, &program.layouts(), number, &flow);
    let is_noticed = |site| !matches!(sharing.verdict(site), Verdict::Private(_));
    let mut search = GateSearch::new(program, &is_noticed);
    search.function(number, &flow, &repetitions);
    let gates = search.finish();
    let known = Known {
        program,
        sharing,
        gates: &gates,
        first_gate: first_gate(program, &gates, report),
    };
    let function = function_facts(&known, number, &flow, &repetitions);
    let graph = flow
        .graph
        .blocks()
        .map(|block| block_facts(program, number, &flow, block));
    let regions = flow.irreducible.iter().map(|region| words(&region.blocks));
    GraphFacts {
        function,
        graph: graph.collect(),
        irreducible_regions: regions.collect(),
    }
}

/// The number that the first of a function's gates has in the whole program, as
/// the profile's report tells: they are numbered function by function.
fn first_gate(program: &Program, gates: &Gates, report: &[u8]) -> u32 {
    let report: serde_json::Value = serde_json::from_slice(report).unwrap_or_default();
    let first = gates.gates.values().next().map(|gate| gate.id(program));
    let listed = report["gates"].as_array().cloned().unwrap_or_default();
    let position = first.and_then(|id| listed.iter().position(|gate| gate["id"] == id.as_str()));
    position.map_or(0, |position| position as u32)
}

fn block_facts(
    program: &Program,
    number: FunctionNumber,
    flow: &FunctionFlow,
    block: BlockNumber,
) -> BlockFacts {
    let body = program.functions[number]
        .body
        .as_ref()
        .expect("it has a body");
    let location = body.location_of_block(block);
    let nesting = flow.nestings.of(block);
    let after = flow
        .post_dominators
        .immediate(block)
        .map(|next| match next {
            Next::Block(block) => block.to_string(),
            Next::Exit => "exit".to_owned(),
        });
    BlockFacts {
        block: block.to_string(),
        reachable: flow.graph.is_reachable(block),
        place: places(program, location).into_iter().last(),
        successors: words(flow.graph.successors(block)),
        immediate_post_dominator: after,
        immediate_dominator: flow
            .dominators
            .immediate(block)
            .map(|above| above.to_string()),
        control_dependences: words::<Edge>(flow.dependence.of(block)),
        nesting: class(nesting),
        ancestor: match nesting {
            Nesting::NotAggregatable { ancestor, .. } => ancestor.map(|edge| edge.to_string()),
            _ => None,
        },
        innermost_loop: flow.loops.innermost(block).map(|number| number.to_string()),
    }
}

fn words<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

/// The function for a terminal.
pub fn show(program: &Program, number: FunctionNumber, facts: &GraphFacts) -> String {
    let mut out = String::new();
    let function = &facts.function;
    let file = function.file.as_deref().unwrap_or("?");
    let threads = if function.runs_in_threads {
        "may run in any thread"
    } else {
        "main thread only"
    };
    let _ = writeln!(
        out,
        "{}\n  {file}:{}  {}  id {}  {threads}",
        function.name, function.line, function.language, function.id
    );
    blocks(&mut out, program, number, facts);
    out.push_str("\npost-dominators (what always comes next)\n");
    tree(&mut out, &facts.graph, "exit", 1);
    out.push_str("\ncontrol dependences (block.outcome)\n");
    for block in facts.graph.iter().filter(|block| block.reachable) {
        let on = match block.control_dependences.is_empty() {
            true => "runs in every call".to_owned(),
            false => format!("{}  {}", block.control_dependences.join(" "), block.nesting),
        };
        let within = block
            .ancestor
            .as_ref()
            .map(|edge| format!(" within {edge}"));
        let _ = writeln!(
            out,
            "  {:<6} {on}{}",
            block.block,
            within.unwrap_or_default()
        );
    }
    loops(&mut out, facts);
    out
}

fn blocks(out: &mut String, program: &Program, number: FunctionNumber, facts: &GraphFacts) {
    out.push_str("\nblocks\n");
    let body = program.functions[number]
        .body
        .as_ref()
        .expect("it has a body");
    for (block, facts_of) in body.blocks.keys().zip(&facts.graph) {
        let unreachable = if facts_of.reachable {
            ""
        } else {
            "  never reached"
        };
        let to = match facts_of.successors.is_empty() {
            true => "leaves the function".to_owned(),
            false => format!("-> {}", facts_of.successors.join(" ")),
        };
        let at = text::place(facts_of.place.as_ref());
        let _ = writeln!(out, "{block}  {at}  {to}{unreachable}");
        for (number_of, instruction) in body.block(block) {
            let result = match program.types[instruction.result] {
                Type::Void => String::new(),
                _ => format!("{number_of} = "),
            };
            let shown = program.show_instruction(body, instruction);
            let _ = writeln!(out, "    {result}{shown}");
            if let Some(site) = program.site_at(number, number_of) {
                let first = program.sites_of(number).start;
                text::site(
                    out,
                    &facts.function.sites[site.as_u32() as usize - first],
                    "      ; ",
                );
            }
        }
    }
}

/// The blocks below one in the post-dominator tree, indented.
fn tree(out: &mut String, blocks: &[BlockFacts], above: &str, depth: usize) {
    for block in blocks {
        if block.immediate_post_dominator.as_deref() == Some(above) {
            let _ = writeln!(out, "{}{}", "  ".repeat(depth), block.block);
            tree(out, blocks, &block.block, depth + 1);
        }
    }
}

fn loops(out: &mut String, facts: &GraphFacts) {
    if !facts.function.loops.is_empty() {
        out.push_str("\nloops\n");
    }
    facts
        .function
        .loops
        .iter()
        .for_each(|one| text::a_loop(out, one));
    for region in &facts.irreducible_regions {
        let _ = writeln!(
            out,
            "  {}: a cycle with several entries, which is no loop",
            region.join(" ")
        );
    }
}
