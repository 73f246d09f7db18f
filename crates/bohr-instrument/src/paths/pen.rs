//! The code that reads, extends and stores the word that a thread writes.

use crate::diagnostics::Diagnostics;
use crate::gates::phi::phis_of;
use crate::gates::question::{set_location, with_names};
use crate::merge::link_one;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMIntPredicate;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{
    LLVMBasicBlockRef, LLVMBuilderRef, LLVMContextRef, LLVMTypeRef, LLVMValueRef,
};
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::values::AsValueRef;

/// Functions that are inlined wherever they are called. Each gets the two slots
/// in which its caller keeps the word and the word's address.
const TEXT: &str = "
@__bohr_pen = external hidden thread_local(localexec) global [3 x i64]

declare hidden preserve_mostcc void @__bohr_path_full() nounwind

define linkonce_odr hidden void @bohr.take.up(ptr %code, ptr %place) alwaysinline nounwind {
  %now = load ptr, ptr @__bohr_pen, align 8
  %word = load volatile i64, ptr %now, align 8
  store ptr %now, ptr %place, align 8
  store i64 %word, ptr %code, align 8
  ret void
}

define linkonce_odr hidden void @bohr.room(ptr %code, ptr %place, i64 %bound) alwaysinline nounwind {
  %word = load i64, ptr %code, align 8
  %fits = icmp ult i64 %word, %bound
  br i1 %fits, label %go, label %full, !prof !0
full:
  %now = load ptr, ptr %place, align 8
  store volatile i64 %word, ptr %now, align 8
  call preserve_mostcc void @__bohr_path_full()
  %fresh = load volatile ptr, ptr @__bohr_pen, align 8
  store ptr %fresh, ptr %place, align 8
  store i64 1, ptr %code, align 8
  br label %go
go:
  ret void
}

define linkonce_odr hidden void @bohr.keep(ptr %code, ptr %place, i64 %bits, i64 %value) alwaysinline nounwind {
  %word = load i64, ptr %code, align 8
  %shifted = shl i64 %word, %bits
  %longer = or disjoint i64 %shifted, %value
  store i64 %longer, ptr %code, align 8
  ret void
}

define linkonce_odr hidden void @bohr.store(ptr %code, ptr %place) alwaysinline nounwind {
  %word = load i64, ptr %code, align 8
  %now = load ptr, ptr %place, align 8
  store volatile i64 %word, ptr %now, align 8
  ret void
}

!0 = !{!\"branch_weights\", i32 1000000, i32 1}
";

/// The functions, as they are in a module.
pub struct Words {
    context: LLVMContextRef,
    take_up: LLVMValueRef,
    room: LLVMValueRef,
    keep: LLVMValueRef,
    store: LLVMValueRef,
    word: LLVMTypeRef,
    pointer: LLVMTypeRef,
}

impl Words {
    /// Links them in.
    ///
    /// # Errors
    /// With LLVM's words, which would be our bug.
    pub fn add_to<'ctx>(context: &'ctx Context, module: &Module<'ctx>) -> Result<Words, String> {
        let words = with_names(context, || {
            let text = MemoryBuffer::create_from_memory_range_copy(TEXT.as_bytes(), "paths");
            context.create_module_from_ir(text)
        });
        let words = words.map_err(|message| message.to_string())?;
        words.set_triple(&module.get_triple());
        words.set_data_layout(&module.get_data_layout());
        let names = ["bohr.take.up", "bohr.room", "bohr.keep", "bohr.store"];
        // Only what is referred to is linked in: refer to it.
        for name in names {
            let signature = words.get_function(name).map(|function| function.get_type());
            module.add_function(name, signature.expect("it is in the text"), None);
        }
        link_one(module, words, &Diagnostics::collect(context))?;
        let [take_up, room, keep, store] = names.map(|name| {
            let function = module.get_function(name);
            function.expect("it was just declared").as_value_ref()
        });
        let context = context.as_ctx_ref();
        // SAFETY: types of a live context.
        let (word, pointer) = unsafe {
            (
                LLVMInt64TypeInContext(context),
                LLVMPointerTypeInContext(context, 0),
            )
        };
        Ok(Words {
            context,
            take_up,
            room,
            keep,
            store,
            word,
            pointer,
        })
    }
}

/// What one function writes with: stands somewhere and adds code there.
pub struct Pen<'w> {
    words: &'w Words,
    function: LLVMValueRef,
    builder: LLVMBuilderRef,
    /// The slots of the word and of its address.
    slots: [LLVMValueRef; 2],
}

impl Drop for Pen<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, used by nobody else.
        unsafe { LLVMDisposeBuilder(self.builder) };
    }
}

/// The first instruction of a block that is no phi.
///
/// # Safety
/// `block` must be a block with a terminator.
pub unsafe fn behind_phis(block: LLVMBasicBlockRef) -> LLVMValueRef {
    // SAFETY: the caller's promise.
    unsafe {
        match phis_of(block).last() {
            Some(phi) => LLVMGetNextInstruction(*phi),
            None => LLVMGetFirstInstruction(block),
        }
    }
}

/// Words below this have room for so many bits. One more than that would be a power of
/// two, for which the code generator prefers a copy, a shift and a branch in every pass
/// of a loop to a number in a register and a comparison that is one with its branch; a
/// word of nothing but ones is given up a little early for it. For one bit the sign
/// tells, and where a whole word is needed, a fresh one has to do.
fn bound(need: u32) -> u64 {
    let power = 1 << (64 - need);
    match need {
        2..=60 => power - 1,
        _ => power,
    }
}

