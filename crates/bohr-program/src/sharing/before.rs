//! Which instructions run before any other thread can exist.
//!
//! A thread exists once a call that starts one, or that does so further down,
//! has been made. An instruction of a function that only the main thread runs is
//! *early* if no path through the function leads to it from such a call, and if
//! no call of the function is itself late.

use super::analysis::Analysis;
use super::solve::CallSite;
use crate::external::{self, Use};
use crate::function::Body;
use crate::graph::FlowGraph;
use crate::ids::{BlockNumber, FunctionNumber, InstructionNumber};
use crate::program::Program;
use bohr_event::EventKind;
use cranelift_entity::{EntityRef, EntitySet, SecondaryMap};
use std::collections::HashSet;

/// The places where other threads may exist.
#[derive(Debug, Default)]
pub(super) struct Late {
    /// Functions of which every instruction is late.
    everywhere: EntitySet<FunctionNumber>,
    /// Of the others, the first late instruction of each block.
    from: SecondaryMap<FunctionNumber, Vec<Option<InstructionNumber>>>,
}

impl Late {
    /// Finds them, given what calls what.
    pub(super) fn new(analysis: &Analysis<'_>) -> Late {
        let program = analysis.program;
        let calls = Calls::new(analysis);
        let starting = calls.starting(program, analysis);
        let mut late = Late {
            everywhere: analysis.threads.clone(),
            ..Late::default()
        };
        let mut work: Vec<FunctionNumber> = analysis.at_exit.clone();
        for (function, _, body) in program.bodies() {
            if !late.everywhere.contains(function) {
                late.from[function] = after_starts(body, |instruction| {
                    calls.unknown.contains(&(function, instruction))
                        || calls
                            .at(function, instruction)
                            .iter()
                            .any(|&one| starting.contains(one))
                });
                work.extend(late.called(&calls, function));
            }
        }
        while let Some(function) = work.pop() {
            if late.everywhere.insert(function) {
                work.extend(calls.of[function].iter().map(|(_, callee)| *callee));
            }
        }
        late
    }

    /// Whether another thread may exist when an instruction runs.
    pub(super) fn is_late(
        &self,
        function: FunctionNumber,
        block: BlockNumber,
        instruction: InstructionNumber,
    ) -> bool {
        let from = self.from[function].get(block.index()).copied().flatten();
        self.everywhere.contains(function) || from.is_some_and(|from| from <= instruction)
    }

    /// What a function calls at its late places.
    fn called(&self, calls: &Calls, function: FunctionNumber) -> Vec<FunctionNumber> {
        let late = |&&(instruction, _): &&(InstructionNumber, FunctionNumber)| {
            let block = calls.block(function, instruction);
            self.is_late(function, block, instruction)
        };
        calls.of[function]
            .iter()
            .filter(late)
            .map(|(_, callee)| *callee)
            .collect()
    }
}

/// The first late instruction of each block: the one after a call that starts
/// a thread, or the block's first if such a call comes earlier on some path.
fn after_starts(
    body: &Body,
    starts: impl Fn(InstructionNumber) -> bool,
) -> Vec<Option<InstructionNumber>> {
    let mut from: Vec<Option<InstructionNumber>> = vec![None; body.blocks.len()];
    let mut work = Vec::new();
    for block in body.blocks.keys() {
        let mut calls = body
            .block(block)
            .filter(|(_, one)| one.operation.call().is_some());
        if let Some((call, _)) = calls.find(|&(number, _)| starts(number)) {
            from[block.index()] = Some(InstructionNumber::new(call.index() + 1));
            work.extend(body.successors(block));
        }
    }
    if work.is_empty() {
        return from;
    }
    let graph = FlowGraph::new(body.blocks.keys().map(|block| body.successors(block)));
    while let Some(block) = work.pop() {
        let first = body.blocks[block].first;
        if from[block.index()] != Some(first) {
            from[block.index()] = Some(first);
            work.extend_from_slice(graph.successors(block));
        }
    }
    from
}

/// Every call of every function with what it may call.
struct Calls<'p> {
    program: &'p Program,
    of: SecondaryMap<FunctionNumber, Vec<(InstructionNumber, FunctionNumber)>>,
    /// Calls that may reach any function.
    unknown: HashSet<(FunctionNumber, InstructionNumber)>,
}

impl<'p> Calls<'p> {
    fn new(analysis: &Analysis<'p>) -> Calls<'p> {
        let program = analysis.program;
        let mut of: SecondaryMap<FunctionNumber, Vec<_>> = SecondaryMap::new();
        for (function, _, body) in program.bodies() {
            for (number, instruction) in body.instructions.iter() {
                if instruction.operation.call().is_none() {
                    continue;
                }
                if let Some(callee) = body.named_callee(program, number) {
                    of[function].push((number, callee));
                }
            }
        }
        for &(
            CallSite {
                function,
                instruction,
                ..
            },
            callee,
        ) in &analysis.resolved
        {
            of[function].push((instruction, callee));
        }
        of.values_mut().for_each(|calls| calls.sort_unstable());
        let unknown = analysis.unresolved.iter();
        let unknown = unknown
            .map(|site| (site.function, site.instruction))
            .collect();
        Calls {
            program,
            of,
            unknown,
        }
    }

    fn at(&self, function: FunctionNumber, instruction: InstructionNumber) -> Vec<FunctionNumber> {
        let calls = &self.of[function];
        let first = calls.partition_point(|(number, _)| *number < instruction);
        let here = calls[first..]
            .iter()
            .take_while(|(number, _)| *number == instruction);
        here.map(|(_, callee)| *callee).collect()
    }

    fn block(&self, function: FunctionNumber, instruction: InstructionNumber) -> BlockNumber {
        let body = self.program.functions[function].body.as_ref();
        body.expect("calls lie in defined functions")
            .block_of(instruction)
    }

    /// The functions of which a call may start a thread.
    fn starting(&self, program: &Program, analysis: &Analysis<'_>) -> EntitySet<FunctionNumber> {
        let mut callers: SecondaryMap<FunctionNumber, Vec<FunctionNumber>> = SecondaryMap::new();
        for caller in self.of.keys() {
            for &(_, callee) in &self.of[caller] {
                callers[callee].push(caller);
            }
        }
        let outside = program
            .functions
            .iter()
            .filter(|(_, facts)| facts.body.is_none());
        let mut work: Vec<FunctionNumber> = outside
            .filter(|(_, facts)| may_start_thread(&program.texts[facts.name]))
            .map(|(number, _)| number)
            .collect();
        // A call through a pointer from the world may reach any of them.
        work.extend(analysis.unresolved.iter().map(|site| site.function));
        let mut starting = EntitySet::new();
        while let Some(function) = work.pop() {
            if starting.insert(function) {
                work.extend_from_slice(&callers[function]);
            }
        }
        starting
    }
}

/// Whether a function outside the program may start a thread: one that says
/// so, or one that is not known, except for the C++ library, where nothing but
/// `std::thread` does, and intrinsics.
fn may_start_thread(name: &str) -> bool {
    let library = [
        "llvm.", "_ZNSt", "_ZNKSt", "_ZSt", "_ZNSo", "_ZNSi", "_ZNSs", "__cxa_",
    ];
    match external::find(name) {
        Some(known) => known.event == Some(EventKind::Fork) || known.first(Use::STARTS).is_some(),
        None => !library.iter().any(|prefix| name.starts_with(prefix)),
    }
}
