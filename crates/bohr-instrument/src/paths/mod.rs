//! Has the threads of a program write down the way they go. What is written
//! where, the model has decided (`bohr_program::paths`); here it becomes code.
//!
//! The word that a thread writes (`code`) and its address (`place`) are kept in
//! registers and read again after calls. A change is stored before anything happens
//! that can end the program or be noticed ([`stores`]): a store that nobody waits for.

mod announcement;
mod edges;
mod effects;
mod pen;
pub mod stores;
mod tables;

pub(crate) use tables::KEPT;
pub use tables::assembly;

use crate::gates::Numbered;
use bohr_program::paths::{
    Calling, Choice, ENTERED, LANDED, MARK_BITS, Paths, RETURNED, RETURNED_BITS, Room, RoomPoint,
    width,
};
use bohr_program::{BlockNumber, Body, FunctionNumber, InstructionNumber, Operation, Program};
use cranelift_entity::EntitySet;
use edges::Edges;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMTailCallKind;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;
use pen::{Pen, Words};

/// Brings what was inserted into registers.
const PROMOTE: &str = "always-inline,function(mem2reg)";

/// Adds the code to every function that writes.
///
/// # Errors
/// With LLVM's words, which would be our bug.
pub fn insert<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    mut numbered: Numbered,
    program: &Program,
    machine: &TargetMachine,
) -> Result<(), String> {
    let paths = Paths::of(program);
    let words = Words::add_to(context, module)?;
    for (number, _, _) in program.bodies().filter(|body| paths.is_apart(body.0)) {
        let function = numbered.function(number).value;
        announcement::put_in_front(&words, &paths, number, function);
    }
    for (number, _, body) in program.bodies() {
        call_by_name(program, &paths, &mut numbered, (number, body));
        if paths.logs(number) {
            let function = numbered.function(number);
            let writer = Writer {
                program,
                paths: &paths,
                function: number,
                room: Room::of(program, &paths, number),
                stores: stores::blocks(program, body),
                pen: Pen::new(&words, function.value),
                blocks: function.blocks(),
                instruction: &|at| function.instruction(at),
            };
            effects::admit(function.value);
            writer.write();
        }
    }
    let options = PassBuilderOptions::create();
    let done = module.run_passes(PROMOTE, machine, options);
    done.map_err(|message| message.to_string())
}

/// Sends the calls by name of a function to where they lead.
fn call_by_name(
    program: &Program,
    paths: &Paths,
    numbered: &mut Numbered,
    (function, body): (FunctionNumber, &Body),
) {
    for (instruction, facts) in body.instructions.iter() {
        let call = facts.operation.call().map(|call| &body.calls[call]);
        let calling = call.map(|call| paths.calling(program, call));
        if let Some(Calling::Named(callee)) = calling
            && paths.is_apart(callee)
        {
            let callee = numbered.function(callee).value;
            announcement::call_itself(numbered.function(function).instruction(instruction), callee);
        }
    }
}

/// One function.
struct Writer<'f> {
    program: &'f Program,
    paths: &'f Paths,
    function: FunctionNumber,
    room: Room,
    /// Blocks that begin with storing the word.
    stores: EntitySet<BlockNumber>,
    pen: Pen<'f>,
    blocks: &'f [LLVMBasicBlockRef],
    instruction: &'f dyn Fn(InstructionNumber) -> LLVMValueRef,
}

