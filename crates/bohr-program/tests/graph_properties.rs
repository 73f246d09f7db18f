//! The graph analyses against their definitions, computed the slow way by
//! removing blocks and following paths, on random graphs.

use bohr_program::BlockNumber;
use bohr_program::graph::*;
use proptest::prelude::*;

/// A random graph of up to nine blocks with up to three successors each.
fn graphs() -> impl Strategy<Value = FlowGraph> {
    (1usize..9).prop_flat_map(|len| {
        let list = prop::collection::vec(0..len as u32, 0..4);
        prop::collection::vec(list, len).prop_map(|lists| {
            let blocks = |list: Vec<u32>| list.into_iter().map(BlockNumber::from_u32).collect();
            FlowGraph::new(lists.into_iter().map(blocks))
        })
    })
}

/// The blocks that `start` reaches without entering `removed`.
fn reachable(
    graph: &FlowGraph,
    start: BlockNumber,
    removed: Option<BlockNumber>,
) -> Vec<BlockNumber> {
    let mut found = Vec::new();
    let mut work = vec![start];
    while let Some(block) = work.pop() {
        if Some(block) != removed && !found.contains(&block) {
            found.push(block);
            work.extend(graph.successors(block));
        }
    }
    found
}

/// Dominance by its definition: without `above`, `below` is out of reach.
fn dominates(graph: &FlowGraph, above: BlockNumber, below: BlockNumber) -> bool {
    let reached = |removed| reachable(graph, graph.entry(), removed).contains(&below);
    reached(None) && !reached(Some(above)) && reachable(graph, graph.entry(), None).contains(&above)
}

/// Whether `block` counts as an end of the function.
fn ends(graph: &FlowGraph, post: &PostDominators, block: BlockNumber) -> bool {
    graph.successors(block).is_empty() || post.endless().contains(&block)
}

/// Post-dominance by its definition: without `after`, no end is in reach.
fn post_dominates(
    graph: &FlowGraph,
    post: &PostDominators,
    after: BlockNumber,
    before: BlockNumber,
) -> bool {
    let left = reachable(graph, before, Some(after));
    !left.iter().any(|&block| ends(graph, post, block))
}

/// Control dependence by its definition: there is a path that begins with the
/// edge and ends at `block`, every block of which after the branch is
/// post-dominated by `block`, and `block` does not strictly post-dominate the
/// branch.
fn depends(graph: &FlowGraph, post: &PostDominators, block: BlockNumber, edge: Edge) -> bool {
    let strictly = block != edge.from && post_dominates(graph, post, block, edge.from);
    let mut seen = Vec::new();
    let mut work = vec![graph.target(edge)];
    let mut arrives = false;
    while let Some(at) = work.pop() {
        if seen.contains(&at) || !post_dominates(graph, post, block, at) {
            continue;
        }
        seen.push(at);
        arrives |= at == block;
        work.extend(graph.successors(at));
    }
    arrives && !strictly
}

fn live(graph: &FlowGraph) -> Vec<BlockNumber> {
    reachable(graph, graph.entry(), None)
}

