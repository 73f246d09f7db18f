//! LLVM's intrinsics: memory, variable arguments, annotations; arithmetic with
//! a twist in the files below.

mod floats;
mod integers;
mod vectors;

pub(super) use floats::float_function;
pub(super) use integers::{integer_function, overflow};

use super::datum::Datum;
use super::encode::ones;
use super::machine::Machine;
use super::{Halt, Status, Step, not_modelled};
use crate::external;
use crate::function::Call;
use crate::ids::TypeNumber;
use crate::types::Type;

impl Machine<'_> {
    /// Calls an intrinsic, named without `llvm.`.
    pub(super) fn intrinsic(
        &mut self,
        name: &str,
        arguments: &[Datum],
        call: &Call,
    ) -> Step<Datum> {
        let words: Vec<&str> = name.split('.').collect();
        let result = self.result_type(call);
        match (words.as_slice(), arguments) {
            (["memcpy" | "memmove", ..], [to, from, length, ..]) => {
                self.memory.copy(to.word(), from.word(), length.word())?;
                Ok(Datum::NOTHING)
            }
            (["memset", ..], [to, byte, length, ..]) => {
                self.memory
                    .bytes(to.word(), length.word())?
                    .fill(byte.word() as u8);
                Ok(Datum::NOTHING)
            }
            (["va_start", ..], [list]) => self.start_variable_arguments(list.word()),
            (["va_end", ..], _) => Ok(Datum::NOTHING),
            (["va_copy", ..], [to, from]) => {
                self.memory.copy(to.word(), from.word(), 24)?;
                Ok(Datum::NOTHING)
            }
            (["stacksave", ..], _) => Ok(self.memory.stack.end().into()),
            (["stackrestore", ..], [saved]) => {
                self.memory.stack.shrink(saved.word());
                Ok(Datum::NOTHING)
            }
            (["trap" | "ubsantrap"], _) => Err(Halt::Ended(Status::Aborted)),
            (["eh", "typeid", "for", ..], [information]) => {
                Ok(self.exceptions.number(information.word()).into())
            }
            (["threadlocal", ..], [address]) => Ok(address.clone()),
            (["objectsize", ..], [_, minimum, ..]) => {
                let unknown = if minimum.bits() != 0 { 0 } else { u128::MAX };
                Ok(Datum::Bits(unknown & ones(self.layouts[result].bits)))
            }
            (["is", "constant", ..], _) => Ok(false.into()),
            (["vector", "reduce", operation, ..], _) => self.reduce(operation, call, arguments),
            (["masked", "load", ..], [address, mask, otherwise]) => {
                self.masked_load(result, address.word(), mask, otherwise)
            }
            (["masked", "store", ..], [value, address, mask]) => {
                self.masked_store(call, value, address.word(), mask)
            }
            (["x86", "sse2", "pmovmskb", "128"], [vector]) => {
                let lanes = (0..).zip(vector.parts());
                let mask = lanes.fold(0, |mask, (index, lane)| {
                    mask | (lane.bits() >> 7 & 1) << index
                });
                Ok(Datum::Bits(mask))
            }
            _ => self.computing(name, &words, arguments, result),
        }
    }

    fn result_type(&self, call: &Call) -> TypeNumber {
        match self.program.types[call.signature] {
            Type::Function { result, .. } => result,
            _ => call.signature,
        }
    }

    fn computing(
        &mut self,
        name: &str,
        words: &[&str],
        arguments: &[Datum],
        result: TypeNumber,
    ) -> Step<Datum> {
        let is_wide = |argument: &Datum| matches!(argument, Datum::Wide(_));
        if arguments.iter().any(is_wide) {
            return not_modelled(format!("llvm.{name} of more than 128 bits"));
        }
        if let Some(found) = self.overflowing(words, arguments, result)? {
            return Ok(found);
        }
        if let Some(found) = self.on_integers(words, arguments, result)? {
            return Ok(found);
        }
        if let Some(found) = self.on_floats(words, arguments, result)? {
            return Ok(found);
        }
        // What the table calls pure and what returns its argument, or nothing,
        // only annotates.
        let known = external::find(&format!("llvm.{name}"));
        match known
            .filter(|known| known.is_pure())
            .map(|known| known.result)
        {
            Some(external::Outcome::Argument(external::ArgumentIndex(index))) => {
                Ok(arguments[usize::from(index)].clone())
            }
            Some(_) if self.program.types[result] == Type::Void => Ok(Datum::NOTHING),
            _ => not_modelled(format!("llvm.{name}")),
        }
    }

    /// Fills in a `va_list`: no registers left, the rest on the stack.
    fn start_variable_arguments(&mut self, list: u64) -> Step<Datum> {
        let area = self.frame().variable_arguments;
        self.memory.write(list, &48u32.to_le_bytes())?;
        self.memory.write(list + 4, &176u32.to_le_bytes())?;
        self.memory.write_word(list + 8, area)?;
        self.memory.write_word(list + 16, 0)?;
        Ok(Datum::NOTHING)
    }
}
