//! LLVM's intrinsics: memory, arithmetic with a twist, vectors, annotations.

use super::datum::Datum;
use super::encode::ones;
use super::integer::signed;
use super::machine::Machine;
use super::{Halt, Status, Step, float, integer, not_modelled};
use crate::external;
use crate::function::Call;
use crate::ids::TypeNumber;
use crate::operator::{BinaryOperator, IntegerPredicate};
use crate::types::{FloatKind, Type};

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

    /// `sadd.with.overflow` and its like: the result, and whether it is wrong.
    fn overflowing(
        &self,
        words: &[&str],
        arguments: &[Datum],
        result: TypeNumber,
    ) -> Step<Option<Datum>> {
        let ([operation, "with", "overflow", ..], [left, right]) = (words, arguments) else {
            return Ok(None);
        };
        let Type::Struct { fields, .. } = &self.program.types[result] else {
            return Ok(None);
        };
        let bits = self.lane_bits(fields[0]);
        let mut overflows = Vec::new();
        let value = left.zip(right, |left, right| {
            let (value, overflow) = overflow(operation, bits, left, right)?;
            overflows.push(Datum::from(overflow));
            Ok(value)
        })?;
        let overflow = match left {
            Datum::Parts(_) => Datum::of_parts(overflows),
            _ => overflows.remove(0),
        };
        Ok(Some(Datum::of_parts([value, overflow])))
    }

    fn on_integers(
        &self,
        words: &[&str],
        arguments: &[Datum],
        result: TypeNumber,
    ) -> Step<Option<Datum>> {
        let bits = self.lane_bits(result);
        let mask = ones(bits.into());
        let pick = |predicate, left, right| {
            if integer::compare(predicate, bits, left, right) {
                left
            } else {
                right
            }
        };
        use IntegerPredicate::*;
        let choose = |predicate| {
            arguments[0].zip(&arguments[1], |left, right| {
                Ok(pick(predicate, left, right))
            })
        };
        let each =
            |change: &dyn Fn(u128) -> u128| arguments[0].map(|value| Ok(change(value) & mask));
        Ok(Some(match words {
            ["smax", ..] => choose(SignedGreater)?,
            ["smin", ..] => choose(SignedLess)?,
            ["umax", ..] => choose(UnsignedGreater)?,
            ["umin", ..] => choose(UnsignedLess)?,
            ["abs", ..] => each(&|value| signed(value, bits).unsigned_abs())?,
            ["ctpop", ..] => each(&|value| value.count_ones().into())?,
            ["ctlz", ..] => {
                each(&|value| u128::from(value.leading_zeros().saturating_sub(128 - bits)))?
            }
            ["cttz", ..] => each(&|value| value.trailing_zeros().min(bits).into())?,
            ["bswap", ..] => each(&|value| value.swap_bytes() >> (128 - bits))?,
            ["bitreverse", ..] => each(&|value| value.reverse_bits() >> (128 - bits))?,
            ["ptrmask", ..] => arguments[0].zip(&arguments[1], |left, right| Ok(left & right))?,
            [side @ ("fshl" | "fshr"), ..] => funnel(*side == "fshl", bits, arguments)?,
            [
                operation @ ("sadd" | "uadd" | "ssub" | "usub" | "sshl" | "ushl"),
                "sat",
                ..,
            ] => arguments[0].zip(&arguments[1], |left, right| {
                saturate(operation, bits, left, right)
            })?,
            [order @ ("scmp" | "ucmp"), ..] => {
                let of = self.type_of_argument();
                arguments[0].zip(&arguments[1], |left, right| {
                    let order = match *order {
                        "scmp" => signed(left, of).cmp(&signed(right, of)),
                        _ => left.cmp(&right),
                    };
                    Ok((order as i128).cast_unsigned() & mask)
                })?
            }
            _ => return Ok(None),
        }))
    }

    /// The width of the first argument of the call that is executing.
    fn type_of_argument(&self) -> u32 {
        let frame = self.frames.last().expect("a function is executing");
        let arguments = frame
            .body
            .call_at(self.current())
            .map(|call| frame.body.arguments(call));
        let first = arguments.and_then(|arguments| arguments.first());
        first.map_or(64, |value| self.lane_bits(self.type_of(*value)))
    }

    fn on_floats(
        &self,
        words: &[&str],
        arguments: &[Datum],
        result: TypeNumber,
    ) -> Step<Option<Datum>> {
        if let ["fptosi" | "fptoui", "sat", ..] = words {
            let frame = self.frames.last().expect("a function is executing");
            let call = frame
                .body
                .call_at(self.current())
                .expect("a call is executing");
            let kind = self.float_kind(self.type_of(frame.body.arguments(call)[0]))?;
            let bits = self.lane_bits(result);
            let is_signed = words[0] == "fptosi";
            return arguments[0]
                .map(|value| float::to_integer(kind, value, bits, is_signed))
                .map(Some);
        }
        let Type::Float(kind) = self.program.types[self.lane(result)] else {
            return Ok(None);
        };
        let sign = 1 << (kind.bits() - 1);
        match (words, arguments) {
            (["fabs", ..], [number]) => number.map(|bits| Ok(bits & !sign)).map(Some),
            (["copysign", ..], [number, other]) => number
                .zip(other, |bits, other| Ok(bits & !sign | other & sign))
                .map(Some),
            (["fma" | "fmuladd", ..], [left, right, addend]) => {
                self.multiply_add(kind, left, right, addend).map(Some)
            }
            ([function, ..], [number]) => match host_function(function) {
                Some(host) => number.map(|bits| apply(kind, bits, host)).map(Some),
                None => Ok(None),
            },
            (["powi" | "ldexp", ..], [number, power]) => {
                let power = power.int();
                let host = |number: f64| match words[0] {
                    "powi" => number.powi(power),
                    _ => number * 2f64.powi(power),
                };
                number.map(|bits| apply(kind, bits, host)).map(Some)
            }
            ([function, ..], [left, right]) => match host_function_of_two(function) {
                Some(host) => left
                    .zip(right, |left, right| {
                        let (right, _) = float::as_double(kind, right)?;
                        apply(kind, left, |left| host(left, right))
                    })
                    .map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn multiply_add(
        &self,
        kind: FloatKind,
        left: &Datum,
        right: &Datum,
        addend: &Datum,
    ) -> Step<Datum> {
        let lane = |left: u128, right: u128, addend: u128| match kind {
            FloatKind::Single => {
                let [left, right, addend] =
                    [left, right, addend].map(|bits| f32::from_bits(bits as u32));
                Ok(left.mul_add(right, addend).to_bits().into())
            }
            FloatKind::Double => {
                let [left, right, addend] =
                    [left, right, addend].map(|bits| f64::from_bits(bits as u64));
                Ok(left.mul_add(right, addend).to_bits().into())
            }
            _ => not_modelled(format!("a fused multiplication of {kind:?}")),
        };
        match addend {
            Datum::Bits(_) | Datum::Wide(_) => {
                let result = lane(left.bits(), right.bits(), addend.bits())?;
                Ok(Datum::Bits(result))
            }
            Datum::Parts(addends) => {
                let lanes = left.parts().iter().zip(right.parts()).zip(addends.iter());
                let lanes = lanes.map(|((left, right), addend)| {
                    Ok(Datum::Bits(lane(left.bits(), right.bits(), addend.bits())?))
                });
                Ok(Datum::Parts(lanes.collect::<Step<_>>()?))
            }
        }
    }

    /// Folds the lanes of a vector.
    fn reduce(&self, operation: &str, call: &Call, arguments: &[Datum]) -> Step<Datum> {
        use BinaryOperator::*;
        let lane = self.result_type(call);
        let operator = match operation {
            "add" => Add,
            "mul" => Multiply,
            "and" => And,
            "or" => Or,
            "xor" => ExclusiveOr,
            "fadd" => FloatAdd,
            "fmul" => FloatMultiply,
            "smax" | "smin" | "umax" | "umin" => {
                let words = [operation, "lane"];
                let lanes = arguments[0].parts().iter().cloned().map(Ok);
                return lanes
                    .reduce(|left, right| {
                        let found = self.on_integers(&words, &[left?, right?], lane)?;
                        Ok(found.unwrap_or(Datum::NOTHING))
                    })
                    .unwrap_or(Ok(Datum::NOTHING));
            }
            other => return not_modelled(format!("llvm.vector.reduce.{other}")),
        };
        let (start, vector) = match arguments {
            [start, vector] => (Some(start.clone()), vector),
            [vector] => (None, vector),
            _ => return not_modelled("a reduction of nothing"),
        };
        let mut lanes = start.into_iter().chain(vector.parts().iter().cloned());
        let first = lanes.next().unwrap_or(Datum::NOTHING);
        lanes.try_fold(first, |sum, lane_value| {
            self.binary(operator, lane, &sum, &lane_value)
        })
    }

    fn masked_load(
        &self,
        of: TypeNumber,
        address: u64,
        mask: &Datum,
        otherwise: &Datum,
    ) -> Step<Datum> {
        let element = self.lane(of);
        let stride = self.layouts[element].size;
        let lanes = (0..).zip(mask.parts()).zip(otherwise.parts());
        let lanes = lanes.map(|((index, mask), otherwise)| match mask.bits() {
            0 => Ok(otherwise.clone()),
            _ => self.load(element, address + index * stride),
        });
        Ok(Datum::Parts(lanes.collect::<Step<_>>()?))
    }

    fn masked_store(
        &mut self,
        call: &Call,
        value: &Datum,
        address: u64,
        mask: &Datum,
    ) -> Step<Datum> {
        let Type::Function { parameters, .. } = &self.program.types[call.signature] else {
            return not_modelled("a masked store without a type");
        };
        let element = self.lane(parameters[0]);
        let stride = self.layouts[element].size;
        for ((index, mask), lane) in (0..).zip(mask.parts()).zip(value.parts()) {
            if mask.bits() != 0 {
                self.store(element, address + index * stride, lane)?;
            }
        }
        Ok(Datum::NOTHING)
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

/// A function of doubles, applied in any format that a double holds.
fn apply(kind: FloatKind, bits: u128, host: impl Fn(f64) -> f64) -> Step<u128> {
    let (number, exact) = float::as_double(kind, bits)?;
    if !exact && !number.is_nan() {
        return not_modelled(format!("a function of {kind:?} numbers"));
    }
    float::of_double(kind, host(number))
}

/// Functions whose results a double rounds as each format would.
fn host_function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "sqrt" => f64::sqrt,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "trunc" => f64::trunc,
        "round" => f64::round,
        "roundeven" | "rint" | "nearbyint" => f64::round_ties_even,
        _ => return None,
    })
}

fn host_function_of_two(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        "minnum" | "minimumnum" => f64::min,
        "maxnum" | "maximumnum" => f64::max,
        _ => return None,
    })
}

