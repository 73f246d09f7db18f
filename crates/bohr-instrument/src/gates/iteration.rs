//! Gates of loops: leaving out an iteration.
//!
//! The model's analysis says which loops can do without an iteration and what
//! has to be computed in its place (`bohr_program::Gate` has the picture). Only
//! loops in which something happens that others can notice get a gate: skipping
//! the others would change nothing but the time they take.

use super::body::set_location;
use super::{GateKind, Gates, Questions};
use crate::internalise::name_of;
use crate::sites::{FunctionSites, ModuleSites, SiteNumber};
use bohr_program::graph::Loop;
use bohr_program::{
    BlockNumber, FunctionFlow, FunctionNumber, Gate, InstructionNumber, Layouts, Program, Test,
    repetitions,
};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMContextRef, LLVMValueRef};
use inkwell::values::AsValueRef;
use std::collections::{HashMap, HashSet};

/// A function as the model numbers it: taken before any pass inserts something.
pub struct Numbered {
    instructions: Vec<LLVMValueRef>,
    blocks: Vec<LLVMBasicBlockRef>,
    /// Instructions that others can notice, calls of functions included.
    noticed: HashSet<LLVMValueRef>,
    /// The block of the model that a block belongs to; new blocks belong to the
    /// header of their loop.
    origin: HashMap<LLVMBasicBlockRef, BlockNumber>,
    /// Loads that stand for values of loops that have got their gates.
    kept: HashSet<LLVMValueRef>,
}

impl Numbered {
    /// Numbers every function that has sites or not, in the order of `sites`.
    #[must_use]
    pub fn all(sites: &ModuleSites<'_>, is_noticed: &dyn Fn(SiteNumber) -> bool) -> Vec<Numbered> {
        sites
            .functions
            .iter()
            .map(|function| Numbered::of(function, is_noticed))
            .collect()
    }

    fn of(function: &FunctionSites<'_>, is_noticed: &dyn Fn(SiteNumber) -> bool) -> Numbered {
        let blocks: Vec<_> = function.function.get_basic_block_iter().collect();
        let instructions: Vec<LLVMValueRef> = blocks
            .iter()
            .flat_map(|block| block.get_instructions())
            .map(|instruction| instruction.as_value_ref())
            .collect();
        let sites = function
            .numbered()
            .filter(|(number, _, _)| is_noticed(*number));
        let mut noticed: HashSet<LLVMValueRef> = sites
            .map(|(_, _, site)| site.instruction.as_value_ref())
            .collect();
        noticed.extend(
            instructions
                .iter()
                .filter(|instruction| calls_function(**instruction)),
        );
        let blocks: Vec<LLVMBasicBlockRef> =
            blocks.iter().map(|block| block.as_mut_ptr()).collect();
        let origin = (0..).map(BlockNumber::from_u32);
        let origin = blocks.iter().copied().zip(origin).collect();
        Numbered {
            instructions,
            blocks,
            noticed,
            origin,
            kept: HashSet::new(),
        }
    }

    fn block(&self, number: BlockNumber) -> LLVMBasicBlockRef {
        self.blocks[number.as_u32() as usize]
    }

    fn instruction(&self, number: InstructionNumber) -> LLVMValueRef {
        self.instructions[number.as_u32() as usize]
    }

    fn is_in(&self, block: LLVMBasicBlockRef, shape: &Loop) -> bool {
        self.origin
            .get(&block)
            .is_some_and(|number| shape.contains(*number))
    }

    fn is_noticed(&self, shape: &Loop) -> bool {
        self.noticed.iter().any(|instruction| {
            // SAFETY: an instruction of a live function has a block.
            let block = unsafe { LLVMGetInstructionParent(*instruction) };
            self.is_in(block, shape)
        })
    }
}

/// Whether an instruction calls something other than an intrinsic or assembly.
fn calls_function(instruction: LLVMValueRef) -> bool {
    // SAFETY: only calls are asked for their callee.
    unsafe {
        let is_call = matches!(
            LLVMGetInstructionOpcode(instruction),
            LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke
        );
        if !is_call {
            return false;
        }
        let callee = LLVMGetCalledValue(instruction);
        LLVMIsAInlineAsm(callee).is_null() && !name_of(callee).starts_with("llvm.")
    }
}

