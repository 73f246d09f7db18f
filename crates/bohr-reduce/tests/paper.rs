//! Goldens from the SimTrace paper, and where its Algorithm 1 goes wrong.

use bohr_event::{EventKind, MemoryOrder, Operation, PlaceNumber, ThreadIndex, control::Step};
use bohr_reduce::footprint::Footprints;
use bohr_reduce::graph::{Graph, Need};
use bohr_reduce::{Chain, Chains, Execution, Options, merge, simplify};

fn step(thread: u32, kind: EventKind, object: u64, size: u32) -> Step {
    Step {
        thread: ThreadIndex(thread),
        operation: Operation {
            kind,
            order: MemoryOrder::Plain,
            size,
            object,
            place: PlaceNumber(0),
        },
    }
}

fn graph(steps: &[Step]) -> Graph {
    let chains = Chains::new(steps);
    Graph::new(
        &chains,
        &Footprints::new(Execution::of(steps), &chains),
        false,
    )
}

const LOOSE: Options = Options {
    pin_last: false,
    whole_threads: false,
    check: true,
    widest: 16,
    exact_states: 20_000,
    free_tries: 0,
};

/// Figure 1: a1 → b2, c1 → b2, b1 → a2, b1 → c2. Threads a, b, c are 0, 1, 2.
fn figure_1() -> [Step; 6] {
    let [x, z] = [0x10, 0x20];
    [
        step(0, EventKind::Write, x, 4),     // a1
        step(1, EventKind::Write, z, 4),     // b1
        step(2, EventKind::Write, x + 4, 4), // c1
        step(0, EventKind::Read, z, 4),      // a2
        step(1, EventKind::Read, x, 8),      // b2
        step(2, EventKind::Read, z, 4),      // c2
    ]
}

#[test]
fn figure_1_has_six_nodes_and_four_remote_edges() {
    let graph = graph(&figure_1());
    assert_eq!(graph.nodes(), 6);
    let [a, b, c] = [Chain(0), Chain(1), Chain(2)];
    let first_of = |chain| Need { chain, nodes: 1 };
    assert_eq!(graph.needs(a, 1), [first_of(b)]);
    assert_eq!(graph.needs(c, 1), [first_of(b)]);
    let mut both = graph.needs(b, 1).to_vec();
    both.sort_by_key(|need| need.chain);
    assert_eq!(both, [first_of(a), first_of(c)]);
    assert!(
        [a, b, c]
            .iter()
            .all(|&chain| graph.needs(chain, 0).is_empty())
    );
}

#[test]
fn greedy_merging_loses_where_the_paper_says_and_the_search_does_not() {
    let steps = figure_1();
    let graph = graph(&steps);
    let b_first =
        merge::switches_after_merging(&graph, |edges| edges.sort_by_key(|edge| edge.0 != Chain(1)));
    assert_eq!(b_first, 4, "Figure 1 (a)");
    let b_last =
        merge::switches_after_merging(&graph, |edges| edges.sort_by_key(|edge| edge.0 == Chain(1)));
    assert_eq!(b_last, 3, "Figure 1 (b)");
    let simplified = simplify(Execution::of(&steps), &LOOSE, &mut || true).unwrap();
    assert_eq!(simplified.report.switches_before, 5);
    assert_eq!(simplified.report.switches_after, 3);
    assert!(simplified.report.optimal && simplified.report.verified);
    assert_eq!(simplified.report.shared_variables, 3);
}

#[test]
fn a_start_keeps_its_edge_to_the_fork() {
    let child = ThreadIndex(1).object();
    let steps = [
        step(0, EventKind::Write, 0x10, 4),
        step(0, EventKind::Fork, child, 0),
        step(1, EventKind::Start, child, 0),
    ];
    assert_eq!(
        graph(&steps).needs(Chain(1), 0),
        [Need {
            chain: Chain(0),
            nodes: 1
        }]
    );
}

#[test]
fn an_action_without_a_switch_before_it_keeps_its_edge() {
    let steps = [
        step(0, EventKind::Write, 0x10, 4),
        step(1, EventKind::Write, 0x20, 4),
        step(1, EventKind::Read, 0x10, 4),
    ];
    let graph = graph(&steps);
    assert_eq!(graph.length(Chain(1)), 2);
    assert_eq!(
        graph.needs(Chain(1), 1),
        [Need {
            chain: Chain(0),
            nodes: 1
        }]
    );
}

#[test]
fn what_follows_from_another_dependence_is_left_out() {
    let steps = [
        step(0, EventKind::Write, 0x10, 4),
        step(0, EventKind::Write, 0x20, 4),
        step(1, EventKind::Read, 0x20, 4),
        step(1, EventKind::Read, 0x10, 4),
        step(2, EventKind::Write, 0x20, 4),
        step(2, EventKind::Write, 0x10, 4),
    ];
    let graph = graph(&steps);
    assert_eq!(graph.length(Chain(1)), 1);
    // After the reader's first node everything of the first thread is over.
    assert_eq!(
        graph.needs(Chain(2), 0),
        [Need {
            chain: Chain(1),
            nodes: 1
        }]
    );
}

#[test]
fn an_unheard_signal_stays_unheard() {
    let [lock, condition] = [0x10, 0x20];
    let steps = [
        step(1, EventKind::Signal, condition, 0),
        step(0, EventKind::Acquire, lock, 0),
        step(0, EventKind::Release, lock, 0),
        step(1, EventKind::Signal, condition, 0),
        step(0, EventKind::Wait, condition, 0),
    ];
    // Without the rule, the release could come first, and hear the first signal.
    let chains = Chains::new(&steps);
    let graph = Graph::new(
        &chains,
        &Footprints::new(Execution::of(&steps), &chains),
        false,
    );
    let [signaller, waiter] = [Chain(0), Chain(1)];
    let need = |chain, nodes| [Need { chain, nodes }];
    assert_eq!(graph.needs(waiter, 1), need(signaller, 1), "the release");
    assert_eq!(
        graph.needs(signaller, 1),
        need(waiter, 2),
        "the second signal"
    );
    assert_eq!(graph.needs(waiter, 2), need(signaller, 2), "the wait");
}
