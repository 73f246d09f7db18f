//! Which sites can decide about a site, within a thread: the static half of a
//! slice, worked out for one site at a time, when somebody asks.

use crate::memory::Memory;
use crate::walk::{Walk, World};
use bohr_program::external::{self, Use};
use bohr_program::{
    Body, CallGraph, Certainty, FunctionFlow, FunctionNumber, InstructionNumber, Program, Reason,
    Sharing, SiteNumber, Verdict,
};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Which events of a site matter for an event that comes after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// The latest before it: its value gets there without a detour.
    Latest,
    /// All before it: through the next pass of a loop, private memory, the
    /// result of a call, or a function that calls itself.
    All,
}

/// A site whose events may decide about those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Influence {
    /// Which.
    pub site: SiteNumber,
    /// Which of its events.
    pub reach: Reach,
}

/// A call of a function: who, where, and whether it says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub function: FunctionNumber,
    pub call: InstructionNumber,
    pub named: bool,
}

/// The influences of a program's sites on each other.
pub struct Influences<'p> {
    pub(crate) program: &'p Program,
    /// Whether a site leaves events.
    pub(crate) has_events: Box<dyn Fn(SiteNumber) -> bool + 'p>,
    /// Whether a site that leaves events may touch memory of which others leave none.
    pub(crate) is_mixed: Box<dyn Fn(SiteNumber) -> bool + 'p>,
    /// Whether a site reads what nobody ever writes.
    pub(crate) is_constant: Box<dyn Fn(SiteNumber) -> bool + 'p>,
    pub(crate) callers: HashMap<FunctionNumber, Vec<Caller>>,
    pub(crate) callees: HashMap<(FunctionNumber, InstructionNumber), Vec<FunctionNumber>>,
    /// Functions that may run again before they have returned.
    pub(crate) recursive: HashSet<FunctionNumber>,
    pub(crate) memory: OnceCell<Memory>,
    world: OnceCell<Rc<World>>,
    flows: RefCell<HashMap<FunctionNumber, Option<Rc<FunctionFlow>>>>,
    known: RefCell<HashMap<SiteNumber, Rc<[Influence]>>>,
}

impl<'p> Influences<'p> {
    /// Of a program whose hooked sites leave events.
    #[must_use]
    pub fn new(program: &'p Program, sharing: &'p Sharing) -> Influences<'p> {
        let graph = CallGraph::new(program, Some(sharing));
        let has_events = |site| sharing.needs_hook(site);
        let is_constant = |site| sharing.verdict(site) == Verdict::Private(Reason::Constant);
        Influences {
            is_constant: Box::new(is_constant),
            is_mixed: Box::new(|site| sharing.is_mixed(site)),
            ..Influences::with_events(program, &graph, Box::new(has_events))
        }
    }

    /// Of a program of which somebody else knows what leaves events.
    #[must_use]
    pub fn with_events(
        program: &'p Program,
        graph: &CallGraph,
        has_events: Box<dyn Fn(SiteNumber) -> bool + 'p>,
    ) -> Influences<'p> {
        let mut callers: HashMap<FunctionNumber, Vec<Caller>> = HashMap::new();
        let mut callees: HashMap<_, Vec<FunctionNumber>> = HashMap::new();
        for (function, edge) in graph.edges() {
            callers.entry(edge.callee).or_default().push(Caller {
                function,
                call: edge.call,
                named: edge.certainty == Certainty::Named,
            });
            let of_call = callees.entry((function, edge.call)).or_default();
            of_call.push(edge.callee);
        }
        Influences {
            recursive: recursive(program, graph),
            program,
            has_events,
            is_constant: Box::new(|_| false),
            is_mixed: Box::new(|_| true),
            callers,
            callees,
            memory: OnceCell::new(),
            world: OnceCell::new(),
            flows: RefCell::default(),
            known: RefCell::default(),
        }
    }

    /// The sites that can decide about address, value or occurrence of a site's
    /// events, ascending; what memory that others touch holds is not among it,
    /// the trace tells that.
    #[must_use]
    pub fn of(&self, site: SiteNumber) -> Rc<[Influence]> {
        if let Some(known) = self.known.borrow().get(&site) {
            return known.clone();
        }
        let found: Rc<[Influence]> = Walk::from(self, site).into();
        self.known.borrow_mut().insert(site, found.clone());
        found
    }

    pub(crate) fn flow(&self, function: FunctionNumber) -> Option<Rc<FunctionFlow>> {
        let mut flows = self.flows.borrow_mut();
        let flow = flows
            .entry(function)
            .or_insert_with(|| FunctionFlow::new(self.program, function).map(Rc::new));
        flow.clone()
    }

    /// All that memory of unknown use depends on, worked out once.
    pub(crate) fn world(&self) -> Rc<World> {
        let world = self
            .world
            .get_or_init(|| Rc::new(Walk::through_memory(self)));
        world.clone()
    }

    /// Whether a call writes memory, other than by what the functions of the program
    /// do that it comes to.
    pub(crate) fn may_write(
        &self,
        function: FunctionNumber,
        body: &Body,
        call: InstructionNumber,
    ) -> bool {
        if self.program.is_pure(body, &body.instructions[call]) {
            return false;
        }
        let callees = self.callees.get(&(function, call));
        let writes = |callee: &FunctionNumber| self.touches(*callee, Use::WRITES);
        callees.is_none_or(|callees| callees.is_empty() || callees.iter().any(writes))
    }

    /// Whether a function outside the program may do that with memory; what is
    /// defined in it does so by its own instructions.
    pub(crate) fn touches(&self, callee: FunctionNumber, how: Use) -> bool {
        let facts = &self.program.functions[callee];
        let promised = self.program.attributes[facts.attributes].memory;
        let parts = [promised.arguments, promised.inaccessible, promised.other];
        let may = parts.iter().any(|part| match how == Use::READS {
            true => part.reads,
            false => part.writes,
        });
        let known = external::find(&self.program.texts[facts.name]);
        facts.body.is_none()
            && may
            && known.is_none_or(|known| known.calls_back() || known.uses(how | Use::KEEPS))
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.memory.get_or_init(|| Memory::new(self))
    }
}

/// The functions that can reach themselves by calls.
fn recursive(program: &Program, graph: &CallGraph) -> HashSet<FunctionNumber> {
    let reaches_itself = |function: FunctionNumber| {
        let mut seen = HashSet::new();
        let mut waiting = vec![function];
        while let Some(caller) = waiting.pop() {
            for edge in graph.calls(caller) {
                if edge.callee == function {
                    return true;
                }
                if seen.insert(edge.callee) {
                    waiting.push(edge.callee);
                }
            }
        }
        false
    };
    program
        .bodies()
        .map(|(function, _, _)| function)
        .filter(|function| reaches_itself(*function))
        .collect()
}
