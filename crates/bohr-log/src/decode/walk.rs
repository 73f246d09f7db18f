//! One thread's way through the program.

use super::{DecodeError, Frame, Senseless, Step, ThreadExecution};
use crate::CodeReader;
use bohr_event::ThreadPath;
use bohr_program::paths::{Calling, Choice, ENTERED, MARK_BITS, Paths, width};
use bohr_program::{BlockNumber, Body, FunctionNumber, InstructionNumber, Operation, Program};
use cranelift_entity::EntityRef;

/// Steps that may follow each other without a single bit: a loop without exit
/// has no end, and neither has a recursion without a branch.
const LONGEST_SILENCE: usize = 1 << 16;

/// Why a walk stops where it is.
enum Stop {
    /// The log ends here.
    End,
    /// The log makes no sense.
    Wrong(Senseless),
}

impl From<Senseless> for Stop {
    fn from(wrong: Senseless) -> Stop {
        Stop::Wrong(wrong)
    }
}

/// What a call, or the outside of all functions, reads in the log.
enum Mark {
    Returned,
    Entered(FunctionNumber),
    Landed(FunctionNumber, BlockNumber),
}

pub(super) fn thread(
    program: &Program,
    paths: &Paths,
    thread: &ThreadPath,
    words: &[u64],
) -> Result<ThreadExecution, DecodeError> {
    let mut walk = Walk {
        program,
        paths,
        code: CodeReader::new(words),
        stack: Vec::new(),
        steps: Vec::new(),
        certain: 0,
        choices: 0,
    };
    loop {
        match walk.step() {
            Ok(()) => {}
            Err(Stop::End) => break,
            Err(Stop::Wrong(what)) => {
                return Err(DecodeError::Senseless {
                    thread: thread.clone(),
                    function: walk.place(),
                    byte: walk.code.byte(),
                    what,
                });
            }
        }
    }
    Ok(ThreadExecution {
        thread: thread.clone(),
        steps: walk.steps,
        certain: walk.certain,
        stack: walk.stack,
        choices: walk.choices,
    })
}

struct Walk<'p> {
    program: &'p Program,
    paths: &'p Paths,
    code: CodeReader<'p>,
    stack: Vec<Frame>,
    steps: Vec<Step>,
    certain: usize,
    choices: u64,
}

impl<'p> Walk<'p> {
    /// Executes one instruction, or what comes between functions.
    fn step(&mut self) -> Result<(), Stop> {
        if self.steps.len() - self.certain > LONGEST_SILENCE {
            return Err(Stop::End);
        }
        let Some(frame) = self.stack.last().copied() else {
            return match self.mark()? {
                Mark::Entered(function) => self.enter(function),
                Mark::Returned => Err(Senseless::NoCall.into()),
                Mark::Landed(function, block) => self.land(function, block),
            };
        };
        let body = self.body(frame.function);
        let operation = body.instructions[frame.instruction].operation;
        if let Some(call) = operation.call() {
            let calling = self.paths.calling(self.program, &body.calls[call]);
            return self.call(frame, calling);
        }
        match operation {
            Operation::Return { .. } => self.leave(),
            Operation::Resume { .. } => self.open(frame),
            Operation::Unreachable if self.at_end() => Err(Stop::End),
            Operation::Unreachable => Err(Senseless::Unreachable.into()),
            _ if operation.is_terminator() => self.choose(frame),
            _ => self.go_on(frame),
        }
    }

    /// The function and instruction that the walk is at, in words.
    fn place(&self) -> String {
        match self.stack.last() {
            Some(frame) => format!("{} {}", self.name(frame.function), frame.block),
            None => "no function".into(),
        }
    }

    fn name(&self, function: FunctionNumber) -> String {
        self.program.texts[self.program.functions[function].name].to_string()
    }

