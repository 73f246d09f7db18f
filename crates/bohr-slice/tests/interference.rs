//! Influences of random programs against what they mean: a variable that no
//! relevant site reads can have any other value, and the result is the same.

use bohr_event::abi::SiteInfo;
use bohr_event::{EventKind, MemoryOrder};
use bohr_program::interpret::{Settings, Status, interpret};
use bohr_program::{
    Access, Alignment, BinaryOperator, BlockNumber, BodyBuilder, CallGraph, ConstantValue, Global,
    InstructionNumber, IntegerPredicate, Operation, OperationFlags, Program, ProgramBuilder,
    SiteNumber, Type, TypeNumber, Value,
};
use bohr_slice::Influences;
use cranelift_entity::EntityRef;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Variables that others see, and those on the stack.
const SHARED: usize = 4;
const SLOTS: usize = 4;

/// A statement of a program; numbers are taken modulo what there is.
#[derive(Clone, Debug)]
enum Statement {
    /// `slot = shared`
    Read(usize, usize),
    /// `slot = slot + slot`, or their exclusive or
    Compute(usize, usize, usize, bool),
    /// `if (slot & 1) { … }`
    If(usize, Vec<Statement>),
    /// `do { …; slot = slot / 2 } while (slot)`
    While(usize, Vec<Statement>),
}

fn statement() -> impl Strategy<Value = Statement> {
    let read = (0..SLOTS, 0..SHARED).prop_map(|(slot, shared)| Statement::Read(slot, shared));
    let compute = (0..SLOTS, 0..SLOTS, 0..SLOTS, any::<bool>())
        .prop_map(|(to, one, other, add)| Statement::Compute(to, one, other, add));
    let simple = prop_oneof![read, compute];
    simple.prop_recursive(2, 12, 4, |inner| {
        let body = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            (0..SLOTS, body()).prop_map(|(slot, body)| Statement::If(slot, body)),
            (0..SLOTS, body()).prop_map(|(slot, body)| Statement::While(slot, body)),
        ]
    })
}

/// A `main` under construction.
struct Author {
    builder: ProgramBuilder,
    body: BodyBuilder,
    int: TypeNumber,
    void: TypeNumber,
    shared: Vec<Value>,
    slots: Vec<Value>,
    sites: Vec<(InstructionNumber, EventKind)>,
}

impl Author {
    fn new(values: &[u64; SHARED]) -> Author {
        let mut builder = ProgramBuilder::new("e-i64:64");
        let void = builder.type_of(Type::Void);
        let int = builder.type_of(Type::Integer(32));
        let pointer = builder.type_of(Type::Pointer(0));
        let shared = (0..=SHARED).map(|number| {
            let name = builder.text(&format!("shared{number}"));
            let value = values.get(number).copied().unwrap_or(0);
            let initialiser = builder.constant(int, ConstantValue::Integer(value)).into();
            let global = builder.program().globals.push(Global {
                name,
                of: int,
                initialiser,
                alignment: 4,
                address_space: 0,
                thread_local: false,
                constant: false,
                address_taken: false,
                exported: true,
            });
            builder
                .constant(pointer, ConstantValue::Global(global))
                .into()
        });
        let shared = shared.collect();
        let mut body = BodyBuilder::default();
        body.block();
        let count = builder.constant(int, ConstantValue::Integer(1)).into();
        let slot = Operation::StackSlot {
            allocated: int,
            count,
            alignment: Alignment::of_bytes(4),
        };
        let slots: Vec<Value> = (0..SLOTS).map(|_| body.push(slot, pointer)).collect();
        let mut author = Author {
            builder,
            body,
            int,
            void,
            shared,
            slots,
            sites: Vec::new(),
        };
        for slot in 0..SLOTS {
            let value = author.constant(3 * slot as u64 + 1);
            author.set(slot, value);
        }
        author
    }

    fn constant(&mut self, value: u64) -> Value {
        self.builder
            .constant(self.int, ConstantValue::Integer(value))
            .into()
    }

    fn get(&mut self, slot: usize) -> Value {
        let (address, access) = (self.slots[slot], Access::PLAIN);
        self.body
            .push(Operation::Load { address, access }, self.int)
    }

    fn set(&mut self, slot: usize, value: Value) {
        self.store(self.slots[slot], value);
    }

    fn store(&mut self, address: Value, value: Value) -> Value {
        let access = Access::PLAIN;
        self.body.push(
            Operation::Store {
                address,
                value,
                access,
            },
            self.void,
        )
    }

    fn binary(&mut self, operator: BinaryOperator, left: Value, right: Value) -> Value {
        let flags = OperationFlags::empty();
        self.body.push(
            Operation::Binary {
                operator,
                flags,
                left,
                right,
            },
            self.int,
        )
    }

    fn is_not_zero(&mut self, left: Value) -> Value {
        let right = self.constant(0);
        let bit = self.builder.type_of(Type::Integer(1));
        let (predicate, flags) = (IntegerPredicate::NotEqual, OperationFlags::empty());
        let compare = Operation::CompareIntegers {
            predicate,
            flags,
            left,
            right,
        };
        self.body.push(compare, bit)
    }

