//! Where the threads of a production build were, in terms of its model: functions,
//! blocks, calls, the iterations of loops, and which thread it was.

use crate::probes::Probes;
use crate::variables::{Call, Information, Value};
use crate::{Frame, Loaded, Memory};
use bohr_event::ThreadPath;
use bohr_program::graph::LoopNumber;
use bohr_program::index::{Activation, BLOCK_COUNTER, Flows};
use bohr_program::{
    BlockNumber, Body, FunctionFlow, FunctionNumber, InstructionNumber, Layouts, Program,
    left_name, mark_name, tallies, tally_mark, tally_name,
};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::{BTreeMap, HashMap};

/// What LLVM adds to the name of a symbol that several pieces of a program share.
const SHARED: &str = ".llvm.";
/// The variable of every thread that names it.
const THREAD_VARIABLE: &str = "__bohr_thread";
/// Numbers of a path that the variable has room for.
const DEEPEST: u64 = 14;

/// A function in memory.
struct Symbol {
    start: u64,
    size: u64,
    function: FunctionNumber,
}

/// What leads from addresses of a build to its model.
pub struct Positions<'p> {
    program: &'p Program,
    layouts: Layouts,
    /// By address of the file.
    symbols: Vec<Symbol>,
    probes: Probes,
    bias: u64,
}

