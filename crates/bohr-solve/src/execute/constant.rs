//! Globals in memory, and the values of constants.

use super::{Step, not_modelled};
use crate::datum::Datum;
use crate::memory::{Memory, Room, function_address};
use crate::path::Environment;
use crate::term::{Operator, Scalar};
use bohr_program::interpret::arithmetic::Number;
use bohr_program::{
    ConstantExpression, ConstantNumber, ConstantValue, FunctionNumber, GlobalNumber, Layouts,
    Program, Type, TypeNumber,
};
use cranelift_entity::SecondaryMap;
use std::collections::HashMap;

/// Room for a global that another object defines.
const FOREIGN: u64 = 256;

/// A program, laid out.
pub(crate) struct Code<'p> {
    pub(crate) program: &'p Program,
    pub(crate) layouts: Layouts,
    pub(crate) environment: Environment,
    globals: SecondaryMap<GlobalNumber, u64>,
}

/// Where a thread's own variables lie.
pub(crate) type ThreadLocals = HashMap<GlobalNumber, u64>;

impl<'p> Code<'p> {
    /// Gives every global its address.
    pub(crate) fn new(program: &'p Program, environment: Environment) -> Code<'p> {
        let mut code = Code {
            program,
            layouts: program.layouts(),
            environment,
            globals: SecondaryMap::new(),
        };
        let mut room = Room::of_globals();
        for (number, global) in &program.globals {
            let size = code.size(number);
            let alignment = global.alignment.max(code.layouts[global.of].alignment);
            code.globals[number] = room.take(size, alignment);
        }
        code
    }

    /// The global variables that are never written, by address.
    pub(crate) fn constants(&self) -> impl Iterator<Item = u64> {
        let globals = self.program.globals.iter();
        globals
            .filter(|(_, global)| global.constant && !global.thread_local)
            .map(|(number, _)| self.globals[number])
    }

    fn size(&self, global: GlobalNumber) -> u64 {
        let global = &self.program.globals[global];
        match global.initialiser.expand() {
            Some(_) => self.layouts[global.of].size,
            None => self.layouts[global.of].size.max(FOREIGN),
        }
    }

    /// Memory with every global in it, as it is in the beginning.
    pub(crate) fn memory(&self) -> Step<Memory> {
        let mut memory = Memory::default();
        for (number, global) in &self.program.globals {
            if !global.thread_local {
                self.initialise(&mut memory, number, self.globals[number])?;
            }
        }
        Ok(memory)
    }

    /// The variables that a thread has for itself.
    pub(crate) fn thread_locals(
        &self,
        room: &mut Room,
        mut put: impl FnMut(GlobalNumber, u64, u64) -> Step<()>,
    ) -> Step<ThreadLocals> {
        let mut all = ThreadLocals::new();
        for (number, global) in &self.program.globals {
            if global.thread_local {
                let size = self.size(number);
                let address = room.take(size, global.alignment.max(16));
                put(number, address, size)?;
                all.insert(number, address);
            }
        }
        Ok(all)
    }

    /// Puts a global with its first value somewhere.
    pub(crate) fn initialise(
        &self,
        memory: &mut Memory,
        number: GlobalNumber,
        address: u64,
    ) -> Step<()> {
        let global = &self.program.globals[number];
        memory.add(address, self.size(number))?;
        let special = self.program.texts[global.name].starts_with("llvm.");
        match global.initialiser.expand().filter(|_| !special) {
            Some(initialiser) => self.place(memory, global.of, address, initialiser),
            None => Ok(()),
        }
    }

    fn place(
        &self,
        memory: &mut Memory,
        of: TypeNumber,
        address: u64,
        constant: ConstantNumber,
    ) -> Step<()> {
        let program = self.program;
        match (&program.constants[constant].value, &program.types[of]) {
            (
                ConstantValue::Zero
                | ConstantValue::Null
                | ConstantValue::Undefined
                | ConstantValue::Poison,
                _,
            ) => Ok(()),
            (ConstantValue::Data(bytes), _) => memory.write_bytes(address, bytes),
            (ConstantValue::Aggregate(parts), Type::Array { element, .. }) => {
                let stride = self.layouts[*element].size;
                (0..).zip(parts).try_for_each(|(index, part)| {
                    self.place(memory, *element, address + index * stride, *part)
                })
            }
            (ConstantValue::Aggregate(parts), Type::Struct { fields, .. }) => {
                for (index, (part, field)) in parts.iter().zip(fields).enumerate() {
                    let offset = self.layouts[of].offsets[index];
                    self.place(memory, *field, address + offset, *part)?;
                }
                Ok(())
            }
            (_, Type::Vector { .. }) => not_modelled("a global vector of computed elements"),
            _ => {
                let value = self.constant(constant, &ThreadLocals::new())?.scalar();
                let size = self.layouts[of].stored() as usize;
                let bytes = value.known().unwrap_or(0).to_le_bytes();
                memory.write_bytes(address, &bytes[..size.min(16)])
            }
        }
    }

    /// The value of a constant.
    pub(crate) fn constant(&self, number: ConstantNumber, own: &ThreadLocals) -> Step<Datum> {
        let program = self.program;
        let constant = &program.constants[number];
        let of = constant.of;
        let wide = |words: &[u64]| {
            let [low, high] = [words.first(), words.get(1)].map(|word| word.copied().unwrap_or(0));
            Datum::Scalar(Scalar::Known(u128::from(high) << 64 | u128::from(low)))
        };
        Ok(match &constant.value {
            ConstantValue::Integer(bits) | ConstantValue::Float(bits) => (*bits).into(),
            ConstantValue::WideInteger(words) if words.len() <= 2 => wide(words),
            ConstantValue::WideInteger(_) => return not_modelled("integers of more than 128 bits"),
            ConstantValue::WideFloat(words) => wide(&words[..]),
            ConstantValue::Null
            | ConstantValue::Zero
            | ConstantValue::Undefined
            | ConstantValue::Poison
            | ConstantValue::Nothing
            | ConstantValue::Opaque(_) => self.zero(of),
            ConstantValue::Data(bytes) => self.data(of, bytes),
            ConstantValue::Aggregate(parts) => {
                let parts = parts.iter().map(|part| self.constant(*part, own));
                Datum::Parts(parts.collect::<Step<_>>()?)
            }
            ConstantValue::Splat(part) => {
                let part = self.constant(*part, own)?;
                let count = self.zero(of).parts().len();
                Datum::of_parts(std::iter::repeat_n(part, count))
            }
            ConstantValue::Global(global) => {
                let address = own.get(global).copied();
                address.unwrap_or(self.globals[*global]).into()
            }
            ConstantValue::Function(function) => function_address(*function).into(),
            ConstantValue::Alias(alias) => match &program.aliases[*alias] {
                alias if alias.indirect => return not_modelled("indirect functions"),
                alias => return self.constant(alias.target, own),
            },
            ConstantValue::Expression(expression) => {
                return self.expression(of, expression, own);
            }
            ConstantValue::Block(_, block) => (u64::from(block.as_u32()) + 1).into(),
            ConstantValue::Assembly(_) => return not_modelled("the address of inline assembly"),
        })
    }

    fn data(&self, of: TypeNumber, bytes: &[u8]) -> Datum {
        let element = match self.program.types[of] {
            Type::Array { element, .. } | Type::Vector { element, .. } => element,
            _ => of,
        };
        let size = self.layouts[element].stored().max(1) as usize;
        Datum::of_parts(bytes.chunks(size).map(|chunk| {
            let value = chunk.iter().rev();
            let value = value.fold(0u128, |value, byte| value << 8 | u128::from(*byte));
            Datum::Scalar(Scalar::Known(value))
        }))
    }

    fn expression(
        &self,
        of: TypeNumber,
        expression: &ConstantExpression,
        own: &ThreadLocals,
    ) -> Step<Datum> {
        let known = |value: Datum| value.scalar().known().unwrap_or(0);
        let result = match expression {
            ConstantExpression::ElementPointer {
                source,
                base,
                indices,
                ..
            } => {
                let base = known(self.constant(*base, own)?) as u64;
                let indices: Vec<_> = indices.iter().map(|index| (*index).into()).collect();
                let offset = self
                    .program
                    .constant_offset(&self.layouts, *source, &indices);
                match offset {
                    Some(offset) => base.wrapping_add_signed(offset).into(),
                    None => return not_modelled("a constant address with computed indices"),
                }
            }
            ConstantExpression::Cast(operator, operand) => {
                let from = self.number(self.program.constants[*operand].of);
                let operand = known(self.constant(*operand, own)?);
                Operator::Cast(*operator, from, self.number(of)).apply(&[operand])?
            }
            ConstantExpression::Binary(operator, left, right) => {
                let operands = [*left, *right].map(|side| self.constant(side, own));
                let [left, right] = operands;
                let operands = [known(left?), known(right?)];
                Operator::Binary(*operator, self.number(of)).apply(&operands)?
            }
        };
        Ok(Datum::Scalar(Scalar::Known(result)))
    }

    /// A value with all bits zero.
    pub(crate) fn zero(&self, of: TypeNumber) -> Datum {
        let repeated = |element: TypeNumber, count: u64| {
            Datum::of_parts(std::iter::repeat_n(self.zero(element), count as usize))
        };
        match &self.program.types[of] {
            Type::Vector { element, count, .. } => repeated(*element, (*count).into()),
            Type::Array { element, count } => repeated(*element, *count),
            Type::Struct { fields, .. } => {
                Datum::of_parts(fields.iter().map(|field| self.zero(*field)))
            }
            _ => Datum::NOTHING,
        }
    }

    /// The type of a vector's elements; of anything else, itself.
    pub(crate) fn lane(&self, of: TypeNumber) -> TypeNumber {
        match self.program.types[of] {
            Type::Vector { element, .. } => element,
            _ => of,
        }
    }

    /// What a value, or an element of a vector, is to arithmetic.
    pub(crate) fn number(&self, of: TypeNumber) -> Number {
        let lane = self.lane(of);
        match self.program.types[lane] {
            Type::Float(kind) => Number::Float(kind),
            _ => Number::Integer(self.layouts[lane].bits as u32),
        }
    }

    /// The function that an address constant leads to, aliases looked through.
    pub(crate) fn function_behind(&self, constant: ConstantNumber) -> Option<FunctionNumber> {
        match &self.program.constants[constant].value {
            ConstantValue::Function(function) => Some(*function),
            ConstantValue::Alias(alias) => {
                let alias = &self.program.aliases[*alias];
                (!alias.indirect).then(|| self.function_behind(alias.target))?
            }
            _ => None,
        }
    }

    /// The name of a function, as its author's compiler gave it.
    pub(crate) fn name(&self, function: FunctionNumber) -> &'p str {
        let program: &'p Program = self.program;
        bohr_program::external::plain_name(&program.texts[program.functions[function].name])
    }
}
