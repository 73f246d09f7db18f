//! Which events of a run a call can have that can be left out: those of the
//! function that it calls, and of all that may be called from there. Nobody notes
//! when a call returns.

use bohr_event::abi::CALL_GATE;
use bohr_event::control::{GateReference, Step};
use bohr_event::{EventKind, PlaceNumber};
use bohr_explore::Atlas;
use bohr_program::{CallGraph, FunctionNumber, Program, SkippableCall, skippable_calls};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The calls of a program that can be left out.
pub struct Calls<'a> {
    program: Option<&'a Program>,
    calls: Vec<SkippableCall>,
    graph: CallGraph,
    reached: RefCell<HashMap<FunctionNumber, Callees>>,
}

/// The functions that a call may come to.
pub type Callees = Rc<HashSet<FunctionNumber>>;

impl<'a> Calls<'a> {
    pub fn of(program: Option<&'a Program>) -> Calls<'a> {
        Calls {
            program,
            calls: program.map(skippable_calls).unwrap_or_default(),
            graph: program.map_or_else(CallGraph::default, |program| CallGraph::new(program, None)),
            reached: RefCell::default(),
        }
    }

    /// The functions that a call may come to, if it is one and its program known.
    pub fn callees(&self, gate: GateReference) -> Option<Callees> {
        let is_known = |program: &&Program| gate.is_call() && program.identity == gate.program;
        self.program.filter(is_known)?;
        let call = self.calls.get((gate.number & !CALL_GATE) as usize)?;
        let mut reached = self.reached.borrow_mut();
        let callees = reached.entry(call.callee);
        let callees = callees.or_insert_with(|| Rc::new(self.reach(call.callee)));
        Some(callees.clone())
    }

    fn reach(&self, callee: FunctionNumber) -> HashSet<FunctionNumber> {
        let mut reached = HashSet::from([callee]);
        let mut waiting = vec![callee];
        while let Some(caller) = waiting.pop() {
            let callees = self.graph.calls(caller).iter().map(|edge| edge.callee);
            waiting.extend(callees.filter(|callee| reached.insert(*callee)));
        }
        reached
    }

    /// Whether an event can be one of these functions.
    pub fn have(atlas: &Atlas, callees: &Callees, place: PlaceNumber) -> bool {
        let site = atlas.site(place);
        let function = site.map(|(model, site)| model.sites[site].function);
        function.is_some_and(|function| callees.contains(&function))
    }
}

/// Whether a step is about other threads' lives: without it, others would have
/// other names, or begin before they are made.
pub fn is_about_threads(step: &Step) -> bool {
    matches!(step.operation.kind, EventKind::Fork | EventKind::Join)
}