    fn body(&self, function: FunctionNumber) -> &'p Body {
        let body = self.program.functions[function].body.as_ref();
        body.expect("only functions with bodies are entered")
    }

    fn at_end(&self) -> bool {
        self.code.clone().bit().is_none()
    }

    /// A step that the log itself has told.
    fn sure(&mut self, step: Step) {
        self.steps.push(step);
        self.certain = self.steps.len();
    }

    fn bits(&mut self, count: u32) -> Result<u64, Stop> {
        let bits = self.code.bits(count).ok_or(Stop::End)?;
        self.certain = self.steps.len();
        Ok(bits)
    }

    fn mark(&mut self) -> Result<Mark, Stop> {
        if self.bits(1)? == 0 {
            return Ok(Mark::Returned);
        }
        let kind = 0b10 | self.bits(MARK_BITS - 1)?;
        let number = self.bits(self.paths.function_bits())?;
        let function = self.function(number)?;
        if kind == ENTERED {
            return match self.paths.announces(function) {
                true => Ok(Mark::Entered(function)),
                false => Err(Senseless::NoFunction(number).into()),
            };
        }
        let blocks = self.body(function).blocks.len();
        let block = self.bits(width(blocks))?;
        let inside = usize::try_from(block).is_ok_and(|block| block < blocks);
        if !inside {
            return Err(self.no_landing(function, block));
        }
        Ok(Mark::Landed(function, BlockNumber::from_u32(block as u32)))
    }

    fn function(&self, number: u64) -> Result<FunctionNumber, Stop> {
        let known = usize::try_from(number)
            .ok()
            .filter(|number| *number < self.program.functions.len())
            .map(FunctionNumber::new)
            .filter(|number| self.program.functions[*number].body.is_some());
        known.ok_or(Stop::Wrong(Senseless::NoFunction(number)))
    }

    fn no_landing(&self, function: FunctionNumber, block: u64) -> Stop {
        let function = self.name(function);
        Senseless::NoLanding { function, block }.into()
    }

    fn enter(&mut self, function: FunctionNumber) -> Result<(), Stop> {
        let block = BlockNumber::from_u32(0);
        self.stack.push(Frame {
            function,
            block,
            instruction: self.body(function).blocks[block].first,
        });
        self.steps.push(Step::Enter(function));
        if self.paths.announces(function) {
            self.certain = self.steps.len();
        }
        Ok(())
    }

    fn call(&mut self, frame: Frame, calling: Calling) -> Result<(), Stop> {
        match calling {
            Calling::Quiet => self.go_on(frame),
            Calling::Open | Calling::Twice => self.open(frame),
            Calling::Named(called) if self.paths.announces(called) => match self.mark()? {
                Mark::Entered(entered) if entered == called => self.enter(entered),
                Mark::Entered(entered) => Err(self.other_function(called, entered)),
                Mark::Returned => Err(Senseless::NoCall.into()),
                Mark::Landed(function, block) => self.land(function, block),
            },
            Calling::Named(called) => self.enter(called),
        }
    }

    fn other_function(&self, called: FunctionNumber, entered: FunctionNumber) -> Stop {
        let (called, entered) = (self.name(called), self.name(entered));
        Senseless::OtherFunction { called, entered }.into()
    }

    fn open(&mut self, frame: Frame) -> Result<(), Stop> {
        match self.mark()? {
            Mark::Entered(function) => self.enter(function),
            Mark::Returned => self.go_on(frame),
            Mark::Landed(function, block) => self.land(function, block),
        }
    }

    /// The innermost function returns; a call of it by name is over.
    fn leave(&mut self) -> Result<(), Stop> {
        self.stack.pop();
        self.steps.push(Step::Return);
        let Some(frame) = self.stack.last().copied() else {
            return Ok(());
        };
        match self.calling(frame) {
            Some(Calling::Named(_)) => self.go_on(frame),
            _ => Ok(()),
        }
    }

    fn calling(&self, frame: Frame) -> Option<Calling> {
        let call = self.body(frame.function).call_at(frame.instruction)?;
        Some(self.paths.calling(self.program, call))
    }

    /// Finds who waits for an exception, or for a second return, in that block.
    fn land(&mut self, function: FunctionNumber, block: BlockNumber) -> Result<(), Stop> {
        let body = self.body(function);
        let again = body.block(block).find_map(|(number, instruction)| {
            let call = &body.calls[instruction.operation.call()?];
            let calling = self.paths.calling(self.program, call);
            (calling == Calling::Twice).then_some(number)
        });
        let waits = |frame: &Frame| match again {
            Some(_) => frame.function == function,
            None => frame.function == function && unwinds_to(body, frame.instruction, block),
        };
        let Some(place) = self.stack.iter().rposition(waits) else {
            return Err(self.no_landing(function, u64::from(block.as_u32())));
        };
        let ended = (self.stack.len() - 1 - place) as u32;
        self.stack.truncate(place + 1);
        self.sure(Step::Land { ended, block });
        let frame = Frame {
            function,
            block,
            instruction: again.unwrap_or(body.blocks[block].first),
        };
        self.stack[place] = frame;
        match again {
            Some(_) => self.go_on(frame),
            None => Ok(()),
        }
    }

    /// To the next instruction; from a call that ends its block, to where it goes on.
    fn go_on(&mut self, frame: Frame) -> Result<(), Stop> {
        let body = self.body(frame.function);
        if body.instructions[frame.instruction]
            .operation
            .is_terminator()
        {
            return self.choose(frame);
        }
        let top = self.stack.last_mut().expect("the frame that goes on");
        top.instruction = InstructionNumber::new(frame.instruction.index() + 1);
        Ok(())
    }

    fn choose(&mut self, frame: Frame) -> Result<(), Stop> {
        let body = self.body(frame.function);
        let choice = Choice::of(body, frame.block);
        let mut taken = 0;
        if choice.bits() > 0 {
            taken = self.bits(choice.bits())?;
            self.choices += 1;
        }
        let target = usize::try_from(taken)
            .ok()
            .and_then(|taken| choice.targets.get(taken));
        let Some(&block) = target else {
            let targets = choice.targets.len();
            return Err(Senseless::NoTarget { taken, targets }.into());
        };
        let top = self.stack.last_mut().expect("the frame that chooses");
        top.block = block;
        top.instruction = body.blocks[block].first;
        if choice.bits() > 0 {
            self.sure(Step::Block(block));
        } else {
            self.steps.push(Step::Block(block));
        }
        Ok(())
    }
}

/// Whether an exception that leaves this call lands in that block.
fn unwinds_to(body: &Body, instruction: InstructionNumber, block: BlockNumber) -> bool {
    matches!(body.instructions[instruction].operation,
        Operation::Invoke { unwind, .. } if unwind == block)
}
