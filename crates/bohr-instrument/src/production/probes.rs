//! A pseudo-probe at the beginning of every block: no instruction, but an entry
//! in the section `.pseudo_probe` that leads from the address of whatever became
//! of the block to its number in the model. Copies of a block are several entries,
//! merged tails have those of all blocks that they were made from.
//!
//! Where a block calls the same function more than once there is one before each
//! of those calls, too: their return addresses would say the same otherwise.

use super::Added;
use crate::gates::{Numbered, NumberedFunction};
use bohr_program::{Body, FunctionNumber, InstructionNumber, Program};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMTypeRef, LLVMValueRef};
use inkwell::module::Module;
use std::collections::HashMap;

const INTRINSIC: &str = "llvm.pseudoprobe";
/// Without such a list LLVM writes no section.
const DESCRIPTIONS: &str = "llvm.pseudo_probe_desc";

/// Inserts the probes.
pub(super) fn insert<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    program: &Program,
    numbered: &Numbered,
    added: &mut Added,
) {
    describe(context, module);
    let probes = Probes::new(context, module);
    for (number, body, own) in numbered.with_room(program) {
        for block in body.blocks.keys() {
            // SAFETY: a block of a live function.
            let first = unsafe { insertion_point(own.block(block)) };
            probes.add(
                first,
                program.functions[number].id.0,
                u64::from(block.as_u32()) + 1,
            );
            added.probes += 1;
        }
        added.probes += calls(&probes, program, number, body, own);
    }
}

/// Marks calls that their block and their callee do not tell apart.
fn calls(
    probes: &Probes,
    program: &Program,
    number: FunctionNumber,
    body: &Body,
    own: &NumberedFunction,
) -> u32 {
    let mut added = 0;
    for block in body.blocks.keys() {
        let mut by_callee: HashMap<Option<FunctionNumber>, Vec<InstructionNumber>> = HashMap::new();
        for (instruction, _) in body.block(block) {
            let callee = body.named_callee(program, instruction);
            let is_intrinsic = callee.is_some_and(|callee| program.is_intrinsic(callee));
            if body.call_at(instruction).is_some() && !is_intrinsic {
                by_callee.entry(callee).or_default().push(instruction);
            }
        }
        for alike in by_callee.into_values().filter(|alike| alike.len() > 1) {
            for instruction in alike {
                let index = body.blocks.len() as u64 + 1 + u64::from(instruction.as_u32());
                let function = program.functions[number].id.0;
                probes.add(own.instruction(instruction), function, index);
                added += 1;
            }
        }
    }
    added
}

/// Behind phis and landing pads.
///
/// # Safety
/// `block` must be a block with a terminator.
pub(crate) unsafe fn insertion_point(block: LLVMBasicBlockRef) -> LLVMValueRef {
    // SAFETY: the caller's promise; the terminator ends the walk.
    unsafe {
        let mut at = LLVMGetFirstInstruction(block);
        while !LLVMIsAPHINode(at).is_null() || !LLVMIsALandingPadInst(at).is_null() {
            at = LLVMGetNextInstruction(at);
        }
        at
    }
}

/// One entry: function, hash and name, which nobody reads.
fn describe<'ctx>(context: &'ctx Context, module: &Module<'ctx>) {
    let number = context.i64_type().const_int(1, false);
    let name = context.metadata_string("bohr");
    let node = context.metadata_node(&[number.into(), number.into(), name.into()]);
    // The name holds no zero byte, the one thing that could be refused.
    let _ = module.add_global_metadata(DESCRIPTIONS, &node);
}

struct Probes {
    builder: LLVMBuilderRef,
    intrinsic: LLVMValueRef,
    kind: LLVMTypeRef,
    word: LLVMTypeRef,
    flags: LLVMTypeRef,
}

impl Drop for Probes {
    fn drop(&mut self) {
        // SAFETY: made by `new`, used by nobody else.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

impl Probes {
    fn new(context: &Context, module: &Module<'_>) -> Probes {
        let context = context.as_ctx_ref();
        // SAFETY: a live module and its context; the intrinsic is not overloaded.
        unsafe {
            let id = LLVMLookupIntrinsicID(INTRINSIC.as_ptr().cast(), INTRINSIC.len());
            let none = std::ptr::null_mut();
            let intrinsic = LLVMGetIntrinsicDeclaration(module.as_mut_ptr(), id, none, 0);
            Probes {
                builder: LLVMCreateBuilderInContext(context),
                intrinsic,
                kind: LLVMGlobalGetValueType(intrinsic),
                word: LLVMInt64TypeInContext(context),
                flags: LLVMInt32TypeInContext(context),
            }
        }
    }

    /// The debug location must not lead into an inlined function: its probe would
    /// be counted to that one. None at all is right.
    fn add(&self, before: LLVMValueRef, function: u64, index: u64) {
        // SAFETY: an instruction of a live function; four arguments as declared.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, before);
            LLVMSetCurrentDebugLocation2(self.builder, std::ptr::null_mut());
            let mut arguments = [
                LLVMConstInt(self.word, function, 0),
                LLVMConstInt(self.word, index, 0),
                LLVMConstInt(self.flags, 0, 0),
                LLVMConstInt(self.word, u64::MAX, 0),
            ];
            LLVMBuildCall2(
                self.builder,
                self.kind,
                self.intrinsic,
                arguments.as_mut_ptr(),
                4,
                c"".as_ptr(),
            );
        }
    }
}
