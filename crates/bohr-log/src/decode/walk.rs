//! One thread's way through the program.

use super::stops::{Stop, Stops};
use super::{DecodeError, Frame, Senseless, Step, ThreadExecution};
use crate::CodeReader;
use bohr_event::ThreadPath;
use bohr_program::paths::{Calling, ENTERED, MARK_BITS, Paths, width};
use bohr_program::{BlockNumber, Body, FunctionNumber, InstructionNumber, Operation, Program};
use cranelift_entity::{EntityRef, SecondaryMap};
use std::ops::Range;
use std::rc::Rc;

/// Steps that may follow each other without a single bit: a loop without exit
/// has no end, and neither has a recursion without a branch.
const LONGEST_SILENCE: u32 = 1 << 16;

/// Why a walk ends where it is.
enum Ends {
    /// The log ends here.
    Log,
    /// The log makes no sense.
    Wrong(Senseless),
}

impl From<Senseless> for Ends {
    fn from(wrong: Senseless) -> Ends {
        Ends::Wrong(wrong)
    }
}

/// What a call, or the outside of all functions, reads in the log.
enum Mark {
    Returned,
    Entered(FunctionNumber),
    Landed(FunctionNumber, BlockNumber),
}

/// A function that has not ended.
struct Active {
    function: FunctionNumber,
    stops: Rc<Stops>,
    block: BlockNumber,
    /// The stop that it is at.
    at: u32,
    /// How often the block has followed itself.
    passes: u32,
    /// The first instruction that was not told as passed.
    next: usize,
}

/// Who wants to know where a walk goes.
pub(super) trait Listener {
    /// A step was made.
    fn step(&mut self, step: Step);
    /// These instructions were executed, or at least the first of them was begun.
    fn passed(&mut self, function: FunctionNumber, instructions: Range<usize>) {
        let _ = (function, instructions);
    }
}

