//! Stores that can be left out. There is no gate before each: a store is made,
//! and what it has overwritten is put back before anybody can look, at its
//! thread's next event. What matters is therefore what the thread does until
//! then, in code that nobody hears of: it must not write where the store did,
//! which would be taken back along with it, nor give the memory to a function
//! outside the program, which would see what never was.
//!
//! Only the function of the store is looked at. What its callers do after it
//! has returned, before their next event, is theirs; whoever leaves a store out
//! has to see what becomes of that, as with calls.

use crate::constant::{ConstantExpression, ConstantValue};
use crate::external::{self, Use};
use crate::function::Body;
use crate::ids::{BlockNumber, FunctionNumber, InstructionNumber, SiteNumber};
use crate::instruction::{Operation, Value};
use crate::program::Program;
use bohr_event::abi::WIDEST_OMITTED;
use std::collections::HashSet;

/// Whether the store at a site can be left out, given which sites are events. An
/// update in one step is one if nobody uses what was there before.
#[must_use]
pub fn is_skippable_store(
    program: &Program,
    is_event: &dyn Fn(SiteNumber) -> bool,
    site: SiteNumber,
) -> bool {
    let facts = &program.sites[site];
    let fits = (1..=WIDEST_OMITTED).contains(&usize::from(facts.info().size()));
    if !fits || !is_event(site) {
        return false;
    }
    let Some(body) = &program.functions[facts.function].body else {
        return false;
    };
    let address = match body.instructions[facts.instruction].operation {
        Operation::Store { address, .. } => address,
        Operation::Update { address, .. } if !is_used(body, facts.instruction) => address,
        _ => return false,
    };
    let way = Way {
        program,
        is_event,
        function: facts.function,
        body,
        written: base(program, body, address),
    };
    !way.is_slot(way.written) && way.is_harmless(facts.instruction)
}

/// The stores whose values the read at a site decides, by computing and in the same
/// function, if it decides nothing else: no address, no branch, no result.
#[must_use]
pub fn stores_fed_by(program: &Program, site: SiteNumber) -> Option<Vec<SiteNumber>> {
    let facts = &program.sites[site];
    let body = program.functions[facts.function].body.as_ref()?;
    if !matches!(
        body.instructions[facts.instruction].operation,
        Operation::Load { .. }
    ) {
        return None;
    }
    let mut fed = Vec::new();
    let mut seen = HashSet::from([facts.instruction]);
    let mut waiting = vec![facts.instruction];
    while let Some(value) = waiting.pop() {
        for (number, instruction) in body.instructions.iter() {
            let mut uses = 0;
            body.for_each_operand(instruction, |used| {
                uses += usize::from(used.instruction() == Some(value));
            });
            match instruction.operation {
                _ if uses == 0 => {}
                Operation::Store { value: stored, .. }
                | Operation::Update { value: stored, .. }
                    if uses == 1 && stored.instruction() == Some(value) =>
                {
                    fed.push(program.site_at(facts.function, number)?);
                }
                Operation::Binary { .. }
                | Operation::Negate { .. }
                | Operation::Cast { .. }
                | Operation::CompareIntegers { .. }
                | Operation::CompareFloats { .. }
                | Operation::Select { .. }
                | Operation::Freeze { .. } => waiting.extend(seen.insert(number).then_some(number)),
                _ => return None,
            }
        }
    }
    Some(fed)
}

/// Whether somebody uses what an instruction gives.
fn is_used(body: &Body, number: InstructionNumber) -> bool {
    body.instructions.values().any(|instruction| {
        let mut uses = false;
        body.for_each_operand(instruction, |value| {
            uses |= value.instruction() == Some(number);
        });
        uses
    })
}

/// What a thread does from a store on until its next event.
struct Way<'a> {
    program: &'a Program,
    is_event: &'a dyn Fn(SiteNumber) -> bool,
    function: FunctionNumber,
    body: &'a Body,
    /// What the store's address was computed from.
    written: Value,
}

/// Where the way goes on behind an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Onwards {
    /// To the next one.
    Next,
    /// The next event is here, or elsewhere.
    Over,
    /// Something may touch what the store has written.
    Touched,
}

