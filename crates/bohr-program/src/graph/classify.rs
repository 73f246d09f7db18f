//! How a block nests: the classes of control dependence that decide how its
//! place in an execution is named.
//!
//! D. Weeratunge, X. Zhang, S. Jagannathan, "Analyzing Multicore Dumps to
//! Facilitate Concurrency Bug Reproduction", ASPLOS 2010, section 3.2: table 1
//! for the classes, algorithm 1 for what a block nests in.
//!
//! Deviations, all because the paper speaks of statements and this of blocks:
//!
//! - The predicate of a loop is chosen by [`Loops::predicate`]. Its own
//!   dependences leave out those on branches inside its loop, which the
//!   iteration count stands for; the paper's recursion would not end otherwise.
//! - Dependences can be aggregated if they are outcomes of one branch (cases of
//!   a switch that fall through), or if their branches lie in a short-circuit
//!   expression: blocks that only evaluate conditions, entered through one of
//!   them, from which all dependences lead to one block. Whether a block only
//!   evaluates a condition is for the caller to say; for source such as
//!   `if (a) goto l; f(); if (b) l: …` the answer keeps it from passing for
//!   `if (a || b) …`.
//! - Where dependences form a cycle that no loop predicate breaks (irreducible
//!   regions), the search for an ancestor stops at the repetition. Blocks are
//!   taken in reverse postorder, so the answer is always the same one.

use super::control_dependence::ControlDependence;
use super::dominators::Dominators;
use super::flow::{Edge, FlowGraph};
use super::loops::{LoopNumber, Loops};
use crate::BlockNumber;
use cranelift_entity::{EntityRef, PrimaryMap};
use std::collections::HashSet;

/// What decides whether a block runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// Nothing: it runs in every call of the function.
    Body,
    /// One outcome of one branch.
    One(Edge),
    /// A disjunction that counts as one predicate.
    Aggregated {
        /// The branch that is evaluated first; the predicate as a whole nests
        /// where this block does.
        root: BlockNumber,
        /// The edges on which the block runs, ascending.
        edges: Vec<Edge>,
    },
    /// Branches that cannot be put together.
    NotAggregatable {
        /// The edges on which the block may run, ascending.
        edges: Vec<Edge>,
        /// The closest edge that all of them nest in; none if that is the
        /// function's body.
        ancestor: Option<Edge>,
    },
    /// Another iteration: the block is the predicate of its loop, or has a
    /// dependence on it beside others.
    Loop {
        /// Which loop.
        number: LoopNumber,
        /// The branch that decides about another iteration.
        predicate: BlockNumber,
    },
}

/// What decides about every block and every loop of a function.
///
/// ```
/// use bohr_program::BlockNumber;
/// use bohr_program::graph::*;
///
/// // if (b0 || b1) b2; b3
/// let [b0, b1, b2, b3] = [0, 1, 2, 3].map(BlockNumber::from_u32);
/// let graph = FlowGraph::new([vec![b2, b1], vec![b2, b3], vec![b3], vec![]]);
/// let dominators = Dominators::new(&graph);
/// let dependence = ControlDependence::new(&graph, &PostDominators::new(&graph));
/// let loops = Loops::new(&graph, &dominators);
/// let nestings = Nestings::new(&graph, &dominators, &dependence, &loops, &|_| true);
/// assert!(matches!(nestings.of(b2), Nesting::Aggregated { root, .. } if *root == b0));
/// ```
#[derive(Clone, Debug)]
pub struct Nestings {
    of: Vec<Nesting>,
    around: PrimaryMap<LoopNumber, Nesting>,
}

impl Nestings {
    /// Classifies all blocks. `only_evaluates` tells whether a block computes
    /// its branch condition and does nothing that another block or thread could
    /// notice.
    #[must_use]
    pub fn new(
        graph: &FlowGraph,
        dominators: &Dominators,
        dependence: &ControlDependence,
        loops: &Loops,
        only_evaluates: &dyn Fn(BlockNumber) -> bool,
    ) -> Nestings {
        let predicates = loops
            .iter()
            .map(|(number, _)| loops.predicate(number, graph, dominators))
            .collect();
        let parents = vec![Parent::Unknown; graph.len()];
        let mut classifier = Classifier {
            graph,
            dominators,
            dependence,
            loops,
            only_evaluates,
            predicates,
            parents,
        };
        for &block in graph.reverse_postorder() {
            classifier.parent(block);
        }
        let of = graph
            .blocks()
            .map(|block| classifier.classify(block))
            .collect();
        let around = loops
            .iter()
            .map(|(number, _)| classifier.around(number))
            .collect();
        Nestings { of, around }
    }

    /// What decides whether `block` runs.
    #[must_use]
    pub fn of(&self, block: BlockNumber) -> &Nesting {
        &self.of[block.index()]
    }

    /// What the loop as a whole nests in: the dependences of its header without
    /// those on branches inside the loop.
    #[must_use]
    pub fn around(&self, number: LoopNumber) -> &Nesting {
        &self.around[number]
    }
}

/// The closest single edge that a block nests in.
#[derive(Clone, Copy)]
enum Parent {
    Unknown,
    /// Asked for while it is being computed: the dependences form a cycle.
    InProgress,
    Known(Option<Edge>),
}

struct Classifier<'a> {
    graph: &'a FlowGraph,
    dominators: &'a Dominators,
    dependence: &'a ControlDependence,
    loops: &'a Loops,
    only_evaluates: &'a dyn Fn(BlockNumber) -> bool,
    predicates: PrimaryMap<LoopNumber, BlockNumber>,
    parents: Vec<Parent>,
}

