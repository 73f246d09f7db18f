//! A second encoder, written from the description in `format.rs` alone, slow
//! and plain: the writer's blocks have to be its blocks, byte for byte.

mod runs;

use bohr_event::{EventKind, ThreadIndex};
use bohr_trace::{Record, format::BLOCK_EVENTS};
use proptest::prelude::*;
use runs::{any_run, long_run, write};
use std::collections::HashMap;

const K: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Default)]
struct Context {
    place: u64,
    shape: u64,
    object: u64,
    stride: u64,
    offset: u64,
    value: u64,
    step: u64,
    next: [u16; 2],
}

#[derive(Default)]
struct Reference {
    contexts: HashMap<u16, Context>,
    cells: HashMap<u64, (u64, u64)>,
    /// Last object and last slot.
    threads: HashMap<u32, (u64, u16)>,
    spelt: u64,
    running: Option<ThreadIndex>,
    run_start: u64,
    /// Control, thread, site, address, value, note.
    columns: [Vec<u8>; 6],
}

fn varint(column: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        column.push((number % 128) as u8 + 128);
        number /= 128;
    }
    column.push(number as u8);
}

fn in_bits(distance: u64, bits: u32) -> bool {
    let distance = i128::from(distance as i64);
    -(1i128 << (bits - 1)) <= distance && distance < 1i128 << (bits - 1)
}

impl Reference {
    fn push(&mut self, record: &Record) {
        if self.running != Some(record.thread) {
            let now = self.columns[0].len() as u64;
            let index = u64::from(record.thread.0);
            varint(
                &mut self.columns[1],
                (now - self.run_start) * 8 + index.min(7),
            );
            if index >= 7 {
                varint(&mut self.columns[1], index - 7);
            }
            (self.running, self.run_start) = (Some(record.thread), now);
        }
        let thread = record.thread.0 % 256;
        let (last_object, last_slot) = self.threads.get(&thread).copied().unwrap_or_default();
        let (slot, site) = self.site(record, last_slot, last_object);
        let context = self.contexts.entry(slot).or_default().clone();
        let object = record.operation.object;
        let address = self.address(&context, last_object, object);
        let value = record
            .value
            .map_or(0, |value| self.value(&context, object, value));
        self.columns[0].push(site + 4 * address + 32 * value);
        self.learn(record, slot, last_slot, last_object);
    }

    fn site(&mut self, record: &Record, last_slot: u16, last_object: u64) -> (u16, u8) {
        let operation = &record.operation;
        let place = operation.place.0;
        let shape = operation.kind as u64
            + ((operation.order as u64) << 8)
            + (u64::from(record.thread.0 % 8) << 16)
            + (u64::from(operation.size) << 32);
        let next = self.contexts.entry(last_slot).or_default().next;
        for code in [0, 1] {
            let context = self.contexts.entry(next[code]).or_default();
            if (context.place, context.shape) == (place, shape) {
                return (next[code], code as u8);
            }
        }
        let slot = ((place ^ shape.rotate_left(23)).wrapping_mul(K) >> 52) as u16;
        let context = self.contexts.entry(slot).or_default();
        if (context.place, context.shape) == (place, shape) {
            self.columns[2].extend(slot.to_le_bytes());
            return (slot, 2);
        }
        *context = Context {
            place,
            shape,
            object: last_object,
            ..Context::default()
        };
        let distance = place.wrapping_sub(self.spelt) as i64;
        let zigzag = if distance < 0 {
            !((distance as u64) << 1)
        } else {
            (distance as u64) << 1
        };
        self.spelt = place;
        varint(&mut self.columns[2], zigzag);
        self.columns[2].extend([operation.kind as u8, operation.order as u8]);
        varint(&mut self.columns[2], u64::from(operation.size));
        (slot, 3)
    }

    fn address(&mut self, context: &Context, last: u64, object: u64) -> u8 {
        let from_site = object.wrapping_sub(context.object);
        let from_last = object.wrapping_sub(last);
        let codes = [
            (from_site == context.stride, 0, 0),
            (from_site == 0, 0, 0),
            (from_last == context.offset, 0, 0),
            (in_bits(from_site, 8), from_site, 1),
            (in_bits(from_site, 16), from_site, 2),
            (in_bits(from_last, 16), from_last, 2),
            (in_bits(from_site, 32), from_site, 4),
            (true, object, 8),
        ];
        let code = codes.iter().position(|code| code.0).unwrap();
        self.columns[3].extend(&codes[code].1.to_le_bytes()[..codes[code].2]);
        code as u8
    }

    fn value(&mut self, context: &Context, object: u64, value: u64) -> u8 {
        let cell = self
            .cells
            .get(&(object.wrapping_mul(K) >> 52))
            .copied()
            .unwrap_or_default();
        let held = if cell.0 == object { cell.1 } else { 0 };
        let distance = value.wrapping_sub(held);
        let codes = [
            (distance == 0, 1, 0, 0),
            (value == context.value.wrapping_add(context.step), 2, 0, 0),
            (in_bits(distance, 8), 3, distance, 1),
            (in_bits(distance, 16), 4, distance, 2),
            (in_bits(distance, 32), 5, distance, 4),
            (value < 1 << 32, 7, value, 4),
            (true, 6, value, 8),
        ];
        let (_, code, number, bytes) = codes.into_iter().find(|code| code.0).unwrap();
        self.columns[4].extend(&number.to_le_bytes()[..bytes]);
        code
    }

    fn learn(&mut self, record: &Record, slot: u16, last_slot: u16, last_object: u64) {
        let next = &mut self.contexts.entry(last_slot).or_default().next;
        if next[0] != slot {
            *next = [slot, next[0]];
        }
        let object = record.operation.object;
        let context = self.contexts.entry(slot).or_default();
        context.stride = object.wrapping_sub(context.object);
        context.offset = object.wrapping_sub(last_object);
        context.object = object;
        if let Some(value) = record.value {
            context.step = value.wrapping_sub(context.value);
            context.value = value;
            self.cells
                .insert(object.wrapping_mul(K) >> 52, (object, value));
        }
        self.threads.insert(record.thread.0 % 256, (object, slot));
    }
}

/// The columns of the blocks of a file, found as the description says.
fn columns(file: &[u8]) -> Vec<[Vec<u8>; 6]> {
    let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let half = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (mut at, end) = (word(24), word(32));
    let mut blocks = Vec::new();
    while at < end {
        let mut start = at + 584;
        blocks.push([0, 1, 2, 3, 4, 5].map(|column| {
            let length = half(at + 36 + 4 * column);
            start += length;
            file[start - length..start].to_vec()
        }));
        assert_eq!(start, at + word(at + 8));
        at = start;
    }
    blocks
}

fn expected(records: &[Record]) -> Vec<[Vec<u8>; 6]> {
    let blocks = records.chunks(BLOCK_EVENTS).map(|block| {
        let mut reference = Reference::default();
        block.iter().for_each(|record| reference.push(record));
        reference.columns
    });
    blocks.collect()
}

proptest! {
    #[test]
    fn the_writer_follows_the_description(records in any_run(200)) {
        prop_assert_eq!(columns(&write(&records)), expected(&records));
    }
}

#[test]
fn so_it_does_at_length() {
    let records = long_run(BLOCK_EVENTS + 5000, 11);
    assert!(
        records
            .iter()
            .any(|record| record.operation.kind == EventKind::Acquire)
    );
    assert!(columns(&write(&records)) == expected(&records));
}
