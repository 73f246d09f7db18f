//! Mutexes that a thread holds at a site on every path through its function, as
//! far as they are global variables: two threads cannot be at two places under
//! the same one.
//!
//! A forward analysis: what is held is what is held at the end of all
//! predecessors. A call that may give a lock back takes it out, so where the
//! analysis does not know, nothing is held.

use crate::error::PlaceError;
use crate::expression::Expression;
use crate::places::Places;
use bohr_event::EventKind;
use bohr_event::breakpoint::Breakpoint;
use bohr_program::{
    BlockNumber, Body, ConstantNumber, ConstantValue, FunctionFlow, FunctionNumber,
    InstructionNumber, Operand, Program, SiteNumber,
};
use cranelift_entity::EntityRef;
use std::collections::BTreeMap;

/// Locks that are held, by address, with the sites where they were taken.
type Held = BTreeMap<ConstantNumber, u32>;

/// Refuses a breakpoint of which two sides hold the same lock, whichever copies
/// of the sides are meant.
///
/// # Errors
/// If there are such sides.
pub fn find_never_meeting(
    program: &Program,
    expression: &Expression,
    breakpoint: &Breakpoint,
    places: &Places<'_>,
) -> Result<(), PlaceError> {
    let held: Vec<Held> = breakpoint
        .sides
        .iter()
        .map(|side| held_at_all(program, &side.sites))
        .collect();
    for (number, one) in held.iter().enumerate() {
        for (further, other) in held[number + 1..].iter().enumerate() {
            let Some((lock, taken)) = one.iter().find(|(lock, _)| other.contains_key(lock)) else {
                continue;
            };
            let name = |site: u32| {
                places
                    .name(site)
                    .map_or_else(String::new, |place| place.to_string())
            };
            return Err(PlaceError::NeverMeet {
                one: expression.sides[number].at.to_string(),
                other: expression.sides[number + 1 + further].at.to_string(),
                lock: lock_name(program, *lock),
                taken: [name(*taken), name(other[lock])],
            });
        }
    }
    Ok(())
}

/// What is held at every one of these sites.
fn held_at_all(program: &Program, sites: &[u32]) -> Held {
    let mut all = sites.iter().map(|site| held_at(program, *site));
    let first = all.next().unwrap_or_default();
    all.fold(first, |held, other| common(&held, &other))
}

fn common(one: &Held, other: &Held) -> Held {
    let both = one.iter().filter(|(lock, _)| other.contains_key(lock));
    both.map(|(lock, site)| (*lock, *site)).collect()
}

/// What is held before a site.
fn held_at(program: &Program, site: u32) -> Held {
    let Some(site) = program.site(SiteNumber::new(site as usize)) else {
        return Held::new();
    };
    let function = site.function;
    let (Some(flow), Some(body)) = (
        FunctionFlow::new(program, function),
        program.functions[function].body.as_ref(),
    ) else {
        return Held::new();
    };
    let analysis = Analysis {
        program,
        function,
        body,
    };
    let order = flow.graph.reverse_postorder();
    let mut ends: BTreeMap<BlockNumber, Held> = BTreeMap::new();
    loop {
        let before = ends.clone();
        for block in order {
            let start = start_of(&flow, *block, &ends);
            ends.insert(*block, analysis.through(*block, start, None));
        }
        if ends == before {
            break;
        }
    }
    let mut blocks = order.iter().copied();
    let own = blocks.find(|block| {
        body.block(*block)
            .any(|(number, _)| number == site.instruction)
    });
    let Some(block) = own else {
        return Held::new();
    };
    analysis.through(block, start_of(&flow, block, &ends), Some(site.instruction))
}

/// What is held where a block begins. Blocks that have not been looked at yet
/// take nothing away.
fn start_of(flow: &FunctionFlow, block: BlockNumber, ends: &BTreeMap<BlockNumber, Held>) -> Held {
    if block == flow.graph.entry() {
        return Held::new();
    }
    let known = flow
        .graph
        .predecessors(block)
        .iter()
        .filter_map(|block| ends.get(block));
    known
        .cloned()
        .reduce(|one, other| common(&one, &other))
        .unwrap_or_default()
}

struct Analysis<'a> {
    program: &'a Program,
    function: FunctionNumber,
    body: &'a Body,
}

impl Analysis<'_> {
    /// What is held at the end of a block, or before an instruction of it.
    fn through(
        &self,
        block: BlockNumber,
        mut held: Held,
        until: Option<InstructionNumber>,
    ) -> Held {
        for (number, _) in self.body.block(block) {
            if Some(number) == until {
                break;
            }
            let site = self.program.site_at(self.function, number);
            let kind = site.map(|site| self.program.sites[site].kind());
            match (kind, site) {
                (Some(EventKind::Acquire), Some(site)) => {
                    if let Some(lock) = self.lock(number) {
                        held.insert(lock, site.index() as u32);
                    }
                }
                (Some(EventKind::Release), _) => match self.lock(number) {
                    Some(lock) => drop(held.remove(&lock)),
                    None => held.clear(),
                },
                (Some(_), _) => {}
                (None, _) if self.may_release(number) => held.clear(),
                (None, _) => {}
            }
        }
        held
    }

    /// The lock of a call, if it is a constant.
    fn lock(&self, instruction: InstructionNumber) -> Option<ConstantNumber> {
        let call = self.body.call_at(instruction)?;
        match self.body.values.get(call.arguments).first()?.operand() {
            Operand::Constant(lock) => Some(lock),
            Operand::Instruction(_) | Operand::Argument(_) => None,
        }
    }

    /// Whether an instruction calls code of the program, which may do anything.
    fn may_release(&self, instruction: InstructionNumber) -> bool {
        if self.body.call_at(instruction).is_none() {
            return false;
        }
        match self.body.named_callee(self.program, instruction) {
            Some(callee) => self.program.functions[callee].body.is_some(),
            None => true,
        }
    }
}

/// The variable that a lock is, or lies in.
fn lock_name(program: &Program, lock: ConstantNumber) -> String {
    match &program.constants[lock].value {
        ConstantValue::Global(global) => program.texts[program.globals[*global].name].to_string(),
        other => {
            let part = other.parts().first().map(|part| lock_name(program, *part));
            part.unwrap_or_else(|| "a lock".to_string())
        }
    }
}
