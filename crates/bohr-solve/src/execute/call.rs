//! Entering and leaving functions.

use super::thread::{Frame, Thread};
use super::{End, Halt, Step, World, not_modelled};
use crate::datum::Datum;
use crate::memory::{function_address, function_at};
use crate::term::Scalar;
use bohr_program::{
    BlockNumber, Call, ConstantValue, FunctionNumber, Operation, Type, TypeNumber, Value,
};
use cranelift_entity::EntityRef;

/// Frames that a thread may have on its stack.
const DEEPEST: usize = 1 << 16;

impl<'p> Thread<'p> {
    /// Executes a call; its result, unless a function of the program was entered.
    pub(super) fn call(&mut self, world: &mut dyn World, call: &'p Call) -> Step<Option<Datum>> {
        let program = self.code.program;
        let constant = call.callee.constant();
        if let Some(ConstantValue::Assembly(assembly)) =
            constant.map(|callee| &program.constants[callee].value)
        {
            let text = &program.texts[program.assembly[*assembly].text];
            return self.assembly(text, call).map(Some);
        }
        let function = self.callee(world, call.callee)?;
        let body = self.frame().body;
        let values = body.arguments(call);
        let arguments = values.iter().map(|value| self.value(*value));
        let arguments = arguments.collect::<Step<Vec<_>>>()?;
        if program.functions[function].body.is_some() {
            self.enter(world, function, arguments, Some(call))?;
            return Ok(None);
        }
        self.outside(world, function, &arguments, call).map(Some)
    }

    fn callee(&mut self, world: &mut dyn World, callee: Value) -> Step<FunctionNumber> {
        let direct = callee
            .constant()
            .and_then(|constant| self.code.function_behind(constant));
        if let Some(function) = direct {
            return Ok(function);
        }
        let count = self.code.program.functions.len();
        match self.value(callee)?.scalar() {
            Scalar::Known(address) => function_at(address as u64, count)
                .ok_or_else(|| Halt::Undefined("it calls what is not a function".into())),
            address => {
                let Some(function) = self.guide.peek_entry() else {
                    return not_modelled("a call of an unknown function outside the program");
                };
                self.demand(world, address, function_address(function).into(), 64)?;
                Ok(function)
            }
        }
    }

    /// An empty template, or one that only comments, gives back what it was given.
    fn assembly(&mut self, text: &str, call: &'p Call) -> Step<Datum> {
        let says = |line: &str| !line.trim().is_empty() && !line.trim().starts_with('#');
        let Type::Function { result, .. } = self.code.program.types[call.signature] else {
            return not_modelled("assembly without a type");
        };
        let silent = !text.lines().any(says);
        let body = self.frame().body;
        match (silent, self.code.program.types[result] == Type::Void) {
            (true, true) => Ok(Datum::NOTHING),
            (true, false) => match body.arguments(call) {
                [only] => self.value(*only),
                _ => not_modelled(format!("inline assembly {text:?}")),
            },
            _ if text.trim() == "pause" => Ok(Datum::NOTHING),
            _ => not_modelled(format!("inline assembly {text:?}")),
        }
    }

    /// Begins to execute a function that has a body.
    pub(super) fn enter(
        &mut self,
        world: &mut dyn World,
        function: FunctionNumber,
        mut arguments: Vec<Datum>,
        call: Option<&'p Call>,
    ) -> Step<()> {
        let program = self.code.program;
        if self.frames.len() >= DEEPEST {
            return not_modelled(format!("more than {DEEPEST} nested calls"));
        }
        let Some(body) = &program.functions[function].body else {
            return not_modelled("a thread that begins outside the program");
        };
        self.guide.enter(function)?;
        let named = program.parameters(function).len();
        let rest = arguments.split_off(named.min(arguments.len()));
        let mut variable_arguments = 0;
        if let Some(call) = call {
            self.copy_values(world, &mut arguments, call)?;
            if matches!(
                program.types[program.functions[function].signature],
                Type::Function { variadic: true, .. }
            ) {
                variable_arguments = self.spill(world, &rest, named, call)?;
            }
        }
        arguments.resize(named, Datum::NOTHING);
        self.frames.push(Frame {
            function,
            body,
            next: 0,
            block: BlockNumber::new(0),
            arguments,
            variable_arguments,
            results: vec![Datum::NOTHING; body.instructions.len()],
        });
        Ok(())
    }

    /// Arguments of which the callee gets a copy.
    fn copy_values(
        &mut self,
        world: &mut dyn World,
        arguments: &mut [Datum],
        call: &Call,
    ) -> Step<()> {
        for (index, argument) in arguments.iter_mut().enumerate() {
            let attributes = &self.code.program.attributes[call.attributes];
            let by_value = attributes
                .parameters
                .get(index)
                .and_then(|one| one.by_value);
            if let Some(of) = by_value {
                let size = self.code.layouts[of].size;
                let copy = self.new_slot(world, size)?;
                self.copy(world, copy.into(), argument.scalar(), size)?;
                *argument = copy.into();
            }
        }
        Ok(())
    }

    fn new_slot(&mut self, world: &mut dyn World, size: u64) -> Step<u64> {
        let address = self.stack.take(size, 16);
        world.add(address, size)?;
        Ok(address)
    }

    /// Puts variable arguments where the ABI looks for those that found no register.
    fn spill(
        &mut self,
        world: &mut dyn World,
        arguments: &[Datum],
        first: usize,
        call: &Call,
    ) -> Step<u64> {
        let body = self.frame().body;
        let types: Vec<TypeNumber> = body
            .arguments(call)
            .iter()
            .map(|value| self.type_of(*value))
            .collect();
        let room = |of: TypeNumber| self.code.layouts[of].size.next_multiple_of(8);
        let rest = &types[first.min(types.len())..];
        let sizes: Vec<u64> = rest.iter().map(|of| room(*of)).collect();
        let start = self.new_slot(world, sizes.iter().sum::<u64>().max(8))?;
        let mut address = start;
        for ((argument, of), size) in arguments.iter().zip(rest).zip(sizes) {
            self.store(world, *of, address.into(), argument)?;
            address += size;
        }
        Ok(start)
    }

    /// Leaves the current function and gives its result to the caller.
    pub(super) fn leave(&mut self, result: Datum) -> Step<()> {
        self.guide.leave()?;
        self.frames.pop();
        let Some(caller) = self.frames.last_mut() else {
            self.result = result.scalar();
            return match self.ahead.is_empty() {
                true => Err(Halt::Ended(End::Returned)),
                false => Ok(()),
            };
        };
        let at = caller.next - 1;
        caller.results[at] = result;
        let number = bohr_program::InstructionNumber::new(at);
        match caller.body.instructions[number].operation {
            Operation::Invoke { normal, .. } => {
                let block = self.guide.block(|| Ok(normal))?;
                self.jump(block)
            }
            _ => Ok(()),
        }
    }

    /// A function outside the program.
    fn outside(
        &mut self,
        world: &mut dyn World,
        function: FunctionNumber,
        arguments: &[Datum],
        call: &'p Call,
    ) -> Step<Datum> {
        let name = self.code.name(function);
        match name.strip_prefix("llvm.") {
            Some(intrinsic) => self.intrinsic(world, intrinsic, arguments, call),
            None => self.library(world, name, arguments, call),
        }
    }
}