/// Walks one thread's path.
pub(super) fn thread(
    program: &Program,
    paths: &Paths,
    thread: &ThreadPath,
    words: &[u64],
    listener: &mut dyn Listener,
) -> Result<ThreadExecution, DecodeError> {
    let mut walk = Walk {
        program,
        paths,
        code: CodeReader::new(words),
        prepared: SecondaryMap::new(),
        stack: Vec::new(),
        listener,
        told: 0,
        certain: 0,
        silence: 0,
        choices: 0,
    };
    loop {
        match walk.step() {
            Ok(()) => {}
            Err(Ends::Log) => break,
            Err(Ends::Wrong(what)) => {
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
        steps: Vec::new(),
        certain: walk.certain,
        stack: walk.stack.iter().map(Active::frame).collect(),
        choices: walk.choices,
    })
}

impl Active {
    fn frame(&self) -> Frame {
        Frame {
            function: self.function,
            block: self.block,
            instruction: self.stops.at(self.at).0,
        }
    }
}

struct Walk<'p, 't> {
    program: &'p Program,
    paths: &'p Paths,
    code: CodeReader<'p>,
    prepared: SecondaryMap<FunctionNumber, Option<Rc<Stops>>>,
    stack: Vec<Active>,
    listener: &'t mut dyn Listener,
    told: usize,
    certain: usize,
    /// Steps since the last bit.
    silence: u32,
    choices: u64,
}

impl<'p> Walk<'p, '_> {
    /// Goes on to the next stop, or to the next function.
    fn step(&mut self) -> Result<(), Ends> {
        if self.silence > LONGEST_SILENCE {
            return Err(Ends::Log);
        }
        let Some(active) = self.stack.last() else {
            return match self.mark()? {
                Mark::Entered(function) => self.enter(function, true),
                Mark::Returned => Err(Senseless::NoCall.into()),
                Mark::Landed(function, block) => self.land(function, block),
            };
        };
        let stops = Rc::clone(&active.stops);
        self.pass();
        let active = self.stack.last().expect("it was just there");
        match &stops.at(active.at).1 {
            Stop::Call(calling) => self.call(*calling),
            Stop::Return => self.leave(),
            Stop::Resume => self.open(),
            Stop::Unreachable if self.at_end() => Err(Ends::Log),
            Stop::Unreachable => Err(Senseless::Unreachable.into()),
            Stop::Choice { choice, bits } => {
                let taken = match bits {
                    0 => choice.after(active.passes) as u64,
                    bits => self.bits(*bits)?,
                };
                let target = usize::try_from(taken).ok();
                let target = target.and_then(|taken| choice.targets.get(taken));
                let targets = choice.targets.len();
                let block = *target.ok_or(Senseless::NoTarget { taken, targets })?;
                let decided = *bits > 0 || choice.counted.is_some();
                self.choices += u64::from(decided);
                self.go_to(block);
                self.say(Step::Block(block), *bits > 0);
                // A loop that counts ends by itself.
                self.silence -= u32::from(choice.counted.is_some());
                Ok(())
            }
        }
    }

    /// Tells what lies before the next stop, and the stop itself, once.
    fn pass(&mut self) {
        let active = self.stack.last_mut().expect("a function");
        let end = active.stops.at(active.at).0.index() + 1;
        if active.next < end {
            self.listener.passed(active.function, active.next..end);
            active.next = end;
        }
    }

    /// The function and block that the walk is at, in words.
    fn place(&self) -> String {
        match self.stack.last() {
            Some(active) => format!("{} {}", self.name(active.function), active.block),
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

    /// A step; one that the log itself has told was surely begun.
    fn say(&mut self, step: Step, sure: bool) {
        self.listener.step(step);
        self.told += 1;
        self.silence += 1;
        if sure {
            self.certain = self.told;
        }
    }

    fn bits(&mut self, count: u32) -> Result<u64, Ends> {
        let bits = self.code.bits(count).ok_or(Ends::Log)?;
        self.certain = self.told;
        self.silence = 0;
        Ok(bits)
    }

    fn mark(&mut self) -> Result<Mark, Ends> {
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
        match inside {
            true => Ok(Mark::Landed(function, BlockNumber::from_u32(block as u32))),
            false => Err(self.no_landing(function, block)),
        }
    }

    fn function(&self, number: u64) -> Result<FunctionNumber, Senseless> {
        let known = usize::try_from(number)
            .ok()
            .filter(|number| *number < self.program.functions.len())
            .map(FunctionNumber::new)
            .filter(|number| self.program.functions[*number].body.is_some());
        known.ok_or(Senseless::NoFunction(number))
    }

    fn no_landing(&self, function: FunctionNumber, block: u64) -> Ends {
        let function = self.name(function);
        Senseless::NoLanding { function, block }.into()
    }

    fn enter(&mut self, function: FunctionNumber, announced: bool) -> Result<(), Ends> {
        let (program, paths, body) = (self.program, self.paths, self.body(function));
        let prepared = &mut self.prepared[function];
        let stops = prepared.get_or_insert_with(|| Rc::new(Stops::of(program, paths, body)));
        let block = BlockNumber::from_u32(0);
        let active = Active {
            function,
            stops: Rc::clone(stops),
            block,
            at: stops.first(block),
            passes: 0,
            next: body.blocks[block].first.index(),
        };
        self.stack.push(active);
        self.say(Step::Enter(function), announced);
        Ok(())
    }

    fn call(&mut self, calling: Calling) -> Result<(), Ends> {
        match calling {
            Calling::Quiet | Calling::Open | Calling::Twice => self.open(),
            Calling::Named(called) if self.paths.announces_itself(called) => match self.mark()? {
                Mark::Entered(entered) if entered == called => self.enter(entered, true),
                Mark::Entered(entered) => Err(self.other_function(called, entered)),
                Mark::Returned => Err(Senseless::NoCall.into()),
                Mark::Landed(function, block) => self.land(function, block),
            },
            Calling::Named(called) => self.enter(called, false),
        }
    }

    fn other_function(&self, called: FunctionNumber, entered: FunctionNumber) -> Ends {
        let (called, entered) = (self.name(called), self.name(entered));
        Senseless::OtherFunction { called, entered }.into()
    }

    fn open(&mut self) -> Result<(), Ends> {
        match self.mark()? {
            Mark::Entered(function) => self.enter(function, true),
            Mark::Landed(function, block) => self.land(function, block),
            Mark::Returned => {
                self.go_on();
                Ok(())
            }
        }
    }

    /// The innermost function returns; a call of it by name is over.
    fn leave(&mut self) -> Result<(), Ends> {
        self.stack.pop();
        self.say(Step::Return, false);
        let caller = self.stack.last();
        let named = caller.is_some_and(|caller| {
            let stop = &caller.stops.at(caller.at).1;
            matches!(stop, Stop::Call(Calling::Named(_)))
        });
        if named {
            self.go_on();
        }
        Ok(())
    }

    /// Behind a call; one that ends its block is followed by its choice.
    fn go_on(&mut self) {
        let active = self.stack.last_mut().expect("the function that goes on");
        active.at += 1;
    }

    fn go_to(&mut self, block: BlockNumber) {
        let active = self.stack.last_mut().expect("the function that goes on");
        active.passes = match active.block == block {
            true => active.passes + 1,
            false => 0,
        };
        active.block = block;
        active.at = active.stops.first(block);
        let body = self.program.functions[active.function].body.as_ref();
        active.next = body.map_or(0, |body| body.blocks[block].first.index());
    }

    /// Finds who waits for an exception, or for a second return, in that block.
    fn land(&mut self, function: FunctionNumber, block: BlockNumber) -> Result<(), Ends> {
        let body = self.body(function);
        let again = body.block(block).find_map(|(number, instruction)| {
            let call = &body.calls[instruction.operation.call()?];
            let calling = self.paths.calling(self.program, call);
            (calling == Calling::Twice).then_some(number)
        });
        let waits = |active: &Active| {
            let call = active.stops.at(active.at).0;
            active.function == function && (again.is_some() || unwinds_to(body, call, block))
        };
        let Some(place) = self.stack.iter().rposition(waits) else {
            return Err(self.no_landing(function, u64::from(block.as_u32())));
        };
        let ended = (self.stack.len() - 1 - place) as u32;
        self.stack.truncate(place + 1);
        self.go_to(block);
        if let (Some(call), Some(active)) = (again, self.stack.last_mut()) {
            active.at = active.stops.position(call) + 1;
            active.next = call.index() + 1;
        }
        self.say(Step::Land { ended, block }, true);
        Ok(())
    }
}

/// Whether an exception that leaves this call lands in that block.
fn unwinds_to(body: &Body, instruction: InstructionNumber, block: BlockNumber) -> bool {
    matches!(body.instructions[instruction].operation,
        Operation::Invoke { unwind, .. } if unwind == block)
}
