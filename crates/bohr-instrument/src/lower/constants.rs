//! Constants and constant expressions.

use super::Lowering;
use super::flags::{binary_operator, cast_operator};
use super::texts::{printed, text};
use bohr_program::{
    Assembly, BlockNumber, ConstantExpression, ConstantNumber, ConstantValue, FunctionNumber, Type,
    TypeNumber,
};
use cranelift_entity::EntityRef;
use inkwell::llvm_sys::LLVMOpcode;
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;

impl Lowering {
    /// The number of a constant, or of anything that is an operand without
    /// being the result of an instruction or an argument.
    pub(super) fn constant(&mut self, value: LLVMValueRef) -> ConstantNumber {
        if let Some(number) = self.constants.get(&value) {
            return *number;
        }
        let of = self.type_of_value(value);
        let lowered = self.lower_constant(of, value);
        let number = self.builder.constant(of, lowered);
        self.constants.insert(value, number);
        number
    }

    fn lower_constant(&mut self, of: TypeNumber, value: LLVMValueRef) -> ConstantValue {
        if let Some(address) = self.address(value) {
            return address;
        }
        // SAFETY: each value is asked for what its class, tested first, can answer.
        unsafe {
            let is =
                |test: unsafe extern "C" fn(LLVMValueRef) -> LLVMValueRef| !test(value).is_null();
            if is(LLVMIsAConstantInt) {
                self.integer(of, value)
            } else if is(LLVMIsAConstantFP) {
                self.float(of, value)
            } else if is(LLVMIsAConstantPointerNull) {
                ConstantValue::Null
            } else if is(LLVMIsAPoisonValue) {
                ConstantValue::Poison
            } else if is(LLVMIsAUndefValue) {
                ConstantValue::Undefined
            } else if is(LLVMIsAConstantAggregateZero) {
                ConstantValue::Zero
            } else if is(LLVMIsAConstantDataSequential) {
                ConstantValue::Data(raw_data(value))
            } else if is(LLVMIsAConstantArray)
                || is(LLVMIsAConstantStruct)
                || is(LLVMIsAConstantVector)
            {
                ConstantValue::Aggregate(self.operands(value))
            } else if is(LLVMIsAConstantExpr) {
                self.expression(value)
            } else if is(LLVMIsABlockAddress) {
                self.block_address(value)
            } else if is(LLVMIsAInlineAsm) {
                self.assembly(value)
            } else if is(LLVMIsAConstantTokenNone) {
                ConstantValue::Nothing
            } else if *self.type_at(of) == Type::Metadata {
                ConstantValue::Opaque(self.builder.text("metadata"))
            } else {
                self.opaque_constant("constant of an unknown class")
            }
        }
    }

    fn type_at(&mut self, of: TypeNumber) -> &Type {
        &self.builder.program().types[of]
    }

    fn opaque_constant(&mut self, what: &str) -> ConstantValue {
        self.count_opaque(what);
        ConstantValue::Opaque(self.builder.text(what))
    }

    /// The address of a function, global or alias.
    fn address(&self, value: LLVMValueRef) -> Option<ConstantValue> {
        let function = self.functions.get(&value).copied();
        let global = self.globals.get(&value).copied();
        let alias = self.aliases.get(&value).copied();
        function
            .map(ConstantValue::Function)
            .or_else(|| global.map(ConstantValue::Global))
            .or_else(|| alias.map(ConstantValue::Alias))
    }

    /// # Safety
    /// `value` must be a constant integer.
    unsafe fn integer(&mut self, of: TypeNumber, value: LLVMValueRef) -> ConstantValue {
        match self.type_at(of).integer_bits() {
            // SAFETY: the value fits.
            Some(bits) if bits <= 64 => unsafe {
                ConstantValue::Integer(LLVMConstIntGetZExtValue(value))
            },
            // The C interface gives no more than 64 bits of a number, its text all.
            // SAFETY: the value is alive.
            Some(bits) => ConstantValue::WideInteger(unsafe { words(value, bits) }),
            None => self.opaque_constant("vector held as one integer"),
        }
    }

    /// # Safety
    /// `value` must be a constant floating-point number.
    unsafe fn float(&mut self, of: TypeNumber, value: LLVMValueRef) -> ConstantValue {
        let Type::Float(kind) = *self.type_at(of) else {
            return self.opaque_constant("vector held as one number");
        };
        // SAFETY: a number and an integer of the same width; LLVM folds the
        // conversion of a constant at once.
        unsafe {
            let integer = LLVMIntTypeInContext(self.context, kind.bits());
            let bits = LLVMConstBitCast(value, integer);
            if LLVMIsAConstantInt(bits).is_null() {
                return self.opaque_constant("number without bits");
            }
            match kind.bits() {
                0..=64 => ConstantValue::Float(LLVMConstIntGetZExtValue(bits)),
                wide => {
                    let words = words(bits, wide);
                    ConstantValue::WideFloat(Box::new([words[0], words[1]]))
                }
            }
        }
    }

    /// # Safety
    /// `value` must have operands that are constants.
    unsafe fn operands(&mut self, value: LLVMValueRef) -> Box<[ConstantNumber]> {
        // SAFETY: indices are below the number of operands.
        unsafe {
            (0..LLVMGetNumOperands(value).cast_unsigned())
                .map(|index| self.constant(LLVMGetOperand(value, index)))
                .collect()
        }
    }

