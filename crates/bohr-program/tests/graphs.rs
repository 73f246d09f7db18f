//! Graph analyses on small graphs, the expected result beside each input.
//!
//! A file in `tests/graphs` begins with the graph, one line `b0 -> b1 b2` per
//! block in ascending order; `effects: b1 b2` names the blocks that do more than
//! evaluate their condition; `;` begins a comment. Each section `== analysis`
//! holds what that analysis has to print. `BOHR_BLESS=1` writes what it prints.

use bohr_program::BlockNumber;
use bohr_program::graph::*;
use std::fmt::Write;
use std::path::{Path, PathBuf};

struct Analysed {
    graph: FlowGraph,
    dominators: Dominators,
    post: PostDominators,
    dependence: ControlDependence,
    loops: Loops,
    nestings: Nestings,
}

impl Analysed {
    fn new(graph: FlowGraph, effects: &[BlockNumber]) -> Analysed {
        let dominators = Dominators::new(&graph);
        let post = PostDominators::new(&graph);
        let dependence = ControlDependence::new(&graph, &post);
        let loops = Loops::new(&graph, &dominators);
        let only_evaluates = |block: BlockNumber| !effects.contains(&block);
        let nestings = Nestings::new(&graph, &dominators, &dependence, &loops, &only_evaluates);
        Analysed {
            graph,
            dominators,
            post,
            dependence,
            loops,
            nestings,
        }
    }

    /// The text of a section, or `None` if there is no such analysis.
    fn section(&self, name: &str) -> Option<String> {
        let per_block = |show: &dyn Fn(BlockNumber) -> String| {
            self.graph.blocks().fold(String::new(), |mut text, block| {
                let shown = show(block);
                let space = if shown.is_empty() { "" } else { " " };
                writeln!(text, "{block}:{space}{shown}").unwrap();
                text
            })
        };
        Some(match name {
            "order" => format!("{}\n", list(self.graph.reverse_postorder())),
            "dominators" => per_block(&|block| {
                self.dominators
                    .immediate(block)
                    .map_or("-".to_owned(), |above| above.to_string())
            }),
            "post-dominators" => per_block(&|block| match self.post.immediate(block) {
                None => "-".to_owned(),
                Some(Next::Exit) => "exit".to_owned(),
                Some(Next::Block(after)) => after.to_string(),
            }),
            "endless" => format!("{}\n", list(self.post.endless())),
            "frontiers" => {
                let frontiers = dominance_frontiers(&self.graph, &self.dominators);
                per_block(&|block| list(&frontiers[block.as_u32() as usize]))
            }
            "control-dependence" => per_block(&|block| list(self.dependence.of(block))),
            "nesting" => per_block(&|block| self.nesting(self.nestings.of(block))),
            "loops" => self
                .loops
                .iter()
                .map(|(number, shape)| self.one_loop(number, shape))
                .collect(),
            "irreducible" => irreducible_regions(&self.graph)
                .iter()
                .map(|region| format!("{} at {}\n", list(&region.blocks), list(&region.entries)))
                .collect(),
            _ => return None,
        })
    }

    fn nesting(&self, nesting: &Nesting) -> String {
        match nesting {
            Nesting::Body => "body".to_owned(),
            Nesting::One(edge) => format!("one {edge}"),
            Nesting::Aggregated { root, edges } => {
                format!("aggregated {} from {root}", list(edges))
            }
            Nesting::NotAggregatable { edges, ancestor } => {
                let ancestor = ancestor.map_or("body".to_owned(), |edge| edge.to_string());
                format!("not aggregatable {} within {ancestor}", list(edges))
            }
            Nesting::Loop { number, predicate } => {
                let around = self.nesting(self.nestings.around(*number));
                format!("{number} at {predicate}, {around}")
            }
        }
    }

    fn one_loop(&self, number: LoopNumber, shape: &Loop) -> String {
        let predicate = self.loops.predicate(number, &self.graph, &self.dominators);
        let parent = shape
            .parent
            .map_or("none".to_owned(), |parent| parent.to_string());
        format!(
            "{number}: header {} latches {} exits {} blocks {} depth {} in {parent} predicate {predicate}\n",
            shape.header,
            list(&shape.latches),
            list(&shape.exits),
            list(&shape.blocks),
            shape.depth,
        )
    }
}

fn list<T: std::fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(" ")
}

fn block(word: &str) -> BlockNumber {
    let number = word
        .strip_prefix('b')
        .and_then(|digits| digits.parse().ok());
    BlockNumber::from_u32(number.unwrap_or_else(|| panic!("expected a block like b0, got {word}")))
}

/// The graph and the blocks with effects.
fn parse(head: &str) -> (FlowGraph, Vec<BlockNumber>) {
    let mut lists = Vec::new();
    let mut effects = Vec::new();
    for line in head
        .lines()
        .filter(|line| !line.starts_with(';') && !line.trim().is_empty())
    {
        if let Some(blocks) = line.strip_prefix("effects:") {
            effects.extend(blocks.split_whitespace().map(block));
            continue;
        }
        let (from, to) = line
            .split_once("->")
            .unwrap_or_else(|| panic!("no arrow in: {line}"));
        assert_eq!(
            block(from.trim()).as_u32() as usize,
            lists.len(),
            "blocks in order: {line}"
        );
        lists.push(to.split_whitespace().map(block).collect());
    }
    (FlowGraph::new(lists), effects)
}

/// The file as it should be, given as it is.
fn expected(path: &Path, text: &str) -> String {
    let mut parts = text.split("== ");
    let head = parts.next().unwrap_or_default();
    let (graph, effects) = parse(head);
    let analysed = Analysed::new(graph, &effects);
    let mut result = head.to_owned();
    let mut sections: Vec<String> = parts
        .map(|part| {
            let name = part.lines().next().unwrap_or_default().trim();
            let text = analysed.section(name);
            let text = text.unwrap_or_else(|| panic!("{}: no analysis {name}", path.display()));
            format!("== {name}\n{text}")
        })
        .collect();
    assert!(!sections.is_empty(), "{} expects nothing", path.display());
    let last = sections.pop().unwrap_or_default();
    sections
        .iter()
        .for_each(|section| writeln!(result, "{section}").unwrap());
    result + &last
}

#[test]
fn graphs_are_analysed_as_their_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphs");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut wrong = Vec::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).unwrap();
        let expected = expected(path, &text);
        if text == expected {
            continue;
        }
        if std::env::var_os("BOHR_BLESS").is_some() {
            std::fs::write(path, expected).unwrap();
        } else {
            wrong.push(format!("{}\n--- computed:\n{expected}", path.display()));
        }
    }
    assert!(paths.len() >= 10, "only {} files found", paths.len());
    assert!(
        wrong.is_empty(),
        "{}\nBOHR_BLESS=1 writes these results",
        wrong.join("\n")
    );
}
