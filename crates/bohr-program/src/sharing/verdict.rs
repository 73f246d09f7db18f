//! Whether the accesses of a site may meet another thread's, and why not.

use super::analysis::Analysis;
use super::before::Late;
use super::node::NodeNumber;
use super::object::{ObjectNumber, Origin};
use crate::function::Body;
use crate::ids::{FunctionNumber, InstructionNumber, TypeNumber};
use crate::instruction::{Operation, Value};
use crate::program::Site;
use crate::types::Type;
use bohr_event::EventKind;
use cranelift_entity::EntitySet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is known about the accesses of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// They may touch memory that another thread touches.
    Shared,
    /// The site is a call or a fence that matters because of its effect on
    /// other threads, not because of an address.
    Synchronises,
    /// They cannot, for this reason.
    Private(Reason),
}

/// Why an access cannot meet another thread's. Where a site may touch several
/// kinds of memory, the last of these that applies is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The memory is never written.
    Constant,
    /// It is on the stack, and no other thread can have its address.
    Stack,
    /// Each thread has its own, and no other thread can have its address.
    ThreadLocal,
    /// It was allocated, and no other thread can have its address.
    Heap,
    /// Only the main thread runs code that touches it.
    MainThread,
    /// It is written only before the first thread is started.
    WrittenBeforeThreads,
    /// The program has no second thread.
    SingleThreaded,
}

impl Reason {
    /// Every reason, in order.
    pub const ALL: [Reason; 7] = [
        Reason::Constant,
        Reason::Stack,
        Reason::ThreadLocal,
        Reason::Heap,
        Reason::MainThread,
        Reason::WrittenBeforeThreads,
        Reason::SingleThreaded,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Reason::Constant => "never written",
            Reason::Stack => "on the stack, address not given to another thread",
            Reason::ThreadLocal => "thread-local, address not given to another thread",
            Reason::Heap => "on the heap, address not given to another thread",
            Reason::MainThread => "touched by the main thread only",
            Reason::WrittenBeforeThreads => "written before the first thread starts only",
            Reason::SingleThreaded => "the program starts no thread",
        })
    }
}

/// Answers for one solved analysis.
pub(super) struct Judge<'a, 'p> {
    analysis: &'a mut Analysis<'p>,
    /// Global variables that may be written while other threads exist.
    written_late: EntitySet<ObjectNumber>,
}

impl<'a, 'p> Judge<'a, 'p> {
    pub(super) fn new(analysis: &'a mut Analysis<'p>) -> Judge<'a, 'p> {
        let late = Late::new(analysis);
        let mut judge = Judge {
            analysis,
            written_late: EntitySet::new(),
        };
        judge.find_late_writes(&late);
        judge
    }

    /// What is known about a site.
    pub(super) fn verdict(&mut self, site: &Site) -> Verdict {
        let kind = site.kind();
        let threaded = !self.analysis.threads.is_empty();
        match kind {
            EventKind::Read | EventKind::Write | EventKind::Update if !threaded => {
                Verdict::Private(Reason::SingleThreaded)
            }
            EventKind::Read | EventKind::Write | EventKind::Update => self.access(site),
            EventKind::Fence if !threaded => Verdict::Private(Reason::SingleThreaded),
            _ => Verdict::Synchronises,
        }
    }

    fn access(&mut self, site: &Site) -> Verdict {
        let program = self.analysis.program;
        let body = program.functions[site.function].body.as_ref();
        let body = body.expect("sites lie in defined functions");
        let mut reason = None;
        for address in addresses(self.analysis, site.function, body, site.instruction) {
            match self.pointer(self.analysis.nodes.value(site.function, address)) {
                Some(why) => reason = reason.max(Some(why)),
                None => return Verdict::Shared,
            }
        }
        reason.map_or(Verdict::Shared, Verdict::Private)
    }

