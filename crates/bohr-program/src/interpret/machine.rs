//! The state of a running program, and its way from constructors to exit.

use super::datum::Datum;
use super::heap::Heap;
use super::memory::{self, Memory};
use super::unwind::Exceptions;
use super::{Finished, Halt, Settings, Status, Step, Stop};
use crate::constant::ConstantValue;
use crate::function::Body;
use crate::ids::*;
use crate::layout::Layouts;
use crate::program::Program;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};

/// One function being executed.
pub(super) struct Frame<'p> {
    pub(super) function: FunctionNumber,
    pub(super) body: &'p Body,
    /// The instruction to execute next.
    pub(super) next: usize,
    /// The block that holds it.
    pub(super) block: BlockNumber,
    /// The block that control came from.
    pub(super) previous: BlockNumber,
    pub(super) arguments: Vec<Datum>,
    /// Arguments beyond the named ones lie here, each at a multiple of 8.
    pub(super) variable_arguments: u64,
    pub(super) results: Vec<Datum>,
    /// The stack before the function was entered.
    pub(super) stack: u64,
}

/// A running program.
pub(super) struct Machine<'p> {
    pub(super) program: &'p Program,
    pub(super) layouts: Layouts,
    pub(super) memory: Memory,
    pub(super) heap: Heap,
    pub(super) globals: SecondaryMap<GlobalNumber, u64>,
    pub(super) constants: PrimaryMap<ConstantNumber, Option<Datum>>,
    pub(super) frames: Vec<Frame<'p>>,
    pub(super) exceptions: Exceptions,
    /// Exit handlers and their arguments, the last registered last.
    pub(super) at_exit: Vec<(u64, Option<u64>)>,
    pub(super) output: Vec<u8>,
    pub(super) errors: Vec<u8>,
    /// Memory of the library, by the name of its owner.
    pub(super) library: std::collections::HashMap<&'static str, u64>,
    pub(super) steps: u64,
    pub(super) limit: u64,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program, settings: &Settings<'_>) -> Machine<'p> {
        Machine {
            program,
            layouts: program.layouts(),
            memory: Memory::new(),
            heap: Heap::default(),
            globals: SecondaryMap::new(),
            constants: std::iter::repeat_n(None, program.constants.len()).collect(),
            frames: Vec::new(),
            exceptions: Exceptions::default(),
            at_exit: Vec::new(),
            output: Vec::new(),
            errors: Vec::new(),
            library: std::collections::HashMap::new(),
            steps: 0,
            limit: settings.steps,
        }
    }

    /// Runs the program to its end.
    pub(super) fn run(mut self, settings: &Settings<'_>) -> Result<Finished, Stop> {
        let main = self
            .program
            .functions_named("main")
            .next()
            .ok_or(Stop::NoMain)?;
        let status = match self.begin(main, settings) {
            Err(Halt::Ended(status)) => status,
            Err(halt) => return Err(self.stop(halt)),
            Ok(status) => status,
        };
        Ok(Finished {
            status,
            output: self.output,
            errors: self.errors,
            steps: self.steps,
        })
    }

    fn begin(&mut self, main: FunctionNumber, settings: &Settings<'_>) -> Step<Status> {
        self.place_globals()?;
        let arguments = self.main_arguments(settings)?;
        self.run_constructors()?;
        let code = self.call_and_wait(main, arguments)?;
        self.exit(code.int())
    }

    /// Runs the exit handlers, the last registered first, and ends.
    pub(super) fn exit(&mut self, code: i32) -> Step<Status> {
        while let Some((handler, argument)) = self.at_exit.pop() {
            let function = self.function_at(handler)?;
            let arguments = argument.into_iter().map(Datum::from).collect();
            self.call_and_wait(function, arguments)?;
        }
        Err(Halt::Ended(Status::Exited(code & 0xff)))
    }

    /// `argc`, `argv` and `envp`, which is empty.
    fn main_arguments(&mut self, settings: &Settings<'_>) -> Step<Vec<Datum>> {
        let count = settings.arguments.len() as u64;
        let vector = self.memory.globals.grow((count + 2) * 8, 8)?;
        for (index, argument) in (0..).zip(settings.arguments) {
            let text = self.memory.globals.grow(argument.len() as u64 + 1, 1)?;
            self.memory.write(text, argument.as_bytes())?;
            self.memory.write_word(vector + index * 8, text)?;
        }
        let environment = vector + (count + 1) * 8;
        Ok(vec![count.into(), vector.into(), environment.into()])
    }

    /// Runs what `llvm.global_ctors` lists, by priority.
    fn run_constructors(&mut self) -> Step<()> {
        let program = self.program;
        let named = |name: &str| {
            let mut all = program.globals.values();
            all.find(|global| &program.texts[global.name] == name)
        };
        let Some(list) = named("llvm.global_ctors").and_then(|list| list.initialiser.expand())
        else {
            return Ok(());
        };
        let mut constructors = Vec::new();
        for entry in program.constants[list].value.parts() {
            let entry = self.constant(entry)?;
            if let [priority, function, ..] = entry.parts() {
                constructors.push((priority.int(), function.word()));
            }
        }
        constructors.sort_by_key(|constructor| constructor.0);
        for (_, function) in constructors {
            let function = self.function_at(function)?;
            self.call_and_wait(function, Vec::new())?;
        }
        Ok(())
    }

    /// The function at an address.
    pub(super) fn function_at(&self, address: u64) -> Step<FunctionNumber> {
        memory::function_at(address, self.program.functions.len())
            .ok_or(Halt::Undefined("it calls what is not a function"))
    }

    /// The function that an address constant leads to, aliases looked through.
    pub(super) fn function_behind(&self, constant: ConstantNumber) -> Option<FunctionNumber> {
        match &self.program.constants[constant].value {
            ConstantValue::Function(function) => Some(*function),
            ConstantValue::Alias(alias) => {
                let alias = &self.program.aliases[*alias];
                (!alias.indirect).then(|| self.function_behind(alias.target))?
            }
            _ => None,
        }
    }

    /// Where execution halted, for people.
    fn stop(&self, halt: Halt) -> Stop {
        let function = match self.frames.last() {
            Some(frame) => {
                let symbol = self.program.functions[frame.function].symbol;
                self.program.texts[symbol].to_string()
            }
            None => "the beginning".to_string(),
        };
        match halt {
            Halt::NotModelled(what) => Stop::NotModelled { what, function },
            Halt::Fault { address, length } => Stop::Fault {
                address,
                length,
                function,
            },
            Halt::Undefined(what) => Stop::Undefined {
                what: what.to_string(),
                function,
            },
            Halt::Steps(steps) => Stop::Steps { steps },
            Halt::Ended(status) => Stop::Undefined {
                what: format!("it ended twice: {status:?}"),
                function,
            },
        }
    }

    /// The frame that is executing.
    pub(super) fn frame(&mut self) -> &mut Frame<'p> {
        self.frames.last_mut().expect("a function is executing")
    }

    /// The instruction that is executing: the one before the next.
    pub(super) fn current(&self) -> InstructionNumber {
        let frame = self.frames.last().expect("a function is executing");
        InstructionNumber::new(frame.next - 1)
    }
}