impl<'p> Positions<'p> {
    /// Of a loaded program; `None` if it was not built for production.
    #[must_use]
    pub fn new(program: &'p Program, loaded: &Loaded<'_>) -> Option<Positions<'p>> {
        let section = loaded.file.section_by_name(".pseudo_probe")?;
        let section = section.uncompressed_data().ok()?;
        let by_name: HashMap<&str, FunctionNumber> = program
            .functions
            .iter()
            .filter(|(_, function)| function.body.is_some())
            .map(|(number, function)| (&program.texts[function.symbol], number))
            .collect();
        let mut symbols: Vec<Symbol> = loaded
            .debug
            .symbols()
            .filter(|symbol| symbol.kind() == SymbolKind::Text)
            .filter_map(|symbol| {
                let name = symbol.name().ok()?;
                let name = name.split(SHARED).next().unwrap_or(name);
                Some(Symbol {
                    start: symbol.address(),
                    size: symbol.size(),
                    function: *by_name.get(name)?,
                })
            })
            .collect();
        symbols.sort_by_key(|symbol| symbol.start);
        let starts: HashMap<u64, u64> = symbols
            .iter()
            .map(|symbol| (program.functions[symbol.function].id.0, symbol.start))
            .collect();
        Some(Positions {
            program,
            layouts: Layouts::new(&program.layout, &program.types),
            symbols,
            probes: Probes::read(&section, |id| starts.get(&id).copied()),
            bias: loaded.bias,
        })
    }

    /// The function at an address of memory.
    fn function(&self, address: u64) -> Option<FunctionNumber> {
        let address = address.wrapping_sub(self.bias);
        let after = self
            .symbols
            .partition_point(|symbol| symbol.start <= address);
        let symbol = self.symbols[..after].last()?;
        (address - symbol.start < symbol.size.max(1)).then_some(symbol.function)
    }

    /// The stack of a thread, innermost frame first, as activations, outermost
    /// first. Frames of other objects are left out: who called them is in a call.
    #[must_use]
    pub fn stack<'d>(
        &self,
        flows: &mut Flows<'p>,
        frames: &[Frame],
        information: &Information<'d>,
        memory: &Memory<'d>,
    ) -> Vec<Activation> {
        let mut stack: Vec<Activation> = Vec::new();
        for depth in (0..frames.len()).rev() {
            let Some(function) = self.function(frames[depth].instruction()) else {
                continue;
            };
            let inner = depth.checked_sub(1).map(|inner| &frames[inner]);
            let callee = inner.and_then(|inner| self.function(inner.instruction()));
            let told = self.iterations(flows, function, &frames[depth..], information, memory);
            let frame = &frames[depth];
            let called = inner.map(|_| Called {
                callee,
                lines: lines(&information.calls(frame)),
            });
            let Some((block, call)) = self.place(function, frame, called.as_ref(), &told) else {
                continue;
            };
            stack.push(Activation {
                function,
                block,
                call,
                iterations: told.iterations,
            });
        }
        stack
    }

    /// The block that a frame is in, and the call if it has called somebody.
    fn place(
        &self,
        function: FunctionNumber,
        frame: &Frame,
        called: Option<&Called>,
        told: &Told,
    ) -> Option<(BlockNumber, Option<InstructionNumber>)> {
        let body = self.program.functions[function].body.as_ref()?;
        let id = self.program.functions[function].id.0;
        let address = frame.instruction().wrapping_sub(self.bias);
        let blocks = body.blocks.len() as u64;
        let candidates = self.probes.at(id, address, |index| index <= blocks);
        let candidates: Vec<BlockNumber> = candidates
            .into_iter()
            .filter_map(|index| u32::try_from(index.checked_sub(1)?).ok())
            .map(BlockNumber::from_u32)
            .collect();
        let candidates = told.narrowed(candidates);
        let last = *candidates.last()?;
        let Some(called) = called else {
            return Some((last, None));
        };
        let marked = self.probes.at(id, address, |index| index > blocks);
        let marked = marked.into_iter().filter_map(|index| {
            let number = u32::try_from(index - blocks - 1).ok()?;
            Some(InstructionNumber::from_u32(number))
        });
        let marked: Vec<InstructionNumber> = marked.collect();
        // Of blocks at one address the one counts that makes the call.
        let in_block = |&block: &BlockNumber| {
            let call = self.call(body, block, called, &marked)?;
            Some((block, Some(call)))
        };
        let found = candidates.iter().rev().find_map(in_block);
        Some(found.unwrap_or((last, None)))
    }

    /// The call of a block that has led to a function.
    fn call(
        &self,
        body: &Body,
        block: BlockNumber,
        called: &Called,
        marked: &[InstructionNumber],
    ) -> Option<InstructionNumber> {
        let callee = called.callee;
        let named = |instruction| body.named_callee(self.program, instruction);
        let calls = body.block(block).map(|(number, _)| number);
        let calls = calls.filter(|&number| body.call_at(number).is_some());
        let calls: Vec<InstructionNumber> = calls
            .filter(|&number| {
                let callee = named(number);
                !callee.is_some_and(|callee| self.program.is_intrinsic(callee))
            })
            .collect();
        let defined = |number: FunctionNumber| self.program.functions[number].body.is_some();
        let fits = |&&number: &&InstructionNumber| match named(number) {
            Some(named) if callee.is_some() => Some(named) == callee || !defined(named),
            // Somebody outside was called, and may have called back.
            Some(named) => !defined(named),
            None => true,
        };
        let fitting: Vec<InstructionNumber> = calls.iter().filter(fits).copied().collect();
        // Optimisation may have moved marks to the beginning of their block, so lines
        // and columns come first.
        let is_there = |number: &&InstructionNumber| self.lines(body, **number) == called.lines;
        let there: Vec<InstructionNumber> = fitting.iter().filter(is_there).copied().collect();
        let possible = if there.is_empty() { fitting } else { there };
        let exact = |number: &&InstructionNumber| named(**number) == callee && callee.is_some();
        let by_mark = possible.iter().find(|number| marked.contains(number));
        let by_name = possible.iter().find(exact);
        by_mark.or(by_name).or(possible.first()).copied()
    }

    /// Line and column of an instruction, and of the calls that were inlined around it,
    /// from the inside to the outside.
    fn lines(&self, body: &Body, instruction: InstructionNumber) -> Vec<(u32, u32)> {
        let locations = &self.program.locations;
        let first = body.instructions[instruction].location.expand();
        let outwards = std::iter::successors(first, |&at| locations[at].inlined_at.expand());
        outwards
            .map(|at| (locations[at].line, u32::from(locations[at].column)))
            .collect()
    }

    fn iterations<'d>(
        &self,
        flows: &mut Flows<'p>,
        function: FunctionNumber,
        frames: &[Frame],
        information: &Information<'d>,
        memory: &Memory<'d>,
    ) -> Told {
        let Some(flow) = flows.of(function) else {
            return Told::default();
        };
        if flow.loops.is_empty() {
            return Told::default();
        }
        let tallies = tallies(self.program, &self.layouts, function, flow);
        let variables = information.variables(frames, memory);
        let value = |name: &str| {
            let named = variables.iter().find(|variable| variable.name == name)?;
            match named.value {
                Value::Unsigned(value) => Some(value),
                _ => None,
            }
        };
        let mut told = Told::default();
        for (number, tallied) in &tallies {
            let is_left = value(&mark_name(number)) == Some(tally_mark(number));
            let left = is_left.then(|| value(&left_name(number))).flatten();
            if is_left {
                told.leave(flow, &tallied.doomed);
            }
            if let Some(found) = left.or_else(|| value(&tally_name(number))) {
                let iteration = tallied.tally.iteration(found);
                told.iterations.insert(number, iteration);
            }
        }
        told
    }
}

