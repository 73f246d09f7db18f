//! Random programs, walked at random by a naive recorder, and what decoding
//! makes of the log.

use super::*;
use crate::{CodeWriter, End, LogKind, ThreadLog};
use bohr_program::paths::{
    Calling, Choice, ENTERED, LANDED, MARK_BITS, RETURNED, RETURNED_BITS, Room, RoomPoint, width,
};
use bohr_program::{
    Attributes, BodyBuilder, Call, Case, ConstantValue, Function, List, Operation, ProgramBuilder,
    TailCall, Type, Value,
};
use cranelift_entity::EntityRef;
use proptest::prelude::*;

/// A source of choices that shrinks: what runs out is 0.
struct Dice<'d>(std::slice::Iter<'d, u8>);

impl Dice<'_> {
    fn below(&mut self, limit: usize) -> usize {
        usize::from(*self.0.next().unwrap_or(&0)) % limit.max(1)
    }
}

const FUNCTIONS: usize = 5;

/// Functions that call each other, the outside and through pointers, with every
/// kind of branch. Calls by name lead to later functions only, so that a walk
/// ends.
fn program(dice: &mut Dice<'_>) -> Program {
    let mut builder = ProgramBuilder::new("e-i64:64");
    let void = builder.type_of(Type::Void);
    let int = builder.type_of(Type::Integer(32));
    let pointer = builder.type_of(Type::Pointer(0));
    let signature = builder.type_of(Type::Function {
        result: void,
        parameters: Box::default(),
        variadic: false,
    });
    let numbers: Vec<_> = (0..9)
        .map(|n| builder.constant(int, ConstantValue::Integer(n)))
        .collect();
    let condition: Value = numbers[0].into();
    let attributes = builder.attributes(Attributes::default());
    let callees: Vec<Value> = (0..FUNCTIONS + 2)
        .map(|number| {
            let function = FunctionNumber::new(number);
            let constant = ConstantValue::Function(function);
            builder.constant(pointer, constant).into()
        })
        .collect();
    for function in 0..FUNCTIONS {
        let mut body = BodyBuilder::default();
        let blocks = 2 + dice.below(6);
        let pads = 1; // the last block is a landing pad
        for block in 0..blocks + pads {
            body.block();
            if block == blocks {
                let pad = Operation::LandingPad {
                    clauses: List::EMPTY,
                    cleanup: true,
                };
                body.push(pad, void);
            }
            let call = |body: &mut BodyBuilder, dice: &mut Dice<'_>| {
                let callee = match dice.below(4) {
                    0 => callees[FUNCTIONS + 1], // quiet
                    1 => callees[FUNCTIONS],     // outside
                    _ if function + 1 < FUNCTIONS => {
                        callees[function + 1 + dice.below(FUNCTIONS - function - 1)]
                    }
                    _ => condition, // through a pointer
                };
                body.body().calls.push(Call {
                    callee,
                    signature,
                    arguments: List::EMPTY,
                    bundled: List::EMPTY,
                    attributes,
                    tail: TailCall::Unmarked,
                })
            };
            for _ in 0..dice.below(3) {
                let call = call(&mut body, dice);
                body.push(Operation::Call { call }, void);
            }
            let target = |dice: &mut Dice<'_>| BlockNumber::new(1 + dice.below(blocks - 1));
            let end = match dice.below(6) {
                0 => Operation::Return { value: None.into() },
                1 => Operation::Branch {
                    target: target(dice),
                },
                2 | 3 => Operation::ConditionalBranch {
                    condition,
                    then: target(dice),
                    otherwise: target(dice),
                },
                4 => {
                    let cases: Vec<Case> = numbers[..dice.below(9)]
                        .iter()
                        .map(|&value| Case {
                            value,
                            target: target(dice),
                        })
                        .collect();
                    Operation::Switch {
                        value: condition,
                        default: target(dice),
                        cases: body.body().cases.push(cases),
                    }
                }
                _ => Operation::Invoke {
                    call: call(&mut body, dice),
                    normal: target(dice),
                    unwind: BlockNumber::new(blocks),
                },
            };
            body.push(end, void);
        }
        builder.define(&format!("f{function}"), signature, body.finish());
    }
    builder.declare("outside", signature);
    builder.declare("strlen", signature);
    let taken: Vec<bool> = (0..FUNCTIONS)
        .map(|at| at == 0 || dice.below(3) == 0)
        .collect();
    for (function, taken) in builder.program().functions.values_mut().zip(taken) {
        function.address_taken = taken;
    }
    builder.finish()
}