    /// Whether an access that may meet other threads' may also be to private memory
    /// that somebody writes.
    pub(super) fn is_mixed(&mut self, site: &Site) -> bool {
        let program = self.analysis.program;
        let body = program.functions[site.function].body.as_ref();
        let body = body.expect("sites lie in defined functions");
        let addresses = addresses(self.analysis, site.function, body, site.instruction);
        addresses.into_iter().any(|address| {
            let node = self.analysis.nodes.value(site.function, address);
            let Some(node) = node else { return true };
            let (objects, world) = self.analysis.solver.points_to(node);
            let (objects, unknown) = (objects.to_vec(), objects.is_empty() && !world);
            let is_private = |object: &ObjectNumber| {
                let reason = self.object(*object);
                reason.is_some_and(|reason| reason != Reason::Constant)
            };
            unknown || objects.iter().any(is_private)
        })
    }

    /// Why no other thread touches what a pointer points to. A pointer to
    /// nothing is one that the analysis does not understand, or code that never
    /// runs: it counts as shared.
    fn pointer(&mut self, node: Option<NodeNumber>) -> Option<Reason> {
        let (objects, world) = self.analysis.solver.points_to(node?);
        if world || objects.is_empty() {
            return None;
        }
        let objects = objects.to_vec();
        let mut reason = Reason::Constant;
        for object in objects {
            reason = reason.max(self.object(object)?);
        }
        Some(reason)
    }

    fn object(&self, object: ObjectNumber) -> Option<Reason> {
        let state = &self.analysis.solver.objects()[object];
        match state.origin {
            Origin::Constant(_) | Origin::PlainConstants | Origin::Function(_) => {
                Some(Reason::Constant)
            }
            _ if state.escaped => None,
            Origin::Stack(..) | Origin::Copied(..) | Origin::Variadic(_) | Origin::Arguments => {
                Some(Reason::Stack)
            }
            Origin::Heap(..) => Some(Reason::Heap),
            Origin::ThreadLocal(_) | Origin::Own => Some(Reason::ThreadLocal),
            Origin::Global(_) if !state.visible => Some(Reason::MainThread),
            Origin::Global(_) => {
                let early = !self.written_late.contains(object);
                early.then_some(Reason::WrittenBeforeThreads)
            }
        }
    }

    /// Every instruction that may write a global variable while other threads
    /// may exist: stores, and calls that get its address.
    fn find_late_writes(&mut self, late: &Late) {
        let program = self.analysis.program;
        for (function, _, body) in program.bodies() {
            for block in body.blocks.keys() {
                for (number, instruction) in body.block(block) {
                    let reads = matches!(instruction.operation, Operation::Load { .. });
                    if !reads && late.is_late(function, block, number) {
                        self.write(function, body, number);
                    }
                }
            }
        }
    }

    fn write(&mut self, function: FunctionNumber, body: &Body, number: InstructionNumber) {
        let calls_ours = body.call_at(number).is_some_and(|call| {
            let callee = call
                .callee
                .constant()
                .map(|one| &self.analysis.program.constants[one].value);
            matches!(callee, Some(crate::ConstantValue::Function(callee))
                if self.analysis.program.functions[*callee].body.is_some())
        });
        if calls_ours {
            return;
        }
        for address in addresses(self.analysis, function, body, number) {
            let Some(node) = self.analysis.nodes.value(function, address) else {
                continue;
            };
            let (objects, _) = self.analysis.solver.points_to(node);
            self.written_late.extend(objects.iter().copied());
        }
    }
}

/// The pointers through which an instruction accesses memory; of a call, all
/// arguments that are pointers.
fn addresses(
    analysis: &Analysis<'_>,
    function: FunctionNumber,
    body: &Body,
    number: InstructionNumber,
) -> Vec<Value> {
    match body.instructions[number].operation {
        Operation::Load { address, .. }
        | Operation::Store { address, .. }
        | Operation::Update { address, .. }
        | Operation::CompareExchange { address, .. } => vec![address],
        Operation::VariableArgument { list } => vec![list],
        operation if operation.call().is_some() => {
            let call = body.call_at(number).expect("it calls");
            let pointers = body.arguments(call).iter().copied();
            let program = analysis.program;
            pointers
                .filter(|&value| is_pointer(analysis, program.type_of(function, value)))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn is_pointer(analysis: &Analysis<'_>, of: TypeNumber) -> bool {
    match analysis.program.types[of] {
        Type::Pointer(_) => true,
        Type::Vector { element, .. } => is_pointer(analysis, element),
        _ => false,
    }
}
