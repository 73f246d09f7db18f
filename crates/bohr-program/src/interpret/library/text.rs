//! Bytes and strings.

use super::NOTHING;
use crate::interpret::Step;
use crate::interpret::datum::Datum;
use crate::interpret::machine::Machine;
use std::cmp::Ordering;

/// A comparison as C returns it.
fn sign(order: Ordering) -> Datum {
    Datum::Bits((order as i32).cast_unsigned().into())
}

impl Machine<'_> {
    pub(super) fn text_call(&mut self, name: &str, arguments: &[Datum]) -> Step<Option<Datum>> {
        let name = name
            .strip_suffix("_chk")
            .map_or(name, |name| name.trim_start_matches("__"));
        let word = |index: usize| arguments.get(index).map_or(0, Datum::word);
        Ok(Some(match name {
            "memcpy" | "memmove" => {
                self.memory.copy(word(0), word(1), word(2))?;
                word(0).into()
            }
            "mempcpy" => {
                self.memory.copy(word(0), word(1), word(2))?;
                (word(0) + word(2)).into()
            }
            "memset" => {
                self.memory.bytes(word(0), word(2))?.fill(word(1) as u8);
                word(0).into()
            }
            "bzero" | "explicit_bzero" => {
                self.memory.bytes(word(0), word(1))?.fill(0);
                NOTHING
            }
            "memcmp" | "bcmp" => {
                let left = self.memory.read(word(0), word(2))?;
                sign(left.cmp(self.memory.read(word(1), word(2))?))
            }
            "memchr" => self.find(word(0), word(2), word(1) as u8)?,
            "strlen" => (self.memory.string(word(0))?.len() as u64).into(),
            "strnlen" => (self.memory.string_within(word(0), word(1))?.len() as u64).into(),
            "strcmp" => {
                let left = self.memory.string(word(0))?;
                sign(left.cmp(&self.memory.string(word(1))?))
            }
            "strncmp" => {
                let left = self.memory.string_within(word(0), word(2))?;
                sign(left.cmp(&self.memory.string_within(word(1), word(2))?))
            }
            "strchr" => {
                let length = self.memory.string(word(0))?.len() as u64 + 1;
                self.find(word(0), length, word(1) as u8)?
            }
            "strrchr" => {
                let text = self.memory.string(word(0))?;
                let wanted = word(1) as u8;
                let found = text.iter().rposition(|byte| *byte == wanted);
                let found = if wanted == 0 { Some(text.len()) } else { found };
                found.map_or(0, |at| word(0) + at as u64).into()
            }
            "strstr" => {
                let (text, wanted) = (self.memory.string(word(0))?, self.memory.string(word(1))?);
                let found = (0..=text.len()).find(|start| text[*start..].starts_with(&wanted));
                found.map_or(0, |at| word(0) + at as u64).into()
            }
            "strcpy" | "stpcpy" => {
                let text = self.memory.string(word(1))?;
                self.put_string(word(0), &text)?;
                let end = word(0) + text.len() as u64;
                if name == "strcpy" { word(0) } else { end }.into()
            }
            "strncpy" => {
                let text = self.memory.string_within(word(1), word(2))?;
                self.memory.bytes(word(0), word(2))?.fill(0);
                self.memory.write(word(0), &text)?;
                word(0).into()
            }
            "strcat" => {
                let end = word(0) + self.memory.string(word(0))?.len() as u64;
                let text = self.memory.string(word(1))?;
                self.put_string(end, &text)?;
                word(0).into()
            }
            "strdup" => {
                let text = self.memory.string(word(0))?;
                let copy = self
                    .heap
                    .allocate(&mut self.memory, text.len() as u64 + 1, 16)?;
                self.put_string(copy, &text)?;
                copy.into()
            }
            "strtol" | "atoi" | "atol" | "atoll" | "strtoll" | "__isoc23_strtol" => {
                return self.parse_integer(name, arguments).map(Some);
            }
            "toupper" => each_letter(&arguments[0], u8::to_ascii_uppercase),
            "tolower" => each_letter(&arguments[0], u8::to_ascii_lowercase),
            _ => return Ok(None),
        }))
    }

    /// The address of a byte, or null.
    fn find(&self, start: u64, length: u64, wanted: u8) -> Step<Datum> {
        for address in start..start.saturating_add(length) {
            if self.memory.read(address, 1)?[0] == wanted {
                return Ok(address.into());
            }
        }
        Ok(0u64.into())
    }

    pub(super) fn put_string(&mut self, address: u64, text: &[u8]) -> Step<()> {
        self.memory.write(address, text)?;
        self.memory.write(address + text.len() as u64, &[0])
    }

    /// A decimal number; other bases are not needed so far.
    fn parse_integer(&mut self, name: &str, arguments: &[Datum]) -> Step<Datum> {
        let start = arguments[0].word();
        let text = self.memory.string(start)?;
        let takes_base = !name.starts_with('a');
        if takes_base && !matches!(arguments[2].int(), 0 | 10) {
            return super::not_modelled(format!("{name} with base {}", arguments[2].int()));
        }
        let blank = text
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let sign = text[blank..]
            .first()
            .is_some_and(|byte| matches!(byte, b'+' | b'-'));
        let digits = blank + usize::from(sign);
        let count = text[digits..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let value = text[digits..][..count].iter().fold(0i128, |value, digit| {
            value
                .saturating_mul(10)
                .saturating_add(i128::from(digit - b'0'))
        });
        let value = if sign && text[blank] == b'-' {
            -value
        } else {
            value
        };
        let end = if count == 0 { 0 } else { digits + count };
        if takes_base && arguments[1].word() != 0 {
            self.memory
                .write_word(arguments[1].word(), start + end as u64)?;
        }
        let value = value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Ok(match name {
            "atoi" => u64::from((value as i32).cast_unsigned()).into(),
            _ => value.cast_unsigned().into(),
        })
    }
}

/// A letter in another case; other characters as they are.
fn each_letter(letter: &Datum, change: fn(&u8) -> u8) -> Datum {
    match u8::try_from(letter.word()) {
        Ok(byte) => u64::from(change(&byte)).into(),
        Err(_) => letter.clone(),
    }
}
