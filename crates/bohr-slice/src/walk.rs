//! Back from a site along values, branches, calls and private memory, to the
//! sites that leave events. What lies behind those is their own matter.

use crate::influence::{Influence, Influences, Reach};
use crate::memory::Piece;
use bohr_program::external::Use;
use bohr_program::{
    ArgumentNumber, BlockNumber, Body, FunctionNumber, InstructionNumber, Operand, Operation,
    SiteNumber, Value,
};
use cranelift_entity::EntityRef;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// Something that a site depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// The result of an instruction.
    Result(FunctionNumber, InstructionNumber),
    /// An argument of a function.
    Argument(FunctionNumber, ArgumentNumber),
    /// That a block runs.
    Occurrence(FunctionNumber, BlockNumber),
    /// That a function is called.
    Entry(FunctionNumber),
    /// What a function returns.
    Returned(FunctionNumber),
    /// What is in memory that leaves no events.
    Memory(Piece),
}

/// A walk under way.
pub struct Walk<'i, 'p> {
    influences: &'i Influences<'p>,
    /// The farthest reach with which each was come to.
    seen: HashMap<Node, Reach>,
    waiting: Vec<(Node, Reach)>,
    found: BTreeSet<Influence>,
    /// What memory that anybody may write depends on, once the walk came to it.
    world: Option<Rc<World>>,
}

/// All that memory of unknown use depends on. Most walks come to it, and it leads
/// to much of the program.
pub struct World {
    nodes: HashSet<Node>,
    found: Vec<Influence>,
}

impl<'i, 'p> Walk<'i, 'p> {
    /// All that a site depends on, ascending.
    pub fn from(influences: &'i Influences<'p>, site: SiteNumber) -> Vec<Influence> {
        let mut walk = Walk::new(influences);
        let place = &influences.program.sites[site];
        let (function, instruction) = (place.function, place.instruction);
        if let Some(body) = walk.body(function) {
            walk.operands(function, body, instruction, Reach::Latest);
            walk.occurrence(function, body.block_of(instruction), Reach::Latest);
        }
        while let Some((node, reach)) = walk.waiting.pop() {
            match node {
                Node::Memory(Piece::Rest) => walk.enter(influences.world()),
                _ => walk.step(node, reach),
            }
        }
        walk.finish()
    }

    fn new(influences: &'i Influences<'p>) -> Walk<'i, 'p> {
        Walk {
            influences,
            seen: HashMap::new(),
            waiting: Vec::new(),
            found: BTreeSet::new(),
            world: None,
        }
    }

    /// All that memory of unknown use depends on.
    pub fn through_memory(influences: &'i Influences<'p>) -> World {
        let mut walk = Walk::new(influences);
        walk.add(Node::Memory(Piece::Rest), Reach::All);
        while let Some((node, reach)) = walk.waiting.pop() {
            walk.step(node, reach);
        }
        World {
            nodes: walk.seen.into_keys().collect(),
            found: walk.found.into_iter().collect(),
        }
    }

    fn enter(&mut self, world: Rc<World>) {
        self.found.extend(&world.found);
        self.waiting.retain(|(node, _)| !world.nodes.contains(node));
        self.world = Some(world);
    }

    /// All events of a site are among them the latest one.
    fn finish(self) -> Vec<Influence> {
        let all = |site| Influence {
            site,
            reach: Reach::All,
        };
        let is_implied =
            |one: &&Influence| one.reach == Reach::Latest && self.found.contains(&all(one.site));
        let found = self.found.iter();
        found.filter(|one| !is_implied(one)).copied().collect()
    }

