//! What follows from an order, held against searches in small graphs and against
//! random executions of random problems: what the rules say has to be so in every
//! execution that keeps what they were told, and a complete order has to leave
//! each read its one write.

use super::closure::Place;
use super::encode::Choices;
use super::graph::{Graph, Reason};
use super::readings::{Finding, Readings};
use super::tests::{Do, Maker, operation, places};
use crate::check::{Execution, Turn};
use crate::event::Problem;
use crate::model::{Chains, Node, NodeNumber};
use batsat::{Lit, Var};
use bohr_event::MemoryModel;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

const CHAINS: usize = 3;
const LENGTH: usize = 4;

/// So many chains of equal length, without edges; the first of them are threads.
fn bare(threads: usize) -> Chains {
    let mut chains = Chains::default();
    chains.threads = threads;
    chains.chains = vec![Vec::new(); CHAINS];
    for node in 0..CHAINS * LENGTH {
        let (chain, position) = (node / LENGTH, node % LENGTH);
        let (thread, event) = (chain, position);
        chains.nodes.push(Node {
            chain,
            position,
            event: crate::event::EventId { thread, event },
            commits: false,
        });
        chains.chains[chain].push(NodeNumber(node));
    }
    chains
}

/// An edge between two nodes, or a node joined to its predecessor.
#[derive(Clone, Copy, Debug)]
enum Step {
    Edge(usize, usize),
    Join(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let node = || 0..CHAINS * LENGTH;
    prop_oneof![
        3 => (node(), node()).prop_map(|(from, to)| Step::Edge(from, to)),
        1 => node().prop_map(Step::Join),
    ]
}

fn literal(number: usize) -> Lit {
    Lit::new(Var::unsafe_from_idx(number as u32), true)
}

/// By node: those that come behind it.
type Behind = Vec<[bool; CHAINS * LENGTH]>;

/// What comes behind what: along chains and edges, and of threads' neighbours whatever
/// another thread has to do behind the earlier one or before the later one.
fn behind(steps: &[(usize, Step)], threads: usize) -> Behind {
    let nodes = 0..CHAINS * LENGTH;
    let mut behind: Behind = vec![[false; CHAINS * LENGTH]; CHAINS * LENGTH];
    for node in nodes.clone().filter(|node| node % LENGTH < LENGTH - 1) {
        behind[node][node + 1] = true;
    }
    for (_, step) in steps {
        if let Step::Edge(from, to) = *step {
            behind[from][to] = true;
        }
    }
    loop {
        let before = behind.clone();
        for (from, via) in nodes
            .clone()
            .flat_map(|from| nodes.clone().map(move |via| (from, via)))
        {
            if behind[from][via] {
                let further = behind[via];
                behind[from]
                    .iter_mut()
                    .zip(further)
                    .for_each(|(one, more)| *one |= more);
            }
        }
        for (_, step) in steps {
            let Step::Join(joined) = *step else { continue };
            let is_other =
                |node: &usize| node / LENGTH < threads && node / LENGTH != joined / LENGTH;
            for other in nodes.clone().filter(is_other) {
                behind[other][joined - 1] |= behind[other][joined];
                behind[joined][other] |= behind[joined - 1][other];
            }
        }
        if behind == before {
            return behind;
        }
    }
}

/// Whether no node comes before itself.
fn has_order(steps: &[(usize, Step)], threads: usize) -> bool {
    let behind = behind(steps, threads);
    (0..CHAINS * LENGTH).all(|node| !behind[node][node])
}

/// The steps of these literals.
fn blamed(steps: &[(usize, Step)], blame: &[Lit]) -> Vec<(usize, Step)> {
    let is_blamed = |number: usize| blame.contains(&literal(number));
    let steps = steps.iter().filter(|(number, _)| is_blamed(*number));
    steps.copied().collect()
}

fn take(graph: &mut Graph, number: usize, step: Step) -> Result<(), Vec<Lit>> {
    match step {
        Step::Edge(from, to) => {
            let reason = Reason::Literal(literal(number));
            graph.add(NodeNumber(from), NodeNumber(to), reason)
        }
        Step::Join(node) => graph.join(node / LENGTH, node % LENGTH, literal(number)),
    }
}

/// Every way that there is is known, and rests on what is blamed for it.
fn agrees(graph: &Graph, steps: &[(usize, Step)], threads: usize) {
    for (from, expected) in behind(steps, threads).into_iter().enumerate() {
        for to in (0..CHAINS * LENGTH).filter(|to| to / LENGTH != from / LENGTH) {
            let place = |node: usize| Place::new(node / LENGTH, node % LENGTH);
            let way = graph.way(place(from), place(to));
            assert_eq!(way.is_some(), expected[to], "{from} to {to}");
            if let Some(way) = way {
                let why = blamed(steps, &graph.blame(&[], &[way]));
                assert!(behind(&why, threads)[from][to], "{from} to {to}: {why:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_reached_is_known_and_explained(
        steps in prop::collection::vec((step(), 0u8..5), 1..40),
        threads in 1usize..=CHAINS,
    ) {
        let mut graph = Graph::of(&bare(threads)).unwrap();
        let mut held: Vec<(usize, Step)> = Vec::new();
        let mut levels = Vec::new();
        for (number, (step, how)) in steps.into_iter().enumerate() {
            match how {
                0 => levels.push((graph.mark(), held.len())),
                1 => if let Some((mark, count)) = levels.pop() {
                    graph.go_back(mark);
                    held.truncate(count);
                }
                _ => {}
            }
            let is_none =
                |node: usize| node.is_multiple_of(LENGTH) || node / LENGTH >= threads;
            if matches!(step, Step::Join(node) if is_none(node)) {
                continue;
            }
            let mark = graph.mark();
            held.push((number, step));
            match take(&mut graph, number, step) {
                Ok(()) => prop_assert!(has_order(&held, threads)),
                Err(blame) => {
                    prop_assert!(!has_order(&held, threads));
                    prop_assert!(!has_order(&blamed(&held, &blame), threads), "{:?}", blame);
                    graph.go_back(mark);
                    held.pop();
                }
            }
            agrees(&graph, &held, threads);
        }
    }
}

/// A random execution: all nodes in their order, and by choice who was read.
struct Seen {
    moments: HashMap<NodeNumber, usize>,
    order: Vec<NodeNumber>,
    read: HashMap<usize, Option<usize>>,
}

/// Lets threads and buffers go on in an order that dice tell.
fn seen(
    problem: &Problem,
    model: MemoryModel,
    chains: &Chains,
    choices: &Choices,
    dice: &[prop::sample::Index],
) -> Seen {
    let mut execution = Execution::new(problem, model, &chains.stores);
    let mut dice = dice.iter().cycle();
    let mut order = Vec::new();
    let (mut memory, mut waiting): (HashMap<u64, usize>, Vec<usize>) = Default::default();
    let mut read = HashMap::new();
    loop {
        let threads = 0..execution.threads();
        let ready = threads.clone().filter(|thread| execution.is_ready(*thread));
        let events = ready
            .filter_map(|thread| execution.next(thread))
            .map(Turn::Event);
        let commits = threads
            .flat_map(|thread| execution.commits(thread))
            .map(Turn::Commit);
        let turns: Vec<Turn> = events.chain(commits).collect();
        if turns.is_empty() {
            break;
        }
        let turn = turns[dice.next().unwrap().index(turns.len())];
        let _ = execution.step(turn);
        let (Turn::Event(id) | Turn::Commit(id)) = turn;
        let commits = matches!(turn, Turn::Commit(_));
        let address = |write: usize| choices.writes[write].address.known().unwrap() as u64;
        if !commits {
            let here = (0..choices.choices.len()).filter(|it| choices.choices[*it].id == id);
            for choice in here {
                let at = choices.choices[choice].address.known().unwrap() as u64;
                let is_own = |write: &&usize| {
                    choices.writes[**write].id.thread == id.thread && address(**write) == at
                };
                let own = waiting.iter().rev().find(is_own).copied();
                read.insert(choice, own.or_else(|| memory.get(&at).copied()));
            }
        }
        let writes = (0..choices.writes.len()).filter(|it| choices.writes[*it].id == id);
        for write in writes {
            match !commits && chains.stores.contains_key(&id) {
                true => waiting.push(write),
                false => {
                    waiting.retain(|other| *other != write);
                    memory.insert(address(write), write);
                }
            }
        }
        order.push(if commits {
            chains.visible(id)
        } else {
            chains.event(id)
        });
    }
    let moments = order.iter().copied().zip(0..).collect();
    Seen {
        moments,
        order,
        read,
    }
}

/// All that follows from the order so far and from what some reads get.
fn follow(
    graph: &mut Graph,
    readings: &mut Readings,
    choices: &Choices,
    chains: &Chains,
    chosen: &HashMap<usize, Option<usize>>,
) -> Vec<(usize, Finding)> {
    let mut takers: Vec<Vec<usize>> = vec![Vec::new(); choices.writes.len()];
    for (choice, write) in chosen {
        if let Some(write) = write {
            takers[*write].push(*choice);
        }
    }
    let mut all = Vec::new();
    loop {
        for fresh in graph.take_fresh() {
            readings.notice(graph, &fresh, &takers);
        }
        let Some(choice) = readings.next() else {
            return all;
        };
        let taken = chosen.get(&choice).copied();
        for finding in readings.examine(graph, choices, chains, choice, taken) {
            all.push((choice, finding.clone()));
            if let Finding::Edge(from, to, way) = finding {
                let reason = way.map_or(Reason::Always, |way| Reason::Follows(literal(0), way));
                assert_eq!(graph.add(from, to, reason), Ok(()));
            }
        }
    }
}

/// What the rules say when they know some of an execution: all of it is so. Who is left
/// to each read.
fn told(
    threads: &[Vec<Do>],
    model: MemoryModel,
    dice: &[prop::sample::Index],
    facts: &dyn Fn(usize, usize) -> bool,
    gets: &dyn Fn(usize) -> bool,
    is_open: bool,
) -> Vec<(BTreeSet<Option<usize>>, Option<usize>)> {
    let (problem, _) = Maker::of(threads, &places());
    let chains = Chains::of(&problem, model);
    let most = if is_open { 0 } else { usize::MAX };
    let mut choices = Choices::of(&problem, &chains, most).unwrap();
    for choice in (0..choices.choices.len()).filter(|_| is_open) {
        let all = choices.universe(&problem, &choices.choices[choice]);
        let listed = all
            .into_iter()
            .zip(choice..)
            .filter(|(_, number)| gets(*number));
        choices.choices[choice].candidates = listed.map(|(write, _)| write).collect();
    }
    let seen = seen(&problem, model, &chains, &choices, dice);
    let mut graph = Graph::of(&chains).unwrap();
    let mut readings = Readings::of(&choices, &chains);
    for (first, from) in seen.order.iter().enumerate() {
        for (second, to) in seen.order.iter().enumerate().skip(first + 1) {
            if facts(first, second) {
                let reason = Reason::Literal(literal(0));
                assert_eq!(graph.add(*from, *to, reason), Ok(()));
            }
        }
    }
    let chosen: HashMap<usize, Option<usize>> = seen
        .read
        .iter()
        .filter(|(choice, _)| gets(**choice))
        .map(|(choice, write)| (*choice, *write))
        .collect();
    for (choice, write) in &chosen {
        let id = choices.choices[*choice].id;
        if let Some(write) = write.map(|write| choices.writes[write].id)
            && write.thread != id.thread
        {
            let (from, to) = (chains.visible(write), chains.event(id));
            let reason = Reason::Literal(literal(0));
            assert_eq!(graph.add(from, to, reason), Ok(()));
        }
    }
    let found = follow(&mut graph, &mut readings, &choices, &chains, &chosen);
    let candidates = choices
        .choices
        .iter()
        .map(|choice| choice.candidates.iter().copied());
    let mut left: Vec<BTreeSet<Option<usize>>> = candidates.map(Iterator::collect).collect();
    for (choice, finding) in found {
        match finding {
            Finding::Not(write, _) => {
                assert_ne!(seen.read[&choice], write, "{threads:?} {:?}", seen.order);
                left[choice].remove(&write);
            }
            Finding::Edge(from, to, _) => {
                assert!(seen.moments[&from] < seen.moments[&to], "{from:?} {to:?}");
            }
            Finding::NoOther(_) => {
                let candidates = &choices.choices[choice].candidates;
                assert!(candidates.contains(&seen.read[&choice]), "{threads:?}");
            }
        }
    }
    let read = |choice: usize| seen.read[&choice];
    left.into_iter()
        .enumerate()
        .map(|(choice, left)| (left, read(choice)))
        .collect()
}

fn program() -> impl Strategy<Value = Vec<Vec<Do>>> {
    prop::collection::vec(prop::collection::vec(operation(), 1..5), 2..4)
}

fn dice() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn what_follows_from_a_part_of_an_execution_is_so_in_it(
        threads in program(),
        dice in dice(),
        facts in prop::collection::vec(prop::bool::weighted(0.1), 97),
        gets in prop::collection::vec(any::<bool>(), 31),
    ) {
        for model in MemoryModel::ALL {
            let some = |first: usize, second: usize| facts[(first * 13 + second) % facts.len()];
            for is_open in [false, true] {
                told(&threads, model, &dice, &some, &|choice| gets[choice % gets.len()], is_open);
            }
        }
    }

    #[test]
    fn a_complete_order_leaves_each_read_its_write(threads in program(), dice in dice()) {
        for model in MemoryModel::ALL {
            for (left, read) in told(&threads, model, &dice, &|_, _| true, &|_| false, false) {
                // Behind what waits in the reader's own buffer, memory may show anything.
                if model.has_buffers() {
                    prop_assert!(left.contains(&read), "{:?} {:?}", left, read);
                } else {
                    prop_assert_eq!(left, BTreeSet::from([read]));
                }
            }
        }
    }
}
