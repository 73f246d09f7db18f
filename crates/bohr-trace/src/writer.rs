//! Writes events, from inside the program that makes them: nothing is
//! allocated after creation, and the only calls out are to the [`Medium`].

use crate::block::{COLUMN_ORDER, seal_events};
use crate::bytes::{write_u32, write_u64, write_varint, zigzag};
use crate::filter::Summary;
use crate::format::{
    BLOCK_EVENTS, COLUMNS, Column, END_AT, FILE_HEADER, FINISHED, FileHeader, LOST_AT, OPEN_BYTES,
    OPEN_COUNT_AT, OPEN_HEADER, OPEN_NOTE_AT, OPEN_THREAD_AT, RUNNING, STATE_AT, column_at, room,
};
use crate::note::{CHOICE_NOTE_ROOM, thread_note_room, write_choice, write_thread};
use crate::numbers::{ADDRESS_BYTES, VALUE_BYTES};
use crate::predictor::{Context, Predictor, Shape, Slot};
use crate::{Medium, Record, Sequence};
use bohr_event::{ChoiceKind, Operation, ThreadIndex};
use core::sync::atomic::{Ordering, compiler_fence};

/// The medium cannot even hold an empty trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no room for a trace: its first block needs {} bytes", FILE_HEADER + OPEN_BYTES)]
pub struct NoRoom;

/// Fills a medium with events.
pub struct Writer<M> {
    medium: M,
    predictor: Predictor,
    summary: Summary,
    /// Sequence number of the open block's first event.
    first: u64,
    /// Bytes used in each column of the open block. The control column has one
    /// byte for each event, so its entry is the number of events.
    used: [usize; COLUMNS],
    /// Who ran last in the open block.
    thread: Option<ThreadIndex>,
    /// Event of the open block at which that thread took over.
    run_start: usize,
    /// Event of the open block before which the last note stands.
    note_start: usize,
    /// Where the sealed blocks end.
    end: usize,
    /// Set once the medium refused to grow; never unset.
    full: bool,
    lost: u64,
}

impl<M: Medium> Writer<M> {
    /// Begins a trace at the front of the medium.
    ///
    /// # Errors
    /// If the medium cannot hold an empty one.
    pub fn new(mut medium: M) -> Result<Writer<M>, NoRoom> {
        let end = FILE_HEADER + OPEN_BYTES;
        if !medium.grow(end) {
            return Err(NoRoom);
        }
        let header = FileHeader {
            state: RUNNING,
            open: FILE_HEADER as u64,
            blocks: end as u64,
            end: end as u64,
            lost: 0,
        };
        header.write(medium.bytes());
        Ok(Writer {
            medium,
            predictor: Predictor::new(),
            summary: Summary::empty(),
            first: 0,
            used: [0; COLUMNS],
            thread: None,
            run_start: 0,
            note_start: 0,
            end,
            full: false,
            lost: 0,
        })
    }

    /// Appends an event.
    #[inline]
    pub fn push(&mut self, record: &Record) {
        if self.used[Column::Control as usize] == BLOCK_EVENTS && !self.seal() {
            return self.lose();
        }
        if self.thread != Some(record.thread) {
            self.switch(record.thread);
        }
        let count = self.used[Column::Control as usize];
        let (slot, site) = self.site(record.thread, &record.operation);
        let (address, value) = self.content(record, slot);
        if site == SITE_NEW || self.predictor.context(slot).object != record.operation.object {
            self.summary
                .add_object(record.operation.object, record.operation.size);
        }
        self.predictor
            .learn(record.thread, slot, record.operation.object, record.value);
        let open = open_block(&mut self.medium);
        open[column_at(Column::Control) + count] = site | address << 2 | value << 5;
        self.used[Column::Control as usize] = count + 1;
        // A crash finds the event whole or not at all.
        compiler_fence(Ordering::Release);
        write_u32(open, OPEN_COUNT_AT, count as u32 + 1);
    }

    /// Says which thread an index stands for from here on. Steps are those of
    /// its [`ThreadPath`](bohr_event::ThreadPath). To be called before the
    /// event that creates it, so that this event can name it.
    pub fn name_thread(&mut self, index: ThreadIndex, steps: &[u32]) {
        self.note(thread_note_room(steps), |bytes, distance| {
            write_thread(bytes, distance, index, steps)
        });
    }

    /// Notes an answer that is not the ordinary one.
    pub fn choose(&mut self, thread: ThreadIndex, number: u32, kind: ChoiceKind, picked: u32) {
        self.note(CHOICE_NOTE_ROOM, |bytes, distance| {
            write_choice(bytes, distance, thread, number, kind, picked)
        });
    }