    fn body(&self, function: FunctionNumber) -> Option<&'p Body> {
        self.influences.program.functions[function].body.as_ref()
    }

    fn add(&mut self, node: Node, reach: Reach) {
        let reach = self.through(node, reach);
        if { self.world.as_ref() }.is_some_and(|world| world.nodes.contains(&node)) {
            return;
        }
        let seen = self.seen.get(&node);
        if seen.is_none_or(|seen| *seen < reach) {
            self.seen.insert(node, reach);
            self.waiting.push((node, reach));
        }
    }

    fn value(&mut self, function: FunctionNumber, value: Value, reach: Reach) {
        match value.operand() {
            Operand::Instruction(number) => self.add(Node::Result(function, number), reach),
            Operand::Argument(number) => self.add(Node::Argument(function, number), reach),
            Operand::Constant(_) => {}
        }
    }

    fn operands(
        &mut self,
        function: FunctionNumber,
        body: &Body,
        number: InstructionNumber,
        reach: Reach,
    ) {
        body.for_each_operand(&body.instructions[number], |value| {
            self.value(function, value, reach);
        });
    }

    fn occurrence(&mut self, function: FunctionNumber, block: BlockNumber, reach: Reach) {
        self.add(Node::Occurrence(function, block), reach);
    }

    fn step(&mut self, node: Node, reach: Reach) {
        match node {
            Node::Result(function, number) => self.result(function, number, reach),
            Node::Argument(function, number) => self.argument(function, number, reach),
            Node::Occurrence(function, block) => self.branches(function, block, reach),
            Node::Entry(function) => self.calls(function, reach),
            Node::Returned(function) => self.returns(function),
            Node::Memory(piece) => self.writers(piece),
        }
    }

    fn result(&mut self, function: FunctionNumber, number: InstructionNumber, reach: Reach) {
        let Some(body) = self.body(function) else {
            return;
        };
        let site = self.influences.program.site_at(function, number);
        if let Some(site) = site.filter(|site| (self.influences.has_events)(*site)) {
            self.found.insert(Influence { site, reach });
            return;
        }
        let operation = body.instructions[number].operation;
        match operation {
            Operation::Phi { incoming } => self.phi(function, body, number, incoming, reach),
            Operation::Load { address, .. }
            | Operation::Update { address, .. }
            | Operation::CompareExchange { address, .. } => {
                self.operands(function, body, number, reach);
                if !site.is_some_and(|site| (self.influences.is_constant)(site)) {
                    let piece = self.influences.memory().piece(function, body, address);
                    self.add(Node::Memory(piece), Reach::All);
                }
            }
            _ if operation.call().is_some() => {
                self.operands(function, body, number, reach);
                self.callees(function, number);
            }
            // What was thrown is the thrower's own, in memory of the library.
            Operation::LandingPad { .. } => {
                self.operands(function, body, number, reach);
                self.add(Node::Memory(Piece::Rest), Reach::All);
            }
            Operation::Opaque { .. } => {
                self.operands(function, body, number, reach);
                self.anything();
            }
            _ => self.operands(function, body, number, reach),
        }
    }

    /// What a phi is depends on where control came from, too.
    fn phi(
        &mut self,
        function: FunctionNumber,
        body: &Body,
        number: InstructionNumber,
        incoming: bohr_program::List<bohr_program::Incoming>,
        reach: Reach,
    ) {
        let here = body.block_of(number);
        let Some(flow) = self.influences.flow(function) else {
            return;
        };
        for incoming in body.incoming.get(incoming) {
            let comes_round = flow.dominators.dominates(here, incoming.from);
            let irreducible = !flow.irreducible.is_empty();
            let reach = match comes_round || irreducible {
                true => Reach::All,
                false => reach,
            };
            self.value(function, incoming.value, reach);
            self.occurrence(function, incoming.from, reach);
            // Which of several ways was taken from there.
            self.operands_of_branch(function, body, incoming.from, reach);
        }
    }

    fn operands_of_branch(
        &mut self,
        function: FunctionNumber,
        body: &Body,
        block: BlockNumber,
        reach: Reach,
    ) {
        let last = InstructionNumber::new(body.range(block).end - 1);
        self.operands(function, body, last, reach);
        if body.instructions[last].operation.call().is_some() {
            self.add(Node::Result(function, last), reach);
        }
    }

    fn argument(&mut self, function: FunctionNumber, number: ArgumentNumber, reach: Reach) {
        let influences = self.influences;
        for caller in influences.callers.get(&function).into_iter().flatten() {
            let Some(body) = self.body(caller.function) else {
                continue;
            };
            let given = body.call_at(caller.call).map(|call| body.arguments(call));
            match given.and_then(|given| given.get(number.index())) {
                Some(given) if caller.named => self.value(caller.function, *given, reach),
                // A library function hands on what it likes.
                _ => self.operands(caller.function, body, caller.call, reach),
            }
        }
    }

    fn branches(&mut self, function: FunctionNumber, block: BlockNumber, reach: Reach) {
        self.add(Node::Entry(function), reach);
        let (Some(body), Some(flow)) = (self.body(function), self.influences.flow(function)) else {
            return;
        };
        for edge in flow.dependence.of(block) {
            // A branch that comes after the block decided in an earlier pass.
            let is_earlier_pass = flow.dominators.dominates(block, edge.from);
            let reach = match is_earlier_pass || !flow.irreducible.is_empty() {
                true => Reach::All,
                false => reach,
            };
            self.operands_of_branch(function, body, edge.from, reach);
            self.occurrence(function, edge.from, reach);
        }
    }

    fn calls(&mut self, function: FunctionNumber, reach: Reach) {
        let influences = self.influences;
        for caller in influences.callers.get(&function).into_iter().flatten() {
            let Some(body) = self.body(caller.function) else {
                continue;
            };
            let callee = body.call_at(caller.call).map(|call| call.callee);
            if let Some(callee) = callee {
                self.value(caller.function, callee, reach);
            }
            self.occurrence(caller.function, body.block_of(caller.call), reach);
        }
    }

    fn callees(&mut self, function: FunctionNumber, call: InstructionNumber) {
        let influences = self.influences;
        let callees = influences.callees.get(&(function, call));
        for callee in callees.map_or(&[][..], Vec::as_slice) {
            match influences.program.functions[*callee].body {
                Some(_) => self.add(Node::Returned(*callee), Reach::All),
                // It may look at what it was given.
                None if influences.touches(*callee, Use::READS) => self.anything(),
                None => {}
            }
        }
        if callees.is_none_or(Vec::is_empty) {
            self.anything();
        }
    }

    /// What a function outside the program may read.
    fn anything(&mut self) {
        for piece in [Piece::Rest, Piece::Shared] {
            self.add(Node::Memory(piece), Reach::All);
        }
    }

    fn returns(&mut self, function: FunctionNumber) {
        let Some(body) = self.body(function) else {
            return;
        };
        for (number, instruction) in body.instructions.iter() {
            if let Operation::Return { .. } = instruction.operation {
                self.operands(function, body, number, Reach::All);
                self.occurrence(function, body.block_of(number), Reach::All);
            }
        }
    }

    fn writers(&mut self, piece: Piece) {
        let influences = self.influences;
        for &(function, number) in influences.memory().writers(piece) {
            let Some(body) = self.body(function) else {
                continue;
            };
            let site = influences.program.site_at(function, number);
            if let Some(site) = site.filter(|site| (influences.has_events)(*site)) {
                self.found.insert(Influence {
                    site,
                    reach: Reach::All,
                });
                continue;
            }
            self.operands(function, body, number, Reach::All);
            self.occurrence(function, body.block_of(number), Reach::All);
        }
    }

    /// The latest event says nothing where a function runs within itself.
    fn through(&self, node: Node, reach: Reach) -> Reach {
        let function = match node {
            Node::Result(function, _)
            | Node::Argument(function, _)
            | Node::Occurrence(function, _)
            | Node::Entry(function)
            | Node::Returned(function) => function,
            Node::Memory(_) => return Reach::All,
        };
        match self.influences.recursive.contains(&function) {
            true => Reach::All,
            false => reach,
        }
    }
}
