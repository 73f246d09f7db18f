//! Where a function looks whether there is room for what it will write, and how
//! much it needs until it looks again.
//!
//! It looks when it is entered, after every call that may have written, where an
//! exception lands, at the beginning of every loop's next pass, and in between
//! where a stretch would be too long for one word.

use super::{Calling, Choice, MARK_BITS, Paths, RETURNED_BITS, width};
use crate::function::Body;
use crate::graph::FlowGraph;
use crate::ids::{BlockNumber, FunctionNumber, InstructionNumber};
use crate::instruction::Operation;
use crate::program::Program;
use cranelift_entity::SecondaryMap;
use std::collections::BTreeMap;

/// A stretch that needs more than this gets another look in the middle.
const STRETCH: u32 = 30;

/// Where a function looks for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoomPoint {
    /// At the beginning of a block; of the first one: when the function is entered.
    Block(BlockNumber),
    /// Behind a call; of one that ends its block: where it goes on.
    After(InstructionNumber),
}

/// The bits that a function needs from each point to the next, those that are
/// written at the point included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// By point; points that need nothing are left out.
    pub needs: BTreeMap<RoomPoint, u32>,
}

impl Room {
    /// The points of a function.
    #[must_use]
    pub fn of(program: &Program, paths: &Paths, function: FunctionNumber) -> Room {
        let Some(body) = &program.functions[function].body else {
            return Room::default();
        };
        let graph = FlowGraph::new(body.blocks.keys().map(|block| body.successors(block)));
        let mut search = Search {
            program,
            paths,
            body,
            graph: &graph,
            ahead: SecondaryMap::new(),
            room: Room::default(),
        };
        for block in graph.reverse_postorder().iter().rev() {
            search.block(*block);
        }
        let entry = search.ahead[graph.entry()];
        let announced = MARK_BITS + paths.function_bits();
        let announced = if paths.announces_itself(function) {
            announced
        } else {
            0
        };
        search.point(RoomPoint::Block(graph.entry()), announced + entry);
        search.room
    }
}

struct Search<'p> {
    program: &'p Program,
    paths: &'p Paths,
    body: &'p Body,
    graph: &'p FlowGraph,
    /// What is needed from the beginning of a block to the next look: nothing if
    /// the block looks itself.
    ahead: SecondaryMap<BlockNumber, u32>,
    room: Room,
}

impl Search<'_> {
    fn point(&mut self, point: RoomPoint, need: u32) {
        assert!(
            need < 64,
            "{point:?} needs {need} bits, more than a word has"
        );
        if need > 0 {
            self.room.needs.insert(point, need);
        }
    }

    /// Blocks come after their successors, but for those that lead back.
    fn block(&mut self, block: BlockNumber) {
        let choice = Choice::of(self.program, self.body, block);
        let behind = choice
            .targets
            .iter()
            .map(|target| self.ahead_of(block, *target));
        let mut need = choice.bits() + behind.max().unwrap_or(0);
        let calls: Vec<_> = self.calls(block).collect();
        for (instruction, calling) in calls.into_iter().rev() {
            let mark = match calling {
                Calling::Open => RETURNED_BITS,
                Calling::Twice => self.landing_bits(),
                Calling::Quiet | Calling::Named(_) => 0,
            };
            self.point(RoomPoint::After(instruction), mark + need);
            need = 0;
        }
        let lands = self.is_landing_pad(block);
        if lands {
            need += self.landing_bits();
        }
        // The entry always looks, with what announcing the function takes.
        let entry = block == self.graph.entry();
        // Whoever only counts writes nothing on the way back.
        let again = choice.counted.is_none() && self.is_led_back_to(block);
        if !entry && (lands || need > STRETCH || again) {
            self.point(RoomPoint::Block(block), need);
            need = 0;
        }
        self.ahead[block] = need;
    }

    /// What is needed beyond an edge before somebody looks.
    fn ahead_of(&self, from: BlockNumber, to: BlockNumber) -> u32 {
        let back = self.graph.position(to) <= self.graph.position(from);
        if back { 0 } else { self.ahead[to] }
    }

    /// The calls of a block after which somebody has to look.
    fn calls(&self, block: BlockNumber) -> impl Iterator<Item = (InstructionNumber, Calling)> {
        self.body.block(block).filter_map(|(number, instruction)| {
            let call = &self.body.calls[instruction.operation.call()?];
            let calling = self.paths.calling(self.program, call);
            self.paths.writes(calling).then_some((number, calling))
        })
    }

    fn is_led_back_to(&self, block: BlockNumber) -> bool {
        let place = self.graph.position(block);
        let mut from = self.graph.predecessors(block).iter();
        from.any(|from| self.graph.is_reachable(*from) && self.graph.position(*from) >= place)
    }

    fn is_landing_pad(&self, block: BlockNumber) -> bool {
        let mut instructions = self.body.block(block);
        instructions.any(|(_, one)| matches!(one.operation, Operation::LandingPad { .. }))
    }

    fn landing_bits(&self) -> u32 {
        MARK_BITS + self.paths.function_bits() + width(self.body.blocks.len())
    }
}

impl Room {
    /// What is needed at a point.
    #[must_use]
    pub fn need(&self, point: RoomPoint) -> Option<u32> {
        self.needs.get(&point).copied()
    }
}
