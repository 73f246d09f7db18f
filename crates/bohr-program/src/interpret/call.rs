//! Entering and leaving functions.

use super::datum::Datum;
use super::machine::{Frame, Machine};
use super::{Halt, Step, not_modelled};
use crate::attribute::Attributes;
use crate::constant::ConstantValue;
use crate::function::Call;
use crate::ids::*;
use crate::instruction::{Operation, Value};
use crate::types::Type;
use cranelift_entity::EntityRef;

/// Frames that a program may have on its stack.
const DEEPEST: usize = 1 << 20;

/// How arguments are passed; nothing is known of calls from the library.
#[derive(Default)]
struct Passing<'a> {
    types: &'a [TypeNumber],
    attributes: Option<&'a Attributes>,
}

impl Passing<'_> {
    /// The type and alignment of an argument of which the callee gets a copy.
    fn by_value(&self, index: usize) -> Option<(TypeNumber, u64)> {
        let parameter = self.attributes?.parameters.get(index)?;
        Some((parameter.by_value?, parameter.alignment.into()))
    }
}

impl<'p> Machine<'p> {
    /// Executes a call; its result, unless a function of the program was entered.
    pub(super) fn call(&mut self, call: &'p Call) -> Step<Option<Datum>> {
        let body = self.frame().body;
        if let Some(ConstantValue::Assembly(assembly)) = call
            .callee
            .constant()
            .map(|callee| &self.program.constants[callee].value)
        {
            return self.assembly(*assembly, call).map(Some);
        }
        let function = self.callee(call.callee)?;
        let values = body.arguments(call);
        let mut arguments = Vec::with_capacity(values.len());
        for value in values {
            arguments.push(self.value(*value)?);
        }
        if self.program.functions[function].body.is_some() {
            let types: Vec<TypeNumber> = values.iter().map(|value| self.type_of(*value)).collect();
            let passing = Passing {
                types: &types,
                attributes: Some(&self.program.attributes[call.attributes]),
            };
            self.enter(function, arguments, &passing)?;
            return Ok(None);
        }
        self.call_outside(function, &arguments, call).map(Some)
    }

    fn callee(&mut self, callee: Value) -> Step<FunctionNumber> {
        let direct = callee
            .constant()
            .and_then(|constant| self.function_behind(constant));
        match direct {
            Some(function) => Ok(function),
            None => {
                let address = self.value(callee)?.word();
                self.function_at(address)
            }
        }
    }

    /// A function of the library or of LLVM.
    fn call_outside(
        &mut self,
        function: FunctionNumber,
        arguments: &[Datum],
        call: &Call,
    ) -> Step<Datum> {
        let program = self.program;
        let name = &program.texts[program.functions[function].name];
        match name.strip_prefix("llvm.") {
            Some(intrinsic) => self.intrinsic(intrinsic, arguments, call),
            None => self.library_call(name, arguments),
        }
    }

    /// An empty template only keeps the optimiser from knowing too much.
    fn assembly(&mut self, assembly: AssemblyNumber, call: &Call) -> Step<Datum> {
        let text = &self.program.texts[self.program.assembly[assembly].text];
        let silent = matches!(
            self.program.types[call.signature],
            Type::Function { result, .. } if self.program.types[result] == Type::Void
        );
        match text.trim().is_empty() && silent {
            true => Ok(Datum::NOTHING),
            false => not_modelled(format!("inline assembly {text:?}")),
        }
    }

    /// Begins to execute a function that has a body.
    fn enter(
        &mut self,
        function: FunctionNumber,
        mut arguments: Vec<Datum>,
        passing: &Passing<'_>,
    ) -> Step<()> {
        let program = self.program;
        if self.frames.len() >= DEEPEST {
            return not_modelled("more than a million nested calls");
        }
        let body = program.functions[function].body.as_ref();
        let Some(body) = body else {
            return not_modelled("a callback into the library");
        };
        let stack = self.memory.stack.end();
        let named = program.parameters(function).len();
        let rest = arguments.split_off(named.min(arguments.len()));
        for (index, argument) in arguments.iter_mut().enumerate() {
            if let Some((of, alignment)) = passing.by_value(index) {
                *argument = self.copy_to_stack(of, alignment, argument)?;
            }
        }
        let variable_arguments = match program.types[program.functions[function].signature] {
            Type::Function { variadic: true, .. } => self.spill(&rest, named, passing)?,
            _ => 0,
        };
        arguments.resize(named, Datum::NOTHING);
        self.frames.push(Frame {
            function,
            body,
            next: 0,
            block: BlockNumber::new(0),
            previous: BlockNumber::new(0),
            arguments,
            variable_arguments,
            results: vec![Datum::NOTHING; body.instructions.len()],
            stack,
        });
        Ok(())
    }

