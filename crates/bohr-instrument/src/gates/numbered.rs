//! A module as the model numbers it: taken before any pass inserts something,
//! since instructions of the model are positions in that module.

use crate::hooks::has_attribute;
use crate::sites::ModuleSites;
use bohr_program::graph::Loop;
use bohr_program::{BlockNumber, Body, FunctionNumber, InstructionNumber, Program};
use cranelift_entity::EntityRef;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use inkwell::values::AsValueRef;
use std::collections::HashMap;

/// The functions of a module, by the model's numbers.
pub struct Numbered(Vec<NumberedFunction>);

/// A function, by the model's numbers.
pub struct NumberedFunction {
    pub(crate) value: LLVMValueRef,
    instructions: Vec<LLVMValueRef>,
    blocks: Vec<LLVMBasicBlockRef>,
    /// The block of the model that a block belongs to; new blocks belong to the
    /// header of their loop.
    origin: HashMap<LLVMBasicBlockRef, BlockNumber>,
    /// Loads from slots, and the values of loops with gates that they stand for.
    pub(super) kept: HashMap<LLVMValueRef, LLVMValueRef>,
    /// The slots of such values.
    pub(super) slots: HashMap<LLVMValueRef, LLVMValueRef>,
}

impl Numbered {
    /// Numbers every function: sites and model have them in the same order.
    #[must_use]
    pub fn of(sites: &ModuleSites<'_>) -> Numbered {
        let functions = sites.functions.iter().map(|function| {
            let blocks: Vec<_> = function.function.get_basic_block_iter().collect();
            let instructions = blocks.iter().flat_map(|block| block.get_instructions());
            let instructions = instructions.map(|one| one.as_value_ref()).collect();
            let blocks: Vec<_> = blocks.iter().map(|block| block.as_mut_ptr()).collect();
            let numbers = (0..).map(BlockNumber::from_u32);
            NumberedFunction {
                value: function.function.as_value_ref(),
                instructions,
                origin: blocks.iter().copied().zip(numbers).collect(),
                blocks,
                kept: HashMap::new(),
                slots: HashMap::new(),
            }
        });
        Numbered(functions.collect())
    }

    /// The functions with a body that code can be put into: naked ones have nothing but
    /// what their author wrote.
    pub(crate) fn with_room<'n>(
        &'n self,
        program: &'n Program,
    ) -> impl Iterator<Item = (FunctionNumber, &'n Body, &'n NumberedFunction)> {
        program.functions.iter().filter_map(|(number, function)| {
            let body = function.body.as_ref()?;
            let own = &self.0[number.index()];
            (!has_attribute(own.value(), "naked")).then_some((number, body, own))
        })
    }

    /// A function, if it has a body.
    pub(crate) fn function_if_defined(
        &mut self,
        number: FunctionNumber,
    ) -> Option<&mut NumberedFunction> {
        self.0.get_mut(number.index())
    }

    /// A function with a body.
    pub(crate) fn function(&mut self, number: FunctionNumber) -> &mut NumberedFunction {
        &mut self.0[number.index()]
    }
}

impl NumberedFunction {
    /// The function itself.
    pub(crate) fn value(&self) -> LLVMValueRef {
        self.value
    }

    pub(crate) fn block(&self, number: BlockNumber) -> LLVMBasicBlockRef {
        self.blocks[number.index()]
    }

    /// All blocks, in layout order.
    pub(crate) fn blocks(&self) -> &[LLVMBasicBlockRef] {
        &self.blocks
    }

    pub(crate) fn instruction(&self, number: InstructionNumber) -> LLVMValueRef {
        self.instructions[number.index()]
    }

    /// Whether a block, old or new, belongs to a loop.
    pub(crate) fn is_in(&self, block: LLVMBasicBlockRef, shape: &Loop) -> bool {
        let origin = self.origin.get(&block);
        origin.is_some_and(|number| shape.contains(*number))
    }

    /// Notes that a new block belongs to where `number` is.
    pub(crate) fn adopt(&mut self, block: LLVMBasicBlockRef, number: BlockNumber) {
        self.origin.insert(block, number);
    }
}