/// Gives loops their gates.
pub fn insert(
    context: &Context,
    sites: &ModuleSites<'_>,
    program: &Program,
    mut functions: Vec<Numbered>,
    questions: &Questions,
    gates: &mut Gates,
) {
    let numbers: HashMap<_, FunctionNumber> = program
        .functions
        .iter()
        .map(|(number, function)| (function.id, number))
        .collect();
    let layouts = Layouts::new(&program.layout, &program.types);
    for (function, numbered) in sites.functions.iter().zip(&mut functions) {
        let Some(&number) = numbers.get(&function.id) else {
            continue;
        };
        let Some(flow) = FunctionFlow::new(program, number) else {
            continue;
        };
        for (which, repetition) in &repetitions(program, &layouts, number, &flow) {
            let shape = flow.loops.get(which);
            let Ok(gate) = &repetition.gate else { continue };
            if !numbered.is_noticed(shape) {
                continue;
            }
            let value = function.function.as_value_ref();
            let next = gates.gates.len() as u32;
            let mut maker = Maker {
                context: context.as_ctx_ref(),
                function: value,
                numbered,
                shape,
                gate,
            };
            // SAFETY: the model and `numbered` describe this very function.
            if unsafe { maker.make(questions, next) } {
                gates.add(GateKind::Iteration, function.id, name_of(value));
            }
        }
    }
}

struct Maker<'a> {
    context: LLVMContextRef,
    function: LLVMValueRef,
    numbered: &'a mut Numbered,
    shape: &'a Loop,
    gate: &'a Gate,
}