    /// # Safety
    /// `value` must be a constant expression.
    unsafe fn expression(&mut self, value: LLVMValueRef) -> ConstantValue {
        // SAFETY: operands are asked for as the opcode defines them.
        unsafe {
            let opcode = LLVMGetConstOpcode(value);
            let operands = self.operands(value);
            let expression = match (opcode, &*operands) {
                (LLVMOpcode::LLVMGetElementPtr, [base, indices @ ..]) => {
                    ConstantExpression::ElementPointer {
                        source: self.type_number(LLVMGetGEPSourceElementType(value)),
                        base: *base,
                        indices: indices.into(),
                        inbounds: LLVMIsInBounds(value) != 0,
                    }
                }
                (opcode, [operand]) if cast_operator(opcode).is_some() => {
                    let operator = cast_operator(opcode).expect("just tested");
                    ConstantExpression::Cast(operator, *operand)
                }
                (opcode, [left, right]) if binary_operator(opcode).is_some() => {
                    let operator = binary_operator(opcode).expect("just tested");
                    ConstantExpression::Binary(operator, *left, *right)
                }
                (opcode, _) => return self.opaque_constant(&format!("constant {opcode:?}")),
            };
            ConstantValue::Expression(expression)
        }
    }

    /// # Safety
    /// `value` must be the address of a block.
    unsafe fn block_address(&mut self, value: LLVMValueRef) -> ConstantValue {
        // SAFETY: as the caller promises; the blocks of a function are a list.
        unsafe {
            let function = LLVMGetBlockAddressFunction(value);
            let wanted = LLVMGetBlockAddressBasicBlock(value);
            let mut block = LLVMGetFirstBasicBlock(function);
            let mut index = 0;
            while !block.is_null() && block != wanted {
                block = LLVMGetNextBasicBlock(block);
                index += 1;
            }
            match self.functions.get(&function).copied() {
                Some(number) if !block.is_null() => {
                    ConstantValue::Block(number, BlockNumber::new(index))
                }
                _ => self.opaque_constant("address of a block elsewhere"),
            }
        }
    }

    /// # Safety
    /// `value` must be inline assembly.
    unsafe fn assembly(&mut self, value: LLVMValueRef) -> ConstantValue {
        // SAFETY: LLVM gives strings with their lengths.
        unsafe {
            let mut length = 0;
            let template = LLVMGetInlineAsmAsmString(value, &mut length);
            let template = text(template, length);
            let constraints = LLVMGetInlineAsmConstraintString(value, &mut length);
            let constraints = text(constraints, length);
            let assembly = Assembly {
                text: self.builder.text(&template),
                constraints: self.builder.text(&constraints),
                side_effects: LLVMGetInlineAsmHasSideEffects(value) != 0,
                unwinds: LLVMGetInlineAsmCanUnwind(value) != 0,
            };
            ConstantValue::Assembly(self.builder.assembly(assembly))
        }
    }

    /// The function that a constant is, casts looked through.
    pub(super) fn function_behind(&self, value: LLVMValueRef) -> Option<FunctionNumber> {
        self.functions.get(&value).copied()
    }
}

/// The bytes of constant data.
///
/// # Safety
/// `value` must be constant data.
unsafe fn raw_data(value: LLVMValueRef) -> Box<[u8]> {
    let mut length = 0usize;
    // SAFETY: the C function takes the address of a length; the binding
    // declares that parameter as an integer of the same size.
    unsafe {
        let start = LLVMGetRawDataValues(value, (&raw mut length).expose_provenance());
        std::slice::from_raw_parts(start.cast::<u8>(), length).into()
    }
}

/// The words of a wide integer, least significant first.
///
/// # Safety
/// `value` must be a constant integer of so many bits.
unsafe fn words(value: LLVMValueRef, bits: u32) -> Box<[u64]> {
    // SAFETY: the value is alive.
    let text = unsafe { printed(value) };
    let number = text.rsplit(' ').next().unwrap_or("0");
    decimal_words(number, bits)
}

/// The words of a decimal number in two's complement of so many bits.
fn decimal_words(number: &str, bits: u32) -> Box<[u64]> {
    let mut words = vec![0u64; (bits as usize).div_ceil(64)];
    for digit in number.bytes().filter(u8::is_ascii_digit) {
        let mut carry = u128::from(digit - b'0');
        for word in &mut words {
            let sum = u128::from(*word) * 10 + carry;
            (*word, carry) = (sum as u64, sum >> 64);
        }
    }
    if number.starts_with('-') {
        let mut carry = true;
        for word in &mut words {
            (*word, carry) = (!*word).overflowing_add(u64::from(carry));
        }
    }
    let unused = words.len() as u32 * 64 - bits;
    if let Some(last) = words.last_mut() {
        *last = *last << unused >> unused;
    }
    words.into()
}

#[cfg(test)]
mod tests {
    use super::decimal_words;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wide_numbers_are_read_from_their_text(number: i128) {
            let words = decimal_words(&number.to_string(), 128);
            prop_assert_eq!(&*words, &[number as u64, (number >> 64) as u64][..]);
            let words = decimal_words(&(number >> 48).to_string(), 80);
            let kept = (number >> 48) as u128 & ((1 << 80) - 1);
            prop_assert_eq!(&*words, &[kept as u64, (kept >> 64) as u64][..]);
        }
    }
}
