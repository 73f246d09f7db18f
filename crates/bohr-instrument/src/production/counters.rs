//! The iteration that every loop is in, visible to a debugger: a variable of the
//! debug information named [`tally_name`], in the function that has the loop. Its value
//! is that of a variable that the program has anyway, or a counter in the frame,
//! one instruction per iteration ([`Tally`] says which).
//!
//! LLVM likes to replace a variable that does nothing but count by another one that
//! counts down, and then nothing tells its value while a function is called in the loop.
//! There, what such a call costs is many times what it takes to keep the variable, so it
//! is used, without an instruction, at the end of every iteration. A loop that calls
//! nobody is left as it is, and so is one that needs its variable.
//!
//! A function without debug information gets none: nobody could find them.

use super::Added;
use super::probes::insertion_point;
use crate::gates::{Numbered, NumberedFunction};
use bohr_program::graph::{Loop, LoopNumber};
use bohr_program::{
    BlockNumber, Body, FunctionFlow, Layouts, Program, Tally, left_name, mark_name, tallies,
    tally_mark, tally_name,
};
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMInlineAsmDialect;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::*;
use inkwell::llvm_sys::prelude::*;
use inkwell::module::Module;
use std::ffi::CStr;

/// `DW_ATE_unsigned`.
const UNSIGNED: u32 = 0x07;

/// Inserts counters and variables.
pub(super) fn insert(
    context: &Context,
    module: &Module<'_>,
    program: &Program,
    numbered: &mut Numbered,
    added: &mut Added,
) {
    let counters = Counters::new(context, module);
    let layouts = Layouts::new(&program.layout, &program.types);
    for (number, function) in program.functions.iter() {
        let own = numbered.function_if_defined(number);
        let Some(own) = own.filter(|_| function.body.is_some()) else {
            continue;
        };
        // SAFETY: a live function.
        let subprogram = unsafe { LLVMGetSubprogram(own.value()) };
        if subprogram.is_null() || crate::hooks::has_attribute(own.value(), "naked") {
            continue;
        }
        let (Some(flow), Some(body)) = (FunctionFlow::new(program, number), &function.body) else {
            continue;
        };
        for (looped, tallied) in tallies(program, &layouts, number, &flow) {
            let shape = flow.loops.get(looped);
            // SAFETY: blocks and instructions of a live function.
            unsafe {
                let one = One {
                    own,
                    subprogram,
                    number: looped,
                    place: counters.place(subprogram),
                };
                match tallied.tally {
                    Tally::Variable { phi, .. } => {
                        let phi = own.instruction(phi);
                        counters.tell(&one, shape, phi);
                        if calls(program, body, shape) && only_counts(phi) {
                            counters.use_to_the_end(&one, shape, phi);
                        }
                        counters.keep(&one, &tallied.doomed, Some(phi));
                        added.told += 1;
                    }
                    Tally::Counter => {
                        counters.count(&one, shape);
                        counters.keep(&one, &tallied.doomed, None);
                        added.counted += 1;
                    }
                    Tally::Nothing => {}
                }
            }
        }
    }
}

/// Whether an iteration may call a function.
fn calls(program: &Program, body: &Body, shape: &Loop) -> bool {
    let blocks = shape.blocks.iter();
    let mut instructions = blocks.flat_map(|&block| body.block(block));
    instructions.any(|(number, _)| {
        let callee = body.named_callee(program, number);
        body.call_at(number).is_some() && callee.is_none_or(|callee| !program.is_intrinsic(callee))
    })
}

/// Whether a variable is of no use but to tell when its loop is over.
///
/// # Safety
/// The phi must be one of a live function.
unsafe fn only_counts(phi: LLVMValueRef) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let compares = |user: LLVMValueRef| !LLVMIsAICmpInst(user).is_null();
        let steps = |user: LLVMValueRef| {
            let is_sum = !LLVMIsABinaryOperator(user).is_null();
            let own = |next: &LLVMValueRef| *next == phi || compares(*next);
            is_sum && crate::gates::users_of(user).iter().all(own)
        };
        let users = crate::gates::users_of(phi);
        users.into_iter().all(|user| compares(user) || steps(user))
    }
}

/// A loop that is told of.
struct One<'a> {
    own: &'a NumberedFunction,
    subprogram: LLVMMetadataRef,
    number: LoopNumber,
    /// Somewhere in the function itself, not in what was inlined.
    place: LLVMMetadataRef,
}

struct Counters {
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    debug: LLVMDIBuilderRef,
    word: LLVMTypeRef,
    number: LLVMMetadataRef,
    step: LLVMValueRef,
    step_type: LLVMTypeRef,
    /// A function that uses its arguments, and is no instruction.
    usage: LLVMValueRef,
    usage_type: LLVMTypeRef,
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: made by `new`, used by nobody else.
        unsafe {
            LLVMDisposeBuilder(self.builder);
            LLVMDIBuilderFinalize(self.debug);
            LLVMDisposeDIBuilder(self.debug);
        }
    }
}

