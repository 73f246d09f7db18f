//! Sizes and offsets as the model computes them, against LLVM's own.

use super::*;
use bohr_program::Type;
use inkwell::context::Context;
use inkwell::llvm_sys::target::{
    LLVMABIAlignmentOfType, LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement,
    LLVMSizeOfTypeInBits,
};
use inkwell::memory_buffer::MemoryBuffer;

const TYPES: &str = r#"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
@a = external global { i1, i24, ptr addrspace(270), x86_fp80, i8 }
@b = external global <{ i8, i64, half, [3 x i128] }>
@c = external global [7 x <3 x i32>]
@d = external global { <2 x float>, i8, <5 x i1>, fp128, bfloat, i65 }
@e = external global { {}, [0 x i64], i8, { i16, <{ i8, double }> } }
@f = external global <16 x ptr>
"#;

#[test]
fn layouts_agree_with_llvm() {
    let context = Context::create();
    let text = MemoryBuffer::create_from_memory_range_copy(TYPES.as_bytes(), "types");
    let module = context.create_module_from_ir(text).unwrap();
    let sites = ModuleSites::of(&module);
    let program = lower(&module, &sites, [0; 32]).unwrap().program;
    let layouts = program.layouts();
    // SAFETY: the module is alive, and its globals have sized types.
    unsafe {
        let data = LLVMGetModuleDataLayout(module.as_mut_ptr());
        for (global, value) in program
            .globals
            .values()
            .zip(globals::variables(module.as_mut_ptr()))
        {
            let of = LLVMGlobalGetValueType(value);
            let layout = &layouts[global.of];
            let name = &program.texts[global.name];
            assert_eq!(layout.size, LLVMABISizeOfType(data, of), "size of {name}");
            assert_eq!(
                layout.bits,
                LLVMSizeOfTypeInBits(data, of),
                "bits of {name}"
            );
            let alignment = LLVMABIAlignmentOfType(data, of);
            assert_eq!(
                layout.alignment,
                u64::from(alignment),
                "alignment of {name}"
            );
            if let Type::Struct { fields, .. } = &program.types[global.of] {
                let offsets =
                    (0..fields.len() as u32).map(|field| LLVMOffsetOfElement(data, of, field));
                assert!(
                    layout.offsets.iter().copied().eq(offsets),
                    "offsets in {name}"
                );
            }
        }
    }
}
