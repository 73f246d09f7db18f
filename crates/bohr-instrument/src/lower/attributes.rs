//! Attributes of functions and calls.

use super::Lowering;
use bohr_program::{
    Attributes, AttributesNumber, Effect, FunctionFlags, MemoryEffects, Parameter, ParameterFlags,
};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMAttributeRef, LLVMValueRef};
use inkwell::llvm_sys::{LLVMAttributeFunctionIndex, LLVMAttributeIndex, LLVMAttributeReturnIndex};
use std::collections::HashMap;

/// Flags of functions by LLVM's names.
const FUNCTION: &[(&str, FunctionFlags)] = &[
    ("noreturn", FunctionFlags::NO_RETURN),
    ("nounwind", FunctionFlags::NO_UNWIND),
    ("returns_twice", FunctionFlags::RETURNS_TWICE),
    ("naked", FunctionFlags::NAKED),
    ("willreturn", FunctionFlags::WILL_RETURN),
    ("nosync", FunctionFlags::NO_SYNC),
    ("nofree", FunctionFlags::NO_FREE),
    ("nocallback", FunctionFlags::NO_CALLBACK),
    ("optnone", FunctionFlags::OPTIMISE_NONE),
    ("noinline", FunctionFlags::NO_INLINE),
    ("alwaysinline", FunctionFlags::ALWAYS_INLINE),
    ("cold", FunctionFlags::COLD),
    ("noduplicate", FunctionFlags::NO_DUPLICATE),
    ("speculatable", FunctionFlags::SPECULATABLE),
    ("strictfp", FunctionFlags::STRICT_FLOAT),
];

/// Flags of arguments and results by LLVM's names.
const PARAMETER: &[(&str, ParameterFlags)] = &[
    ("noalias", ParameterFlags::NO_ALIAS),
    ("readonly", ParameterFlags::READ_ONLY),
    ("writeonly", ParameterFlags::WRITE_ONLY),
    ("readnone", ParameterFlags::READ_NONE),
    ("nonnull", ParameterFlags::NON_NULL),
    ("returned", ParameterFlags::RETURNED),
    ("zeroext", ParameterFlags::ZERO_EXTENDED),
    ("signext", ParameterFlags::SIGN_EXTENDED),
    ("nofree", ParameterFlags::NO_FREE),
    ("allocptr", ParameterFlags::ALLOCATION),
    ("nest", ParameterFlags::NEST),
    ("inreg", ParameterFlags::IN_REGISTER),
    ("noundef", ParameterFlags::NO_UNDEFINED),
    ("immarg", ParameterFlags::IMMEDIATE),
    ("dead_on_unwind", ParameterFlags::DEAD_ON_UNWIND),
];

/// Attributes that carry a number or a type.
#[derive(Clone, Copy, Debug)]
enum Carrying {
    Memory,
    AllocationKind,
    AllocationSize,
    Captures,
    Dereferenceable,
    Alignment,
    ByValue,
    StructReturn,
}

const CARRYING: &[(&str, Carrying)] = &[
    ("memory", Carrying::Memory),
    ("allockind", Carrying::AllocationKind),
    ("allocsize", Carrying::AllocationSize),
    ("captures", Carrying::Captures),
    ("dereferenceable", Carrying::Dereferenceable),
    ("align", Carrying::Alignment),
    ("byval", Carrying::ByValue),
    ("sret", Carrying::StructReturn),
];

/// What LLVM's numbers of attributes mean.
pub(super) struct Kinds {
    function: HashMap<u32, FunctionFlags>,
    parameter: HashMap<u32, ParameterFlags>,
    carrying: HashMap<u32, Carrying>,
}

fn by_number<T: Copy>(table: &[(&str, T)]) -> HashMap<u32, T> {
    let number = |name: &str| {
        // SAFETY: a name and its length.
        unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
    };
    table.iter().map(|(name, of)| (number(name), *of)).collect()
}

impl Kinds {
    pub(super) fn new() -> Kinds {
        Kinds {
            function: by_number(FUNCTION),
            parameter: by_number(PARAMETER),
            carrying: by_number(CARRYING),
        }
    }
}

/// One attribute: its number and what it carries.
struct Raw {
    kind: u32,
    attribute: LLVMAttributeRef,
}