impl Maker<'_> {
    /// Adds the gate; false if the loop has a form that is left alone.
    ///
    /// # Safety
    /// The numbers must be those of the function.
    unsafe fn make(&mut self, questions: &Questions, number: u32) -> bool {
        // SAFETY: the caller's promise; everything here works on live blocks
        // and instructions of the one function.
        unsafe {
            let decision = LLVMGetBasicBlockTerminator(self.numbered.block(self.gate.decision));
            if LLVMIsABranchInst(decision).is_null() || LLVMIsConditional(decision) == 0 {
                return false;
            }
            let builder = LLVMCreateBuilderInContext(self.context);
            let made = match self.gate.test {
                Test::First => self.first(builder, decision, questions, number),
                Test::Last => self.last(builder, decision, questions, number),
            };
            LLVMDisposeBuilder(builder);
            made
        }
    }

    /// # Safety
    /// As for `make`.
    unsafe fn new_block(&mut self, before: LLVMBasicBlockRef) -> LLVMBasicBlockRef {
        // SAFETY: the caller's promise.
        let block = unsafe { LLVMInsertBasicBlockInContext(self.context, before, c"".as_ptr()) };
        self.numbered.origin.insert(block, self.shape.header);
        block
    }

    /// Asks at the end of `block`; goes to `skip` or on to `otherwise`.
    ///
    /// # Safety
    /// As for `make`.
    unsafe fn ask(
        &self,
        builder: LLVMBuilderRef,
        block: LLVMBasicBlockRef,
        (questions, number): (&Questions, u32),
        (skip, otherwise): (LLVMBasicBlockRef, LLVMBasicBlockRef),
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            LLVMPositionBuilderAtEnd(builder, block);
            set_location(builder, self.function);
            let answer = questions.ask(builder, GateKind::Iteration, number);
            LLVMBuildCondBr(builder, answer, skip, otherwise);
        }
    }

    /// The condition comes first: the gate stands between header and body.
    ///
    /// # Safety
    /// As for `make`.
    unsafe fn first(
        &mut self,
        builder: LLVMBuilderRef,
        decision: LLVMValueRef,
        questions: &Questions,
        number: u32,
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let header = self.numbered.block(self.shape.header);
            let inside: Vec<u32> = (0..2)
                .filter(|way| {
                    self.numbered
                        .is_in(LLVMGetSuccessor(decision, *way), self.shape)
                })
                .collect();
            let [way] = inside[..] else { return false };
            let body = LLVMGetSuccessor(decision, way);
            // A phi there would need another predecessor, which cannot be given.
            if !LLVMIsAPHINode(LLVMGetFirstInstruction(body)).is_null() || body == header {
                return false;
            }
            let gate = self.new_block(body);
            let skip = self.new_block(body);
            let phis = phis_of(header);
            LLVMSetSuccessor(decision, way, gate);
            self.ask(builder, gate, (questions, number), (skip, body));
            let again = self.run_again(builder, skip);
            LLVMBuildBr(builder, header);
            self.enter(&phis, skip, &again);
            true
        }
    }

    /// The condition comes last: the gate stands at the top, behind the phis,
    /// which move to a block of their own.
    ///
    /// # Safety
    /// As for `make`.
    unsafe fn last(
        &mut self,
        builder: LLVMBuilderRef,
        decision: LLVMValueRef,
        questions: &Questions,
        number: u32,
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let header = self.numbered.block(self.shape.header);
            let ways = [LLVMGetSuccessor(decision, 0), LLVMGetSuccessor(decision, 1)];
            let exits: Vec<_> = ways
                .iter()
                .filter(|way| !self.numbered.is_in(**way, self.shape))
                .collect();
            let phis = phis_of(header);
            let first = phis.last().map_or_else(
                || LLVMGetFirstInstruction(header),
                |phi| LLVMGetNextInstruction(*phi),
            );
            let is_pad = !LLVMIsALandingPadInst(first).is_null();
            let [exit] = exits[..] else { return false };
            let branches = users_of(LLVMBasicBlockAsValue(header));
            // Anything else that knows the header has its address.
            let only_branches = branches.iter().all(|user| {
                !LLVMIsABranchInst(*user).is_null()
                    || !LLVMIsASwitchInst(*user).is_null()
                    || !LLVMIsAInvokeInst(*user).is_null()
            });
            // A condition that another loop's gate has put into a slot.
            let is_kept = self.numbered.kept.contains(&LLVMGetCondition(decision));
            if is_kept || is_pad || !only_branches || !ways.contains(&header) || !self.can_keep() {
                return false;
            }
            let top = self.new_block(header);
            let skip = self.new_block(header);
            LLVMPositionBuilderAtEnd(builder, top);
            for phi in &phis {
                LLVMInstructionRemoveFromParent(*phi);
                LLVMInsertIntoBuilder(builder, *phi);
            }
            for branch in &branches {
                for way in 0..LLVMGetNumSuccessors(*branch) {
                    if LLVMGetSuccessor(*branch, way) == header {
                        LLVMSetSuccessor(*branch, way, top);
                    }
                }
            }
            self.ask(builder, top, (questions, number), (skip, header));
            let latch = LLVMGetInstructionParent(decision);
            let slots = self.keep(builder);
            let again = self.run_again(builder, skip);
            for (value, slot) in &slots {
                LLVMBuildStore(builder, self.in_place_of(*value, &again), *slot);
            }
            let condition = LLVMGetCondition(decision);
            let condition = *again.get(&condition).unwrap_or(&condition);
            let to = [LLVMGetSuccessor(decision, 0), LLVMGetSuccessor(decision, 1)];
            LLVMBuildCondBr(builder, condition, to[0], to[1]);
            self.enter(&phis, skip, &again);
            for phi in phis_of(*exit) {
                if let Some(value) = incoming(phi, |block| block == latch) {
                    add_incoming(phi, self.in_place_of(value, &again), skip);
                }
            }
            true
        }
    }

    /// Copies the instructions that replace the iteration to the end of a block.
    ///
    /// # Safety
    /// As for `make`.
    unsafe fn run_again(
        &self,
        builder: LLVMBuilderRef,
        block: LLVMBasicBlockRef,
    ) -> HashMap<LLVMValueRef, LLVMValueRef> {
        let mut again: HashMap<LLVMValueRef, LLVMValueRef> = HashMap::new();
        // SAFETY: the caller's promise; operands are set below their number.
        unsafe {
            LLVMPositionBuilderAtEnd(builder, block);
            let wanted: Vec<LLVMValueRef> = self
                .gate
                .again
                .iter()
                .map(|number| self.numbered.instruction(*number))
                .collect();
            let is_copied = |value: LLVMValueRef| {
                wanted.contains(&value) || self.numbered.kept.contains(&value)
            };
            for original in &wanted {
                copy(builder, *original, &is_copied, &mut again);
            }
            set_location(builder, self.function);
        }
        again
    }

    /// Gives the header's phis their values for an iteration that was left out.
    ///
    /// # Safety
    /// As for `make`.
    unsafe fn enter(
        &self,
        phis: &[LLVMValueRef],
        skip: LLVMBasicBlockRef,
        again: &HashMap<LLVMValueRef, LLVMValueRef>,
    ) {
        for &(phi, value) in &self.gate.phis {
            let phi = self.numbered.instruction(phi);
            debug_assert!(phis.contains(&phi));
            let stays = value
                .instruction()
                .map(|number| self.numbered.instruction(number))
                == Some(phi);
            // SAFETY: a phi of the loop has a value from within the loop.
            unsafe {
                let next = incoming(phi, |block| self.numbered.is_in(block, self.shape));
                let next = next.filter(|_| !stays).unwrap_or(phi);
                add_incoming(phi, *again.get(&next).unwrap_or(&next), skip);
            }
        }
    }

    /// What code after the loop gets for a value of an iteration that was left out.
    fn in_place_of(
        &self,
        value: LLVMValueRef,
        again: &HashMap<LLVMValueRef, LLVMValueRef>,
    ) -> LLVMValueRef {
        let other = self.gate.after.iter().find_map(|(number, other)| {
            let is_it = self.numbered.instruction(*number) == value;
            is_it.then(|| {
                other
                    .instruction()
                    .map(|number| self.numbered.instruction(number))
            })?
        });
        let other = other.unwrap_or(value);
        *again.get(&other).unwrap_or(&other)
    }

    /// Whether the values that are used after the loop can be put into slots:
    /// not those that end a block, nor those that a phi farther on takes from a
    /// block behind the loop.
    fn can_keep(&self) -> bool {
        self.gate.after.iter().all(|(number, _)| {
            let value = self.numbered.instruction(*number);
            // SAFETY: an instruction of a live function, and its users.
            unsafe {
                LLVMIsATerminatorInst(value).is_null()
                    && users_of(value).into_iter().all(|user| {
                        LLVMIsAPHINode(user).is_null()
                            || self
                                .numbered
                                .is_in(LLVMGetInstructionParent(user), self.shape)
                            || (0..LLVMCountIncoming(user))
                                .filter(|index| LLVMGetIncomingValue(user, *index) == value)
                                .all(|index| {
                                    self.numbered
                                        .is_in(LLVMGetIncomingBlock(user, index), self.shape)
                                })
                    })
            }
        })
    }

    /// Values that are used after the loop go through stack slots, which the
    /// optimiser turns into phis where they are needed.
    ///
    /// # Safety
    /// As for `make`, and `can_keep`.
    unsafe fn keep(&mut self, builder: LLVMBuilderRef) -> Vec<(LLVMValueRef, LLVMValueRef)> {
        let mut slots = Vec::new();
        // SAFETY: the caller's promise.
        unsafe {
            let entry = LLVMGetEntryBasicBlock(self.function);
            for (number, _) in &self.gate.after {
                let value = self.numbered.instruction(*number);
                let users = self.users_after(value);
                LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(entry));
                let slot = LLVMBuildAlloca(builder, LLVMTypeOf(value), c"".as_ptr());
                LLVMPositionBuilderBefore(builder, after(value));
                LLVMBuildStore(builder, value, slot);
                for user in users {
                    LLVMPositionBuilderBefore(builder, user);
                    let loaded = LLVMBuildLoad2(builder, LLVMTypeOf(value), slot, c"".as_ptr());
                    self.numbered.kept.insert(loaded);
                    for index in 0..LLVMGetNumOperands(user).cast_unsigned() {
                        if LLVMGetOperand(user, index) == value {
                            LLVMSetOperand(user, index, loaded);
                        }
                    }
                }
                slots.push((value, slot));
            }
        }
        slots
    }

    /// Instructions outside the loop that use a value; phis at its exits take it
    /// on an edge from inside and need no change.
    ///
    /// # Safety
    /// As for `make`.
    unsafe fn users_after(&self, value: LLVMValueRef) -> Vec<LLVMValueRef> {
        // SAFETY: the users of an instruction are instructions.
        unsafe {
            users_of(value)
                .into_iter()
                .filter(|user| {
                    !self
                        .numbered
                        .is_in(LLVMGetInstructionParent(*user), self.shape)
                })
                .filter(|user| LLVMIsAPHINode(*user).is_null())
                .collect()
        }
    }
}