    fn go(&mut self, target: BlockNumber) {
        self.body.push(Operation::Branch { target }, self.void);
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Read(slot, shared) => {
                    let (address, access) = (self.shared[*shared], Access::PLAIN);
                    let value = self
                        .body
                        .push(Operation::Load { address, access }, self.int);
                    self.sites
                        .push((value.instruction().unwrap(), EventKind::Read));
                    self.set(*slot, value);
                }
                Statement::Compute(to, one, other, add) => {
                    let (one, other) = (self.get(*one), self.get(*other));
                    let operator = if *add {
                        BinaryOperator::Add
                    } else {
                        BinaryOperator::ExclusiveOr
                    };
                    let value = self.binary(operator, one, other);
                    self.set(*to, value);
                }
                Statement::If(slot, inner) => self.choice(*slot, inner),
                Statement::While(slot, inner) => self.repetition(*slot, inner),
            }
        }
    }

    fn choice(&mut self, slot: usize, inner: &[Statement]) {
        let (value, one) = (self.get(slot), self.constant(1));
        let odd = self.binary(BinaryOperator::And, value, one);
        let condition = self.is_not_zero(odd);
        let branch = self.branch(condition);
        let then = self.body.block();
        self.statements(inner);
        let end = self.end();
        let after = self.body.block();
        self.direct(branch, then, after);
        self.direct(end, after, after);
    }

    fn repetition(&mut self, slot: usize, inner: &[Statement]) {
        let start = self.end();
        let first = self.body.block();
        self.direct(start, first, first);
        self.statements(inner);
        let (value, sixteen) = (self.get(slot), self.constant(16));
        let fewer = self.binary(BinaryOperator::UnsignedDivide, value, sixteen);
        self.set(slot, fewer);
        let condition = self.is_not_zero(fewer);
        let branch = self.branch(condition);
        let after = self.body.block();
        self.direct(branch, first, after);
    }

    /// A branch whose targets are not known yet.
    fn branch(&mut self, condition: Value) -> InstructionNumber {
        let nowhere = BlockNumber::new(0);
        let branch = Operation::ConditionalBranch {
            condition,
            then: nowhere,
            otherwise: nowhere,
        };
        let branch = self.body.push(branch, self.void);
        branch.instruction().unwrap()
    }

    fn end(&mut self) -> InstructionNumber {
        let next = self.body.body().instructions.next_key();
        self.go(BlockNumber::new(0));
        next
    }

    fn direct(&mut self, branch: InstructionNumber, to: BlockNumber, or: BlockNumber) {
        match &mut self.body.body().instructions[branch].operation {
            Operation::Branch { target } => *target = to,
            Operation::ConditionalBranch {
                then, otherwise, ..
            } => (*then, *otherwise) = (to, or),
            _ => unreachable!("not a branch"),
        }
    }

    fn finish(mut self) -> Program {
        let result = self.get(0);
        let address = *self.shared.last().unwrap();
        let stored = self.store(address, result);
        self.sites
            .push((stored.instruction().unwrap(), EventKind::Write));
        self.body.push(
            Operation::Return {
                value: Some(result).into(),
            },
            self.void,
        );
        let signature = self.builder.type_of(Type::Function {
            result: self.int,
            parameters: Box::default(),
            variadic: false,
        });
        let main = self.builder.define("main", signature, self.body.finish());
        self.sites.sort_by_key(|site| site.0);
        for (instruction, kind) in self.sites {
            self.builder.site(
                main,
                instruction,
                SiteInfo::new(kind, MemoryOrder::Plain, 4),
            );
        }
        self.builder.finish()
    }
}

fn program(statements: &[Statement], values: &[u64; SHARED]) -> Program {
    let mut author = Author::new(values);
    author.statements(statements);
    author.finish()
}

/// The shared variables that decide about what is stored at the end.
fn relevant(program: &Program) -> BTreeSet<usize> {
    let graph = CallGraph::new(program, None);
    let influences = Influences::with_events(program, &graph, Box::new(|_| true));
    let last = SiteNumber::new(program.sites.len() - 1);
    let mut seen = BTreeSet::from([last]);
    let mut waiting = vec![last];
    while let Some(site) = waiting.pop() {
        for influence in influences.of(site).iter() {
            if seen.insert(influence.site) {
                waiting.push(influence.site);
            }
        }
    }
    let address = |site: &SiteNumber| match program.instruction_of(&program.sites[*site]).operation
    {
        Operation::Load { address, .. } => address.constant(),
        _ => None,
    };
    let globals =
        seen.iter()
            .filter_map(address)
            .map(|constant| match program.constants[constant].value {
                ConstantValue::Global(global) => global.index(),
                _ => unreachable!("only globals are read"),
            });
    globals.collect()
}

proptest! {
    #[test]
    fn what_has_no_influence_can_have_any_value(
        statements in prop::collection::vec(statement(), 1..12),
        values in prop::array::uniform4(0u64..1000),
        other in 0u64..1000,
    ) {
        let original = program(&statements, &values);
        let relevant = relevant(&original);
        let settings = Settings { steps: 10_000, ..Settings::default() };
        let status = |program: &Program| interpret(program, &settings).map(|ran| ran.status);
        let expected = status(&original);
        prop_assume!(expected.is_ok());
        for shared in (0..SHARED).filter(|shared| !relevant.contains(shared)) {
            let mut changed = values;
            changed[shared] = other;
            // It may not end any more; what it stores is the same if it does.
            if let Ok(Status::Exited(code)) = status(&program(&statements, &changed)) {
                prop_assert_eq!(Ok(Status::Exited(code)), expected.clone(), "shared{}", shared);
            }
        }
    }
}

#[test]
fn influences_are_no_more_than_they_have_to_be() {
    use Statement::{If, Read};
    // Slot 0 gets variable 1 if variable 0 is odd; variables 2 and 3 go elsewhere.
    let statements = [Read(1, 0), Read(2, 2), If(1, vec![Read(0, 1)]), Read(3, 3)];
    let program = program(&statements, &[1, 2, 3, 4]);
    assert_eq!(relevant(&program), BTreeSet::from([0, 1]));
}
