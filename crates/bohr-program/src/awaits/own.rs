//! What lets a thread out of a loop that nobody else need do: it goes on to another
//! variable, or writes the one that it looks at itself.
//!
//! Loops that go along a list, or empty a queue, or begin what nobody has begun yet, read
//! like loops that wait. Whoever finds there that somebody else has been faster did not
//! have to wait for that.
//!
//! A variable is the same every time round if what its address is computed from is: values
//! from outside the loop, what a variable on the stack holds that the loop does not store
//! to, and pointers, which others may exchange; these are told. A store goes to another
//! variable if it has another width, or if another global or field is known to be there.
//! Code of libraries writes the variable only if the same field is known to be there.
//!
//! Limits. What functions outside the program write, and `memset` and its like, is
//! taken for something else.

use super::predicate::{Predicates, behind_slot};
use super::test::{self, AwaitTest};
use crate::calls::named;
use crate::constant::ConstantValue;
use crate::evidence::{Evidence, address, is_slot};
use crate::function::Body;
use crate::ids::{BlockNumber, FunctionNumber, GlobalNumber, InstructionNumber, SiteNumber};
use crate::instruction::{Operand, Operation, Value};
use crate::layout::Layouts;
use crate::libraries::is_library_file;
use crate::program::Program;
use bohr_event::EventKind;
use cranelift_entity::EntityRef;
use std::collections::BTreeSet;

/// How deep an address may be computed.
const DEEPEST: u32 = 8;

/// Functions that are looked through; whoever calls more is taken to write everything.
const MOST_FUNCTIONS: usize = 256;

/// A loop, with the tests in front of it.
pub(super) struct Own<'a> {
    pub program: &'a Program,
    pub predicates: &'a Predicates,
    pub function: FunctionNumber,
    pub body: &'a Body,
    pub layouts: Layouts,
    pub blocks: &'a BTreeSet<BlockNumber>,
}

/// What is written, or looked at.
struct Access {
    function: FunctionNumber,
    base: Value,
    offset: i64,
    size: u64,
    evidence: Vec<Evidence>,
}

/// What an address is known to point into.
#[derive(PartialEq, Eq)]
enum Room {
    Global(GlobalNumber),
    Stack,
    Unknown,
}