    /// Goes on in another medium, into which all that was written so far is
    /// copied; hands out the old one. For a process that was cloned in the
    /// middle of a run and is not to write into its parent's file.
    ///
    /// # Errors
    /// If the medium has no room for it; the writer then stays where it is.
    pub fn relocate(&mut self, mut medium: M) -> Result<M, NoRoom> {
        if !medium.grow(self.end) {
            return Err(NoRoom);
        }
        let (from, to) = (self.medium.bytes(), medium.bytes());
        let mut copy = |at: usize, length: usize| {
            to[at..at + length].copy_from_slice(&from[at..at + length]);
        };
        copy(0, FILE_HEADER + OPEN_HEADER);
        // Of the open block only what is in use: the rest of it would be pages
        // that nobody needs.
        for (column, used) in COLUMN_ORDER.into_iter().zip(self.used) {
            copy(FILE_HEADER + column_at(column), used);
        }
        let sealed = FILE_HEADER + OPEN_BYTES;
        copy(sealed, self.end - sealed);
        Ok(core::mem::replace(&mut self.medium, medium))
    }

    /// Counts events that are not written, because nobody wants them.
    pub fn leave_out(&mut self, events: u64) {
        self.lost += events;
        write_u64(self.medium.bytes(), LOST_AT, self.lost);
    }

    /// The medium, to look at what is there so far or to hand it out.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// The number that the next event gets.
    #[must_use]
    pub fn next(&self) -> Sequence {
        Sequence(self.first + self.used[Column::Control as usize] as u64)
    }

    /// How many bytes of the medium are in use: a file may be cut here.
    #[must_use]
    pub fn length(&self) -> usize {
        self.end
    }

    /// Ends the trace: the run is over. The medium may then be cut to its
    /// [length](Writer::length), which sealing the last block can move.
    pub fn finish(mut self) -> M {
        if self.used.iter().any(|&bytes| bytes > 0) {
            self.seal();
        }
        compiler_fence(Ordering::Release);
        write_u32(self.medium.bytes(), STATE_AT, FINISHED);
        self.medium
    }

    /// The context of the operation and the code that tells it.
    #[inline(always)]
    fn site(&mut self, thread: ThreadIndex, operation: &Operation) -> (Slot, u8) {
        let shape = shape(operation, thread);
        let place = operation.place.0;
        let matches = |context: &Context| context.place == place && context.shape == shape;
        let [likely, second] = self.predictor.successors(thread);
        if matches(self.predictor.context(likely)) {
            return (likely, 0);
        }
        if matches(self.predictor.context(second)) {
            return (second, 1);
        }
        let slot = Slot::of(place, shape);
        let at = column_at(Column::Site) + self.used[Column::Site as usize];
        if matches(self.predictor.context(slot)) {
            open_block(&mut self.medium)[at..at + 2].copy_from_slice(&slot.number().to_le_bytes());
            self.used[Column::Site as usize] += 2;
            return (slot, 2);
        }
        self.spell(at, operation);
        self.predictor.replace(slot, thread, operation);
        (slot, SITE_NEW)
    }

    /// Spells out a context.
    fn spell(&mut self, at: usize, operation: &Operation) {
        let open = open_block(&mut self.medium);
        let distance = operation.place.0.wrapping_sub(self.predictor.spelt) as i64;
        let mut end = at + write_varint(&mut open[at..], zigzag(distance));
        open[end] = operation.kind as u8;
        open[end + 1] = operation.order as u8;
        end += 2;
        end += write_varint(&mut open[end..], u64::from(operation.size));
        self.used[Column::Site as usize] += end - at;
    }

    /// Writes object and value of the event; the codes that tell them.
    #[inline(always)]
    fn content(&mut self, record: &Record, slot: Slot) -> (u8, u8) {
        let context = self.predictor.context(slot);
        let last = self.predictor.last_object(record.thread);
        let object = record.operation.object;
        let (address, distance) = address_code(context, last, object);
        let open = open_block(&mut self.medium);
        let at = column_at(Column::Address) + self.used[Column::Address as usize];
        // Eight bytes always: the next event overwrites what is not needed.
        write_u64(open, at, distance);
        self.used[Column::Address as usize] += ADDRESS_BYTES[usize::from(address)];
        let Some(value) = record.value else {
            return (address, 0);
        };
        let (code, distance) = value_code(context, self.predictor.remembered(object), value);
        let at = column_at(Column::Value) + self.used[Column::Value as usize];
        write_u64(open, at, distance);
        self.used[Column::Value as usize] += VALUE_BYTES[usize::from(code)];
        (address, code)
    }

    /// Another thread takes over at the event that comes next.
    fn switch(&mut self, thread: ThreadIndex) {
        let count = self.used[Column::Control as usize];
        let used = &mut self.used[Column::Thread as usize];
        let open = open_block(&mut self.medium);
        let at = column_at(Column::Thread);
        let (distance, index) = ((count - self.run_start) as u64, u64::from(thread.0));
        let last = SHORT_THREADS - 1;
        let entry = distance * SHORT_THREADS + index.min(last);
        *used += write_varint(&mut open[at + *used..], entry);
        if index >= last {
            *used += write_varint(&mut open[at + *used..], index - last);
        }
        compiler_fence(Ordering::Release);
        write_u32(open, OPEN_THREAD_AT, *used as u32);
        self.run_start = count;
        self.thread = Some(thread);
        self.summary.add_thread(thread);
    }

