//! What `printf` makes of its format.

use crate::interpret::datum::Datum;
use crate::interpret::float;
use crate::interpret::machine::Machine;
use crate::interpret::{Step, not_modelled};
use crate::types::FloatKind;

/// Where the arguments of a format come from.
enum Source<'a> {
    Values(std::slice::Iter<'a, Datum>),
    /// A `va_list`, by the address of its area on the stack.
    Area(u64),
}

/// One conversion: `%[flags][width][.precision][length]letter`.
#[derive(Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer; 16 stands for `long double`.
    size: usize,
    letter: u8,
}

impl Machine<'_> {
    /// Formats with values at hand.
    pub(super) fn format_values(&mut self, format: u64, values: &[Datum]) -> Step<Vec<u8>> {
        self.format(format, Source::Values(values.iter()))
    }

    /// Formats with a `va_list`.
    pub(super) fn format_list(&mut self, format: u64, list: u64) -> Step<Vec<u8>> {
        if self.memory.read_int(list)? < 48 {
            return not_modelled("a va_list that the program did not make with va_start");
        }
        let area = self.memory.read_word(list + 8)?;
        self.format(format, Source::Area(area))
    }

    fn next(&mut self, source: &mut Source<'_>, is_long_double: bool) -> Step<Datum> {
        match source {
            Source::Values(values) => Ok(values.next().cloned().unwrap_or(Datum::NOTHING)),
            Source::Area(area) => {
                let (alignment, size) = if is_long_double { (16, 16) } else { (8, 8) };
                *area = area.next_multiple_of(alignment);
                let bytes = self.memory.read(*area, size)?;
                let bits = bytes
                    .iter()
                    .rev()
                    .fold(0, |bits, byte| bits << 8 | u128::from(*byte));
                *area += size;
                Ok(Datum::Bits(bits))
            }
        }
    }

    fn format(&mut self, format: u64, mut source: Source<'_>) -> Step<Vec<u8>> {
        let format = self.memory.string(format)?;
        let mut text = Vec::new();
        let mut rest = format.iter().copied();
        while let Some(byte) = rest.next() {
            if byte != b'%' {
                text.push(byte);
                continue;
            }
            let conversion = self.conversion(&mut rest, &mut source)?;
            if conversion.letter == b'%' {
                text.push(b'%');
                continue;
            }
            let value = self.next(&mut source, conversion.size == 16)?;
            text.extend(self.convert(&conversion, &value)?);
        }
        Ok(text)
    }

    fn conversion(
        &mut self,
        rest: &mut impl Iterator<Item = u8>,
        source: &mut Source<'_>,
    ) -> Step<Conversion> {
        let mut conversion = Conversion {
            size: 4,
            ..Conversion::default()
        };
        let mut after_point = false;
        for byte in rest {
            match byte {
                b'-' if !after_point => conversion.left = true,
                b'+' => conversion.plus = true,
                b' ' => conversion.space = true,
                b'#' => conversion.alternate = true,
                b'0' if !after_point && conversion.width == 0 => conversion.zero = true,
                b'.' => {
                    after_point = true;
                    conversion.precision = Some(0);
                }
                b'0'..=b'9' => conversion.digit(usize::from(byte - b'0'), after_point),
                b'*' => {
                    let number = self.next(source, false)?.int();
                    conversion.star(number, after_point);
                }
                b'h' => conversion.size = if conversion.size == 2 { 1 } else { 2 },
                b'l' | b'j' | b'z' | b't' => conversion.size = 8,
                b'L' => conversion.size = 16,
                letter => {
                    conversion.letter = letter;
                    return Ok(conversion);
                }
            }
        }
        not_modelled("a format that ends within a conversion")
    }

    fn convert(&mut self, conversion: &Conversion, value: &Datum) -> Step<Vec<u8>> {
        Ok(match conversion.letter {
            b'd' | b'i' | b'u' | b'x' | b'X' | b'o' => conversion.integer(value),
            b'c' => conversion.pad(Vec::new(), vec![value.word() as u8], false),
            b's' if value.word() == 0 => conversion.pad(Vec::new(), b"(null)".to_vec(), false),
            b's' => {
                let limit = conversion.precision.map_or(u64::MAX, |limit| limit as u64);
                let text = self.memory.string_within(value.word(), limit)?;
                conversion.pad(Vec::new(), text, false)
            }
            b'p' => match value.word() {
                0 => conversion.pad(Vec::new(), b"(nil)".to_vec(), false),
                address => {
                    conversion.pad(b"0x".to_vec(), format!("{address:x}").into_bytes(), false)
                }
            },
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' => {
                let number = match conversion.size {
                    16 => match float::as_double(FloatKind::X87, value.bits())? {
                        (number, true) => number,
                        _ => return not_modelled("printing a long double that is no double"),
                    },
                    _ => f64::from_bits(value.word()),
                };
                conversion.number(number)
            }
            other => return not_modelled(format!("printf's %{}", char::from(other))),
        })
    }
}

impl Conversion {
    fn digit(&mut self, digit: usize, after_point: bool) {
        match &mut self.precision {
            Some(precision) if after_point => *precision = *precision * 10 + digit,
            _ => self.width = self.width * 10 + digit,
        }
    }

    fn star(&mut self, number: i32, after_point: bool) {
        match after_point {
            true => self.precision = usize::try_from(number).ok(),
            false => {
                self.left |= number < 0;
                self.width = number.unsigned_abs() as usize;
            }
        }
    }

