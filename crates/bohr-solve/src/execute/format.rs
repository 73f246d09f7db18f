//! Text as `printf` makes it, of values that are known.

use super::text::bytes;
use super::thread::Thread;
use super::{Step, World, not_modelled};
use crate::datum::Datum;
use crate::term::Scalar;

/// What a conversion asks for.
#[derive(Clone, Copy, Debug, Default)]
struct Conversion {
    left: bool,
    zeros: bool,
    plus: Option<char>,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits of an integer.
    bits: u32,
}

impl Thread<'_> {
    /// `snprintf` and `sprintf`; nothing, if it is another function.
    pub(super) fn about_formats(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
    ) -> Step<Option<Datum>> {
        let (format, limited) = match name {
            "snprintf" => (2, true),
            "sprintf" => (1, false),
            "__snprintf_chk" => (4, true),
            "__sprintf_chk" => (3, false),
            _ => return Ok(None),
        };
        let mut text = self.formatted(world, &arguments[format], &arguments[format + 1..])?;
        let length = text.len() as u64;
        if limited {
            let room = self.known(&arguments[1], "the size of a buffer")?;
            text.truncate(room.saturating_sub(1) as usize);
            if room == 0 {
                return Ok(Some(length.into()));
            }
        }
        text.push(0);
        let to = arguments[0].scalar();
        world.begin(self.moment(bohr_event::MemoryOrder::Plain));
        let done = self.write(world, to, &text);
        world.finish();
        done?;
        Ok(Some(length.into()))
    }

    fn formatted(
        &mut self,
        world: &mut dyn World,
        format: &Datum,
        values: &[Datum],
    ) -> Step<Vec<u8>> {
        let format = bytes(world, format.scalar(), u64::MAX, true)?;
        let mut values = values.iter();
        let mut next = || match values.next().map(Datum::scalar) {
            Some(Scalar::Known(value)) => Ok(value),
            Some(Scalar::Term(_)) => not_modelled("a text made of what other threads wrote"),
            None => not_modelled("a text made of more values than there are"),
        };
        let mut text = Vec::new();
        let mut rest = format.iter().copied().peekable();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                text.push(byte);
                continue;
            }
            let mut wanted = Conversion {
                bits: 32,
                ..Conversion::default()
            };
            while let Some(flag) = rest.next_if(|byte| b"-+ #0".contains(byte)) {
                match flag {
                    b'-' => wanted.left = true,
                    b'0' => wanted.zeros = true,
                    b'#' => wanted.alternate = true,
                    sign => wanted.plus = Some(sign as char),
                }
            }
            let mut number = |rest: &mut std::iter::Peekable<_>| -> Step<usize> {
                if rest.next_if_eq(&b'*').is_some() {
                    return Ok((next()? as u32 as i32).max(0) as usize);
                }
                let mut number = 0;
                while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
                    number = number * 10 + usize::from(digit - b'0');
                }
                Ok(number)
            };
            wanted.width = number(&mut rest)?;
            if rest.next_if_eq(&b'.').is_some() {
                wanted.precision = Some(number(&mut rest)?);
            }
            while let Some(size) = rest.next_if(|byte| b"hlzjt".contains(byte)) {
                wanted.bits = match size {
                    b'h' => wanted.bits / 2,
                    _ => 64,
                };
            }
            let piece = match rest.next() {
                Some(b'%') => b"%".to_vec(),
                Some(b'c') => vec![next()? as u8],
                Some(b's') => {
                    let most = wanted.precision.map_or(u64::MAX, |most| most as u64);
                    bytes(world, Scalar::Known(next()?), most, true)?
                }
                Some(kind @ (b'd' | b'i' | b'u' | b'x' | b'X' | b'o')) => {
                    integer(&wanted, kind, next()?).into_bytes()
                }
                Some(b'f') if wanted.bits == 32 => {
                    let value = f64::from_bits(next()? as u64);
                    real(&wanted, value)?.into_bytes()
                }
                other => {
                    let kind = other.map_or(' ', char::from);
                    return not_modelled(format!("the conversion %{kind} of a text"));
                }
            };
            text.extend(padded(&wanted, piece));
        }
        Ok(text)
    }
}

fn integer(wanted: &Conversion, kind: u8, value: u128) -> String {
    let value = value as u64 & (u64::MAX >> (64 - wanted.bits));
    let shift = 64 - wanted.bits;
    let signed = (value << shift).cast_signed() >> shift;
    let (sign, mut digits) = match kind {
        b'd' | b'i' if signed < 0 => ("-".to_string(), signed.unsigned_abs().to_string()),
        b'd' | b'i' => {
            let sign = wanted.plus.map(String::from).unwrap_or_default();
            (sign, signed.to_string())
        }
        b'x' => (prefix(wanted, value, "0x"), format!("{value:x}")),
        b'X' => (prefix(wanted, value, "0X"), format!("{value:X}")),
        b'o' => (prefix(wanted, value, "0"), format!("{value:o}")),
        _ => (String::new(), value.to_string()),
    };
    let zeros = match wanted.precision {
        Some(precision) => precision,
        None if wanted.zeros && !wanted.left => wanted.width.saturating_sub(sign.len()),
        None => 0,
    };
    if digits == "0" && wanted.precision == Some(0) {
        digits.clear();
    }
    format!("{sign}{digits:0>zeros$}")
}

fn prefix(wanted: &Conversion, value: u64, prefix: &str) -> String {
    match wanted.alternate && value != 0 {
        true => prefix.to_string(),
        false => String::new(),
    }
}

fn real(wanted: &Conversion, value: f64) -> Step<String> {
    if !value.is_finite() || wanted.plus.is_some() || wanted.zeros {
        return not_modelled("such a number in a text");
    }
    Ok(format!("{value:.*}", wanted.precision.unwrap_or(6)))
}

fn padded(wanted: &Conversion, piece: Vec<u8>) -> Vec<u8> {
    let blanks = vec![b' '; wanted.width.saturating_sub(piece.len())];
    match wanted.left {
        true => [piece, blanks].concat(),
        false => [blanks, piece].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_as_c_does() {
        let plain = Conversion {
            bits: 32,
            ..Conversion::default()
        };
        let cases = [
            (plain, b'd', -5i64, "-5"),
            (
                Conversion {
                    plus: Some('+'),
                    ..plain
                },
                b'd',
                5,
                "+5",
            ),
            (
                Conversion {
                    zeros: true,
                    width: 6,
                    ..plain
                },
                b'd',
                -42,
                "-00042",
            ),
            (
                Conversion {
                    precision: Some(3),
                    ..plain
                },
                b'u',
                7,
                "007",
            ),
            (
                Conversion {
                    precision: Some(0),
                    ..plain
                },
                b'd',
                0,
                "",
            ),
            (
                Conversion {
                    alternate: true,
                    ..plain
                },
                b'x',
                255,
                "0xff",
            ),
            (Conversion { bits: 16, ..plain }, b'd', 0x1_ffff, "-1"),
            (
                Conversion { bits: 64, ..plain },
                b'u',
                -1,
                "18446744073709551615",
            ),
        ];
        for (wanted, kind, value, expected) in cases {
            let value = u128::from(value.cast_unsigned());
            assert_eq!(integer(&wanted, kind, value), expected);
        }
    }
}
