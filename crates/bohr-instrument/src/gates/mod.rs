//! Gates: places where the runtime can have something left out. A thread's body
//! ([`body`]), one pass through a marked block ([`block`]), one iteration of a
//! loop that can do without ([`iteration`]).
//!
//! A gate asks only if the module's flag byte says so. What is left out still
//! consumes its number: a thread is created and ends, an iteration is counted.

pub mod block;
pub mod body;
pub mod iteration;

use crate::diagnostics::Diagnostics;
use crate::merge::link_one;
use bohr_event::FunctionId;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBuilderRef, LLVMValueRef};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::values::AsValueRef;
use serde::Serialize;

/// A gate, numbered densely within its module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gate {
    /// What it can leave out.
    pub kind: GateKind,
    /// Id of the function that it is in.
    pub function: String,
    /// Linkage name of that function.
    pub name: String,
}

/// What a gate can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateKind {
    /// The body of a thread, at the entry of the function.
    Body,
    /// A pass through a block that its author has marked.
    Block,
    /// An iteration of a loop.
    Iteration,
}

/// Something that could not be given a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ungated {
    /// Linkage name of the function.
    pub name: String,
    /// Why.
    pub reason: &'static str,
}

/// All gates of a module, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub struct Gates {
    /// The gates.
    pub gates: Vec<Gate>,
    /// Thread bodies without one.
    pub ungated: Vec<Ungated>,
}

impl Gates {
    /// Adds a gate and gives its number.
    fn add(&mut self, kind: GateKind, function: FunctionId, name: String) -> u32 {
        let number = self.gates.len() as u32;
        let function = function.to_string();
        self.gates.push(Gate {
            kind,
            function,
            name,
        });
        number
    }
}

/// The test of the flag byte and the question, as functions that are inlined
/// wherever they are called.
const QUESTIONS: &str = "
@__bohr_flags = external hidden global i8
declare hidden preserve_mostcc i8 @__bohr_thunk_iteration(i32) nounwind
declare hidden preserve_mostcc i8 @__bohr_thunk_body(i32) nounwind

define linkonce_odr hidden i1 @bohr.iteration(i32 %gate) alwaysinline nounwind {
  %flags = load i8, ptr @__bohr_flags, align 1
  %bit = and i8 %flags, 2
  %off = icmp eq i8 %bit, 0
  br i1 %off, label %go, label %ask, !prof !0
ask:
  %answer = call preserve_mostcc i8 @__bohr_thunk_iteration(i32 %gate)
  %skip = icmp ne i8 %answer, 0
  br label %go
go:
  %result = phi i1 [ false, %0 ], [ %skip, %ask ]
  ret i1 %result
}

define linkonce_odr hidden i1 @bohr.body(i32 %gate) alwaysinline nounwind {
  %flags = load i8, ptr @__bohr_flags, align 1
  %bit = and i8 %flags, 2
  %off = icmp eq i8 %bit, 0
  br i1 %off, label %go, label %ask, !prof !0
ask:
  %answer = call preserve_mostcc i8 @__bohr_thunk_body(i32 %gate)
  %skip = icmp ne i8 %answer, 0
  br label %go
go:
  %result = phi i1 [ false, %0 ], [ %skip, %ask ]
  ret i1 %result
}

!0 = !{!\"branch_weights\", i32 1000000, i32 1}
";

/// The functions of [`QUESTIONS`] in a module.
pub struct Questions {
    iteration: LLVMValueRef,
    body: LLVMValueRef,
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
        let questions = with_names(context, || {
            let text = MemoryBuffer::create_from_memory_range_copy(QUESTIONS.as_bytes(), "gates");
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

    /// Asks where the builder stands; the result says whether to leave out.
    ///
    /// # Safety
    /// The builder must stand in a block of the module.
    unsafe fn ask(&self, builder: LLVMBuilderRef, kind: GateKind, gate: u32) -> LLVMValueRef {
        let function = match kind {
            GateKind::Body => self.body,
            GateKind::Block | GateKind::Iteration => self.iteration,
        };
        // SAFETY: the caller's promise; the function takes one number.
        unsafe {
            let signature = LLVMGlobalGetValueType(function);
            let context = LLVMGetTypeContext(signature);
            let mut number = LLVMConstInt(LLVMInt32TypeInContext(context), u64::from(gate), 0);
            LLVMBuildCall2(builder, signature, function, &mut number, 1, c"".as_ptr())
        }
    }
}

/// Text can be read only by a context that keeps the names of values.
fn with_names<T>(context: &Context, read: impl FnOnce() -> T) -> T {
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
