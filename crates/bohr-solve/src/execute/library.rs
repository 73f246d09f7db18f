//! C's functions: memory, the way out, and what only talks to the world.

use super::thread::Thread;
use super::{End, Halt, Step, World, not_modelled};
use crate::datum::Datum;
use crate::event::Action;
use crate::term::{Operator, Scalar};
use bohr_event::{EventKind, MemoryOrder};
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
    "close",
    "shutdown",
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
        self.drain(world, name, arguments)?;
        if let Some(result) = self.known_function(world, name, arguments)? {
            return Ok(result);
        }
        match self.about_outside(world, name, arguments, call)? {
            Some(result) => Ok(result),
            None => not_modelled(format!(
                "the function {name}, of which the log tells no result"
            )),
        }
    }

    /// Many calls find their thread's store buffer empty, whatever else they do.
    fn drain(&mut self, world: &mut dyn World, name: &str, arguments: &[Datum]) -> Step<()> {
        let Some(known) = external::find(name) else {
            return Ok(());
        };
        let written = |at: &ArgumentIndex| known.argument(*at).contains(Use::WRITES);
        let drains = match known.event {
            Some(EventKind::Free) => arguments[0].scalar() != Scalar::Known(0),
            Some(kind) => kind.needs_empty_buffer(MemoryOrder::SequentiallyConsistent),
            None => known.touched.arguments.iter().any(written),
        };
        match drains {
            true => self.act(world, Action::Drain),
            false => Ok(()),
        }
    }

    fn known_function(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
    ) -> Step<Option<Datum>> {
        if let Some(result) = self.about_threads(world, name, arguments)? {
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
            _ if SILENT.contains(&name) => Ok(Some(0u64.into())),
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
            self.act(world, Action::Drain)?;
        }
        Ok(new.into())
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
