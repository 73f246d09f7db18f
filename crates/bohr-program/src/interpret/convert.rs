//! Conversions from one type to another.

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
    let mask = ones(to_bits.into());
    match operator {
        Truncate | ZeroExtend | PointerToInteger | PointerToAddress | IntegerToPointer
        | AddressSpace | Bitcast => operand.map(|value| Ok(value & mask)),
        SignExtend => operand.map(|value| {
            let widened = integer::signed(value, from_bits).cast_unsigned();
            Ok(widened & mask)
        }),
        FloatTruncate | FloatExtend => {
            let (from, to) = (machine.float_kind(from)?, machine.float_kind(to)?);
            operand.map(|value| float::convert(from, to, value))
        }
        FloatToUnsigned | FloatToSigned => {
            let kind = machine.float_kind(from)?;
            let is_signed = operator == FloatToSigned;
            operand.map(|value| float::to_integer(kind, value, to_bits, is_signed))
        }
        UnsignedToFloat | SignedToFloat => {
            let kind = machine.float_kind(to)?;
            let is_signed = operator == SignedToFloat;
            operand.map(|value| float::from_integer(kind, value, from_bits, is_signed))
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
