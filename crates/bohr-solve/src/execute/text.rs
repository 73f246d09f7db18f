//! Bytes and strings. Texts that others write while they are looked at are not
//! modelled, and refused.

use super::access::plus;
use super::thread::Thread;
use super::{Step, World, not_modelled};
use crate::datum::Datum;
use crate::term::Scalar;
use bohr_program::external;
use std::cmp::Ordering;

/// A comparison as C returns it.
fn sign(order: Ordering) -> Datum {
    Datum::Scalar(Scalar::Known((order as i32).cast_unsigned().into()))
}

impl Thread<'_> {
    pub(super) fn about_text(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
    ) -> Step<Option<Datum>> {
        let touched = self.touched(name, arguments);
        let name = name
            .strip_suffix("_chk")
            .map_or(name, |name| name.trim_start_matches("__"));
        let length = match name {
            "memcpy" | "memmove" | "mempcpy" | "memset" | "memcmp" | "bcmp" | "strncmp"
            | "strncpy" => self.known(&arguments[2], "a length").ok(),
            _ => None,
        };
        world.begin(self.seen(operations(name).unwrap_or(touched), length));
        let result = self.text(world, name, arguments);
        world.finish();
        result
    }

    /// As how many operations the runtime sees any other function.
    fn touched(&self, name: &str, arguments: &[Datum]) -> u32 {
        let Some(touched) = external::find(name).map(|known| &known.touched) else {
            return 0;
        };
        let limit = touched.unless_zero.map(|at| usize::from(at.0));
        let limit = limit.and_then(|at| arguments.get(at));
        match limit.map(Datum::scalar) {
            Some(Scalar::Known(0)) => 0,
            _ => touched.arguments.len() as u32,
        }
    }

    fn text(
        &mut self,
        world: &mut dyn World,
        name: &str,
        arguments: &[Datum],
    ) -> Step<Option<Datum>> {
        let at = |index: usize| arguments[index].scalar();
        let limit = |index: usize| self.known(&arguments[index], "a length");
        Ok(Some(match name {
            "memcpy" | "memmove" => {
                let length = limit(2)?;
                self.copy(world, at(0), at(1), length)?;
                at(0).into()
            }
            "mempcpy" => {
                let length = limit(2)?;
                self.copy(world, at(0), at(1), length)?;
                plus(world, at(0), length)?.into()
            }
            "memset" => {
                let length = limit(2)?;
                self.fill(world, at(0), at(1), length)?;
                at(0).into()
            }
            "bzero" | "explicit_bzero" => {
                let length = limit(1)?;
                self.fill(world, at(0), Scalar::Known(0), length)?;
                Datum::NOTHING
            }
            "memcmp" | "bcmp" => {
                let length = limit(2)?;
                let left = bytes(world, at(0), length, false)?;
                sign(left.cmp(&bytes(world, at(1), length, false)?))
            }
            "strlen" => (bytes(world, at(0), u64::MAX, true)?.len() as u64).into(),
            "strnlen" => (bytes(world, at(0), limit(1)?, true)?.len() as u64).into(),
            "strcmp" | "strncmp" => {
                let most = if name == "strcmp" {
                    u64::MAX
                } else {
                    limit(2)?
                };
                let left = bytes(world, at(0), most, true)?;
                sign(left.cmp(&bytes(world, at(1), most, true)?))
            }
            "strchr" => {
                let mut text = bytes(world, at(0), u64::MAX, true)?;
                text.push(0);
                let wanted = self.known(&arguments[1], "a character")? as u8;
                match text.iter().position(|byte| *byte == wanted) {
                    Some(index) => plus(world, at(0), index as u64)?.into(),
                    None => 0u64.into(),
                }
            }
            "strcpy" | "stpcpy" | "strncpy" => {
                let most = if name == "strncpy" {
                    limit(2)?
                } else {
                    u64::MAX
                };
                let mut text = bytes(world, at(1), most, true)?;
                let end = plus(world, at(0), text.len() as u64)?;
                match name {
                    "strncpy" => text.resize(most as usize, 0),
                    _ => text.push(0),
                }
                self.write(world, at(0), &text)?;
                if name == "stpcpy" { end } else { at(0) }.into()
            }
            "strcat" => {
                let length = bytes(world, at(0), u64::MAX, true)?.len() as u64;
                let mut text = bytes(world, at(1), u64::MAX, true)?;
                text.push(0);
                let end = plus(world, at(0), length)?;
                self.write(world, end, &text)?;
                at(0).into()
            }
            "strdup" => {
                let mut text = bytes(world, at(0), u64::MAX, true)?;
                text.push(0);
                let copy = self.allocate(world, text.len() as u64, 16)?;
                self.write(world, copy.into(), &text)?;
                copy.into()
            }
            "atoi" | "atol" | "atoll" | "strtol" | "strtoll" | "__isoc23_strtol" => {
                let text = bytes(world, at(0), u64::MAX, true)?;
                let (value, length) = decimal(&text);
                if let Some(end) = arguments
                    .get(1)
                    .filter(|end| end.scalar() != Scalar::Known(0))
                {
                    let behind = plus(world, at(0), length as u64)?;
                    world.store(end.scalar(), 8, behind)?;
                }
                match name {
                    "atoi" => u64::from((value as i32).cast_unsigned()).into(),
                    _ => value.cast_unsigned().into(),
                }
            }
            "getenv" | "secure_getenv" => {
                let name = bytes(world, at(0), u64::MAX, true)?;
                self.variable(world, &name)?.into()
            }
            _ => return Ok(None),
        }))
    }

    /// Where a value of the environment lies; 0 if it is not there.
    fn variable(&mut self, world: &mut dyn World, name: &[u8]) -> Step<u64> {
        if let Some(known) = self.variables.get(name) {
            return Ok(*known);
        }
        let mut all = self.code.environment.iter();
        let Some((_, value)) = all.find(|(own, _)| own == name) else {
            return Ok(0);
        };
        let text = [value, &b"\0"[..]].concat();
        let address = self.allocate(world, text.len() as u64, 16)?;
        self.write(world, address.into(), &text)?;
        self.variables.insert(name.to_vec(), address);
        Ok(address)
    }
}