impl Writer<'_> {
    fn write(&self) {
        let body = self.program.functions[self.function].body.as_ref();
        let body = body.expect("a function that writes");
        let mut edges = Edges::default();
        for block in body.blocks.keys() {
            let place = self.blocks[block.as_u32() as usize];
            self.begin(block, place);
            for (number, instruction) in body.block(block) {
                if matches!(instruction.operation, Operation::LandingPad { .. }) {
                    self.land(block, number);
                }
                if let Some(call) = instruction.operation.call() {
                    let calling = self.paths.calling(self.program, &body.calls[call]);
                    let normal = match instruction.operation {
                        Operation::Invoke { normal, .. } => Some(normal),
                        _ => None,
                    };
                    if self.paths.writes(calling) {
                        self.after(block, number, calling, normal, &mut edges);
                    }
                }
            }
            self.choose(place, &Choice::of(self.program, body, block), &mut edges);
        }
        self.enter();
        edges.complete();
    }

    fn look(&self, point: RoomPoint) {
        if let Some(need) = self.room.need(point) {
            self.pen.look(need);
        }
    }

    /// Last, since it stands before everything else.
    fn enter(&self) {
        let entry = BlockNumber::from_u32(0);
        self.pen.stand_at_entry();
        self.pen.take_up();
        self.look(RoomPoint::Block(entry));
        if self.paths.announces_itself(self.function) {
            self.mark(ENTERED);
        }
    }

    fn mark(&self, mark: u64) {
        let bits = self.paths.function_bits();
        let number = u64::from(self.function.as_u32());
        self.pen.append(mark << bits | number, MARK_BITS + bits);
    }

    fn landed(&self, block: BlockNumber) {
        self.mark(LANDED);
        let bits = width(self.blocks.len());
        self.pen.append(u64::from(block.as_u32()), bits);
    }

    /// The entry and landing pads have more to do.
    fn begin(&self, block: BlockNumber, place: LLVMBasicBlockRef) {
        // SAFETY: a block of the function, which has a terminator.
        let pad = unsafe {
            let first = pen::behind_phis(place);
            !LLVMIsALandingPadInst(first).is_null()
        };
        if block.as_u32() > 0 && !pad {
            self.pen.stand_behind_phis(place);
            self.look(RoomPoint::Block(block));
            if self.stores.contains(block) {
                self.pen.store();
            }
        }
    }

    fn land(&self, block: BlockNumber, pad: InstructionNumber) {
        self.pen.stand_behind((self.instruction)(pad));
        self.pen.take_up();
        self.look(RoomPoint::Block(block));
        self.landed(block);
    }

    /// Behind a call that may have written; of an invoke, on the way to where it
    /// goes on.
    fn after(
        &self,
        block: BlockNumber,
        number: InstructionNumber,
        calling: Calling,
        normal: Option<BlockNumber>,
        edges: &mut Edges,
    ) {
        let call = (self.instruction)(number);
        effects::admit_at(call);
        if let Some(normal) = normal {
            let from = self.blocks[block.as_u32() as usize];
            let to = self.blocks[normal.as_u32() as usize];
            self.pen.stand_on(edges.split(from, to));
        } else {
            // SAFETY: an instruction of the function that calls, before its
            // terminator.
            unsafe {
                if LLVMIsACallInst(call).is_null() {
                    return;
                }
                if LLVMGetTailCallKind(call) == LLVMTailCallKind::LLVMTailCallKindMustTail {
                    if matches!(calling, Calling::Named(_)) {
                        // The function ends here, and writes nothing more.
                        return;
                    }
                    LLVMSetTailCallKind(call, LLVMTailCallKind::LLVMTailCallKindNone);
                }
            }
            self.pen.stand_behind(call);
        }
        self.pen.take_up();
        self.look(RoomPoint::After(number));
        match calling {
            Calling::Open => self.pen.append(RETURNED, RETURNED_BITS),
            Calling::Twice => self.landed(block),
            Calling::Quiet | Calling::Named(_) => {}
        }
    }

    fn choose(&self, place: LLVMBasicBlockRef, choice: &Choice, edges: &mut Edges) {
        if choice.bits() == 0 {
            return;
        }
        let targets = choice
            .targets
            .iter()
            .map(|at| self.blocks[at.as_u32() as usize]);
        let targets: Vec<LLVMBasicBlockRef> = targets.collect();
        // SAFETY: the block ends with a terminator of these targets.
        let indirect = unsafe {
            let end = LLVMGetBasicBlockTerminator(place);
            !LLVMIsAIndirectBrInst(end).is_null()
        };
        if indirect {
            self.pen.append_target(place, &targets, choice.bits());
            return;
        }
        for (outcome, target) in (0..).zip(targets) {
            self.pen.stand_on(edges.split(place, target));
            self.pen.keep(outcome, choice.bits());
        }
    }
}