/// What is known of the call that a frame is in.
struct Called {
    /// Whom it has led to, if that is a function of the program.
    callee: Option<FunctionNumber>,
    /// As [`Positions::lines`] tells them.
    lines: Vec<(u32, u32)>,
}

/// Likewise, of what debug information says.
fn lines(calls: &[Call]) -> Vec<(u32, u32)> {
    let line = |call: &Call| (call.line.unwrap_or(0), call.column.unwrap_or(0));
    calls.iter().map(line).collect()
}

/// What the variables say that a production build adds.
#[derive(Default)]
struct Told {
    iterations: BTreeMap<LoopNumber, u64>,
    /// Blocks that do not return, of loops that were left for one of them.
    left_for: Vec<BlockNumber>,
    /// Those and what they lead to.
    behind: Vec<BlockNumber>,
}

impl Told {
    /// A loop was left for one of these blocks.
    fn leave(&mut self, flow: &FunctionFlow, blocks: &[BlockNumber]) {
        self.left_for.extend(blocks);
        let mut open = blocks.to_vec();
        while let Some(block) = open.pop() {
            if !self.behind.contains(&block) {
                self.behind.push(block);
                open.extend(flow.graph.successors(block));
            }
        }
    }

    /// Where the ends of several loops were merged, only those count that were come
    /// from; a merged end may carry the marks of one of them alone.
    fn narrowed(&self, candidates: Vec<BlockNumber>) -> Vec<BlockNumber> {
        let possible = |block: &&BlockNumber| self.behind.contains(block);
        let possible: Vec<BlockNumber> = candidates.iter().filter(possible).copied().collect();
        match (self.left_for.is_empty(), possible.is_empty()) {
            (true, _) => candidates,
            (false, false) => possible,
            (false, true) => self.left_for.clone(),
        }
    }
}

/// The path of the thread whose local storage lies there, if its program names
/// its threads.
#[must_use]
pub fn thread(loaded: &Loaded<'_>, memory: &Memory<'_>, thread_pointer: u64) -> Option<ThreadPath> {
    let variable = own_variable(loaded, thread_pointer, THREAD_VARIABLE)?;
    let number = |position: u64| memory.number(variable.wrapping_add(4 * position), 4);
    let depth = number(0)?;
    if depth > DEEPEST {
        return None;
    }
    (1..=depth).try_fold(ThreadPath::MAIN, |path, position| {
        Some(path.child(u32::try_from(number(position)?).ok()?))
    })
}

/// How many blocks the thread has begun, if its program counts them.
#[must_use]
pub fn blocks(loaded: &Loaded<'_>, memory: &Memory<'_>, thread_pointer: u64) -> Option<u64> {
    memory.number(own_variable(loaded, thread_pointer, BLOCK_COUNTER)?, 8)
}

/// Where a thread has a variable of its own.
fn own_variable(loaded: &Loaded<'_>, thread_pointer: u64, name: &str) -> Option<u64> {
    let mut symbols = loaded.debug.symbols();
    let symbol = symbols.find(|symbol| symbol.name() == Ok(name))?;
    let (size, alignment) = local_storage(&loaded.file)?;
    let storage = thread_pointer.wrapping_sub(size.next_multiple_of(alignment.max(1)));
    Some(storage.wrapping_add(symbol.address()))
}

/// Size and alignment of what every thread has of its own.
fn local_storage(file: &object::File<'_>) -> Option<(u64, u64)> {
    use object::elf::PT_TLS;
    use object::read::elf::ProgramHeader;
    let object::File::Elf64(file) = file else {
        return None;
    };
    let endian = file.endian();
    let mut headers = file.elf_program_headers().iter();
    let header = headers.find(|header| header.p_type(endian) == PT_TLS)?;
    Some((header.p_memsz(endian), header.p_align(endian)))
}
