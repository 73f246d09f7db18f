//! One instruction after the other.

use super::constant::{Code, ThreadLocals};
use super::outside::Stream;
use super::{End, Guide, Halt, Step, World, not_modelled};
use crate::datum::Datum;
use crate::event::Spot;
use crate::memory::{Memory, Room};
use crate::term::{Operator, Scalar};
use bohr_event::inputs::Input;
use bohr_program::{
    BlockNumber, Body, FunctionNumber, Instruction, InstructionNumber, IntegerPredicate, Operand,
    Operation, TypeNumber, Value,
};
use cranelift_entity::EntityRef;
use std::collections::{HashMap, VecDeque};

/// One function being executed.
pub(crate) struct Frame<'p> {
    pub(super) function: FunctionNumber,
    pub(super) body: &'p Body,
    /// The instruction to execute next.
    pub(super) next: usize,
    pub(super) block: BlockNumber,
    pub(super) arguments: Vec<Datum>,
    /// Arguments beyond the named ones lie here, each at a multiple of 8.
    pub(super) variable_arguments: u64,
    pub(super) results: Vec<Datum>,
}

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It can go on.
    On,
    /// It has to wait.
    Blocked,
    /// It is over.
    Over(End),
}

/// A thread.
pub(crate) struct Thread<'p> {
    pub(super) code: &'p Code<'p>,
    /// Its position.
    pub(crate) number: usize,
    pub(super) frames: Vec<Frame<'p>>,
    pub(super) heap: Room,
    pub(super) stack: Room,
    pub(super) own: ThreadLocals,
    pub(crate) guide: Guide,
    pub(super) inputs: VecDeque<Input>,
    /// Streams that it reads, by their addresses.
    pub(super) streams: HashMap<u64, Stream>,
    /// Locks that it holds: how often, and whether for reading.
    pub(super) held: HashMap<u64, (u32, bool)>,
    /// Heap blocks of its own, with their sizes.
    pub(super) blocks: HashMap<u64, u64>,
    /// Where values of the environment lie that it has asked for, by their names.
    pub(super) variables: HashMap<Vec<u8>, u64>,
    /// How much of the current instruction is done, of one that has several parts.
    pub(super) phase: u8,
    /// Functions to enter once the stack is empty, the last first.
    pub(super) ahead: Vec<(FunctionNumber, Vec<Datum>)>,
    /// What the routine returned.
    pub(crate) result: Scalar,
    pub(crate) steps: u64,
    pub(crate) branches: u64,
}

