//! Conversions from one type to another.

use super::arithmetic::Number;
use super::bits;
use super::datum::Datum;
use super::encode::{PLAIN, ones};
use super::machine::Machine;
use super::wide::Wide;
use super::{Step, float, integer, not_modelled};
use crate::ids::TypeNumber;
use crate::operator::CastOperator;

/// Converts a value to another type.
pub(super) fn cast(
    machine: &Machine<'_>,
    operator: CastOperator,
    from: TypeNumber,
    to: TypeNumber,
    operand: &Datum,
) -> Step<Datum> {
    use CastOperator::*;
    let (from_bits, to_bits) = (machine.lane_bits(from), machine.lane_bits(to));
    if operator == Bitcast {
        let packed = bits::pack(machine.program, &machine.layouts, from, operand);
        return Ok(bits::unpack(machine.program, &machine.layouts, to, &packed));
    }
    if from_bits > PLAIN as u32 || to_bits > PLAIN as u32 {
        return cast_wide(operator, from_bits, to_bits, operand);
    }
    let (from, to) = (machine.number(from), machine.number(to));
    operand.map(|value| convert(operator, from, to, value))
}

/// A scalar of at most 128 bits as another.
pub(super) fn convert(operator: CastOperator, from: Number, to: Number, value: u128) -> Step<u128> {
    use CastOperator::*;
    let (from_bits, to_bits) = (from.bits(), to.bits());
    let mask = ones(to_bits.into());
    match operator {
        Truncate | ZeroExtend | PointerToInteger | PointerToAddress | IntegerToPointer
        | AddressSpace | Bitcast => Ok(value & mask),
        SignExtend => Ok(integer::signed(value, from_bits).cast_unsigned() & mask),
        FloatTruncate | FloatExtend => float::convert(from.kind()?, to.kind()?, value),
        FloatToUnsigned | FloatToSigned => {
            float::to_integer(from.kind()?, value, to_bits, operator == FloatToSigned)
        }
        UnsignedToFloat | SignedToFloat => {
            float::from_integer(to.kind()?, value, from_bits, operator == SignedToFloat)
        }
    }
}

/// Converts from or to an integer of more than 128 bits.
fn cast_wide(operator: CastOperator, from: u32, to: u32, operand: &Datum) -> Step<Datum> {
    use CastOperator::*;
    let with_sign = operator == SignExtend;
    let wide = match (operator, operand) {
        (Truncate | ZeroExtend | SignExtend, Datum::Wide(wide)) if to > PLAIN as u32 => {
            wide.resize(to, with_sign)
        }
        (Truncate, Datum::Wide(wide)) => return Ok(Datum::Bits(wide.low() & ones(to.into()))),
        (SignExtend, Datum::Bits(bits)) => Wide::widen(integer::signed(*bits, from), to),
        (ZeroExtend, Datum::Bits(bits)) => {
            Wide::from_words(&[*bits as u64, (bits >> 64) as u64], to)
        }
        _ => return not_modelled(format!("{operator} of {} bits", from.max(to))),
    };
    Ok(Datum::Wide(wide.into()))
}