impl Counters {
    fn new(context: &Context, module: &Module<'_>) -> Counters {
        const STEP: &str = "incq $0";
        const CONSTRAINTS: &str = "=*m,*m,~{dirflag},~{fpsr},~{flags}";
        const TYPE: &str = "unsigned long";
        const USE: &CStr = c"llvm.fake.use";
        let context = context.as_ctx_ref();
        // SAFETY: types, builders and assembly of a live module and its context.
        unsafe {
            let debug = LLVMCreateDIBuilder(module.as_mut_ptr());
            let pointer = LLVMPointerTypeInContext(context, 0);
            let mut parameters = [pointer, pointer];
            let void = LLVMVoidTypeInContext(context);
            let step_type = LLVMFunctionType(void, parameters.as_mut_ptr(), 2, 0);
            let usage_type = LLVMFunctionType(void, std::ptr::null_mut(), 0, 1);
            let known = LLVMGetNamedFunction(module.as_mut_ptr(), USE.as_ptr());
            let usage = match known.is_null() {
                true => LLVMAddFunction(module.as_mut_ptr(), USE.as_ptr(), usage_type),
                false => known,
            };
            Counters {
                context,
                builder: LLVMCreateBuilderInContext(context),
                debug,
                word: LLVMInt64TypeInContext(context),
                number: LLVMDIBuilderCreateBasicType(
                    debug,
                    TYPE.as_ptr().cast(),
                    TYPE.len(),
                    64,
                    UNSIGNED,
                    LLVMDIFlagZero,
                ),
                step: LLVMGetInlineAsm(
                    step_type,
                    STEP.as_ptr().cast(),
                    STEP.len(),
                    CONSTRAINTS.as_ptr().cast(),
                    CONSTRAINTS.len(),
                    1,
                    0,
                    LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                    0,
                ),
                step_type,
                usage,
                usage_type,
            }
        }
    }

    fn variable(&self, one: &One<'_>, name: &str) -> LLVMMetadataRef {
        let subprogram = one.subprogram;
        // SAFETY: a live subprogram, which has a file, and its line.
        unsafe {
            LLVMDIBuilderCreateAutoVariable(
                self.debug,
                subprogram,
                name.as_ptr().cast(),
                name.len(),
                LLVMDIScopeGetFile(subprogram),
                LLVMDISubprogramGetLine(subprogram),
                self.number,
                1,
                LLVMDIFlagArtificial,
                0,
            )
        }
    }

    fn place(&self, subprogram: LLVMMetadataRef) -> LLVMMetadataRef {
        // SAFETY: a live subprogram.
        unsafe {
            LLVMDIBuilderCreateDebugLocation(
                self.context,
                LLVMDISubprogramGetLine(subprogram),
                0,
                subprogram,
                std::ptr::null_mut(),
            )
        }
    }

    /// The location of a variable as it is.
    fn expression(&self) -> LLVMMetadataRef {
        // SAFETY: no operations.
        unsafe { LLVMDIBuilderCreateExpression(self.debug, std::ptr::null_mut(), 0) }
    }

    /// Says that the variable has the phi's value from the top of the loop on.
    ///
    /// # Safety
    /// The phi must be one at the top of the loop.
    unsafe fn tell(&self, one: &One<'_>, shape: &Loop, phi: LLVMValueRef) {
        let variable = self.variable(one, &tally_name(one.number));
        // SAFETY: the caller's promise.
        unsafe {
            let at = insertion_point(one.own.block(shape.header));
            let as_it_is = self.expression();
            LLVMDIBuilderInsertDbgValueRecordBefore(
                self.debug, phi, variable, as_it_is, one.place, at,
            );
        }
    }

    /// Has the phi's value at hand up to the end of every iteration.
    ///
    /// # Safety
    /// The phi must be one at the top of the loop.
    unsafe fn use_to_the_end(&self, one: &One<'_>, shape: &Loop, phi: LLVMValueRef) {
        for &latch in &shape.latches {
            // SAFETY: the caller's promise: the phi is known wherever its loop goes.
            unsafe {
                let end = LLVMGetBasicBlockTerminator(one.own.block(latch));
                LLVMPositionBuilderBefore(self.builder, end);
                LLVMSetCurrentDebugLocation2(self.builder, one.place);
                let mut used = [phi];
                let (kind, name) = (self.usage_type, c"".as_ptr());
                LLVMBuildCall2(self.builder, kind, self.usage, used.as_mut_ptr(), 1, name);
            }
        }
    }

    /// Keeps the phi's value for those who will not come back, and that it is kept:
    /// their blocks may be merged with others, so the variables are declared for the
    /// whole function.
    ///
    /// # Safety
    /// The blocks must be such that the loop leads to, and nobody else does.
    unsafe fn keep(&self, one: &One<'_>, blocks: &[BlockNumber], phi: Option<LLVMValueRef>) {
        if blocks.is_empty() {
            return;
        }
        // SAFETY: the caller's promise; the phi is live behind its loop.
        unsafe {
            let kept = phi.map(|phi| (phi, self.declared(one, &left_name(one.number), phi)));
            let mark = LLVMConstInt(self.word, tally_mark(one.number), 0);
            let marked = self.declared(one, &mark_name(one.number), mark);
            for &block in blocks {
                let at = insertion_point(one.own.block(block));
                self.store(one, at, mark, marked);
                if let Some((phi, slot)) = kept {
                    self.store(one, at, phi, slot);
                }
            }
        }
    }

