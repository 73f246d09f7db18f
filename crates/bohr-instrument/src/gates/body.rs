//! Gates at the entry of thread bodies.
//!
//! A removed thread runs the shell that its library put around it, but not the
//! user's body: without the shell, `join` panics in Rust. Bodies are
//!
//! - functions that a call hands to `pthread_create` or `thrd_create`, and, if
//!   some call hands over a pointer, every function with such a signature whose
//!   address is taken;
//! - `std::thread::_State_impl<…>::_M_run` of libstdc++;
//! - `__rust_begin_short_backtrace` of Rust, which is never inlined.
//!
//! A function can be left out only if its result has a neutral value: nothing,
//! null or zero. What it would have dropped at its end is not dropped.
//! The runtime answers yes only to the first gate of a removed thread, so a body
//! that is also called in another way does no harm.

use super::{GateKind, Gates, Questions, Ungated};
use crate::hooks::has_attribute;
use crate::internalise::name_of;
use crate::sites::ModuleSites;
use bohr_program::external;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMBuilderRef, LLVMValueRef};
use inkwell::llvm_sys::{LLVMOpcode, LLVMTypeKind};
use inkwell::values::AsValueRef;
use std::collections::HashSet;

/// Gives every thread body of a module its gate.
pub fn insert(
    context: &Context,
    sites: &ModuleSites<'_>,
    questions: &Questions,
    gates: &mut Gates,
) {
    let started = Started::in_module(sites);
    for function in &sites.functions {
        let value = function.function.as_value_ref();
        let name = name_of(value);
        match started.judge(value, &name) {
            Some(Ok(())) => {
                let number = gates.add(GateKind::Body, function.id, name);
                // SAFETY: a function with a body and a neutral result.
                unsafe { gate(context, value, questions, number) };
            }
            Some(Err(reason)) => gates.ungated.push(Ungated { name, reason }),
            None => {}
        }
    }
}

/// What the module hands to functions that start threads.
struct Started {
    routines: HashSet<LLVMValueRef>,
    /// Whether some routine is only known when the program runs.
    through_pointer: bool,
}

impl Started {
    fn in_module(sites: &ModuleSites<'_>) -> Started {
        let mut started = Started {
            routines: HashSet::new(),
            through_pointer: false,
        };
        for site in sites.functions.iter().flat_map(|function| &function.sites) {
            // SAFETY: sites that are calls have a callee; its arguments are
            // asked for below their number.
            unsafe {
                let call = site.instruction.as_value_ref();
                if !matches!(
                    LLVMGetInstructionOpcode(call),
                    LLVMOpcode::LLVMCall | LLVMOpcode::LLVMInvoke
                ) {
                    continue;
                }
                let name = name_of(LLVMGetCalledValue(call));
                let Some((routine, _)) = external::find(&name).and_then(external::External::thread)
                else {
                    continue;
                };
                if u32::from(routine.0) < LLVMGetNumArgOperands(call) {
                    let routine = LLVMGetOperand(call, u32::from(routine.0));
                    started.through_pointer |= LLVMIsAFunction(routine).is_null();
                    started.routines.insert(routine);
                }
            }
        }
        started
    }

    /// Whether a function is a thread's body; if it is, whether it can be left out.
    fn judge(&self, function: LLVMValueRef, name: &str) -> Option<Result<(), &'static str>> {
        let neutral = has_neutral_result(function);
        if name.contains("__rust_begin_short_backtrace") {
            return Some(
                neutral
                    .then_some(())
                    .ok_or("the thread returns a value of a type without a neutral one"),
            );
        }
        if name.starts_with("_ZNSt13__future_base17_Async_state_impl")
            && name.ends_with("6_M_runEv")
        {
            return Some(Err(
                "a task of std::async: whoever waits for its result needs one",
            ));
        }
        let standard = name.starts_with("_ZNSt6thread11_State_impl") && name.ends_with("6_M_runEv");
        // The shell that Rust's library puts around a body is a routine too.
        let shell = name.contains("3std") && name.contains("thread_start");
        let routine = self.routines.contains(&function)
            || self.through_pointer
                && has_routine_signature(function)
                && is_address_taken(function);
        (standard || routine && !shell).then(|| {
            neutral
                .then_some(())
                .ok_or("the result of the function has no neutral value")
        })
    }
}