impl<'p> Thread<'p> {
    /// A thread that will execute these functions, the last first.
    pub(crate) fn new(
        code: &'p Code<'p>,
        number: usize,
        guide: Guide,
        inputs: Vec<Input>,
        ahead: Vec<(FunctionNumber, Vec<Datum>)>,
    ) -> Thread<'p> {
        Thread {
            code,
            number,
            frames: Vec::new(),
            heap: Room::of_heap(number),
            stack: Room::of_stack(number),
            own: ThreadLocals::new(),
            guide,
            inputs: inputs.into(),
            streams: HashMap::new(),
            held: HashMap::new(),
            blocks: HashMap::new(),
            variables: HashMap::new(),
            phase: 0,
            ahead,
            result: Scalar::Known(0),
            steps: 0,
            branches: 0,
        }
    }

    /// Gives the thread its own variables and, of the main thread, its arguments.
    pub(crate) fn prepare(
        &mut self,
        memory: &mut Memory,
        arguments: Option<&[Vec<u8>]>,
    ) -> Step<()> {
        let code = self.code;
        self.own = code.thread_locals(&mut self.stack, |global, address, _| {
            code.initialise(memory, global, address)
        })?;
        if let (Some(arguments), Some((_, given))) = (arguments, self.ahead.first_mut()) {
            *given = main_arguments(memory, &mut self.stack, arguments)?;
        }
        Ok(())
    }

    /// Where the thread is.
    pub(crate) fn spot(&self) -> Spot {
        match self.frames.last() {
            Some(frame) => Spot {
                function: frame.function,
                instruction: InstructionNumber::new(frame.next.saturating_sub(1)),
            },
            None => Spot {
                function: FunctionNumber::new(0),
                instruction: InstructionNumber::new(0),
            },
        }
    }

    /// Executes an instruction.
    pub(crate) fn step(&mut self, world: &mut dyn World) -> Step<Progress> {
        if self.frames.is_empty() {
            let Some((function, arguments)) = self.next_function() else {
                return Ok(Progress::Over(End::Returned));
            };
            if self.ahead.is_empty() {
                world.begins();
            }
            return match self.enter(world, function, arguments, None) {
                Ok(()) => Ok(Progress::On),
                Err(Halt::Ended(end)) => Ok(Progress::Over(end)),
                Err(halt) => Err(halt),
            };
        }
        self.steps += 1;
        self.frame().next += 1;
        let depth = self.frames.len();
        match self.execute(world) {
            Ok(()) => Ok(Progress::On),
            Err(Halt::Blocked) => {
                assert_eq!(
                    depth,
                    self.frames.len(),
                    "only a call to the outside blocks"
                );
                self.frame().next -= 1;
                Ok(Progress::Blocked)
            }
            Err(Halt::Ended(end)) => Ok(Progress::Over(end)),
            Err(halt) => Err(halt),
        }
    }

    /// What is executed once the stack is empty. Of a recorded way, constructors
    /// come first, as they did.
    fn next_function(&mut self) -> Option<(FunctionNumber, Vec<Datum>)> {
        let planned = self.ahead.last()?.0;
        match self.guide.peek_entry() {
            Some(other) if other != planned && self.number == 0 => Some((other, Vec::new())),
            _ => self.ahead.pop(),
        }
    }

    pub(super) fn frame(&mut self) -> &mut Frame<'p> {
        self.frames.last_mut().expect("a function is executing")
    }

    fn execute(&mut self, world: &mut dyn World) -> Step<()> {
        let frame = self.frame();
        let body = frame.body;
        let number = InstructionNumber::new(frame.next - 1);
        let instruction: &'p Instruction = &body.instructions[number];
        let result = match instruction.operation {
            Operation::Return { value } => {
                let value = match value.expand() {
                    Some(value) => self.value(value)?,
                    None => Datum::NOTHING,
                };
                return self.leave(value);
            }
            Operation::Call { call } | Operation::Invoke { call, .. } => {
                let Some(result) = self.call(world, &body.calls[call])? else {
                    return Ok(());
                };
                self.phase = 0;
                if let Operation::Invoke { normal, .. } = instruction.operation {
                    self.frame().results[number.index()] = result;
                    let block = self.guide.block(|| Ok(normal))?;
                    return self.jump(block);
                }
                result
            }
            _ if instruction.operation.is_terminator() => {
                return self.branch(world, &instruction.operation);
            }
            _ => self.compute(world, instruction)?,
        };
        self.frame().results[number.index()] = result;
        Ok(())
    }

    /// The value of an operand.
    pub(super) fn value(&self, value: Value) -> Step<Datum> {
        let frame = self.frames.last().expect("a function is executing");
        match value.operand() {
            Operand::Instruction(number) => Ok(frame.results[number.index()].clone()),
            Operand::Argument(number) => Ok(frame.arguments[number.index()].clone()),
            Operand::Constant(number) => self.code.constant(number, &self.own),
        }
    }

    /// The type of an operand.
    pub(super) fn type_of(&self, value: Value) -> TypeNumber {
        let frame = self.frames.last().expect("a function is executing");
        self.code.program.type_of(frame.function, value)
    }

    fn branch(&mut self, world: &mut dyn World, operation: &Operation) -> Step<()> {
        match *operation {
            Operation::Branch { target } => {
                let block = self.guide.block(|| Ok(target))?;
                self.jump(block)
            }
            Operation::ConditionalBranch {
                condition,
                then,
                otherwise,
            } => {
                let condition = self.value(condition)?.scalar();
                let block = self.guide.block(|| match condition {
                    Scalar::Known(0) => Ok(otherwise),
                    Scalar::Known(_) => Ok(then),
                    Scalar::Term(_) => not_modelled("a branch on an unknown value"),
                })?;
                if then != otherwise {
                    self.branches += 1;
                    self.demand(world, condition, u128::from(block == then), 1)?;
                }
                self.jump(block)
            }
            Operation::Switch {
                value,
                default,
                cases,
            } => {
                let bits = self.code.number(self.type_of(value)).bits();
                let value = self.value(value)?.scalar();
                let cases = self.frame().body.cases.get(cases).to_vec();
                let mut arms = Vec::with_capacity(cases.len());
                for case in cases {
                    let constant = self.code.constant(case.value, &self.own)?.scalar();
                    arms.push((constant, case.target));
                }
                let block = self.guide.block(|| match value {
                    Scalar::Known(_) => {
                        let arm = arms.iter().find(|arm| arm.0 == value);
                        Ok(arm.map_or(default, |arm| arm.1))
                    }
                    Scalar::Term(_) => not_modelled("a switch on an unknown value"),
                })?;
                self.branches += 1;
                let mut goes = Scalar::from(block == default);
                for (constant, target) in arms.into_iter().rev() {
                    let equal = Operator::CompareIntegers(IntegerPredicate::Equal, bits);
                    let equal = world.terms().compute(equal, &[value, constant])?;
                    let there = Scalar::from(target == block);
                    goes = world
                        .terms()
                        .compute(Operator::Select, &[equal, there, goes])?;
                }
                self.demand(world, goes, 1, 1)?;
                self.jump(block)
            }
            Operation::Unreachable => Err(Halt::Undefined("it reaches the unreachable".into())),
            Operation::Resume { .. } => not_modelled("an exception"),
            _ => not_modelled("a branch to a computed place"),
        }
    }

    /// The thread goes where it goes because a value is this one.
    pub(super) fn demand(
        &mut self,
        world: &mut dyn World,
        value: Scalar,
        expected: u128,
        bits: u32,
    ) -> Step<()> {
        let equal = Operator::CompareIntegers(IntegerPredicate::Equal, bits);
        let holds = world
            .terms()
            .compute(equal, &[value, Scalar::Known(expected)])?;
        world.demand(self.spot(), holds)
    }

    /// Goes on at a block, whose phis take their values at once.
    pub(super) fn jump(&mut self, to: BlockNumber) -> Step<()> {
        let frame = self.frame();
        let (body, from) = (frame.body, frame.block);
        if !body.blocks.is_valid(to) {
            return Err(Halt::OffPath(format!("there is no {to}")));
        }
        let mut values = Vec::new();
        for (number, instruction) in body.block(to) {
            let Operation::Phi { incoming } = instruction.operation else {
                break;
            };
            let incoming = body
                .incoming
                .get(incoming)
                .iter()
                .find(|one| one.from == from);
            let incoming =
                incoming.ok_or_else(|| Halt::OffPath(format!("{from} does not lead to {to}")))?;
            values.push((number, self.value(incoming.value)?));
        }
        let frame = self.frame();
        frame.next = body.blocks[to].first.index() + values.len();
        frame.block = to;
        for (number, value) in values {
            frame.results[number.index()] = value;
        }
        Ok(())
    }
}

/// `argc`, `argv` and `envp`, which is empty.
fn main_arguments(memory: &mut Memory, room: &mut Room, arguments: &[Vec<u8>]) -> Step<Vec<Datum>> {
    let count = arguments.len() as u64;
    let vector = room.take((count + 2) * 8, 16);
    memory.add(vector, (count + 2) * 8)?;
    for (index, argument) in (0..).zip(arguments) {
        let text = room.take(argument.len() as u64 + 1, 16);
        memory.add(text, argument.len() as u64 + 1)?;
        memory.write_bytes(text, argument)?;
        memory.write_bytes(vector + index * 8, &text.to_le_bytes())?;
    }
    Ok(vec![
        count.into(),
        vector.into(),
        (vector + (count + 1) * 8).into(),
    ])
}
