//! The events of a run as text in a page: a column after the other, in numbers
//! of as few bytes as they take (LEB128), compressed (deflate), in base64.
//!
//! | column | numbers |
//! | --- | --- |
//! | thread | number and count of events, for every segment |
//! | deed | one for each event: what was done, and where |
//! | variable | one for each event, from 1; 0 is none |
//! | value | how many events in a row have none, how many have one, and so on |
//! | low, high | the halves of each value that is there |
//! | link | how many events before this one its arrow begins; 0 is nowhere |
//!
//! `page/events.js` reads them.

use crate::links::links;
use crate::page::Run;
use crate::tables::Tables;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// A run as text; its names are in the tables.
pub fn encoded(run: &Run<'_>, tables: &Tables) -> String {
    let mut bytes = Vec::new();
    for (thread, count) in runs_of(run.steps.iter().map(|step| step.thread)) {
        let path = &run.threads[thread.position()];
        push(&mut bytes, tables.thread(path));
        push(&mut bytes, count);
    }
    for step in run.steps {
        push(&mut bytes, tables.deed(&step.operation));
    }
    for step in run.steps {
        push(
            &mut bytes,
            tables.variable(&step.operation).map_or(0, |it| it + 1),
        );
    }
    push_values(&mut bytes, run);
    for (event, link) in links(run.steps).into_iter().enumerate() {
        push(&mut bytes, link.map_or(0, |from| (event - from) as u64));
    }
    base64(&compressed(&bytes))
}

fn push_values(bytes: &mut Vec<u8>, run: &Run<'_>) {
    // The first count is of events without a value, as many as that may be.
    let mut expected = false;
    for (has, count) in runs_of(run.values.iter().map(Option::is_some)) {
        if has != expected {
            push(bytes, 0);
        }
        push(bytes, count);
        expected = !has;
    }
    let values = run.values.iter().flatten();
    values
        .clone()
        .for_each(|value| push(bytes, value & u64::from(u32::MAX)));
    values.for_each(|value| push(bytes, value >> 32));
}

/// Equal items in a row, and how many.
fn runs_of<T: PartialEq>(items: impl Iterator<Item = T>) -> impl Iterator<Item = (T, u64)> {
    let mut items = items.peekable();
    std::iter::from_fn(move || {
        let item = items.next()?;
        let mut count = 1;
        while items.next_if(|next| *next == item).is_some() {
            count += 1;
        }
        Some((item, count))
    })
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory takes any bytes")
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..three.len()].copy_from_slice(three);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for position in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * position)) as usize & 63];
            let there = position <= three.len();
            text.push(if there { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn base64_is_everybodys() {
        let vectors = [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy",
        ];
        for (length, expected) in vectors.into_iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), expected);
        }
    }

    #[test]
    fn numbers_take_as_few_bytes_as_they_can() {
        for (number, expected) in [
            (0, &[0][..]),
            (127, &[127]),
            (128, &[0x80, 1]),
            (u64::from(u32::MAX), &[0xff, 0xff, 0xff, 0xff, 0x0f]),
        ] {
            let mut bytes = Vec::new();
            push(&mut bytes, number);
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn equal_items_are_counted() {
        let runs: Vec<_> = runs_of("aabccc".chars()).collect();
        assert_eq!(runs, [('a', 2), ('b', 1), ('c', 3)]);
    }
}
