//! A hook at the beginning of every block and before every call, for whoever wants
//! to know which way control goes. Its stubs lie apart from those of accesses, so
//! that a few can be switched on.

use crate::gates::Numbered;
use crate::hooks::{Hooks, POINT_SECTION, uses_x87};
use crate::production::probes::insertion_point;
use bohr_program::Program;
use bohr_program::index::Points;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::*;
use inkwell::module::Module;
use inkwell::values::FunctionValue;

const FRAME_ADDRESS: &str = "llvm.frameaddress";

/// Inserts the hooks of all points.
pub fn insert(context: &Context, module: &Module<'_>, program: &Program, numbered: &Numbered) {
    let mut hooks = Hooks::new(context, POINT_SECTION);
    let points = Points::of(program);
    // SAFETY: a live module; the intrinsic is overloaded by the pointer it gives.
    let frame_address = unsafe {
        let id = LLVMLookupIntrinsicID(FRAME_ADDRESS.as_ptr().cast(), FRAME_ADDRESS.len());
        let mut pointer = [LLVMPointerTypeInContext(context.as_ctx_ref(), 0)];
        LLVMGetIntrinsicDeclaration(module.as_mut_ptr(), id, pointer.as_mut_ptr(), 1)
    };
    for (number, body, own) in numbered.with_room(program) {
        // SAFETY: a live function.
        hooks.x87 = unsafe { FunctionValue::new(own.value()) }.is_some_and(uses_x87);
        for block in body.blocks.keys() {
            // SAFETY: a block of a live function.
            let first = unsafe { insertion_point(own.block(block)) };
            hooks.point(first, frame_address, points.block(number, block).0);
        }
        for instruction in body.instructions.keys() {
            if let Some(point) = points.call(number, instruction) {
                hooks.point(own.instruction(instruction), frame_address, point.0);
            }
        }
    }
}