/// Whether an instruction is a variable on the stack whose size is known.
///
/// # Safety
/// `instruction` must be one.
unsafe fn is_fixed_variable(instruction: LLVMValueRef) -> bool {
    // SAFETY: the caller's promise; a variable's operand is the number of its elements.
    unsafe {
        !LLVMIsAAllocaInst(instruction).is_null()
            && !LLVMIsAConstantInt(LLVMGetOperand(instruction, 0)).is_null()
    }
}

impl<'w> Pen<'w> {
    /// Adds the slots to a function that has a body.
    pub fn new(words: &'w Words, function: LLVMValueRef) -> Pen<'w> {
        // SAFETY: a live function with a body; slots go to its beginning.
        unsafe {
            let builder = LLVMCreateBuilderInContext(words.context);
            let first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
            LLVMPositionBuilderBefore(builder, first);
            let slots = [words.word, words.pointer]
                .map(|kind| LLVMBuildAlloca(builder, kind, c"".as_ptr()));
            set_location(builder, function);
            Pen {
                words,
                function,
                builder,
                slots,
            }
        }
    }

    fn stand_before(&self, instruction: LLVMValueRef) {
        // SAFETY: an instruction of the function.
        unsafe {
            LLVMPositionBuilderBefore(self.builder, instruction);
            set_location(self.builder, self.function);
        }
    }

    /// At the beginning of the function, behind its slots and the variables on its
    /// stack. What is written there branches, and a variable that is not in the first
    /// block has no fixed place in the frame: it is never brought into a register, and
    /// every access to it goes through a pointer.
    pub fn stand_at_entry(&self) {
        let [first, second] = self.slots;
        let mut last = second;
        // SAFETY: instructions of the function's first block, which has a terminator; a
        // variable of constant size uses nothing that stands before it.
        unsafe {
            let mut next = LLVMGetNextInstruction(first);
            while !next.is_null() {
                let one = next;
                next = LLVMGetNextInstruction(one);
                if is_fixed_variable(one) && one != second {
                    LLVMInstructionRemoveFromParent(one);
                    LLVMPositionBuilderBefore(self.builder, LLVMGetNextInstruction(last));
                    LLVMInsertIntoBuilder(self.builder, one);
                    last = one;
                }
            }
        }
        self.stand_behind(last);
    }

    /// At the beginning of a block.
    pub fn stand_behind_phis(&self, block: LLVMBasicBlockRef) {
        // SAFETY: a block of the function.
        self.stand_before(unsafe { behind_phis(block) });
    }

    /// Behind an instruction that does not end its block.
    pub fn stand_behind(&self, instruction: LLVMValueRef) {
        // SAFETY: an instruction of the function that another one follows.
        self.stand_before(unsafe { LLVMGetNextInstruction(instruction) });
    }

    /// At the end of a block.
    pub fn stand_on(&self, block: LLVMBasicBlockRef) {
        // SAFETY: a block of the function.
        self.stand_before(unsafe { LLVMGetBasicBlockTerminator(block) });
    }

    /// Reads what the thread has written, wherever it is.
    pub fn take_up(&self) {
        self.call(self.words.take_up, &[]);
    }

    /// Makes room for so many bits.
    pub fn look(&self, need: u32) {
        self.call(self.words.room, &[self.number(bound(need))]);
    }

    /// Writes bits and stores them.
    pub fn append(&self, value: u64, bits: u32) {
        self.append_value(self.number(value), bits);
    }

    /// Writes bits that stay in the register until they are stored.
    pub fn keep(&self, value: u64, bits: u32) {
        let numbers = [u64::from(bits), value].map(|number| self.number(number));
        self.call(self.words.keep, &numbers);
    }

    /// Stores what was written.
    pub fn store(&self) {
        self.call(self.words.store, &[]);
    }

    /// Writes which of these blocks an indirect branch goes to.
    pub fn append_target(&self, from: LLVMBasicBlockRef, to: &[LLVMBasicBlockRef], bits: u32) {
        self.stand_on(from);
        // SAFETY: the branch's operand is an address of one of these blocks.
        let number = unsafe {
            let address = LLVMGetOperand(LLVMGetBasicBlockTerminator(from), 0);
            let first = self.number(0);
            (1..).zip(&to[1..]).fold(first, |others, (number, block)| {
                let name = c"".as_ptr();
                let there = LLVMBlockAddress(self.function, *block);
                let equal = LLVMIntPredicate::LLVMIntEQ;
                let is = LLVMBuildICmp(self.builder, equal, address, there, name);
                LLVMBuildSelect(self.builder, is, self.number(number), others, name)
            })
        };
        self.append_value(number, bits);
    }

    fn append_value(&self, value: LLVMValueRef, bits: u32) {
        self.call(self.words.keep, &[self.number(u64::from(bits)), value]);
        self.store();
    }

    fn number(&self, number: u64) -> LLVMValueRef {
        // SAFETY: a constant of a live context.
        unsafe { LLVMConstInt(self.words.word, number, 0) }
    }

    fn call(&self, function: LLVMValueRef, numbers: &[LLVMValueRef]) {
        let mut values = [&self.slots[..], numbers].concat();
        // SAFETY: each of the functions takes the slots and its numbers.
        unsafe {
            let signature = LLVMGlobalGetValueType(function);
            let count = values.len() as u32;
            let name = c"".as_ptr();
            LLVMBuildCall2(
                self.builder,
                signature,
                function,
                values.as_mut_ptr(),
                count,
                name,
            );
        }
    }
}
