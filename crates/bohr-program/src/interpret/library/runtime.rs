//! The C++ runtime's exceptions, Rust's unwinding, and C's way out.

use super::NOTHING;
use crate::interpret::datum::Datum;
use crate::interpret::machine::Machine;
use crate::interpret::{Halt, Status, Step};

/// What `_Unwind_RaiseException` returns when nobody will stop it.
const END_OF_STACK: u64 = 5;

impl Machine<'_> {
    pub(super) fn runtime_call(&mut self, name: &str, arguments: &[Datum]) -> Step<Option<Datum>> {
        let word = |index: usize| arguments.get(index).map_or(0, Datum::word);
        Ok(Some(match name {
            "exit" => {
                self.exit(arguments[0].int())?;
                NOTHING
            }
            "_exit" | "_Exit" => {
                return Err(Halt::Ended(Status::Exited(arguments[0].int() & 0xff)));
            }
            "abort" | "_ZSt9terminatev" | "__cxa_pure_virtual" | "__stack_chk_fail" => {
                return Err(Halt::Ended(Status::Aborted));
            }
            "__assert_fail" => {
                let text = self.memory.string(word(0))?;
                self.errors.extend(b"assertion failed: ");
                self.errors.extend(text);
                self.errors.push(b'\n');
                return Err(Halt::Ended(Status::Aborted));
            }
            "atexit" => {
                self.at_exit.push((word(0), None));
                NOTHING
            }
            "__cxa_atexit" | "__cxa_thread_atexit" | "__cxa_thread_atexit_impl" => {
                self.at_exit.push((word(0), Some(word(1))));
                NOTHING
            }
            "__cxa_allocate_exception" => self.heap.allocate(&mut self.memory, word(0), 16)?.into(),
            "__cxa_free_exception" => {
                self.heap.release(word(0))?;
                NOTHING
            }
            "__cxa_throw" => {
                self.exceptions.throw(word(0), Some(word(1)), word(2));
                self.resume(word(0))?;
                NOTHING
            }
            "__cxa_rethrow" => {
                self.rethrow()?;
                NOTHING
            }
            "_Unwind_Resume" => {
                self.resume(word(0))?;
                NOTHING
            }
            "__dynamic_cast" => self.dynamic_cast(word(0), word(2))?.into(),
            "__cxa_begin_catch" => self.begin_catch(word(0))?.into(),
            "__cxa_end_catch" => {
                self.end_catch()?;
                NOTHING
            }
            "__cxa_guard_acquire" => {
                let done = self.memory.read(word(0), 1)?[0] != 0;
                u64::from(!done).into()
            }
            "__cxa_guard_release" => {
                self.memory.write(word(0), &[1])?;
                NOTHING
            }
            "__cxa_guard_abort" => NOTHING,
            "_Unwind_RaiseException" => {
                self.exceptions.throw(word(0), None, 0);
                match self.unwind(word(0))? {
                    true => NOTHING,
                    false => END_OF_STACK.into(),
                }
            }
            "qsort" => {
                self.sort(word(0), word(1), word(2), word(3))?;
                NOTHING
            }
            _ => return Ok(None),
        }))
    }

    /// A stable sort, so that the order of equal elements is the C library's
    /// (which merges) and does not depend on anything else.
    fn sort(&mut self, start: u64, count: u64, size: u64, comparison: u64) -> Step<()> {
        let compare = self.function_at(comparison)?;
        let scratch = self.heap.allocate(&mut self.memory, size * 2, 16)?;
        let mut sorted: Vec<Vec<u8>> = Vec::new();
        for index in 0..count {
            let element = self.memory.read(start + index * size, size)?.to_vec();
            self.memory.write(scratch, &element)?;
            // Binary insertion after all that are not greater.
            let (mut low, mut high) = (0, sorted.len());
            while low < high {
                let middle = low.midpoint(high);
                self.memory.write(scratch + size, &sorted[middle])?;
                let arguments = vec![scratch.into(), (scratch + size).into()];
                match self.call_and_wait(compare, arguments)?.int() {
                    0.. => low = middle + 1,
                    _ => high = middle,
                }
            }
            sorted.insert(low, element);
        }
        self.memory.write(start, &sorted.concat())?;
        self.heap.release(scratch)
    }
}