impl Way<'_> {
    fn is_harmless(&self, store: InstructionNumber) -> bool {
        let first = self.body.block_of(store);
        let mut seen = HashSet::new();
        let mut waiting = vec![(first, store.as_u32() + 1)];
        while let Some((block, start)) = waiting.pop() {
            let end = self.body.range(block).end as u32;
            let mut rest = (start..end).map(InstructionNumber::from_u32);
            let stopped = rest.find_map(|number| match self.behind(number) {
                Onwards::Next => None,
                other => Some(other),
            });
            match stopped {
                Some(Onwards::Touched) => return false,
                Some(_) => {}
                None => {
                    let next = self.body.successors(block).into_iter();
                    let next = next.filter(|block| seen.insert(*block));
                    waiting.extend(next.map(|block| (block, self.start(block))));
                }
            }
        }
        true
    }

    fn start(&self, block: BlockNumber) -> u32 {
        self.body.range(block).start as u32
    }

    fn behind(&self, number: InstructionNumber) -> Onwards {
        let site = self.program.site_at(self.function, number);
        if site.is_some_and(self.is_event) {
            return Onwards::Over;
        }
        let instruction = &self.body.instructions[number];
        match instruction.operation {
            Operation::Store { address, .. }
            | Operation::Update { address, .. }
            | Operation::CompareExchange { address, .. } => self.unless_elsewhere(address),
            Operation::VariableArgument { .. } | Operation::Opaque { .. } => Onwards::Touched,
            operation if operation.call().is_some() => self.behind_call(number),
            _ => Onwards::Next,
        }
    }

    fn behind_call(&self, number: InstructionNumber) -> Onwards {
        if self
            .program
            .is_pure(self.body, &self.body.instructions[number])
        {
            return Onwards::Next;
        }
        let Some(callee) = self.body.named_callee(self.program, number) else {
            // Somebody's of the program, most likely.
            return Onwards::Over;
        };
        let facts = &self.program.functions[callee];
        if facts.body.is_some() {
            return Onwards::Over;
        }
        let arguments = self
            .body
            .call_at(number)
            .map(|call| self.body.arguments(call));
        if let (true, Some([address, ..])) = (self.program.is_intrinsic(callee), arguments) {
            return self.unless_elsewhere(*address);
        }
        let known = external::find(&self.program.texts[facts.name]);
        let touches = |known: &external::External| {
            known.calls_back() || known.uses(Use::READS | Use::WRITES | Use::KEEPS)
        };
        match known.is_none_or(touches) {
            true => Onwards::Touched,
            false => Onwards::Next,
        }
    }

    /// Writes without events are to memory that no other thread knows. That is
    /// other memory for sure if it is a slot of this call, or another variable.
    fn unless_elsewhere(&self, address: Value) -> Onwards {
        let base = base(self.program, self.body, address);
        let is_slot = self.is_slot(base);
        let variables = [base, self.written].map(|value| self.is_variable(value));
        match is_slot || variables == [true; 2] && base != self.written {
            true => Onwards::Next,
            false => Onwards::Touched,
        }
    }

    /// Whether a value is the address of a slot of this call. A store there is not left
    /// out: the call may be over before its thread's next event.
    fn is_slot(&self, value: Value) -> bool {
        { value.instruction() }.is_some_and(|number| {
            let operation = self.body.instructions[number].operation;
            matches!(operation, Operation::StackSlot { .. })
        })
    }

    fn is_variable(&self, value: Value) -> bool {
        let constant = value.constant();
        constant.is_some_and(|number| {
            matches!(
                self.program.constants[number].value,
                ConstantValue::Global(_)
            )
        })
    }
}

/// What an address was computed from.
fn base(program: &Program, body: &Body, mut address: Value) -> Value {
    loop {
        address = match (address.instruction(), address.constant()) {
            (Some(number), _) => match body.instructions[number].operation {
                Operation::ElementPointer { base, .. } => base,
                Operation::Cast { operand, .. } => operand,
                _ => return address,
            },
            (None, Some(number)) => match program.constants[number].value {
                ConstantValue::Expression(
                    ConstantExpression::ElementPointer { base, .. }
                    | ConstantExpression::Cast(_, base),
                ) => base.into(),
                _ => return address,
            },
            (None, None) => return address,
        };
    }
}
