//! Where the word that a thread has in a register is stored: before the first thing
//! that can end the thread, leave the function, or be noticed by others, and not at
//! every branch on the way there. Whoever reads the log of a run that crashed finds the
//! block that it crashed in; of one that was killed, at most a word is missing, of blocks
//! in which nothing happened.

use bohr_program::paths::Choice;
use bohr_program::{
    BinaryOperator, BlockNumber, Body, ConstantValue, Instruction, InstructionNumber, Operation,
    Program, Value,
};
use cranelift_entity::EntitySet;

/// Calls that are no code.
const NOTES: [&str; 4] = [
    "llvm.lifetime.",
    "llvm.dbg.",
    "llvm.assume",
    "llvm.experimental.noalias.scope.decl",
];

/// Blocks that store the word before they do anything.
#[must_use]
pub fn blocks(program: &Program, body: &Body) -> EntitySet<BlockNumber> {
    let own = own_variables(program, body);
    let mut careful = EntitySet::new();
    for block in body.blocks.keys() {
        let mut instructions = body.block(block);
        if !instructions.all(|(_, one)| is_unnoticed(program, body, &own, one)) {
            careful.insert(block);
        }
    }
    // Blocks that are entered, on some way, with a word that is not stored.
    let mut behind = EntitySet::new();
    let mut open: Vec<BlockNumber> = Vec::new();
    for block in body.blocks.keys() {
        if Choice::of(program, body, block).bits() > 0 {
            open.extend(body.successors(block));
        }
    }
    while let Some(block) = open.pop() {
        if behind.insert(block) && !careful.contains(block) {
            open.extend(body.successors(block));
        }
    }
    let mut found = EntitySet::new();
    found.extend(behind.iter().filter(|block| careful.contains(*block)));
    found
}

/// Variables on the stack that nobody else can know of: their address is used for loads
/// and stores alone.
fn own_variables(program: &Program, body: &Body) -> EntitySet<InstructionNumber> {
    let mut own: EntitySet<InstructionNumber> = EntitySet::new();
    for (number, instruction) in body.instructions.iter() {
        if matches!(instruction.operation, Operation::StackSlot { .. }) {
            own.insert(number);
        }
    }
    for (_, instruction) in body.instructions.iter() {
        let mut given = |value: Value| {
            if let Some(number) = value.instruction() {
                own.remove(number);
            }
        };
        match instruction.operation {
            Operation::Load { .. } => {}
            Operation::Store { value, .. } => given(value),
            _ if is_note(program, body, instruction) => {}
            _ => body.for_each_operand(instruction, given),
        }
    }
    own
}

/// Whether an instruction neither faults, traps or leaves the function, nor changes what
/// others can see.
fn is_unnoticed(
    program: &Program,
    body: &Body,
    own: &EntitySet<InstructionNumber>,
    instruction: &Instruction,
) -> bool {
    use BinaryOperator::{SignedDivide, SignedRemainder, UnsignedDivide, UnsignedRemainder};
    match instruction.operation {
        Operation::Binary { operator, .. } => !matches!(
            operator,
            SignedDivide | SignedRemainder | UnsignedDivide | UnsignedRemainder
        ),
        Operation::Load { address, .. } | Operation::Store { address, .. } => {
            let variable = address.instruction();
            variable.is_some_and(|variable| own.contains(variable))
        }
        Operation::Branch { .. }
        | Operation::ConditionalBranch { .. }
        | Operation::Switch { .. }
        | Operation::Negate { .. }
        | Operation::CompareIntegers { .. }
        | Operation::CompareFloats { .. }
        | Operation::Cast { .. }
        | Operation::Select { .. }
        | Operation::Freeze { .. }
        | Operation::Phi { .. }
        | Operation::ElementPointer { .. }
        | Operation::ExtractValue { .. }
        | Operation::InsertValue { .. }
        | Operation::ExtractElement { .. }
        | Operation::InsertElement { .. }
        | Operation::Shuffle { .. } => true,
        _ => is_note(program, body, instruction),
    }
}

fn is_note(program: &Program, body: &Body, instruction: &Instruction) -> bool {
    let Operation::Call { call } = instruction.operation else {
        return false;
    };
    let callee = body.calls[call].callee.constant();
    let callee = callee.map(|constant| &program.constants[constant].value);
    let Some(ConstantValue::Function(function)) = callee else {
        return false;
    };
    let name = &program.texts[program.functions[*function].name];
    NOTES.iter().any(|note| name.starts_with(note))
}