    fn copy_to_stack(&mut self, of: TypeNumber, alignment: u64, from: &Datum) -> Step<Datum> {
        let layout = &self.layouts[of];
        let (size, alignment) = (layout.size, alignment.max(layout.alignment));
        let copy = self.memory.stack.grow(size, alignment)?;
        self.memory.copy(copy, from.word(), size)?;
        Ok(copy.into())
    }

    /// Puts variable arguments where the ABI looks for those that found no
    /// register: one after the other, at multiples of 8 (16 where their type
    /// asks for it). `va_start` says that no register holds any.
    fn spill(&mut self, arguments: &[Datum], first: usize, passing: &Passing<'_>) -> Step<u64> {
        let start = self.memory.stack.grow(0, 16)?;
        for (index, argument) in (first..).zip(arguments) {
            if let Some((of, alignment)) = passing.by_value(index) {
                self.copy_to_stack(of, alignment.max(8), argument)?;
                self.memory.stack.grow(0, 8)?;
                continue;
            }
            let Some(of) = passing.types.get(index).copied() else {
                return not_modelled("variable arguments from the library");
            };
            let layout = &self.layouts[of];
            let (size, alignment) = (layout.size.next_multiple_of(8), layout.alignment.max(8));
            let address = self.memory.stack.grow(size, alignment)?;
            self.store(of, address, argument)?;
        }
        Ok(start)
    }

    /// Calls a function and executes until it returns.
    pub(super) fn call_and_wait(
        &mut self,
        function: FunctionNumber,
        arguments: Vec<Datum>,
    ) -> Step<Datum> {
        if self.program.functions[function].body.is_none() {
            let name = &self.program.texts[self.program.functions[function].name];
            return self.library_call(name, &arguments);
        }
        let depth = self.frames.len();
        let floor = std::mem::replace(&mut self.exceptions.floor, depth);
        self.enter(function, arguments, &Passing::default())?;
        loop {
            if let Some(result) = self.step()?
                && self.frames.len() == depth
            {
                self.exceptions.floor = floor;
                return Ok(result);
            }
        }
    }

    /// Leaves the current function and gives its result to the caller, if the
    /// caller is executing too.
    pub(super) fn leave(&mut self, result: Datum) -> Step<Datum> {
        let frame = self.frames.pop().expect("a function is executing");
        self.memory.stack.shrink(frame.stack);
        let waiting = self.frames.len() == self.exceptions.floor;
        if let Some(caller) = self.frames.last_mut().filter(|_| !waiting) {
            let at = InstructionNumber::new(caller.next - 1);
            caller.results[at.index()] = result.clone();
            if let Operation::Invoke { normal, .. } = caller.body.instructions[at].operation {
                self.jump(normal)?;
            }
        }
        Ok(result)
    }

    /// Goes on at another block of the current function.
    pub(super) fn jump(&mut self, target: BlockNumber) -> Step<()> {
        let frame = self.frame();
        frame.previous = frame.block;
        frame.block = target;
        let range = frame.body.range(target);
        frame.next = range.start;
        // All phis of a block take their values at the same time.
        let mut chosen = Vec::new();
        for index in range {
            let instruction = &frame.body.instructions[InstructionNumber::new(index)];
            let Operation::Phi { incoming } = instruction.operation else {
                break;
            };
            let incoming = frame.body.incoming.get(incoming);
            let from = incoming
                .iter()
                .find(|incoming| incoming.from == frame.previous);
            chosen.push(
                from.ok_or(Halt::Undefined("it enters a block from nowhere"))?
                    .value,
            );
        }
        let values: Vec<Datum> = chosen
            .into_iter()
            .map(|value| self.value(value))
            .collect::<Step<_>>()?;
        let frame = self.frame();
        let start = frame.next;
        frame.next += values.len();
        frame.results[start..start + values.len()].clone_from_slice(&values);
        Ok(())
    }
}
