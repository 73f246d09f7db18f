//! An index as a list of steps that a run can be watched for with little effort,
//! inside the process: rules 5 to 7 of figure 7, decided beforehand for every
//! block that a thread may come to.
//!
//! Deviation from rule 6: a run has left the way to the next entry as soon as it
//! comes to a block from which that entry cannot be reached within the iterations
//! that the index is in. That covers both cases of the rule, and those in which
//! entries are missing; and of branches that count as one, only the last decides.

use super::{Activation, Entry, Flows, Index, Level, Points};
use crate::flow::FunctionFlow;
use crate::graph::LoopNumber;
use crate::ids::BlockNumber;
use std::collections::HashSet;

pub use bohr_event::route::{Route, Step, StepKind};

/// The way to an index. Its thread is for the caller to name.
#[must_use]
pub fn route(flows: &mut Flows<'_>, points: &Points, index: &Index) -> Route {
    let mut steps = Vec::new();
    let mut outer: Option<&Level> = None;
    for level in &index.levels {
        steps.extend(entering(flows, points, outer, level));
        let Some(flow) = flows.of(level.place.function) else {
            continue;
        };
        let mut maker = Maker {
            flow,
            points,
            level,
            live: HashSet::new(),
        };
        steps.extend(level.entries.iter().filter_map(|entry| maker.step(entry)));
        outer = Some(level);
    }
    if let Some(last) = outer
        && let Some(flow) = flows.of(last.place.function)
    {
        let maker = Maker::behind(flow, points, last);
        steps.push(Step {
            kind: StepKind::Reach {
                point: point_of(points, &last.place),
            },
            lost: maker.lost(&[last.place.block]),
        });
    }
    Route {
        steps,
        first_call: points.first_call().0,
    }
}

/// The way to the place of an index by counting alone: where the thread comes to it
/// after it has begun so many blocks. `None` for an index without a place.
#[must_use]
pub fn counted(points: &Points, index: &Index, blocks: u64) -> Option<Route> {
    let place = &index.levels.last()?.place;
    let step = Step {
        kind: StepKind::Count {
            blocks,
            point: point_of(points, place),
        },
        lost: Vec::new(),
    };
    Some(Route {
        steps: vec![step],
        first_call: points.first_call().0,
    })
}

/// The call that a function is in, or its block.
fn point_of(points: &Points, place: &Activation) -> u32 {
    let call = place
        .call
        .and_then(|call| points.call(place.function, call));
    let block = points.block(place.function, place.block);
    call.unwrap_or(block).0
}

fn entering(
    flows: &mut Flows<'_>,
    points: &Points,
    outer: Option<&Level>,
    level: &Level,
) -> Option<Step> {
    let entry = points
        .block(level.place.function, BlockNumber::from_u32(0))
        .0;
    let Some(outer) = outer else {
        let kind = StepKind::Enter { call: None, entry };
        let lost = Vec::new();
        return Some(Step { kind, lost });
    };
    let call = points.call(outer.place.function, outer.place.call?)?;
    let flow = flows.of(outer.place.function)?;
    Some(Step {
        kind: StepKind::Enter {
            call: Some(call.0),
            entry,
        },
        lost: Maker::behind(flow, points, outer).lost(&[outer.place.block]),
    })
}

/// Makes the steps of one function.
struct Maker<'a> {
    flow: &'a FunctionFlow,
    points: &'a Points,
    level: &'a Level,
    /// Loops that are in the iteration that the index says.
    live: HashSet<LoopNumber>,
}

impl<'a> Maker<'a> {
    /// Where all entries of the function have been matched.
    fn behind(flow: &'a FunctionFlow, points: &'a Points, level: &'a Level) -> Maker<'a> {
        let live = level.entries.iter().filter_map(|entry| match entry {
            Entry::Iteration { number, .. } => Some(*number),
            _ => None,
        });
        Maker {
            flow,
            points,
            level,
            live: live.collect(),
        }
    }

    fn step(&mut self, entry: &Entry) -> Option<Step> {
        match entry {
            Entry::Method { .. } => None,
            Entry::Iteration { number, count, .. } => {
                let header = self.flow.loops.get(*number).header;
                let kind = StepKind::Repeat {
                    header: self.point(header),
                    // Of an iteration that nobody knows, the first is as good as any.
                    count: count.unwrap_or(1),
                };
                let lost = self.lost(&[header]);
                self.live.insert(*number);
                Some(Step { kind, lost })
            }
            Entry::Branch { edges, .. } => {
                let ways = edges.iter().map(|&edge| {
                    let to = self.flow.graph.target(edge);
                    (self.point(edge.from), self.point(to))
                });
                let from: Vec<BlockNumber> = edges.iter().map(|edge| edge.from).collect();
                Some(Step {
                    kind: StepKind::Take {
                        edges: ways.collect(),
                    },
                    lost: self.lost(&from),
                })
            }
        }
    }

    fn point(&self, block: BlockNumber) -> u32 {
        self.points.block(self.level.place.function, block).0
    }

    /// The points from which none of these blocks can be reached any more, while
    /// the loops stay in their iterations. Ascending.
    fn lost(&self, wanted: &[BlockNumber]) -> Vec<u32> {
        let graph = &self.flow.graph;
        let mut leads: HashSet<BlockNumber> = wanted.iter().copied().collect();
        let mut open = wanted.to_vec();
        while let Some(block) = open.pop() {
            for &before in graph.predecessors(block) {
                if !self.goes_back(before, block) && leads.insert(before) {
                    open.push(before);
                }
            }
        }
        let lost = graph.blocks().filter(|block| !leads.contains(block));
        lost.map(|block| self.point(block)).collect()
    }

    fn goes_back(&self, from: BlockNumber, to: BlockNumber) -> bool {
        self.live.iter().any(|&number| {
            let shape = self.flow.loops.get(number);
            shape.header == to && shape.contains(from)
        })
    }
}
