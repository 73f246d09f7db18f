//! The body of a function: blocks and instructions in layout order, and sites.

use super::Lowering;
use crate::sites::Site;
use bohr_program::{
    ArgumentNumber, BlockNumber, Body, BodyBuilder, FunctionNumber, InstructionNumber, Value,
};
use cranelift_entity::EntityRef;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use inkwell::values::AsValueRef;
use std::collections::HashMap;

/// A body in the making: what its values and blocks are called.
pub(super) struct Local {
    pub(super) body: BodyBuilder,
    values: HashMap<LLVMValueRef, Value>,
    blocks: HashMap<LLVMBasicBlockRef, BlockNumber>,
}

impl Local {
    /// The number of a value of this body; `None` for constants.
    pub(super) fn known(&self, value: LLVMValueRef) -> Option<Value> {
        self.values.get(&value).copied()
    }

    /// The number of a block.
    pub(super) fn block(&self, block: LLVMBasicBlockRef) -> BlockNumber {
        self.blocks[&block]
    }
}

/// The blocks of a function, in layout order.
fn blocks(function: LLVMValueRef) -> impl Iterator<Item = LLVMBasicBlockRef> {
    let some = |block: LLVMBasicBlockRef| (!block.is_null()).then_some(block);
    // SAFETY: a function, and blocks of it.
    let first = some(unsafe { LLVMGetFirstBasicBlock(function) });
    std::iter::successors(first, move |block| {
        // SAFETY: as above.
        some(unsafe { LLVMGetNextBasicBlock(*block) })
    })
}

/// The instructions of a block, in layout order.
fn instructions(block: LLVMBasicBlockRef) -> impl Iterator<Item = LLVMValueRef> {
    let some = |value: LLVMValueRef| (!value.is_null()).then_some(value);
    // SAFETY: a block, and instructions of it.
    let first = some(unsafe { LLVMGetFirstInstruction(block) });
    std::iter::successors(first, move |value| {
        // SAFETY: as above.
        some(unsafe { LLVMGetNextInstruction(*value) })
    })
}

/// Numbers what instructions may refer to before it is lowered.
fn number(function: LLVMValueRef) -> Local {
    let mut values = HashMap::new();
    // SAFETY: a function, and an index below the number of its arguments.
    unsafe {
        for index in 0..LLVMCountParams(function) {
            let argument = ArgumentNumber::new(index as usize);
            values.insert(LLVMGetParam(function, index), argument.into());
        }
    }
    for (index, instruction) in blocks(function).flat_map(instructions).enumerate() {
        values.insert(instruction, InstructionNumber::new(index).into());
    }
    let blocks = blocks(function).enumerate();
    Local {
        body: BodyBuilder::default(),
        values,
        blocks: blocks
            .map(|(index, block)| (block, BlockNumber::new(index)))
            .collect(),
    }
}

impl Lowering {
    /// Lowers the body of a defined function and adds its sites.
    pub(super) fn lower_body(
        &mut self,
        number_of: FunctionNumber,
        function: LLVMValueRef,
        sites: &[Site<'_>],
    ) -> Body {
        let mut local = number(function);
        let mut variables = Vec::new();
        for block in blocks(function) {
            local.body.block();
            for instruction in instructions(block) {
                self.variables_at(&local, instruction, &mut variables);
                let location = self.location_of(instruction);
                local.body.at(location);
                let operation = self.operation(&mut local, instruction);
                let result = self.type_of_value(instruction);
                local.body.push(operation, result);
            }
        }
        for site in sites {
            let value = local.values[&site.instruction.as_value_ref()];
            let instruction = value.instruction().expect("sites are instructions");
            self.builder.site(number_of, instruction, site.info);
        }
        local.body.variables(variables);
        local.body.finish()
    }

    /// An operand as a value of the model.
    pub(super) fn value(&mut self, local: &Local, value: LLVMValueRef) -> Value {
        match local.values.get(&value) {
            Some(known) => *known,
            None => self.constant(value).into(),
        }
    }
}