impl Classifier<'_> {
    fn classify(&mut self, block: BlockNumber) -> Nesting {
        let edges = self.dependence.of(block);
        match self.loop_of(block, edges) {
            Some(number) => Nesting::Loop {
                number,
                predicate: self.predicates[number],
            },
            None => self.classify_edges(edges),
        }
    }

    fn around(&mut self, number: LoopNumber) -> Nesting {
        let shape = self.loops.get(number);
        let dependence = self.dependence.of(shape.header);
        let outside = dependence
            .iter()
            .copied()
            .filter(|edge| !shape.contains(edge.from));
        let edges: Vec<Edge> = outside.collect();
        match shape.parent {
            Some(outer) if self.is_beside(outer, &edges) => Nesting::Loop {
                number: outer,
                predicate: self.predicates[outer],
            },
            _ => self.classify_edges(&edges),
        }
    }

    /// The loop whose next iteration decides about `block`, innermost first.
    fn loop_of(&self, block: BlockNumber, edges: &[Edge]) -> Option<LoopNumber> {
        let mut around = self.loops.innermost(block);
        while let Some(number) = around {
            let is_predicate = self.predicates[number] == block && !edges.is_empty();
            if is_predicate || self.is_beside(number, edges) {
                return Some(number);
            }
            around = self.loops.get(number).parent;
        }
        None
    }

    /// Whether one of several edges leaves the loop's predicate.
    fn is_beside(&self, number: LoopNumber, edges: &[Edge]) -> bool {
        edges.len() > 1
            && edges
                .iter()
                .any(|edge| edge.from == self.predicates[number])
    }

    fn classify_edges(&mut self, edges: &[Edge]) -> Nesting {
        match edges {
            [] => Nesting::Body,
            [edge] => Nesting::One(*edge),
            _ => match self.aggregate(edges) {
                Some(root) => Nesting::Aggregated {
                    root,
                    edges: edges.to_vec(),
                },
                None => {
                    let ancestor = self.common_ancestor(edges);
                    Nesting::NotAggregatable {
                        edges: edges.to_vec(),
                        ancestor,
                    }
                }
            },
        }
    }

    /// The first branch of the short-circuit expression that all edges leave.
    fn aggregate(&self, edges: &[Edge]) -> Option<BlockNumber> {
        let sources = edges.iter().map(|edge| edge.from);
        let root = sources.reduce(|one, other| self.dominators.common(one, other))?;
        if edges.iter().all(|edge| edge.from == root) {
            return Some(root);
        }
        let target = self.graph.target(edges[0]);
        if edges.iter().any(|&edge| self.graph.target(edge) != target) {
            return None;
        }
        // Every way from the expression to the target has to be a dependence:
        // otherwise the expression does not decide alone.
        let expression = self.expression(root, edges)?;
        let leads = |block: &BlockNumber| {
            let mut ways = self.graph.edges(*block).filter(|&(_, to)| to == target);
            ways.all(|(edge, _)| edges.contains(&edge))
        };
        expression.iter().all(leads).then_some(root)
    }

    /// The blocks between `root` and the sources of the edges, if each of them
    /// but the root only evaluates a condition and is entered from the others.
    fn expression(&self, root: BlockNumber, edges: &[Edge]) -> Option<Vec<BlockNumber>> {
        let mut blocks = vec![root];
        let mut work: Vec<BlockNumber> = edges.iter().map(|edge| edge.from).collect();
        while let Some(block) = work.pop() {
            if blocks.contains(&block) {
                continue;
            }
            let branches = self.graph.edges(block).nth(1).is_some();
            if !branches || !(self.only_evaluates)(block) || self.is_header(block) {
                return None;
            }
            blocks.push(block);
            let reachable = |from: &&BlockNumber| self.graph.is_reachable(**from);
            work.extend(self.graph.predecessors(block).iter().filter(reachable));
        }
        Some(blocks)
    }

    fn is_header(&self, block: BlockNumber) -> bool {
        self.loops
            .innermost(block)
            .is_some_and(|number| self.loops.get(number).header == block)
    }

    /// The closest edge that is, or encloses, every one of `edges`.
    fn common_ancestor(&mut self, edges: &[Edge]) -> Option<Edge> {
        let mut common = *edges.first()?;
        for &edge in &edges[1..] {
            let mut enclosing = HashSet::new();
            let mut at = Some(common);
            while let Some(here) = at.filter(|&here| enclosing.insert(here)) {
                at = self.parent(here.from);
            }
            let mut passed = HashSet::new();
            let mut at = Some(edge);
            while let Some(here) = at.filter(|here| !enclosing.contains(here)) {
                at = if passed.insert(here) {
                    self.parent(here.from)
                } else {
                    None
                };
            }
            common = at?;
        }
        Some(common)
    }

    fn parent(&mut self, block: BlockNumber) -> Option<Edge> {
        match self.parents[block.index()] {
            Parent::Known(parent) => return parent,
            Parent::InProgress => return None,
            Parent::Unknown => self.parents[block.index()] = Parent::InProgress,
        }
        let mut nesting = self.classify(block);
        if let Nesting::Loop { number, predicate } = nesting
            && predicate == block
        {
            nesting = self.around(number);
        }
        let parent = match nesting {
            Nesting::Body => None,
            Nesting::One(edge) => Some(edge),
            Nesting::NotAggregatable { ancestor, .. } => ancestor,
            Nesting::Aggregated { root, .. } => self.parent(root),
            Nesting::Loop { predicate, .. } => {
                let edges = self.dependence.of(block).iter().copied();
                edges.into_iter().find(|edge| edge.from == predicate)
            }
        };
        self.parents[block.index()] = Parent::Known(parent);
        parent
    }
}