/// Walks at random and writes as instrumented code does.
struct Recorder<'p, 'd> {
    program: &'p Program,
    paths: Paths,
    rooms: Vec<Room>,
    dice: Dice<'d>,
    code: CodeWriter,
    steps: Vec<Step>,
    /// The walk is over, wherever it is.
    fuel: u32,
}

/// How a function was left.
#[derive(PartialEq)]
enum Left {
    Returned,
    /// By an exception.
    Thrown,
    /// The thread was ended.
    Ended,
}

impl Recorder<'_, '_> {
    fn look(&mut self, function: FunctionNumber, point: RoomPoint) {
        if let Some(need) = self.rooms[function.index()].need(point) {
            self.code.reserve(need);
        }
    }

    fn number(&mut self, mark: u64, function: FunctionNumber) {
        let bits = self.paths.function_bits();
        self.code.push(mark, MARK_BITS);
        self.code.push(u64::from(function.as_u32()), bits);
    }

    /// A function that others than named calls enter.
    fn announced(&mut self, function: FunctionNumber) -> Left {
        if self.paths.is_apart(function) {
            self.code.reserve(MARK_BITS + self.paths.function_bits());
            self.number(ENTERED, function);
        }
        self.function(function)
    }

    fn function(&mut self, function: FunctionNumber) -> Left {
        let body = self.program.functions[function].body.as_ref().unwrap();
        self.steps.push(Step::Enter(function));
        let mut block = BlockNumber::new(0);
        self.look(function, RoomPoint::Block(block));
        if self.paths.announces_itself(function) {
            self.number(ENTERED, function);
        }
        loop {
            let mut thrown = false;
            for (number, instruction) in body.block(block) {
                let Some(call) = instruction.operation.call() else {
                    continue;
                };
                let calling = self.paths.calling(self.program, &body.calls[call]);
                match self.call(function, number, calling) {
                    Left::Returned => {}
                    Left::Ended => return Left::Ended,
                    Left::Thrown => match instruction.operation {
                        Operation::Invoke { .. } => thrown = true,
                        _ => return Left::Thrown,
                    },
                }
            }
            if self.fuel == 0 {
                return Left::Ended;
            }
            self.fuel -= 1;
            let choice = Choice::of(self.program, body, block);
            match body.terminator(block).operation {
                Operation::Return { .. } => {
                    self.steps.push(Step::Return);
                    return Left::Returned;
                }
                Operation::Invoke { unwind, .. } if thrown => {
                    block = unwind;
                    self.look(function, RoomPoint::Block(block));
                    self.number(LANDED, function);
                    let bits = width(body.blocks.len());
                    self.code.push(u64::from(block.as_u32()), bits);
                    // How many functions ended is what the walk has to find out.
                    self.steps.push(Step::Land {
                        ended: u32::MAX,
                        block,
                    });
                }
                _ => {
                    let taken = self.dice.below(choice.targets.len());
                    self.code.push(taken as u64, choice.bits());
                    block = choice.targets[taken];
                    self.steps.push(Step::Block(block));
                    self.look(function, RoomPoint::Block(block));
                }
            }
        }
    }

    fn call(&mut self, function: FunctionNumber, at: InstructionNumber, calling: Calling) -> Left {
        let left = match calling {
            Calling::Quiet => return Left::Returned,
            Calling::Named(callee) => self.function(callee),
            Calling::Twice => unreachable!("no such call in these programs"),
            Calling::Open => {
                for _ in 0..self.dice.below(2) {
                    let announcing = (0..FUNCTIONS).map(FunctionNumber::new);
                    let announcing: Vec<_> = announcing
                        .filter(|one| self.paths.announces(*one))
                        .collect();
                    let callee = announcing[self.dice.below(announcing.len())];
                    match self.announced(callee) {
                        Left::Returned => {}
                        other => return other,
                    }
                }
                match self.dice.below(5) {
                    0 => Left::Thrown,
                    _ => Left::Returned,
                }
            }
        };
        if left == Left::Returned {
            self.look(function, RoomPoint::After(at));
            if calling == Calling::Open {
                self.code.push(RETURNED, RETURNED_BITS);
            }
        }
        left
    }
}