/// The first place behind an instruction where others can stand.
///
/// # Safety
/// `instruction` must be one that others follow.
unsafe fn after(instruction: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: the caller's promise; a terminator ends every block.
    unsafe {
        let mut next = LLVMGetNextInstruction(instruction);
        while !LLVMIsAPHINode(next).is_null() || !LLVMIsALandingPadInst(next).is_null() {
            next = LLVMGetNextInstruction(next);
        }
        next
    }
}

/// Copies an instruction after those of its operands that are copied too: blocks
/// need not stand in the order in which they run.
///
/// # Safety
/// All must be instructions of the builder's function.
unsafe fn copy(
    builder: LLVMBuilderRef,
    original: LLVMValueRef,
    is_copied: &dyn Fn(LLVMValueRef) -> bool,
    again: &mut HashMap<LLVMValueRef, LLVMValueRef>,
) {
    if again.contains_key(&original) {
        return;
    }
    // SAFETY: the caller's promise; operands are asked for below their number.
    unsafe {
        let operands = 0..LLVMGetNumOperands(original).cast_unsigned();
        for index in operands.clone() {
            let operand = LLVMGetOperand(original, index);
            if operand != original && is_copied(operand) {
                copy(builder, operand, is_copied, again);
            }
        }
        let fresh = LLVMInstructionClone(original);
        LLVMInsertIntoBuilder(builder, fresh);
        for index in operands {
            if let Some(value) = again.get(&LLVMGetOperand(original, index)) {
                LLVMSetOperand(fresh, index, *value);
            }
        }
        again.insert(original, fresh);
    }
}