/// The wrapped result, and whether it differs from the true one.
fn overflow(operation: &str, bits: u32, left: u128, right: u128) -> Step<(u128, bool)> {
    let mask = ones(bits.into());
    let (a, b) = (signed(left, bits), signed(right, bits));
    let fits = |value: i128| signed(value.cast_unsigned() & mask, bits) == value;
    let of_signed =
        |(value, beyond): (i128, bool)| (value.cast_unsigned() & mask, beyond || !fits(value));
    Ok(match operation {
        "sadd" => of_signed(a.overflowing_add(b)),
        "ssub" => of_signed(a.overflowing_sub(b)),
        "smul" => of_signed(a.overflowing_mul(b)),
        "uadd" => {
            let (value, beyond) = left.overflowing_add(right);
            (value & mask, beyond || value > mask)
        }
        "usub" => (left.wrapping_sub(right) & mask, left < right),
        "umul" => {
            let (value, beyond) = left.overflowing_mul(right);
            (value & mask, beyond || value > mask)
        }
        other => return not_modelled(format!("llvm.{other}.with.overflow")),
    })
}

/// The nearest value that fits.
fn saturate(operation: &str, bits: u32, left: u128, right: u128) -> Step<u128> {
    let mask = ones(bits.into());
    let (base, negative) = match operation {
        "sshl" | "ushl" => return not_modelled(format!("llvm.{operation}.sat")),
        "sadd" => (operation, signed(left, bits) < 0),
        "ssub" => (operation, signed(left, bits) < 0),
        "usub" => (operation, true),
        _ => (operation, false),
    };
    let (value, overflows) = overflow(base, bits, left, right)?;
    let most = if base.starts_with('s') {
        mask >> 1
    } else {
        mask
    };
    Ok(match (overflows, negative) {
        (false, _) => value,
        (true, true) => !most & mask,
        (true, false) => most,
    })
}

/// The upper (or lower) half of two concatenated values, shifted.
fn funnel(left_shift: bool, bits: u32, arguments: &[Datum]) -> Step<Datum> {
    let [high, low, amount] = arguments else {
        return not_modelled("a funnel shift of other arguments");
    };
    let mask = ones(bits.into());
    let lane = |high: u128, low: u128, amount: u128| {
        let amount = (amount % u128::from(bits)) as u32;
        let result = match (left_shift, amount) {
            (true, 0) => high,
            (false, 0) => low,
            (true, amount) => high << amount | low >> (bits - amount),
            (false, amount) => high << (bits - amount) | low >> amount,
        };
        result & mask
    };
    match amount {
        Datum::Bits(_) | Datum::Wide(_) => {
            Ok(Datum::Bits(lane(high.bits(), low.bits(), amount.bits())))
        }
        Datum::Parts(amounts) => {
            let lanes = high.parts().iter().zip(low.parts()).zip(amounts.iter());
            Ok(Datum::of_parts(lanes.map(|((high, low), amount)| {
                Datum::Bits(lane(high.bits(), low.bits(), amount.bits()))
            })))
        }
    }
}