fn has_neutral_result(function: LLVMValueRef) -> bool {
    // SAFETY: a function of a live module.
    unsafe {
        let result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
        let written = (0..LLVMCountParams(function))
            .any(|index| has_parameter_attribute(function, index, "sret"));
        !written
            && matches!(
                LLVMGetTypeKind(result),
                LLVMTypeKind::LLVMVoidTypeKind
                    | LLVMTypeKind::LLVMPointerTypeKind
                    | LLVMTypeKind::LLVMIntegerTypeKind
            )
    }
}

/// # Safety
/// `function` must have a parameter of that number.
unsafe fn has_parameter_attribute(function: LLVMValueRef, parameter: u32, name: &str) -> bool {
    // SAFETY: attributes of parameters are counted from 1.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
        !LLVMGetEnumAttributeAtIndex(function, parameter + 1, kind).is_null()
    }
}

fn has_routine_signature(function: LLVMValueRef) -> bool {
    // SAFETY: a function of a live module; its only parameter is asked for.
    unsafe {
        let is = |value, kind| LLVMGetTypeKind(value) == kind;
        let result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
        LLVMCountParams(function) == 1
            && is(
                LLVMTypeOf(LLVMGetParam(function, 0)),
                LLVMTypeKind::LLVMPointerTypeKind,
            )
            && !is(result, LLVMTypeKind::LLVMVoidTypeKind)
    }
}

/// Whether a function is used other than to be called.
fn is_address_taken(function: LLVMValueRef) -> bool {
    // SAFETY: the uses of a live value; null ends the list.
    unsafe {
        let mut each = LLVMGetFirstUse(function);
        while !each.is_null() {
            let user = LLVMGetUser(each);
            let called = !LLVMIsACallInst(user).is_null() || !LLVMIsAInvokeInst(user).is_null();
            if !called || LLVMGetCalledValue(user) != function {
                return true;
            }
            each = LLVMGetNextUse(each);
        }
        false
    }
}

/// Puts a block before the entry that asks and, if told so, returns.
///
/// # Safety
/// `function` must have a body and a neutral result.
unsafe fn gate(context: &Context, function: LLVMValueRef, questions: &Questions, number: u32) {
    if has_attribute(function, "naked") {
        return;
    }
    // SAFETY: the caller's promise; blocks and builder belong to the context.
    unsafe {
        let context = context.as_ctx_ref();
        let entry = LLVMGetEntryBasicBlock(function);
        let first = LLVMInsertBasicBlockInContext(context, entry, c"".as_ptr());
        let skip = LLVMAppendBasicBlockInContext(context, function, c"".as_ptr());
        let builder = LLVMCreateBuilderInContext(context);
        LLVMPositionBuilderAtEnd(builder, first);
        move_slots(entry, builder);
        set_location(builder, function);
        let answer = questions.ask(builder, GateKind::Body, number);
        LLVMBuildCondBr(builder, answer, skip, entry);
        LLVMPositionBuilderAtEnd(builder, skip);
        set_location(builder, function);
        let result = LLVMGetReturnType(LLVMGlobalGetValueType(function));
        if LLVMGetTypeKind(result) == LLVMTypeKind::LLVMVoidTypeKind {
            LLVMBuildRetVoid(builder);
        } else {
            LLVMBuildRet(builder, LLVMConstNull(result));
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Stack slots must be in the first block, or they cost a stack adjustment each.
///
/// # Safety
/// The builder must stand at the end of the block that becomes the first.
unsafe fn move_slots(entry: LLVMBasicBlockRef, builder: LLVMBuilderRef) {
    // SAFETY: the next instruction is asked for before the current one moves.
    unsafe {
        let mut instruction = LLVMGetFirstInstruction(entry);
        while !instruction.is_null() {
            let next = LLVMGetNextInstruction(instruction);
            if !LLVMIsAAllocaInst(instruction).is_null()
                && !LLVMIsAConstantInt(LLVMGetOperand(instruction, 0)).is_null()
            {
                LLVMInstructionRemoveFromParent(instruction);
                LLVMInsertIntoBuilder(builder, instruction);
            }
            instruction = next;
        }
    }
}

/// Calls that can be inlined must have a location in functions that have one.
///
/// # Safety
/// `function` must be live.
pub(super) unsafe fn set_location(builder: LLVMBuilderRef, function: LLVMValueRef) {
    use inkwell::llvm_sys::debuginfo::*;
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
