//! The way to a moment of a thread, as an execution index describes it, and the
//! walk along it: which of the points that a thread passes bring it nearer, and
//! which lead away for good.
//!
//! D. Weeratunge, X. Zhang, S. Jagannathan, "Analyzing Multicore Dumps to
//! Facilitate Concurrency Bug Reproduction", ASPLOS 2010, figure 7. What the
//! rules need to know about the program is in the steps.

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// One after the other.
    pub steps: Vec<Step>,
    /// Points from here on are calls; those before are blocks.
    pub first_call: u32,
}

/// What comes next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// What.
    pub kind: StepKind,
    /// Blocks of the function that it is in from which it cannot come any more,
    /// ascending.
    pub lost: Vec<u32>,
}

/// What a step is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// A function is entered.
    Enter {
        /// By this call; a thread's first function by none.
        call: Option<u32>,
        /// Its first block.
        entry: u32,
    },
    /// A loop comes to its header for the n-th time.
    Repeat {
        /// The header.
        header: u32,
        /// How often.
        count: u64,
    },
    /// Control goes from one block to another, for one of these pairs.
    Take {
        /// From and to.
        edges: Vec<(u32, u32)>,
    },
    /// The moment itself.
    Reach {
        /// A block or a call.
        point: u32,
    },
    /// The moment itself, by the number of blocks that the thread has begun, whichever
    /// way it has come.
    Count {
        /// How many, that of the moment among them.
        blocks: u64,
        /// A block or a call.
        point: u32,
    },
}

impl Route {
    /// All points that the walk has to hear of, ascending: every block of the
    /// functions on the way, and the calls between them; where blocks are counted,
    /// all blocks.
    #[must_use]
    pub fn watched(&self) -> Vec<u32> {
        let mut points = Vec::new();
        for step in &self.steps {
            points.extend_from_slice(&step.lost);
            match &step.kind {
                StepKind::Enter { call, entry } => points.extend(call.iter().chain([entry])),
                StepKind::Repeat { header, .. } => points.push(*header),
                StepKind::Take { edges } => {
                    points.extend(edges.iter().flat_map(|&(from, to)| [from, to]));
                }
                StepKind::Reach { point } => points.push(*point),
                StepKind::Count { point, .. } => {
                    points.extend((0..self.first_call).chain([*point]))
                }
            }
        }
        points.sort_unstable();
        points.dedup();
        points
    }
}

/// Where a walk has come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrival {
    /// At the moment itself.
    Exact,
    /// At the branch that led away from it.
    Closest,
}

/// A walk along a route. Frames are told apart by their address.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// Steps taken.
    taken: usize,
    /// Times that the header of the present step was passed.
    passed: u64,
    /// Whether the call has been made that leads to the next function.
    calls: bool,
    /// Frames of the functions on the way, the outermost first.
    frames: Vec<u64>,
    /// The block that the innermost of them was in last.
    last: Option<u32>,
    arrived: bool,
}

impl Walk {
    /// How many steps have been taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// The block that the innermost function on the way was in before the point
    /// that was told last.
    #[must_use]
    pub fn last(&self) -> Option<u32> {
        self.last
    }

    /// The thread passes a point in the frame with that address.
    pub fn pass(&mut self, route: &Route, point: u32, frame: u64) -> Option<Arrival> {
        let step = route.steps.get(self.taken).filter(|_| !self.arrived)?;
        let arrival = match &step.kind {
            StepKind::Enter { call, entry } => {
                if point == *entry && (call.is_none() || self.calls) {
                    self.frames.push(frame);
                    self.last = None;
                    self.calls = false;
                    self.advance(route, point);
                    let arrival = self.arrival(route, point);
                    self.note(route, point, arrival);
                    arrival
                } else {
                    self.on_the_way(route, step, point, frame, |walk| {
                        walk.calls = call.is_some_and(|call| call == point);
                        false
                    })
                }
            }
            StepKind::Repeat { header, count } => {
                self.on_the_way(route, step, point, frame, |walk| {
                    walk.passed += u64::from(point == *header);
                    walk.passed >= *count && point == *header
                })
            }
            StepKind::Take { edges } => self.on_the_way(route, step, point, frame, |walk| {
                let way = walk.last.map(|last| (last, point));
                way.is_some_and(|way| edges.contains(&way))
            }),
            StepKind::Reach { point: wanted } => {
                self.on_the_way(route, step, point, frame, |_| point == *wanted)
            }
            StepKind::Count {
                blocks,
                point: wanted,
            } => {
                self.passed += u64::from(point < route.first_call);
                let is_there = self.passed >= *blocks && point == *wanted;
                self.taken += usize::from(is_there);
                is_there.then_some(Arrival::Exact)
            }
        };
        self.arrived = arrival.is_some();
        arrival
    }

    /// A point of the innermost function on the way, if it is that.
    fn on_the_way(
        &mut self,
        route: &Route,
        step: &Step,
        point: u32,
        frame: u64,
        mut matches: impl FnMut(&mut Walk) -> bool,
    ) -> Option<Arrival> {
        if self.frames.last() != Some(&frame) {
            // Back in a function further out: the one on the way has ended.
            let is_outer = self.frames.contains(&frame);
            return is_outer.then_some(Arrival::Closest);
        }
        if matches(self) {
            self.advance(route, point);
            let arrival = self.arrival(route, point);
            self.note(route, point, arrival);
            return arrival;
        }
        let is_lost = step.lost.binary_search(&point).is_ok();
        let arrival = is_lost.then_some(Arrival::Closest);
        self.note(route, point, arrival);
        arrival
    }

    fn note(&mut self, route: &Route, point: u32, arrival: Option<Arrival>) {
        if point < route.first_call && arrival.is_none() {
            self.last = Some(point);
        }
    }

    /// Goes on to the next step, which the same point may be part of.
    fn advance(&mut self, route: &Route, point: u32) {
        loop {
            self.taken += 1;
            self.passed = 0;
            match route.steps.get(self.taken).map(|step| &step.kind) {
                Some(StepKind::Repeat { header, count }) if *header == point => {
                    self.passed = 1;
                    if *count > 1 {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    fn arrival(&mut self, route: &Route, point: u32) -> Option<Arrival> {
        match route.steps.get(self.taken).map(|step| &step.kind) {
            Some(StepKind::Reach { point: wanted }) if *wanted == point => Some(Arrival::Exact),
            None => Some(Arrival::Exact),
            _ => None,
        }
    }
}
