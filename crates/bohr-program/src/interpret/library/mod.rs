//! The C library, the C++ runtime and what Rust's standard library needs of
//! the system, as far as programs with one thread and plain output use them.

mod math;
mod print;
mod runtime;
mod stream;
mod system;
mod text;

use super::datum::Datum;
use super::machine::Machine;
use super::{Step, not_modelled};

/// Results of functions that return nothing.
const NOTHING: Datum = Datum::NOTHING;

impl Machine<'_> {
    /// Calls a function outside the program.
    pub(super) fn library_call(&mut self, name: &str, arguments: &[Datum]) -> Step<Datum> {
        let name = crate::external::plain_name(name);
        if let Some(result) = self.memory_call(name, arguments)? {
            return Ok(result);
        }
        let tries = [
            Machine::text_call,
            Machine::stream_call,
            Machine::math_call,
            Machine::runtime_call,
            Machine::system_call,
        ];
        for attempt in tries {
            if let Some(result) = attempt(self, name, arguments)? {
                return Ok(result);
            }
        }
        not_modelled(format!("the function {name}"))
    }

    /// Allocation.
    fn memory_call(&mut self, name: &str, arguments: &[Datum]) -> Step<Option<Datum>> {
        let word = |index: usize| arguments.get(index).map_or(0, Datum::word);
        let result = match name {
            "malloc" | "_Znwm" | "_Znam" | "_ZnwmRKSt9nothrow_t" | "_ZnamRKSt9nothrow_t" => {
                self.heap.allocate(&mut self.memory, word(0), 16)?
            }
            "calloc" => {
                let size = word(0).saturating_mul(word(1));
                self.heap.allocate(&mut self.memory, size, 16)?
            }
            "aligned_alloc" | "memalign" => {
                self.heap.allocate(&mut self.memory, word(1), word(0))?
            }
            "_ZnwmSt11align_val_t"
            | "_ZnamSt11align_val_t"
            | "__rust_alloc"
            | "__rust_alloc_zeroed" => self.heap.allocate(&mut self.memory, word(0), word(1))?,
            "posix_memalign" => {
                let block = self.heap.allocate(&mut self.memory, word(2), word(1))?;
                self.memory.write_word(word(0), block)?;
                0
            }
            "realloc" => self.heap.resize(&mut self.memory, word(0), word(1))?,
            "__rust_realloc" => self.heap.resize(&mut self.memory, word(0), word(3))?,
            "free"
            | "_ZdlPv"
            | "_ZdaPv"
            | "_ZdlPvm"
            | "_ZdaPvm"
            | "_ZdlPvSt11align_val_t"
            | "_ZdlPvmSt11align_val_t"
            | "_ZdaPvSt11align_val_t"
            | "__rust_dealloc" => {
                self.heap.release(word(0))?;
                0
            }
            "malloc_usable_size" => self.heap.size(word(0))?,
            "__rust_no_alloc_shim_is_unstable_v2" => 0,
            _ => return Ok(None),
        };
        Ok(Some(result.into()))
    }

    /// Memory of the library, made on first use.
    fn library_memory(&mut self, owner: &'static str, size: u64) -> Step<u64> {
        if let Some(address) = self.library.get(owner) {
            return Ok(*address);
        }
        let address = self.memory.globals.grow(size, 16)?;
        self.library.insert(owner, address);
        Ok(address)
    }
}
