//! Gates: what can be left out of an execution, piece by piece. The body of a
//! thread ([`body`]), an iteration of a loop that can do without
//! ([`Shortcut`]), a pass through a block that its author has marked
//! ([`mark`]); calls ([`call`]), which have numbers of their own; and stores
//! ([`store`]), which go by the numbers of their sites and need no code.
//!
//! Decided on the model, so that every profile of a program has the same gates
//! with the same numbers, and whoever asks hears the same reasons.

mod body;
mod call;
mod mark;
mod neutral;
mod store;

pub use body::{Neutral, Shut};
pub use call::{SkippableCall, skippable_calls};
pub use mark::MARK;
pub use store::{is_skippable_store, stores_fed_by};

use crate::flow::FunctionFlow;
use crate::function::Body;
use crate::graph::{Loop, LoopNumber};
use crate::ids::{FunctionNumber, GateNumber, InstructionNumber, LocationNumber, SiteNumber};
use crate::program::Program;
use crate::repetition::{Refusal, Repetition, Shortcut, repetitions};
use crate::sharing::{Sharing, Verdict};
use cranelift_entity::PrimaryMap;
use std::collections::BTreeMap;
use std::fmt;

/// A gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The function that it is in; of a block with copies, the first.
    pub function: FunctionNumber,
    /// What it can leave out.
    pub leaves_out: LeavesOut,
}

/// What a gate can leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeavesOut {
    /// The body of a thread, at the entry of the function.
    Body(Neutral),
    /// One iteration of a loop.
    Iteration {
        /// Which loop of the function.
        number: LoopNumber,
        /// Its blocks.
        shape: Loop,
        /// How.
        shortcut: Shortcut,
    },
    /// One pass through a marked block. The compiler may have made copies of it;
    /// they are one gate.
    Block {
        /// The marks: assembly that gives a one, or a zero to go past the block.
        marks: Vec<(FunctionNumber, InstructionNumber)>,
    },
}

/// Why a loop has no gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// No iteration can be left out.
    Refused(Refusal),
    /// Nothing in it can be noticed by others: leaving out an iteration would
    /// save time and nothing else.
    Unnoticed,
}

impl fmt::Display for Kept {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kept::Refused(refusal) => refusal.fmt(out),
            Kept::Unnoticed => out.write_str("nothing in it can be noticed by others"),
        }
    }
}

/// A thread's body without a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutBody {
    /// The function.
    pub function: FunctionNumber,
    /// Why.
    pub reason: Shut,
}

/// All gates of a program.
///
/// ```
/// use bohr_program::{Gates, ProgramBuilder, Sharing};
///
/// let program = ProgramBuilder::new("e-i64:64").finish();
/// assert!(Gates::of(&program, &Sharing::of(&program)).gates.is_empty());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// By ascending function id; within a function the body, then loops, then blocks.
    pub gates: PrimaryMap<GateNumber, Gate>,
    /// Thread bodies without a gate.
    pub shut: Vec<ShutBody>,
    loops: BTreeMap<(FunctionNumber, LoopNumber), Result<GateNumber, Kept>>,
}

impl Gates {
    /// Finds the gates of a program.
    #[must_use]
    pub fn of(program: &Program, sharing: &Sharing) -> Gates {
        Gates::noticing(program, &|site| {
            !matches!(sharing.verdict(site), Verdict::Private(_))
        })
    }

    /// Finds the gates of a program, given which accesses others can notice.
    #[must_use]
    pub fn noticing(program: &Program, is_noticed: &dyn Fn(SiteNumber) -> bool) -> Gates {
        let layouts = program.layouts();
        let mut search = Search::new(program, is_noticed);
        for (function, _, _) in program.bodies() {
            let Some(flow) = FunctionFlow::new(program, function) else {
                continue;
            };
            let repetitions = repetitions(program, &layouts, function, &flow);
            search.function(function, &flow, &repetitions);
        }
        search.finish()
    }

    /// The gate of a loop, or why it has none; `None` if there is no such loop.
    #[must_use]
    pub fn of_loop(
        &self,
        function: FunctionNumber,
        number: LoopNumber,
    ) -> Option<&Result<GateNumber, Kept>> {
        self.loops.get(&(function, number))
    }
}

/// A search for gates, function by function in ascending order.
pub struct Search<'a> {
    program: &'a Program,
    is_noticed: &'a dyn Fn(SiteNumber) -> bool,
    started: body::Started,
    marked: BTreeMap<&'a str, GateNumber>,
    found: Gates,
}

