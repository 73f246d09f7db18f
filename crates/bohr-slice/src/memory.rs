//! Memory that leaves no events: what may be written where something reads.
//!
//! A stack slot whose address goes nowhere is by itself; everything else is one
//! piece, since a pointer of unknown origin may lead anywhere in it. A site that
//! leaves events writes there only if the analysis of sharing says that it may. What
//! others may touch is a piece of its own: only functions outside the program read it
//! without an event.

use crate::influence::Influences;
use bohr_program::{Body, FunctionNumber, InstructionNumber, Operation, Value};
use std::collections::{HashMap, HashSet};

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// A stack slot whose address goes nowhere.
    Slot(FunctionNumber, InstructionNumber),
    /// What a site without events may touch.
    Rest,
    /// What only sites with events touch.
    Shared,
}

/// Who may write to each piece.
#[derive(Default)]
pub struct Memory {
    writers: HashMap<Piece, Vec<(FunctionNumber, InstructionNumber)>>,
    /// Slots whose address goes somewhere.
    known_elsewhere: HashSet<(FunctionNumber, InstructionNumber)>,
}

impl Memory {
    pub fn new(influences: &Influences<'_>) -> Memory {
        let mut memory = Memory::default();
        for (function, _, body) in influences.program.bodies() {
            for slot in escaping(body) {
                memory.known_elsewhere.insert((function, slot));
            }
        }
        for (function, _, body) in influences.program.bodies() {
            for (number, instruction) in body.instructions.iter() {
                let piece = match instruction.operation {
                    Operation::Store { address, .. }
                    | Operation::Update { address, .. }
                    | Operation::CompareExchange { address, .. } => {
                        memory.piece(function, body, address)
                    }
                    operation if operation.call().is_some() => {
                        if !influences.may_write(function, body, number) {
                            continue;
                        }
                        Piece::Rest
                    }
                    Operation::Opaque { .. } | Operation::VariableArgument { .. } => Piece::Rest,
                    _ => continue,
                };
                let site = influences.program.site_at(function, number);
                let site = site.filter(|site| (influences.has_events)(*site));
                let piece = match site.is_some_and(|site| !(influences.is_mixed)(site)) {
                    true => Piece::Shared,
                    false => piece,
                };
                let writers = memory.writers.entry(piece).or_default();
                writers.push((function, number));
            }
        }
        memory
    }

    /// What an address lies in.
    pub fn piece(&self, function: FunctionNumber, body: &Body, address: Value) -> Piece {
        match root(body, address) {
            Some(slot) if !self.known_elsewhere.contains(&(function, slot)) => {
                Piece::Slot(function, slot)
            }
            _ => Piece::Rest,
        }
    }

    /// Who may write there.
    pub fn writers(&self, piece: Piece) -> &[(FunctionNumber, InstructionNumber)] {
        self.writers.get(&piece).map_or(&[], Vec::as_slice)
    }
}

/// The stack slot that an address was computed from, if it is one for sure.
fn root(body: &Body, address: Value) -> Option<InstructionNumber> {
    let mut number = address.instruction()?;
    loop {
        match body.instructions[number].operation {
            Operation::StackSlot { .. } => return Some(number),
            Operation::ElementPointer { base, .. } => number = base.instruction()?,
            Operation::Cast { operand, .. } => number = operand.instruction()?,
            _ => return None,
        }
    }
}

/// The slots whose address is used for more than reading and writing there.
fn escaping(body: &Body) -> HashSet<InstructionNumber> {
    let mut found = HashSet::new();
    for (_, instruction) in body.instructions.iter() {
        let harmless = match instruction.operation {
            Operation::Load { address, .. }
            | Operation::Store { address, .. }
            | Operation::Update { address, .. }
            | Operation::CompareExchange { address, .. } => Some(address),
            Operation::ElementPointer { base, .. } => Some(base),
            Operation::Cast { operand, .. } => Some(operand),
            _ => None,
        };
        let mut spared = harmless;
        body.for_each_operand(instruction, |value| {
            // The first such operand is the harmless one; a second is not.
            if spared == Some(value) {
                spared = None;
            } else if let Some(slot) = root(body, value) {
                found.insert(slot);
            }
        });
    }
    found
}