/// The attributes of a function at an index, or of a call.
///
/// # Safety
/// `value` must be a function, or a call if `call` is set.
unsafe fn at(value: LLVMValueRef, call: bool, index: LLVMAttributeIndex) -> Vec<Raw> {
    // SAFETY: there is room for as many attributes as LLVM counts.
    unsafe {
        let count = match call {
            true => LLVMGetCallSiteAttributeCount(value, index),
            false => LLVMGetAttributeCountAtIndex(value, index),
        };
        let mut all = vec![std::ptr::null_mut(); count as usize];
        match call {
            true => LLVMGetCallSiteAttributes(value, index, all.as_mut_ptr()),
            false => LLVMGetAttributesAtIndex(value, index, all.as_mut_ptr()),
        }
        all.into_iter()
            .filter(|attribute| {
                LLVMIsEnumAttribute(*attribute) != 0 || LLVMIsTypeAttribute(*attribute) != 0
            })
            .map(|attribute| Raw {
                kind: LLVMGetEnumAttributeKind(attribute),
                attribute,
            })
            .collect()
    }
}

impl Lowering {
    /// The attributes of a function with so many arguments, or of a call.
    pub(super) fn lower_attributes(
        &mut self,
        value: LLVMValueRef,
        call: bool,
        arguments: u32,
    ) -> AttributesNumber {
        let mut attributes = Attributes::default();
        // SAFETY: the caller says which it is.
        let all = |index| unsafe { at(value, call, index) };
        for raw in all(LLVMAttributeFunctionIndex) {
            self.function_attribute(&mut attributes, &raw);
        }
        attributes.result = self.parameter(all(LLVMAttributeReturnIndex));
        let mut parameters: Vec<Parameter> = (1..=arguments)
            .map(|index| self.parameter(all(index)))
            .collect();
        while parameters.last() == Some(&Parameter::default()) {
            parameters.pop();
        }
        attributes.parameters = parameters.into();
        self.builder.attributes(attributes)
    }

    fn function_attribute(&mut self, attributes: &mut Attributes, raw: &Raw) {
        if let Some(flag) = self.kinds.function.get(&raw.kind) {
            attributes.flags |= *flag;
        }
        let Some(carrying) = self.kinds.carrying.get(&raw.kind) else {
            return;
        };
        // SAFETY: these attributes carry numbers.
        let number = || unsafe { LLVMGetEnumAttributeValue(raw.attribute) };
        match carrying {
            Carrying::Memory => attributes.memory = memory_effects(number()),
            Carrying::AllocationKind => attributes.flags |= allocation_flags(number()),
            Carrying::AllocationSize => {
                let (size, count) = ((number() >> 32) as u32, number() as u32);
                attributes.allocation_size = Some((size, (count != u32::MAX).then_some(count)));
            }
            _ => {}
        }
    }

    fn parameter(&mut self, all: Vec<Raw>) -> Parameter {
        let mut parameter = Parameter::default();
        for raw in all {
            if let Some(flag) = self.kinds.parameter.get(&raw.kind) {
                parameter.flags |= *flag;
            }
            let Some(carrying) = self.kinds.carrying.get(&raw.kind).copied() else {
                continue;
            };
            // SAFETY: asked of attributes that carry numbers, and of those that
            // carry types.
            let (number, of) = unsafe {
                (
                    || LLVMGetEnumAttributeValue(raw.attribute),
                    || LLVMGetTypeAttributeValue(raw.attribute),
                )
            };
            match carrying {
                // All bits clear: nothing of the pointer is kept anywhere.
                Carrying::Captures if number() == 0 => {
                    parameter.flags |= ParameterFlags::NO_CAPTURE;
                }
                Carrying::Dereferenceable => parameter.dereferenceable = number(),
                Carrying::Alignment => parameter.alignment = number() as u32,
                Carrying::ByValue => parameter.by_value = Some(self.type_number(of())),
                Carrying::StructReturn => parameter.struct_return = Some(self.type_number(of())),
                _ => {}
            }
        }
        parameter
    }
}

/// LLVM's two bits per kind of memory: arguments, inaccessible, `errno`, other.
fn memory_effects(bits: u64) -> MemoryEffects {
    let effect = |location: u32| Effect {
        reads: bits >> (2 * location) & 1 != 0,
        writes: bits >> (2 * location) & 2 != 0,
    };
    let (errno, other) = (effect(2), effect(3));
    MemoryEffects {
        arguments: effect(0),
        inaccessible: effect(1),
        other: Effect {
            reads: errno.reads || other.reads,
            writes: errno.writes || other.writes,
        },
    }
}

fn allocation_flags(bits: u64) -> FunctionFlags {
    let all = [
        FunctionFlags::ALLOCATES,
        FunctionFlags::REALLOCATES,
        FunctionFlags::FREES,
        FunctionFlags::empty(),
        FunctionFlags::ALLOCATES_ZEROED,
    ];
    (0..)
        .zip(all)
        .filter(|(bit, _)| bits >> bit & 1 != 0)
        .fold(FunctionFlags::empty(), |flags, (_, flag)| flags | flag)
}