    /// Adds a counter.
    ///
    /// # Safety
    /// The loop must be one of the function.
    unsafe fn count(&self, one: &One<'_>, shape: &Loop) {
        let own = one.own;
        // SAFETY: blocks of a live function; slot and assembly as declared.
        unsafe {
            let zero = LLVMConstInt(self.word, 0, 0);
            let slot = self.declared(one, &tally_name(one.number), zero);
            for from in entering(own.block(shape.header), |block| own.is_in(block, shape)) {
                self.store(one, LLVMGetBasicBlockTerminator(from), zero, slot);
            }
            LLVMPositionBuilderBefore(self.builder, insertion_point(own.block(shape.header)));
            LLVMSetCurrentDebugLocation2(self.builder, one.place);
            let mut arguments = [slot, slot];
            let call = LLVMBuildCall2(
                self.builder,
                self.step_type,
                self.step,
                arguments.as_mut_ptr(),
                2,
                c"".as_ptr(),
            );
            self.promise(call);
        }
    }

    /// A place in the frame for values like this one, under a name.
    ///
    /// # Safety
    /// The function must be live.
    unsafe fn declared(&self, one: &One<'_>, name: &str, like: LLVMValueRef) -> LLVMValueRef {
        let variable = self.variable(one, name);
        // SAFETY: the caller's promise.
        unsafe {
            let slot = self.slot(one.own, LLVMTypeOf(like));
            LLVMDIBuilderInsertDeclareRecordBefore(
                self.debug,
                slot,
                variable,
                self.expression(),
                one.place,
                LLVMGetBasicBlockTerminator(LLVMGetInstructionParent(slot)),
            );
            slot
        }
    }

    /// Stores, whatever LLVM thinks of it.
    ///
    /// # Safety
    /// The value must be live there, and the slot be made for it.
    unsafe fn store(
        &self,
        one: &One<'_>,
        before: LLVMValueRef,
        value: LLVMValueRef,
        slot: LLVMValueRef,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, before);
            LLVMSetCurrentDebugLocation2(self.builder, one.place);
            LLVMSetVolatile(LLVMBuildStore(self.builder, value, slot), 1);
        }
    }

    /// A place in the frame.
    ///
    /// # Safety
    /// The function must be live.
    unsafe fn slot(&self, own: &NumberedFunction, kind: LLVMTypeRef) -> LLVMValueRef {
        // SAFETY: the caller's promise; the entry has no phis.
        unsafe {
            let entry = LLVMGetEntryBasicBlock(own.value());
            LLVMPositionBuilderBefore(self.builder, LLVMGetFirstInstruction(entry));
            LLVMSetCurrentDebugLocation2(self.builder, std::ptr::null_mut());
            LLVMBuildAlloca(self.builder, kind, c"".as_ptr())
        }
    }

    /// What LLVM wants to know of the assembly: what its operands point to, and
    /// that it comes back.
    ///
    /// # Safety
    /// `call` must be a call with two arguments.
    unsafe fn promise(&self, call: LLVMValueRef) {
        const ELEMENT: &str = "elementtype";
        const QUIET: &str = "nounwind";
        // SAFETY: the caller's promise; attributes by their names.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(ELEMENT.as_ptr().cast(), ELEMENT.len());
            let element = LLVMCreateTypeAttribute(self.context, kind, self.word);
            LLVMAddCallSiteAttribute(call, 1, element);
            LLVMAddCallSiteAttribute(call, 2, element);
            let kind = LLVMGetEnumAttributeKindForName(QUIET.as_ptr().cast(), QUIET.len());
            let quiet = LLVMCreateEnumAttribute(self.context, kind, 0);
            let function = inkwell::llvm_sys::LLVMAttributeFunctionIndex;
            LLVMAddCallSiteAttribute(call, function, quiet);
        }
    }
}

/// The blocks outside a loop that lead to its top.
///
/// # Safety
/// `header` must be a block of a live function.
unsafe fn entering(
    header: LLVMBasicBlockRef,
    is_inside: impl Fn(LLVMBasicBlockRef) -> bool,
) -> Vec<LLVMBasicBlockRef> {
    let mut blocks = Vec::new();
    // SAFETY: the caller's promise; users of a block are terminators, or
    // constants that hold its address, which are no way in.
    unsafe {
        for user in crate::gates::users_of(LLVMBasicBlockAsValue(header)) {
            if LLVMIsATerminatorInst(user).is_null() {
                continue;
            }
            let block = LLVMGetInstructionParent(user);
            if !is_inside(block) && !blocks.contains(&block) {
                blocks.push(block);
            }
        }
    }
    blocks
}