/// As how many operations the runtime sees a function that the table of externals does
/// not tell it of.
fn operations(name: &str) -> Option<u32> {
    match name {
        "memset" | "bzero" | "explicit_bzero" | "strdup" => Some(1),
        "memcpy" | "memmove" | "mempcpy" | "memcmp" | "bcmp" => Some(2),
        _ => None,
    }
}

/// Bytes that have to be known: so many, or up to a zero.
pub(super) fn bytes(
    world: &mut dyn World,
    from: Scalar,
    limit: u64,
    to_zero: bool,
) -> Step<Vec<u8>> {
    let mut all = Vec::new();
    while (all.len() as u64) < limit {
        let at = plus(world, from, all.len() as u64)?;
        match world.load(at, 1)? {
            Scalar::Known(0) if to_zero => break,
            Scalar::Known(byte) => all.push(byte as u8),
            Scalar::Term(_) => return not_modelled("a text that other threads write"),
        }
    }
    Ok(all)
}

/// A decimal number at the beginning of a text, and how many bytes it takes.
fn decimal(text: &[u8]) -> (i64, usize) {
    let blank = text
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    let signed = matches!(text.get(blank), Some(b'+' | b'-'));
    let digits = blank + usize::from(signed);
    let count = text[digits..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let value = text[digits..][..count].iter().fold(0i64, |value, digit| {
        value
            .saturating_mul(10)
            .saturating_add((digit - b'0').into())
    });
    let negative = signed && text[blank] == b'-';
    let length = if count == 0 { 0 } else { digits + count };
    (if negative { -value } else { value }, length)
}