    /// Fills up to the width: zeros between prefix and digits, or blanks outside.
    fn pad(&self, mut prefix: Vec<u8>, body: Vec<u8>, zeros: bool) -> Vec<u8> {
        let missing = self.width.saturating_sub(prefix.len() + body.len());
        if self.left {
            prefix.extend(body);
            prefix.extend(std::iter::repeat_n(b' ', missing));
            prefix
        } else if zeros {
            prefix.extend(std::iter::repeat_n(b'0', missing));
            prefix.extend(body);
            prefix
        } else {
            let mut text = vec![b' '; missing];
            text.extend(prefix);
            text.extend(body);
            text
        }
    }

    fn sign(&self, negative: bool) -> Vec<u8> {
        match (negative, self.plus, self.space) {
            (true, ..) => b"-".to_vec(),
            (false, true, _) => b"+".to_vec(),
            (false, false, true) => b" ".to_vec(),
            _ => Vec::new(),
        }
    }

    fn integer(&self, value: &Datum) -> Vec<u8> {
        let bits = self.size.min(8) as u32 * 8;
        let unused = 64 - bits;
        let word = value.word() << unused >> unused;
        let signed = (value.word() << unused).cast_signed() >> unused;
        let (prefix, mut digits) = match self.letter {
            b'd' | b'i' => (self.sign(signed < 0), signed.unsigned_abs().to_string()),
            b'u' => (Vec::new(), word.to_string()),
            b'x' | b'X' => {
                let prefix = if self.alternate && word != 0 {
                    vec![b'0', self.letter]
                } else {
                    Vec::new()
                };
                let digits = format!("{word:x}");
                (
                    prefix,
                    if self.letter == b'X' {
                        digits.to_uppercase()
                    } else {
                        digits
                    },
                )
            }
            _ => {
                let prefix = if self.alternate {
                    b"0".to_vec()
                } else {
                    Vec::new()
                };
                (prefix, format!("{word:o}"))
            }
        };
        if let Some(precision) = self.precision {
            let missing = precision.saturating_sub(digits.len());
            digits.insert_str(0, &"0".repeat(missing));
            if precision == 0 && word == 0 {
                digits.clear();
            }
        }
        self.pad(
            prefix,
            digits.into_bytes(),
            self.zero && self.precision.is_none(),
        )
    }

    fn number(&self, number: f64) -> Vec<u8> {
        let prefix = self.sign(number.is_sign_negative());
        let magnitude = number.abs();
        let body = match self.letter.to_ascii_lowercase() {
            _ if !number.is_finite() => if number.is_nan() { "nan" } else { "inf" }.to_string(),
            b'f' => {
                let point = if self.alternate && self.precision == Some(0) {
                    "."
                } else {
                    ""
                };
                format!("{magnitude:.*}{point}", self.precision.unwrap_or(6))
            }
            b'e' => exponential(magnitude, self.precision.unwrap_or(6)),
            _ => shortest(
                magnitude,
                self.precision.unwrap_or(6).max(1),
                self.alternate,
            ),
        };
        let body = match self.letter.is_ascii_uppercase() {
            true => body.to_uppercase(),
            false => body,
        };
        self.pad(prefix, body.into_bytes(), self.zero && number.is_finite())
    }
}

/// `d.ddde±xx`
fn exponential(number: f64, precision: usize) -> String {
    let text = format!("{number:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `%g`: exponential where the exponent is small or large, trailing zeros gone.
fn shortest(number: f64, significant: usize, keep_zeros: bool) -> String {
    let text = exponential(number, significant - 1);
    let exponent: i32 = text
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    let cut = |digits: &str| match digits.contains('.') && !keep_zeros {
        true => digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_string(),
        false => digits.to_string(),
    };
    if exponent < -4 || exponent >= significant as i32 {
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", cut(digits));
    }
    let places = (significant as i32 - 1 - exponent).max(0) as usize;
    cut(&format!("{number:.places$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(format: &str, number: f64) -> String {
        let precision = format.trim_matches(|c: char| !c.is_ascii_digit());
        let conversion = Conversion {
            precision: precision.parse().ok(),
            letter: *format.as_bytes().last().unwrap(),
            ..Conversion::default()
        };
        String::from_utf8(conversion.number(number)).unwrap()
    }

    /// Expected texts are glibc's.
    #[test]
    fn numbers_are_printed_as_c_prints_them() {
        assert_eq!(shown("%f", 0.5), "0.500000");
        assert_eq!(shown("%.0f", 0.5), "0");
        assert_eq!(shown("%.0f", 2.5), "2");
        assert_eq!(shown("%.3f", -1.0005), "-1.000");
        assert_eq!(shown("%e", 12345.678), "1.234568e+04");
        assert_eq!(shown("%.2E", 1e-7), "1.00E-07");
        assert_eq!(shown("%g", 100_000.0), "100000");
        assert_eq!(shown("%g", 1_000_000.0), "1e+06");
        assert_eq!(shown("%g", 0.0001), "0.0001");
        assert_eq!(shown("%g", 0.00001), "1e-05");
        assert_eq!(shown("%.3g", 2.0 / 3.0), "0.667");
        assert_eq!(shown("%g", f64::NEG_INFINITY), "-inf");
        assert_eq!(shown("%f", 1e22), "10000000000000000000000.000000");
    }
}
