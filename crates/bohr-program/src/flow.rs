//! The control flow of one function of the model: every graph analysis on its
//! blocks, with what the instructions add to the picture.
//!
//! A call that does not return ends its block. Edges of an invoke count as
//! outcomes 0 (returns) and 1 (unwinds).

use crate::attribute::FunctionFlags;
use crate::function::Body;
use crate::graph::{
    ControlDependence, Dominators, FlowGraph, IrreducibleRegion, Loops, Nestings, PostDominators,
    irreducible_regions,
};
use crate::ids::{BlockNumber, FunctionNumber};
use crate::instruction::{Instruction, Operation};
use crate::program::Program;
use crate::{Call, ConstantValue};

/// The control flow of a function.
#[derive(Clone, Debug)]
pub struct FunctionFlow {
    /// Blocks and branches.
    pub graph: FlowGraph,
    /// The dominator tree.
    pub dominators: Dominators,
    /// The post-dominator tree.
    pub post_dominators: PostDominators,
    /// What decides whether a block runs.
    pub dependence: ControlDependence,
    /// The loops.
    pub loops: Loops,
    /// How blocks nest.
    pub nestings: Nestings,
    /// Cycles that are no loops.
    pub irreducible: Vec<IrreducibleRegion>,
}

impl FunctionFlow {
    /// Analyses a function; `None` if it is only declared.
    #[must_use]
    pub fn new(program: &Program, function: FunctionNumber) -> Option<FunctionFlow> {
        let body = program.functions[function].body.as_ref()?;
        let graph = flow_graph(program, body);
        let dominators = Dominators::new(&graph);
        let post_dominators = PostDominators::new(&graph);
        let dependence = ControlDependence::new(&graph, &post_dominators);
        let loops = Loops::new(&graph, &dominators);
        let only_evaluates = |block: BlockNumber| {
            body.block(block)
                .all(|(_, instruction)| program.is_pure(body, instruction))
        };
        let nestings = Nestings::new(&graph, &dominators, &dependence, &loops, &only_evaluates);
        let irreducible = irreducible_regions(&graph);
        Some(FunctionFlow {
            graph,
            dominators,
            post_dominators,
            dependence,
            loops,
            nestings,
            irreducible,
        })
    }
}

/// The graph of a body. Blocks that call something that does not return have
/// no successors.
fn flow_graph(program: &Program, body: &Body) -> FlowGraph {
    FlowGraph::new(body.blocks.keys().map(|block| {
        let ends = body.block(block).any(|(_, instruction)| {
            let is_call = matches!(instruction.operation, Operation::Call { .. });
            is_call && body_call(body, instruction).is_some_and(|call| !program.returns(call))
        });
        if ends {
            Vec::new()
        } else {
            body.successors(block)
        }
    }))
}

fn body_call<'b>(body: &'b Body, instruction: &Instruction) -> Option<&'b Call> {
    Some(&body.calls[instruction.operation.call()?])
}

impl Program {
    /// Whether a call may return, by what is promised of it and of its callee.
    #[must_use]
    pub fn returns(&self, call: &Call) -> bool {
        !self.promises(call).contains(FunctionFlags::NO_RETURN)
    }

    /// Whether a function is LLVM's own: calling it is no call in the end.
    #[must_use]
    pub fn is_intrinsic(&self, function: FunctionNumber) -> bool {
        self.texts[self.functions[function].name].starts_with("llvm.")
    }

    /// What is promised of a call: by itself, and by the function it names.
    #[must_use]
    pub fn promises(&self, call: &Call) -> FunctionFlags {
        let callee = call
            .callee
            .constant()
            .map(|constant| &self.constants[constant].value);
        let declared = match callee {
            Some(ConstantValue::Function(function)) => {
                self.attributes[self.functions[*function].attributes].flags
            }
            _ => FunctionFlags::empty(),
        };
        declared | self.attributes[call.attributes].flags
    }

    /// Whether an instruction only computes: it writes no memory, does not
    /// synchronise and always goes on. It may read memory.
    #[must_use]
    pub fn is_pure(&self, body: &Body, instruction: &Instruction) -> bool {
        match instruction.operation {
            Operation::Load { access, .. } => !access.order.is_atomic() && !access.volatile,
            Operation::Store { .. }
            | Operation::Update { .. }
            | Operation::CompareExchange { .. }
            | Operation::Fence { .. }
            | Operation::VariableArgument { .. }
            | Operation::StackSlot { .. }
            | Operation::LandingPad { .. }
            | Operation::Resume { .. }
            | Operation::Opaque { .. }
            | Operation::OpaqueTerminator { .. } => false,
            Operation::Call { call }
            | Operation::Invoke { call, .. }
            | Operation::CallBranch { call, .. } => self.is_pure_call(&body.calls[call]),
            _ => true,
        }
    }

    fn is_pure_call(&self, call: &Call) -> bool {
        let callee = call
            .callee
            .constant()
            .map(|constant| &self.constants[constant].value);
        let Some(ConstantValue::Function(function)) = callee else {
            return false;
        };
        let name = &self.texts[self.functions[*function].name];
        let is_note = [
            "llvm.dbg.",
            "llvm.lifetime.",
            "llvm.assume",
            "llvm.pseudoprobe",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix));
        let calls = FunctionFlags::WILL_RETURN | FunctionFlags::NO_UNWIND;
        is_note || self.promises(call).contains(calls) && !self.may_write(call, *function)
    }

    fn may_write(&self, call: &Call, function: FunctionNumber) -> bool {
        let declared = self.attributes[self.functions[function].attributes].memory;
        let here = self.attributes[call.attributes].memory;
        let writes = |memory: crate::MemoryEffects| {
            [memory.arguments, memory.inaccessible, memory.other]
                .iter()
                .any(|part| part.writes)
        };
        writes(declared) && writes(here)
    }
}