impl<'a> Search<'a> {
    /// Nothing found yet.
    #[must_use]
    pub fn new(program: &'a Program, is_noticed: &'a dyn Fn(SiteNumber) -> bool) -> Search<'a> {
        Search {
            program,
            is_noticed,
            started: body::Started::by(program),
            marked: BTreeMap::new(),
            found: Gates::default(),
        }
    }

    /// Adds the gates of a function, given what is known of its flow.
    pub fn function(
        &mut self,
        function: FunctionNumber,
        flow: &FunctionFlow,
        repetitions: &PrimaryMap<LoopNumber, Repetition>,
    ) {
        let Some(body) = &self.program.functions[function].body else {
            return;
        };
        match self.started.judge(self.program, function) {
            Some(Ok(neutral)) => {
                self.add(function, LeavesOut::Body(neutral));
            }
            Some(Err(reason)) => self.found.shut.push(ShutBody { function, reason }),
            None => {}
        }
        for (number, shape) in flow.loops.iter() {
            let decided = match &repetitions[number].shortcut {
                Err(refusal) => Err(Kept::Refused(refusal.clone())),
                Ok(_) if !self.is_noticed(function, body, shape) => Err(Kept::Unnoticed),
                Ok(shortcut) => Ok(self.add(
                    function,
                    LeavesOut::Iteration {
                        number,
                        shape: shape.clone(),
                        shortcut: shortcut.clone(),
                    },
                )),
            };
            self.found.loops.insert((function, number), decided);
        }
        for (instruction, text) in mark::marks(self.program, body) {
            self.mark(function, instruction, text);
        }
    }

    /// What was found.
    #[must_use]
    pub fn finish(self) -> Gates {
        self.found
    }

    fn add(&mut self, function: FunctionNumber, leaves_out: LeavesOut) -> GateNumber {
        self.found.gates.push(Gate {
            function,
            leaves_out,
        })
    }

    fn mark(&mut self, function: FunctionNumber, instruction: InstructionNumber, text: &'a str) {
        let Some(&number) = self.marked.get(text) else {
            let marks = vec![(function, instruction)];
            let number = self.add(function, LeavesOut::Block { marks });
            self.marked.insert(text, number);
            return;
        };
        if let LeavesOut::Block { marks } = &mut self.found.gates[number].leaves_out {
            marks.push((function, instruction));
        }
    }

    /// Whether something happens in a loop that others can notice: an access
    /// that may be shared, or a call.
    fn is_noticed(&self, function: FunctionNumber, body: &Body, shape: &Loop) -> bool {
        let mut instructions = shape.blocks.iter().flat_map(|&block| body.block(block));
        instructions.any(|(number, instruction)| {
            let site = self.program.site_at(function, number);
            site.is_some_and(|site| (self.is_noticed)(site))
                || instruction.operation.call().is_some() && self.calls_function(body, number)
        })
    }

    /// Whether a call calls something other than an intrinsic or assembly.
    fn calls_function(&self, body: &Body, call: InstructionNumber) -> bool {
        match body.named_callee(self.program, call) {
            Some(callee) => {
                !self.program.texts[self.program.functions[callee].name].starts_with("llvm.")
            }
            None => mark::assembly(self.program, body, call).is_none(),
        }
    }
}

impl Gate {
    /// A name that stays the same in every build: the function's id, and which
    /// of its gates this is.
    #[must_use]
    pub fn id(&self, program: &Program) -> String {
        let function = program.functions[self.function].id;
        match &self.leaves_out {
            LeavesOut::Body(_) => format!("{function}/body"),
            LeavesOut::Iteration { number, .. } => format!("{function}/{number}"),
            LeavesOut::Block { marks } => format!("{function}/mark{}", marks[0].1.as_u32()),
        }
    }

    /// Whether it leaves out a closure of Rust that was given something: what
    /// that is would be dropped by the closure, and is not.
    #[must_use]
    pub fn forgets(&self, program: &Program) -> bool {
        matches!(self.leaves_out, LeavesOut::Body(_)) && body::is_given(program, self.function)
    }

    /// Where it stands in the source, if the debug information tells: of a loop,
    /// its top.
    #[must_use]
    pub fn location(&self, program: &Program) -> Option<LocationNumber> {
        let body = program.functions[self.function].body.as_ref()?;
        match &self.leaves_out {
            LeavesOut::Body(_) => None,
            LeavesOut::Iteration { shape, .. } => body.location_of_block(shape.header),
            LeavesOut::Block { marks } => body.instructions[marks[0].1].location.expand(),
        }
    }
}