fn recording(words: Vec<u64>) -> Recording {
    let thread = ThreadLog {
        order: Vec::new(),
        inputs: Vec::new(),
        path: words,
        thread: ThreadPath::MAIN,
    };
    Recording::of_threads(LogKind::Path, vec![thread], End::Exit(0))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn what_was_walked_is_decoded(shape: Vec<u8>, way in prop::collection::vec(any::<u8>(), 0..900)) {
        let program = program(&mut Dice(shape.iter()));
        let paths = Paths::of(&program);
        let rooms = (0..FUNCTIONS).map(|at| Room::of(&program, &paths, FunctionNumber::new(at)));
        let mut recorder = Recorder {
            rooms: rooms.collect(),
            program: &program,
            paths,
            dice: Dice(way.iter()),
            code: CodeWriter::default(),
            steps: Vec::new(),
            fuel: 200,
        };
        let left = recorder.announced(FunctionNumber::new(0));
        let execution = execution(&program, &recording(recorder.code.words()));
        let thread = execution.expect("a log that was just written").threads.remove(0);
        // What was walked is a beginning of what follows from the code, and
        // what is certain is a beginning of what was walked.
        let plain: Vec<Step> = thread.steps.iter().map(|step| match *step {
            Step::Land { block, .. } => Step::Land { ended: u32::MAX, block },
            step => step,
        }).collect();
        prop_assert!(plain.starts_with(&recorder.steps) || recorder.steps.starts_with(&plain));
        prop_assert!(thread.certain <= recorder.steps.len());
        prop_assert_eq!(&plain[..thread.certain], &recorder.steps[..thread.certain]);
        if left == Left::Returned {
            prop_assert_eq!(plain, recorder.steps);
            prop_assert!(thread.stack.is_empty());
        }
        check_depth(&program, &thread);
    }

    #[test]
    fn any_words_are_decoded_or_refused(shape: Vec<u8>, words in prop::collection::vec(any::<u64>(), 0..9)) {
        let program = program(&mut Dice(shape.iter()));
        if let Ok(execution) = execution(&program, &recording(words)) {
            check_depth(&program, &execution.threads[0]);
        }
    }
}

/// Entering, returning and landing fit each other.
fn check_depth(program: &Program, thread: &ThreadExecution) {
    let mut stack: Vec<FunctionNumber> = Vec::new();
    for step in &thread.steps {
        match *step {
            Step::Enter(function) => stack.push(function),
            Step::Return => drop(stack.pop().expect("somebody to return")),
            Step::Land { ended, .. } => stack.truncate(stack.len() - ended as usize),
            Step::Block(_) => {}
        }
        if let Step::Block(block) | Step::Land { block, .. } = *step {
            let function: &Function = &program.functions[*stack.last().expect("a function")];
            assert!(block.index() < function.body.as_ref().map_or(0, |body| body.blocks.len()));
        }
    }
    let open: Vec<FunctionNumber> = thread.stack.iter().map(|frame| frame.function).collect();
    assert_eq!(stack, open);
}

#[test]
fn a_log_of_another_build_is_refused() {
    let program = program(&mut Dice([].iter()));
    let mut other = recording(vec![1]);
    other.bundle = [9; 32];
    let refused = execution(&program, &other).unwrap_err();
    assert!(refused.to_string().contains("another build"), "{refused}");
}

#[test]
fn nonsense_is_told_with_its_place() {
    let program = program(&mut Dice([].iter()));
    // A call that returned before anything was entered.
    let refused = execution(&program, &recording(vec![0b10])).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "thread 0: at byte 0 of its path, in no function: a call returned that is not there"
    );
}