    fn note(&mut self, needed: usize, write: impl FnOnce(&mut [u8], u64) -> usize) {
        let whole = room(Column::Note);
        let fits = |used: usize| used + needed <= whole;
        let roomy = fits(self.used[Column::Note as usize]) || (fits(0) && self.seal());
        if !roomy {
            return self.lose();
        }
        let count = self.used[Column::Control as usize];
        let used = &mut self.used[Column::Note as usize];
        let open = open_block(&mut self.medium);
        let at = column_at(Column::Note);
        *used += write(
            &mut open[at + *used..at + whole],
            (count - self.note_start) as u64,
        );
        compiler_fence(Ordering::Release);
        write_u32(open, OPEN_NOTE_AT, *used as u32);
        self.note_start = count;
    }

    /// Copies the open block behind the sealed ones and empties it; `false` if
    /// there is no room, and then the open block stays as it is.
    #[cold]
    fn seal(&mut self) -> bool {
        if self.full {
            return false;
        }
        let sealed = seal_events(
            &mut self.medium,
            self.end,
            self.first,
            &self.used,
            &self.summary,
        );
        let Some(length) = sealed else {
            self.full = true;
            return false;
        };
        self.end += length;
        self.first += self.used[Column::Control as usize] as u64;
        let bytes = self.medium.bytes();
        compiler_fence(Ordering::Release);
        write_u64(bytes, END_AT, self.end as u64);
        // Until the next three stores the open block repeats the sealed one;
        // readers tell by its first number.
        let open = &mut bytes[FILE_HEADER..];
        compiler_fence(Ordering::Release);
        for at in [OPEN_COUNT_AT, OPEN_THREAD_AT, OPEN_NOTE_AT] {
            write_u32(open, at, 0);
        }
        compiler_fence(Ordering::Release);
        write_u64(open, 0, self.first);
        self.predictor.reset();
        self.summary = Summary::empty();
        self.used = [0; COLUMNS];
        (self.thread, self.run_start, self.note_start) = (None, 0, 0);
        true
    }

    #[cold]
    fn lose(&mut self) {
        self.leave_out(1);
    }
}

/// The site code of a context that is spelt out.
pub(crate) const SITE_NEW: u8 = 3;

/// Threads that have contexts of their own.
const LANES: u32 = 8;

/// Kind, order, lane and size in one word.
#[inline(always)]
pub(crate) fn shape(operation: &Operation, thread: ThreadIndex) -> Shape {
    Shape(
        operation.kind as u64
            | (operation.order as u64) << 8
            | u64::from(thread.0 % LANES) << 16
            | u64::from(operation.size) << 32,
    )
}

/// Indices that an entry of the thread column tells at once; the last of them
/// says that the index follows.
pub(crate) const SHORT_THREADS: u64 = 8;

#[inline(always)]
fn open_block<M: Medium>(medium: &mut M) -> &mut [u8; OPEN_BYTES] {
    medium.bytes()[FILE_HEADER..]
        .first_chunk_mut()
        .expect("a medium never shrinks")
}

#[inline(always)]
fn fits<T: TryFrom<i64>>(distance: u64) -> bool {
    T::try_from(distance as i64).is_ok()
}

/// How to tell an object, and the number that goes with it.
#[inline(always)]
fn address_code(context: &Context, last: u64, object: u64) -> (u8, u64) {
    let distance = object.wrapping_sub(context.object);
    if distance == context.stride {
        return (0, 0);
    }
    if distance == 0 {
        return (1, 0);
    }
    let from_last = object.wrapping_sub(last);
    if from_last == context.offset {
        return (2, 0);
    }
    if fits::<i8>(distance) {
        (3, distance)
    } else if fits::<i16>(distance) {
        (4, distance)
    } else if fits::<i16>(from_last) {
        (5, from_last)
    } else if fits::<i32>(distance) {
        (6, distance)
    } else {
        (7, object)
    }
}

/// How to tell a value, and the number that goes with it.
#[inline(always)]
fn value_code(context: &Context, remembered: u64, value: u64) -> (u8, u64) {
    if value == remembered {
        return (1, 0);
    }
    if value == context.value.wrapping_add(context.step) {
        return (2, 0);
    }
    let distance = value.wrapping_sub(remembered);
    if fits::<i8>(distance) {
        (3, distance)
    } else if fits::<i16>(distance) {
        (4, distance)
    } else if fits::<i32>(distance) {
        (5, distance)
    } else if value <= u64::from(u32::MAX) {
        (7, value)
    } else {
        (6, value)
    }
}
