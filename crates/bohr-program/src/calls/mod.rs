//! The call graph: which function may call which, and where.
//!
//! A call through a pointer is resolved in two steps. The pointers that reach
//! it, as the points-to analysis of [`Sharing`] follows them, name functions. If
//! a pointer comes from memory that the analysis does not tell apart, every
//! function whose address is taken and whose parameters are of the same kinds
//! may be meant as well; without the analysis, these are all there is to say.

pub(crate) mod shape;

use crate::constant::ConstantValue;
use crate::function::{Body, Call};
use crate::ids::{FunctionNumber, InstructionNumber};
use crate::program::Program;
use crate::sharing::Sharing;
use cranelift_entity::SecondaryMap;
use shape::{Kind, is_variadic, kinds};
use std::collections::BTreeMap;

/// How sure it is that a call reaches a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The call names it.
    Named,
    /// Its address reaches the call.
    Reaches,
    /// It has the right parameters, and the pointer is not known.
    Fits,
}

/// One way in which a call may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallEdge {
    /// The call.
    pub call: InstructionNumber,
    /// What it may reach.
    pub callee: FunctionNumber,
    /// How sure that is.
    pub certainty: Certainty,
}

/// Which function may call which.
///
/// ```
/// use bohr_program::{CallGraph, ProgramBuilder};
///
/// let program = ProgramBuilder::new("e-i64:64").finish();
/// assert_eq!(CallGraph::new(&program, None).edges().count(), 0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    calls: SecondaryMap<FunctionNumber, Vec<CallEdge>>,
    callers: SecondaryMap<FunctionNumber, Vec<FunctionNumber>>,
}

impl CallGraph {
    /// The graph of a program, more exact with the analysis of its pointers.
    #[must_use]
    pub fn new(program: &Program, sharing: Option<&Sharing>) -> CallGraph {
        let candidates = Candidates::new(program);
        let mut graph = CallGraph::default();
        for (function, _, body) in program.bodies() {
            for (number, instruction) in body.instructions.iter() {
                if let Some(call) = instruction.operation.call() {
                    let pointers = sharing.map(|sharing| (sharing, function));
                    let call = &body.calls[call];
                    let edges = candidates.edges(program, pointers, number, call);
                    graph.calls[function].extend(edges);
                }
            }
        }
        for caller in program.functions.keys() {
            let mut callees: Vec<_> = graph.calls[caller].iter().map(|edge| edge.callee).collect();
            callees.sort_unstable();
            callees.dedup();
            callees
                .into_iter()
                .for_each(|callee| graph.callers[callee].push(caller));
        }
        graph
    }

    /// The calls of a function, in layout order.
    #[must_use]
    pub fn calls(&self, function: FunctionNumber) -> &[CallEdge] {
        &self.calls[function]
    }

    /// The functions that may call a function, ascending.
    #[must_use]
    pub fn callers(&self, function: FunctionNumber) -> &[FunctionNumber] {
        &self.callers[function]
    }

    /// Every caller with every way in which its calls may go.
    pub fn edges(&self) -> impl Iterator<Item = (FunctionNumber, CallEdge)> + '_ {
        self.calls
            .iter()
            .flat_map(|(caller, edges)| edges.iter().map(move |edge| (caller, *edge)))
    }
}

/// The functions whose address is taken, by the kinds of their parameters.
struct Candidates {
    by_kinds: BTreeMap<Vec<Kind>, Vec<FunctionNumber>>,
    variadic: Vec<FunctionNumber>,
    all: Vec<FunctionNumber>,
}

impl Candidates {
    fn new(program: &Program) -> Candidates {
        let (mut by_kinds, mut variadic, mut all) = (BTreeMap::new(), Vec::new(), Vec::new());
        let taken = program
            .functions
            .iter()
            .filter(|(_, facts)| facts.address_taken);
        for (number, facts) in taken {
            all.push(number);
            if is_variadic(program, facts.signature) {
                variadic.push(number);
            } else {
                let fitting: &mut Vec<_> =
                    by_kinds.entry(kinds(program, facts.signature)).or_default();
                fitting.push(number);
            }
        }
        Candidates {
            by_kinds,
            variadic,
            all,
        }
    }

    fn edges(
        &self,
        program: &Program,
        pointers: Option<(&Sharing, FunctionNumber)>,
        number: InstructionNumber,
        call: &Call,
    ) -> Vec<CallEdge> {
        let edge = |certainty: Certainty| {
            move |callee: FunctionNumber| CallEdge {
                call: number,
                callee,
                certainty,
            }
        };
        let known = pointers.and_then(|(sharing, function)| sharing.callees(function, number));
        let reaching = known.map_or(&[][..], |callees| &callees.functions);
        let reaching = reaching.iter().copied().map(edge(Certainty::Reaches));
        match named(program, call) {
            // A named library function may call back what it is given.
            Some(Some(callee)) => std::iter::once(edge(Certainty::Named)(callee))
                .chain(reaching)
                .collect(),
            Some(None) => Vec::new(),
            None if known.is_some_and(|callees| !callees.unknown) => reaching.collect(),
            None => {
                let listed: Vec<CallEdge> = reaching.collect();
                let fits = self.fitting(program, call).into_iter();
                let fits = fits.filter(|fit| !listed.iter().any(|edge| edge.callee == *fit));
                let fits: Vec<CallEdge> = fits.map(edge(Certainty::Fits)).collect();
                listed.into_iter().chain(fits).collect()
            }
        }
    }

    fn fitting(&self, program: &Program, call: &Call) -> Vec<FunctionNumber> {
        if is_variadic(program, call.signature) {
            return self.all.clone();
        }
        let fitting = self.by_kinds.get(&kinds(program, call.signature));
        let mut found = fitting.cloned().unwrap_or_default();
        found.extend_from_slice(&self.variadic);
        found.sort_unstable();
        found
    }
}

/// What a call names: a function, or (inside) nothing that is a function, such
/// as inline assembly. `None` if it calls through a pointer.
pub(crate) fn named(program: &Program, call: &Call) -> Option<Option<FunctionNumber>> {
    let mut constant = call.callee.constant()?;
    loop {
        match program.constants[constant].value {
            ConstantValue::Function(function) => return Some(Some(function)),
            ConstantValue::Assembly(_) => return Some(None),
            ConstantValue::Alias(alias) if !program.aliases[alias].indirect => {
                constant = program.aliases[alias].target;
            }
            _ => return None,
        }
    }
}

impl Body {
    /// The function that a call names, if it names one.
    #[must_use]
    pub fn named_callee(
        &self,
        program: &Program,
        instruction: InstructionNumber,
    ) -> Option<FunctionNumber> {
        named(program, self.call_at(instruction)?)?
    }
}
