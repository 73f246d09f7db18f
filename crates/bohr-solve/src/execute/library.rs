//! C's functions: memory, the way out, and what only talks to the world.

use super::thread::Thread;
use super::{End, Halt, Step, World, not_modelled};
use crate::datum::Datum;
use crate::path::Input;
use crate::term::{Operator, Scalar};
use bohr_event::MemoryOrder;
use bohr_program::Call;
use bohr_program::external::{self, ArgumentIndex, Use};

/// Functions that tell the world something, or wait, and change nothing here.
const SILENT: &[&str] = &[
    "printf",
    "fprintf",
    "puts",
    "putchar",
    "fputs",
    "fputc",
    "putc",
    "fwrite",
    "perror",
    "fflush",
    "setvbuf",
    "setbuf",
    "usleep",
    "sleep",
    "nanosleep",
    "sched_yield",
    "pthread_yield",
    "atexit",
    "__cxa_atexit",
    "vprintf",
    "vfprintf",
    "__printf_chk",
    "__fprintf_chk",
    "srand",
    "fclose",
    "pthread_setname_np",
    "pthread_detach",
    "dprintf",
    "syslog",
];

impl<'p> Thread<'p> {
    /// Calls a function of the C library.
    pub(super) fn library(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
        call: &'p Call,
    ) -> Step<Datum> {
        let input = self.recorded();
        let result = self.known_function(world, name, arguments, input.as_ref())?;
        if input.is_some() {
            self.inputs.pop_front();
        }
        match (result, input) {
            (Some(result), _) => Ok(result),
            (None, Some(input)) => self.take_over(world, name, arguments, call, &input),
            (None, None) => not_modelled(format!(
                "the function {name}, of which the log tells no result"
            )),
        }
    }

    /// What was recorded of the call that is executing.
    fn recorded(&self) -> Option<Input> {
        let spot = self.spot();
        let first = self.inputs.front()?;
        let same = first.function == spot.function && first.instruction == spot.instruction;
        same.then(|| first.clone())
    }

    fn known_function(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
        input: Option<&Input>,
    ) -> Step<Option<Datum>> {
        if let Some(result) = self.about_threads(world, name, arguments, input)? {
            return Ok(Some(result));
        }
        if let Some(result) = self.about_memory(world, name, arguments)? {
            return Ok(Some(result));
        }
        if let Some(result) = self.about_text(world, name, arguments)? {
            return Ok(Some(result));
        }
        if let Some(result) = self.about_formats(world, name, arguments)? {
            return Ok(Some(result));
        }
        match name {
            "abort" | "__assert_fail" | "__assert" | "_ZSt9terminatev" | "__stack_chk_fail"
            | "__cxa_pure_virtual" => Err(Halt::Ended(End::Aborted)),
            "exit" | "_exit" | "_Exit" | "quick_exit" => {
                Err(Halt::Ended(End::Exited(arguments[0].scalar())))
            }
            "abs" | "labs" | "llabs" => {
                let bits = if name == "abs" { 32 } else { 64 };
                let of = bohr_program::interpret::arithmetic::Number::Integer(bits);
                let operator = Operator::Function("abs".into(), of, bits);
                Ok(Some(
                    world
                        .terms()
                        .compute(operator, &[arguments[0].scalar()])?
                        .into(),
                ))
            }
            _ if SILENT.contains(&name) => Ok(Some(input.map_or(0, |input| input.result).into())),
            _ => Ok(None),
        }
    }

    /// Allocation.
    fn about_memory(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
    ) -> Step<Option<Datum>> {
        let number = |index: usize| self.known(&arguments[index], "the size of a block");
        let (size, alignment) = match name {
            "malloc" | "_Znwm" | "_Znam" | "_ZnwmRKSt9nothrow_t" => (number(0)?, 16),
            "calloc" => (number(0)?.saturating_mul(number(1)?), 16),
            "aligned_alloc" | "memalign" => (number(1)?, number(0)?),
            "_ZnwmSt11align_val_t" | "_ZnamSt11align_val_t" => (number(0)?, number(1)?),
            "posix_memalign" => {
                let block = self.allocate(world, number(2)?, number(1)?)?;
                world.store(arguments[0].scalar(), 8, block.into())?;
                return Ok(Some(0u64.into()));
            }
            "realloc" => return self.resize(world, &arguments[0], number(1)?).map(Some),
            "free"
            | "_ZdlPv"
            | "_ZdaPv"
            | "_ZdlPvm"
            | "_ZdaPvm"
            | "_ZdlPvSt11align_val_t"
            | "_ZdlPvmSt11align_val_t" => return Ok(Some(Datum::NOTHING)),
            _ => return Ok(None),
        };
        Ok(Some(self.allocate(world, size, alignment)?.into()))
    }

    pub(super) fn allocate(
        &mut self,
        world: &mut dyn World,
        size: u64,
        alignment: u64,
    ) -> Step<u64> {
        let address = self.heap.take(size.max(1), alignment);
        world.add(address, size)?;
        self.blocks.insert(address, size);
        Ok(address)
    }

    fn resize(&mut self, world: &mut dyn World, old: &Datum, size: u64) -> Step<Datum> {
        let old = self.known(old, "the address of a block")?;
        let new = self.allocate(world, size, 16)?;
        if old != 0 {
            let Some(length) = self.blocks.get(&old).copied() else {
                return not_modelled("a block that another thread allocated and this one resizes");
            };
            world.begin(self.moment(MemoryOrder::Plain));
            let done = self.copy(world, new.into(), old.into(), length.min(size));
            world.finish();
            done?;
        }
        Ok(new.into())
    }

    /// A function that is not modelled did what the log says.
    fn take_over(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
        call: &'p Call,
        input: &Input,
    ) -> Step<Datum> {
        let known = external::find(name);
        let written = known.map(|known| {
            let all = (0..arguments.len() as u8).map(ArgumentIndex);
            all.filter(|index| known.argument(*index).contains(Use::WRITES))
                .collect::<Vec<_>>()
        });
        let written = written.unwrap_or_default();
        if written.len() < input.written.len() {
            return not_modelled(format!("what {name} writes where"));
        }
        for (index, bytes) in written.iter().zip(&input.written) {
            let to = arguments[usize::from(index.0)].scalar();
            world.begin(self.moment(MemoryOrder::Plain));
            let done = self.write(world, to, bytes);
            world.finish();
            done?;
        }
        let signature = &self.code.program.types[call.signature];
        let bits = match signature {
            bohr_program::Type::Function { result, .. } => self.code.number(*result).bits(),
            _ => 64,
        };
        Ok(Datum::Scalar(Scalar::Known(
            u128::from(input.result) & crate::term::ones(bits),
        )))
    }

    /// Writes known bytes.
    pub(super) fn write(&mut self, world: &mut dyn World, to: Scalar, bytes: &[u8]) -> Step<()> {
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let fold = |value: u128, byte: &u8| value << 8 | u128::from(*byte);
            let value = chunk.iter().rev().fold(0, fold);
            let at = super::access::plus(world, to, index as u64 * 8)?;
            world.store(at, chunk.len() as u32, Scalar::Known(value))?;
        }
        Ok(())
    }
}