impl Own<'_> {
    /// The loads of pointers by which a test comes to its variable, every time round;
    /// `None` if it may come to another one by itself.
    pub fn pointers(&self, test: &AwaitTest) -> Option<Vec<SiteNumber>> {
        let load = self.program.sites[test.site].instruction;
        let body = self.program.functions[test.function].body.as_ref()?;
        let Operation::Load { address, .. } = body.instructions[load].operation else {
            return None;
        };
        let mut found = Vec::new();
        let is_steady = match test.function == self.function {
            true => self.is_steady(address, DEEPEST, &mut found),
            false => self.is_steady_behind(test.function, address, DEEPEST, &mut found),
        };
        is_steady.then_some(found)
    }

    /// The same of a value in a function that the loop asks: what it gets from the loop, and
    /// pointers from there on.
    fn is_steady_behind(
        &self,
        function: FunctionNumber,
        value: Value,
        depth: u32,
        pointers: &mut Vec<SiteNumber>,
    ) -> bool {
        let (Some(body), Some(depth)) = (
            self.program.functions[function].body.as_ref(),
            depth.checked_sub(1),
        ) else {
            return false;
        };
        if let Some(stored) = behind_slot(body, value) {
            return self.is_steady_behind(function, stored, depth, pointers);
        }
        let number = match value.operand() {
            Operand::Constant(_) => return true,
            Operand::Argument(position) => {
                let asking = self.predicates.asked_by(function);
                let argument = asking.and_then(|asking| {
                    let body = self.program.functions[asking.function].body.as_ref()?;
                    let arguments = body.arguments(body.call_at(asking.call)?);
                    Some((asking.function, *arguments.get(position.index())?))
                });
                return match argument {
                    Some((asking, value)) if asking == self.function => {
                        self.is_steady(value, depth, pointers)
                    }
                    Some((asking, value)) => self.is_steady_behind(asking, value, depth, pointers),
                    None => false,
                };
            }
            Operand::Instruction(number) => number,
        };
        let mut all = |values: &[Value]| {
            let mut values = values.iter();
            values.all(|value| self.is_steady_behind(function, *value, depth, pointers))
        };
        match body.instructions[number].operation {
            Operation::ElementPointer { base, indices, .. } => {
                all(&[base]) && all(body.values.get(indices))
            }
            Operation::Load { address, .. } => {
                let is_steady = all(&[address]);
                pointers.extend(self.program.site_at(function, number));
                is_steady
            }
            _ => false,
        }
    }

    fn is_steady(&self, value: Value, depth: u32, pointers: &mut Vec<SiteNumber>) -> bool {
        let Operand::Instruction(number) = value.operand() else {
            return true;
        };
        if !self.blocks.contains(&self.body.block_of(number)) {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let mut all = |values: &[Value]| {
            let mut values = values.iter();
            values.all(|value| self.is_steady(*value, depth, pointers))
        };
        match self.body.instructions[number].operation {
            Operation::ElementPointer { base, indices, .. } => {
                all(&[base]) && all(self.body.values.get(indices))
            }
            Operation::Freeze { operand } | Operation::Cast { operand, .. } => all(&[operand]),
            Operation::Binary { left, right, .. } => all(&[left, right]),
            Operation::Load { address, .. } if is_slot(self.body, address) => {
                !self.stores_to(address)
            }
            Operation::Load { address, .. } => {
                let is_steady = all(&[address]);
                pointers.extend(self.program.site_at(self.function, number));
                is_steady
            }
            _ => false,
        }
    }

    /// Whether the loop may write what one of its tests looks at.
    pub fn writes(&self, tests: &[AwaitTest], blocks: &[BlockNumber]) -> bool {
        let looked_at: Vec<Access> = { tests.iter() }
            .filter_map(|test| self.access(test.site))
            .collect();
        let mut seen = BTreeSet::from([self.function]);
        let mut work = Vec::new();
        let own = blocks.iter().flat_map(|block| self.body.block(*block));
        let own = own.map(|(number, _)| number);
        if self.may_write(self.function, own, &looked_at, &mut work) {
            return true;
        }
        while let Some(function) = work.pop() {
            if !seen.insert(function) {
                continue;
            }
            let Some(body) = &self.program.functions[function].body else {
                continue;
            };
            let all = body.instructions.keys();
            if seen.len() > MOST_FUNCTIONS || self.may_write(function, all, &looked_at, &mut work) {
                return true;
            }
        }
        false
    }

    /// Whether one of some instructions of a function may; adds what they call.
    fn may_write(
        &self,
        function: FunctionNumber,
        instructions: impl Iterator<Item = InstructionNumber>,
        looked_at: &[Access],
        called: &mut Vec<FunctionNumber>,
    ) -> bool {
        let Some(body) = &self.program.functions[function].body else {
            return false;
        };
        for number in instructions {
            let is_library = self.is_library(function, number);
            if let Some(call) = body.call_at(number) {
                match named(self.program, call) {
                    Some(callee) => called.extend(callee),
                    None if is_library => {}
                    None => return true,
                }
                continue;
            }
            let site = self.program.site_at(function, number);
            let written = site.filter(|site| {
                let kind = self.program.sites[*site].kind();
                matches!(kind, EventKind::Write | EventKind::Update)
            });
            let Some(written) = written.and_then(|site| self.access(site)) else {
                continue;
            };
            let mut looked_at = looked_at.iter();
            if looked_at.any(|one| self.is_same(one, &written, is_library)) {
                return true;
            }
        }
        false
    }

    /// Whether a write may go to what is looked at.
    fn is_same(&self, looked_at: &Access, written: &Access, is_library: bool) -> bool {
        let overlap = || {
            let end = |access: &Access| access.offset.saturating_add_unsigned(access.size);
            looked_at.offset < end(written) && written.offset < end(looked_at)
        };
        let is_here = looked_at.function == written.function;
        let body = self.program.functions[looked_at.function].body.as_ref();
        let is_one = |body| self.is_one_pointer(body, looked_at.base, written.base, DEEPEST);
        if is_here && body.is_some_and(is_one) {
            return overlap();
        }
        if looked_at.size != written.size {
            return false;
        }
        match (self.room(looked_at), self.room(written)) {
            (_, Room::Stack) => return false,
            (Room::Global(one), Room::Global(other)) => return one == other && overlap(),
            (Room::Global(one), Room::Unknown) if !self.program.globals[one].address_taken => {
                return false;
            }
            _ => {}
        }
        let (one, other) = (&looked_at.evidence, &written.evidence);
        let is_known = |all: &[Evidence]| !all.is_empty();
        match is_known(one) && is_known(other) {
            true => one.iter().any(|one| {
                let mut other = other.iter();
                other.any(|other| one.of == other.of && one.offset == other.offset)
            }),
            false => !is_library,
        }
    }

    /// Tests that come to their variables by the same pointer, loaded for each of them, know
    /// of each other where they read.
    pub fn unite(&self, tests: &mut [AwaitTest]) {
        for at in 1..tests.len() {
            let (before, rest) = tests.split_at_mut(at);
            let function = rest[0].function;
            let Some(body) = self.program.functions[function].body.as_ref() else {
                continue;
            };
            let before = before.iter().filter(|test| test.function == function);
            let mut before = before.map(|test| test.base);
            let same = before.find(|base| self.is_one_pointer(body, *base, rest[0].base, DEEPEST));
            rest[0].base = same.unwrap_or(rest[0].base);
        }
    }

    /// Whether two pointers of a function are the same, as far as the loop goes.
    fn is_one_pointer(&self, body: &Body, one: Value, other: Value, depth: u32) -> bool {
        if one == other {
            return true;
        }
        let loaded = |value: Value| match value.operand() {
            Operand::Instruction(number) => match body.instructions[number].operation {
                Operation::Load { address, .. } => Some(test::base(self.program, body, address)),
                _ => None,
            },
            _ => None,
        };
        match (loaded(one), loaded(other), depth.checked_sub(1)) {
            (Some((one, here)), Some((other, there)), Some(depth)) => {
                here == there && self.is_one_pointer(body, one, other, depth)
            }
            _ => false,
        }
    }

    /// What a site reads or writes, if it is no call.
    fn access(&self, site: SiteNumber) -> Option<Access> {
        let known = &self.program.sites[site];
        let body = self.program.functions[known.function].body.as_ref()?;
        let address = address(&body.instructions[known.instruction].operation)?;
        let (base, offset) = test::base(self.program, body, address);
        Some(Access {
            function: known.function,
            base,
            offset,
            size: known.info().size().into(),
            evidence: self.program.evidence(&self.layouts, site),
        })
    }

    fn room(&self, access: &Access) -> Room {
        match access.base.operand() {
            Operand::Constant(number) => match self.program.constants[number].value {
                ConstantValue::Global(global) => Room::Global(global),
                _ => Room::Unknown,
            },
            Operand::Instruction(_) => {
                let body = self.program.functions[access.function].body.as_ref();
                match body.is_some_and(|body| is_slot(body, access.base)) {
                    true => Room::Stack,
                    false => Room::Unknown,
                }
            }
            Operand::Argument(_) => Room::Unknown,
        }
    }

    /// Whether the loop stores to a variable on the stack.
    fn stores_to(&self, slot: Value) -> bool {
        let mut all = self.blocks.iter().flat_map(|block| self.body.block(*block));
        all.any(|(_, one)| match one.operation {
            Operation::Store { address, .. } => address == slot,
            _ => false,
        })
    }

    /// Whether the code of an instruction was written in a library of its language.
    fn is_library(&self, function: FunctionNumber, number: InstructionNumber) -> bool {
        let function = &self.program.functions[function];
        let location =
            { function.body.as_ref() }.and_then(|body| body.instructions[number].location.expand());
        let written = location.and_then(|location| {
            let scope = self.program.locations[location].scope;
            self.program.scopes[scope].file.expand()
        });
        let file = written.or(function.file.expand());
        file.is_some_and(|file| is_library_file(&self.program.texts[self.program.files[file].path]))
    }
}
