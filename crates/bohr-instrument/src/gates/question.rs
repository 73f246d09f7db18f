//! The test of the flag byte and the question to the runtime.

use crate::diagnostics::Diagnostics;
use crate::merge::link_one;
use bohr_event::abi::{CALL_GATE, NO_GATE};
use bohr_program::GateNumber;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::debuginfo::{
    LLVMDIBuilderCreateDebugLocation, LLVMGetSubprogram, LLVMInstructionGetDebugLoc,
    LLVMInstructionSetDebugLoc,
};
use inkwell::llvm_sys::prelude::{LLVMBuilderRef, LLVMValueRef};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::values::AsValueRef;

/// A function that is inlined wherever it is called, as text.
fn text(hook: &str) -> String {
    format!(
        "
declare hidden preserve_mostcc i8 @__bohr_thunk_{hook}(i32) nounwind

define linkonce_odr hidden i1 @bohr.{hook}(i32 %gate) alwaysinline nounwind {{
  %flags = load i8, ptr @__bohr_flags, align 1
  %bit = and i8 %flags, 2
  %off = icmp eq i8 %bit, 0
  br i1 %off, label %go, label %ask, !prof !0
ask:
  %answer = call preserve_mostcc i8 @__bohr_thunk_{hook}(i32 %gate)
  %skip = icmp ne i8 %answer, 0
  br label %go
go:
  %result = phi i1 [ false, %0 ], [ %skip, %ask ]
  ret i1 %result
}}
"
    )
}

/// What both refer to.
const SHARED: &str = "
@__bohr_flags = external hidden global i8
!0 = !{!\"branch_weights\", i32 1000000, i32 1}
";

/// The functions in a module that ask.
pub struct Questions {
    iteration: LLVMValueRef,
    body: LLVMValueRef,
}

/// The question of one gate.
pub struct Question<'a> {
    questions: &'a Questions,
    gate: u32,
}

impl Questions {
    /// Links them in.
    ///
    /// # Errors
    /// With LLVM's words, which would be our bug.
    pub fn add_to<'ctx>(
        context: &'ctx Context,
        module: &Module<'ctx>,
    ) -> Result<Questions, String> {
        let text = text("iteration") + &text("body") + SHARED;
        let questions = with_names(context, || {
            let text = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "gates");
            context.create_module_from_ir(text)
        });
        let questions = questions.map_err(|message| message.to_string())?;
        questions.set_triple(&module.get_triple());
        questions.set_data_layout(&module.get_data_layout());
        // Only what is referred to is linked in: refer to it.
        let declare = |name: &str| {
            let parameter = context.i32_type().into();
            let signature = context.bool_type().fn_type(&[parameter], false);
            module
                .get_function(name)
                .unwrap_or_else(|| module.add_function(name, signature, None))
        };
        declare("bohr.iteration");
        declare("bohr.body");
        link_one(module, questions, &Diagnostics::collect(context))?;
        Ok(Questions {
            iteration: declare("bohr.iteration").as_value_ref(),
            body: declare("bohr.body").as_value_ref(),
        })
    }

    /// The question of a gate.
    pub fn of(&self, gate: GateNumber) -> Question<'_> {
        Question {
            questions: self,
            gate: gate.as_u32(),
        }
    }

    /// The question of a call's gate, by its position among calls.
    pub fn of_call(&self, position: u32) -> Question<'_> {
        Question {
            questions: self,
            gate: CALL_GATE | position,
        }
    }

    /// The question of a body that is not left out, whatever the answer.
    pub fn of_shut_body(&self) -> Question<'_> {
        Question {
            questions: self,
            gate: NO_GATE,
        }
    }
}

impl Question<'_> {
    /// Asks, where the builder stands, whether to leave out this iteration or pass.
    ///
    /// # Safety
    /// The builder must stand in a block of the module.
    pub unsafe fn iteration(&self, builder: LLVMBuilderRef) -> LLVMValueRef {
        // SAFETY: the caller's promise.
        unsafe { self.call(builder, self.questions.iteration) }
    }

    /// Asks, where the builder stands, whether to leave out this thread's body.
    ///
    /// # Safety
    /// The builder must stand in a block of the module.
    pub unsafe fn body(&self, builder: LLVMBuilderRef) -> LLVMValueRef {
        // SAFETY: the caller's promise.
        unsafe { self.call(builder, self.questions.body) }
    }

    /// # Safety
    /// The builder must stand in a block of the module.
    unsafe fn call(&self, builder: LLVMBuilderRef, function: LLVMValueRef) -> LLVMValueRef {
        // SAFETY: the caller's promise; the function takes one number.
        unsafe {
            let signature = LLVMGlobalGetValueType(function);
            let context = LLVMGetTypeContext(signature);
            let gate = u64::from(self.gate);
            let mut number = LLVMConstInt(LLVMInt32TypeInContext(context), gate, 0);
            LLVMBuildCall2(builder, signature, function, &mut number, 1, c"".as_ptr())
        }
    }
}

/// Calls that can be inlined must have a location in functions that have one.
///
/// # Safety
/// `function` must be live.
pub(crate) unsafe fn set_location(builder: LLVMBuilderRef, function: LLVMValueRef) {
    // SAFETY: a location of line 0 in the function's own scope.
    unsafe {
        let scope = LLVMGetSubprogram(function);
        if !scope.is_null() {
            let context = LLVMGetTypeContext(LLVMTypeOf(function));
            let none = std::ptr::null_mut();
            LLVMSetCurrentDebugLocation2(
                builder,
                LLVMDIBuilderCreateDebugLocation(context, 0, 0, scope, none),
            );
        }
    }
}

/// Inserts an instruction that belongs to no block. A builder gives what it inserts
/// the location that it has; this keeps its own, which stacks and sites are told by.
///
/// # Safety
/// The builder must stand in a block where the instruction can be.
pub(crate) unsafe fn insert_here(builder: LLVMBuilderRef, instruction: LLVMValueRef) {
    // SAFETY: the caller's promise.
    unsafe {
        let location = LLVMInstructionGetDebugLoc(instruction);
        LLVMInsertIntoBuilder(builder, instruction);
        LLVMInstructionSetDebugLoc(instruction, location);
    }
}

/// Text can be read only by a context that keeps the names of values.
pub(crate) fn with_names<T>(context: &Context, read: impl FnOnce() -> T) -> T {
    let context = context.as_ctx_ref();
    // SAFETY: a live context; its setting is put back.
    unsafe {
        let discards = LLVMContextShouldDiscardValueNames(context);
        LLVMContextSetDiscardValueNames(context, 0);
        let result = read();
        LLVMContextSetDiscardValueNames(context, discards);
        result
    }
}
