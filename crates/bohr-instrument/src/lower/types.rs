//! Types.

use super::Lowering;
use super::texts::text;
use bohr_program::{FloatKind, Type, TypeNumber};
use inkwell::llvm_sys::LLVMTypeKind::*;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMTypeRef, LLVMValueRef};
use std::ffi::CStr;

impl Lowering {
    /// The type of a value.
    pub(super) fn type_of_value(&mut self, value: LLVMValueRef) -> TypeNumber {
        // SAFETY: a value of the live module.
        let of = unsafe { LLVMTypeOf(value) };
        self.type_number(of)
    }

    /// The number of a type.
    pub(super) fn type_number(&mut self, of: LLVMTypeRef) -> TypeNumber {
        if let Some(number) = self.types.get(&of) {
            return *number;
        }
        let lowered = self.lower_type(of);
        let number = self.builder.type_of(lowered);
        self.types.insert(of, number);
        number
    }

    fn lower_type(&mut self, of: LLVMTypeRef) -> Type {
        // SAFETY: each type is asked what its kind can answer.
        unsafe {
            match LLVMGetTypeKind(of) {
                LLVMVoidTypeKind => Type::Void,
                LLVMHalfTypeKind => Type::Float(FloatKind::Half),
                LLVMBFloatTypeKind => Type::Float(FloatKind::Brain),
                LLVMFloatTypeKind => Type::Float(FloatKind::Single),
                LLVMDoubleTypeKind => Type::Float(FloatKind::Double),
                LLVMX86_FP80TypeKind => Type::Float(FloatKind::X87),
                LLVMFP128TypeKind => Type::Float(FloatKind::Quad),
                LLVMPPC_FP128TypeKind => Type::Float(FloatKind::PairOfDoubles),
                LLVMLabelTypeKind => Type::Label,
                LLVMMetadataTypeKind => Type::Metadata,
                LLVMTokenTypeKind => Type::Token,
                LLVMIntegerTypeKind => Type::Integer(LLVMGetIntTypeWidth(of)),
                LLVMPointerTypeKind => Type::Pointer(LLVMGetPointerAddressSpace(of)),
                LLVMFunctionTypeKind => self.lower_function_type(of),
                LLVMStructTypeKind => self.lower_struct(of),
                LLVMArrayTypeKind => Type::Array {
                    element: self.type_number(LLVMGetElementType(of)),
                    count: LLVMGetArrayLength2(of),
                },
                kind @ (LLVMVectorTypeKind | LLVMScalableVectorTypeKind) => Type::Vector {
                    element: self.type_number(LLVMGetElementType(of)),
                    count: LLVMGetVectorSize(of),
                    scalable: kind == LLVMScalableVectorTypeKind,
                },
                kind @ (LLVMX86_AMXTypeKind | LLVMTargetExtTypeKind) => {
                    let name = self.builder.text(&format!("{kind:?}"));
                    Type::Target(name)
                }
            }
        }
    }

    /// # Safety
    /// `of` must be the type of a function.
    unsafe fn lower_function_type(&mut self, of: LLVMTypeRef) -> Type {
        // SAFETY: there is room for as many parameters as the type says.
        unsafe {
            let count = LLVMCountParamTypes(of);
            let mut parameters = vec![std::ptr::null_mut(); count as usize];
            LLVMGetParamTypes(of, parameters.as_mut_ptr());
            let parameters = parameters.into_iter().map(|of| self.type_number(of));
            let parameters = parameters.collect();
            Type::Function {
                result: self.type_number(LLVMGetReturnType(of)),
                parameters,
                variadic: LLVMIsFunctionVarArg(of) != 0,
            }
        }
    }

    /// # Safety
    /// `of` must be the type of a structure.
    unsafe fn lower_struct(&mut self, of: LLVMTypeRef) -> Type {
        // SAFETY: indices are below the number of fields; names are C strings.
        unsafe {
            let name = LLVMGetStructName(of);
            let name = (!name.is_null()).then(|| {
                let length = CStr::from_ptr(name).to_bytes().len();
                self.builder.text(&text(name, length))
            });
            if LLVMIsOpaqueStruct(of) != 0 {
                let unnamed = self.builder.text("");
                return Type::OpaqueStruct(name.unwrap_or(unnamed));
            }
            let fields = (0..LLVMCountStructElementTypes(of))
                .map(|index| self.type_number(LLVMStructGetTypeAtIndex(of, index)))
                .collect();
            Type::Struct {
                fields,
                packed: LLVMIsPackedStruct(of) != 0,
                name,
            }
        }
    }
}