/// What uses a value, each once.
///
/// # Safety
/// `value` must be live.
unsafe fn users_of(value: LLVMValueRef) -> Vec<LLVMValueRef> {
    let mut users = Vec::new();
    // SAFETY: the caller's promise; null ends the list.
    unsafe {
        let mut each = LLVMGetFirstUse(value);
        while !each.is_null() {
            let user = LLVMGetUser(each);
            if !users.contains(&user) {
                users.push(user);
            }
            each = LLVMGetNextUse(each);
        }
    }
    users
}

/// # Safety
/// `block` must be a block with a terminator.
unsafe fn phis_of(block: LLVMBasicBlockRef) -> Vec<LLVMValueRef> {
    // SAFETY: the caller's promise; the terminator ends the walk.
    unsafe {
        std::iter::successors(Some(LLVMGetFirstInstruction(block)), |phi| {
            Some(LLVMGetNextInstruction(*phi))
        })
        .take_while(|instruction| !LLVMIsAPHINode(*instruction).is_null())
        .collect()
    }
}

/// The value that a phi takes from a predecessor.
///
/// # Safety
/// `phi` must be a phi.
unsafe fn incoming(
    phi: LLVMValueRef,
    from: impl Fn(LLVMBasicBlockRef) -> bool,
) -> Option<LLVMValueRef> {
    // SAFETY: indices below the number of predecessors.
    unsafe {
        (0..LLVMCountIncoming(phi))
            .find(|index| from(LLVMGetIncomingBlock(phi, *index)))
            .map(|index| LLVMGetIncomingValue(phi, index))
    }
}

/// # Safety
/// `phi` must be a phi, and `block` a new predecessor of its block.
unsafe fn add_incoming(phi: LLVMValueRef, mut value: LLVMValueRef, mut block: LLVMBasicBlockRef) {
    // SAFETY: the caller's promise.
    unsafe { LLVMAddIncoming(phi, &mut value, &mut block, 1) };
}