proptest! {
    #[test]
    fn reverse_postorder_holds_what_is_reachable(graph in graphs()) {
        let mut order = graph.reverse_postorder().to_vec();
        prop_assert_eq!(order[0], graph.entry());
        order.sort();
        let mut naive = live(&graph);
        naive.sort();
        prop_assert_eq!(order, naive);
    }

    #[test]
    fn dominance_is_its_definition(graph in graphs()) {
        let dominators = Dominators::new(&graph);
        for above in graph.blocks() {
            for below in graph.blocks() {
                prop_assert_eq!(
                    dominators.dominates(above, below),
                    dominates(&graph, above, below),
                    "{} over {}", above, below
                );
            }
        }
    }

    #[test]
    fn immediate_dominators_are_the_closest(graph in graphs()) {
        let dominators = Dominators::new(&graph);
        for block in live(&graph) {
            let strict: Vec<_> =
                graph.blocks().filter(|&b| b != block && dominates(&graph, b, block)).collect();
            let closest = strict.iter().copied().find(|&candidate| {
                strict.iter().all(|&other| dominates(&graph, other, candidate))
            });
            prop_assert_eq!(dominators.immediate(block), closest);
        }
    }

    #[test]
    fn every_endless_cycle_has_one_end(graph in graphs()) {
        let post = PostDominators::new(&graph);
        for block in live(&graph) {
            let from = reachable(&graph, block, None);
            let has_end = from.iter().any(|&b| ends(&graph, &post, b));
            prop_assert!(has_end, "{} reaches no end", block);
        }
        for &block in post.endless() {
            let cycle = reachable(&graph, block, None);
            // Everything in reach leads back, so the cycle cannot be left …
            prop_assert!(cycle.iter().all(|&b| reachable(&graph, b, None).contains(&block)));
            prop_assert!(!graph.successors(block).is_empty());
            // … and no other block stands for its end.
            let others = post.endless().iter().filter(|other| cycle.contains(other));
            prop_assert_eq!(others.count(), 1);
        }
    }

    #[test]
    fn post_dominance_is_its_definition(graph in graphs()) {
        let post = PostDominators::new(&graph);
        for before in live(&graph) {
            for after in live(&graph) {
                prop_assert_eq!(
                    post.post_dominates(after, before),
                    post_dominates(&graph, &post, after, before),
                    "{} after {}", after, before
                );
            }
        }
    }

    #[test]
    fn control_dependence_is_its_definition(graph in graphs()) {
        let post = PostDominators::new(&graph);
        let dependence = ControlDependence::new(&graph, &post);
        for block in live(&graph) {
            let naive: Vec<Edge> = live(&graph)
                .into_iter()
                .flat_map(|from| graph.edges(from).map(|(edge, _)| edge).collect::<Vec<_>>())
                .filter(|&edge| depends(&graph, &post, block, edge))
                .collect();
            let mut naive = naive;
            naive.sort();
            prop_assert_eq!(dependence.of(block), naive, "{}", block);
        }
    }

    #[test]
    fn frontiers_are_their_definition(graph in graphs()) {
        let frontiers = dominance_frontiers(&graph, &Dominators::new(&graph));
        for block in live(&graph) {
            let naive: Vec<_> = graph.blocks().filter(|&join| {
                let strictly = block != join && dominates(&graph, block, join);
                !strictly && graph.predecessors(join).iter().any(|&b| dominates(&graph, block, b))
            }).collect();
            prop_assert_eq!(&frontiers[block.as_u32() as usize], &naive);
        }
    }

    /// Every cycle lies in a loop or in an irreducible region, and loops nest.
    #[test]
    fn loops_and_regions_hold_every_cycle(graph in graphs()) {
        let dominators = Dominators::new(&graph);
        let loops = Loops::new(&graph, &dominators);
        let regions = irreducible_regions(&graph);
        for block in live(&graph) {
            let cyclic = graph.successors(block).iter()
                .any(|&next| reachable(&graph, next, None).contains(&block));
            let known = loops.innermost(block).is_some()
                || regions.iter().any(|region| region.blocks.contains(&block));
            prop_assert_eq!(cyclic, known, "{}", block);
        }
        for (_, shape) in loops.iter() {
            prop_assert!(shape.blocks.iter().all(|&b| dominates(&graph, shape.header, b)));
            if let Some(parent) = shape.parent {
                prop_assert!(shape.blocks.iter().all(|&b| loops.get(parent).contains(b)));
                prop_assert!(loops.get(parent).header != shape.header);
            }
        }
        for region in &regions {
            prop_assert!(region.entries.len() > 1);
            for entry in &region.entries {
                prop_assert!(!region.entries.iter().any(|&other|
                    other != *entry && dominates(&graph, other, *entry)
                        && region.blocks.iter().all(|&b| dominates(&graph, other, b))));
            }
        }
    }

    /// The class of a block accounts for exactly its dependences.
    #[test]
    fn nestings_account_for_every_dependence(graph in graphs()) {
        let dominators = Dominators::new(&graph);
        let post = PostDominators::new(&graph);
        let dependence = ControlDependence::new(&graph, &post);
        let loops = Loops::new(&graph, &dominators);
        let nestings = Nestings::new(&graph, &dominators, &dependence, &loops, &|_| true);
        for block in live(&graph) {
            match nestings.of(block) {
                Nesting::Body => prop_assert!(dependence.of(block).is_empty()),
                Nesting::One(edge) => prop_assert_eq!(dependence.of(block), [*edge]),
                Nesting::Aggregated { root, edges } => {
                    prop_assert_eq!(dependence.of(block), edges);
                    prop_assert!(edges.iter().all(|edge| dominates(&graph, *root, edge.from)));
                }
                Nesting::NotAggregatable { edges, ancestor } => {
                    prop_assert_eq!(dependence.of(block), edges);
                    if let Some(ancestor) = ancestor {
                        let ancestor = graph.target(*ancestor);
                        prop_assert!(edges.iter().all(|edge|
                            reachable(&graph, ancestor, None).contains(&graph.target(*edge))));
                    }
                }
                Nesting::Loop { number, predicate } => {
                    prop_assert!(loops.get(*number).contains(block));
                    prop_assert!(loops.get(*number).contains(*predicate));
                }
            }
        }
    }
}
