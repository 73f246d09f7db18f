//! Stores whose values nobody reads before the end of an execution. A slice cannot
//! tell them: where a pointer leads is known of events only, so what a thread reads
//! without events may be anything to it. But what is stored where others may look is
//! read by events alone, and these say where.
//!
//! One pass from the last event to the first, with the bytes that are still to be
//! read. A read that only decides what such a store writes is none, so that a counter
//! which nobody looks at but to count on goes as a whole. That the store is made all
//! the same, at the address that it has, and taken back, is why only its value may
//! come from such a read.

use crate::slice::Trace;
use bohr_event::{EventKind, Operation, PlaceNumber, ThreadIndex};
use bohr_program::SiteNumber;
use std::collections::HashMap;

/// Bytes of a word, each with a bit in a mask.
const WORD: u64 = 8;

/// Bytes that whoever waits, locks or signals may read of the object.
const OBJECT: u32 = 64;

/// Longer ranges are not taken to pieces: what is read of them stays so.
const LONG: u32 = 1 << 16;

/// What is known of the program's stores and reads.
pub struct Stores<'s> {
    /// Whether the store at a site can be left out, and only events read what it writes.
    pub can_go: &'s dyn Fn(SiteNumber) -> bool,
    /// The stores whose values a read decides, if it decides nothing else.
    pub feeds: &'s dyn Fn(SiteNumber) -> Option<Vec<SiteNumber>>,
}

/// The stores of an execution that can be left out and whose values nobody reads,
/// ascending.
#[must_use]
pub fn unread(trace: Trace<'_>, stores: &Stores<'_>) -> Vec<u32> {
    let mut pass = Pass {
        trace,
        stores,
        bytes: HashMap::new(),
        ranges: Vec::new(),
        latest: HashMap::new(),
        can_go: HashMap::new(),
        feeds: HashMap::new(),
    };
    for step in trace.execution.pending {
        pass.reads(&step.operation);
    }
    let mut found = Vec::new();
    for (event, step) in trace.execution.steps.iter().enumerate().rev() {
        if pass.goes_back(step.thread, &step.operation) {
            found.push(event as u32);
        }
    }
    found.reverse();
    found
}

/// The way back through an execution.
struct Pass<'p, 's> {
    trace: Trace<'p>,
    stores: &'p Stores<'s>,
    /// By word: which of its bytes are still to be read.
    bytes: HashMap<u64, u8>,
    /// Long ranges that are.
    ranges: Vec<(u64, u64)>,
    /// By thread and site: whether somebody reads what its next store there writes.
    latest: HashMap<(ThreadIndex, SiteNumber), bool>,
    can_go: HashMap<SiteNumber, bool>,
    feeds: HashMap<SiteNumber, Option<Vec<SiteNumber>>>,
}

impl Pass<'_, '_> {
    /// Takes in an event; whether it is a store whose value nobody reads.
    fn goes_back(&mut self, thread: ThreadIndex, operation: &Operation) -> bool {
        use EventKind::{Alloc, External, Fence, Free, Look, Read, Store, Update, Write};
        match operation.kind {
            Read => {
                if !self.is_for_nothing(thread, operation.place) {
                    self.reads(operation);
                }
                false
            }
            Write | Store | Update => self.stores(thread, operation),
            Alloc | Free | Fence => false,
            External | Look => {
                self.reads(operation);
                false
            }
            _ => {
                self.reads(&Operation {
                    size: operation.size.max(OBJECT),
                    ..*operation
                });
                false
            }
        }
    }

    fn stores(&mut self, thread: ThreadIndex, operation: &Operation) -> bool {
        // What a buffer writes, its thread has stored.
        let path = self.trace.execution.threads.get(thread.position());
        if path.is_some_and(|path| path.buffer_of().is_some()) {
            return false;
        }
        let site = (self.trace.site)(operation.place);
        let is_read = self.is_read(operation);
        let goes = !is_read && site.is_some_and(|site| self.can_go(site));
        if let Some(site) = site {
            self.latest.insert((thread, site), is_read);
        }
        match operation.kind {
            _ if goes => {}
            EventKind::Update => self.reads(operation),
            // A store that waits overwrites later.
            EventKind::Write => self.overwrites(operation),
            _ => {}
        }
        goes
    }

    /// Whether a read only decides what is stored by stores that go.
    fn is_for_nothing(&mut self, thread: ThreadIndex, place: PlaceNumber) -> bool {
        let Some(site) = (self.trace.site)(place) else {
            return false;
        };
        let stores = self.stores;
        let feeds = self
            .feeds
            .entry(site)
            .or_insert_with(|| (stores.feeds)(site));
        let Some(fed) = feeds.clone() else {
            return false;
        };
        fed.into_iter().all(|site| {
            let is_read = self.latest.get(&(thread, site)).copied();
            !is_read.unwrap_or(false) && self.can_go(site)
        })
    }

    fn can_go(&mut self, site: SiteNumber) -> bool {
        let stores = self.stores;
        *self
            .can_go
            .entry(site)
            .or_insert_with(|| (stores.can_go)(site))
    }

    fn reads(&mut self, operation: &Operation) {
        let (start, size) = (operation.object, operation.size);
        if size > LONG {
            self.ranges.push((start, start.saturating_add(size.into())));
            return;
        }
        for (word, mask) in words(operation) {
            *self.bytes.entry(word).or_default() |= mask;
        }
    }

    fn overwrites(&mut self, operation: &Operation) {
        if operation.size > LONG {
            return;
        }
        for (word, mask) in words(operation) {
            if let Some(bytes) = self.bytes.get_mut(&word) {
                *bytes &= !mask;
            }
        }
    }

    fn is_read(&self, operation: &Operation) -> bool {
        let (start, end) = (
            operation.object,
            operation.object.saturating_add(operation.size.into()),
        );
        operation.size > LONG
            || { self.ranges.iter() }.any(|range| start < range.1 && range.0 < end)
            || words(operation)
                .any(|(word, mask)| self.bytes.get(&word).is_some_and(|bytes| bytes & mask != 0))
    }
}

/// The words that an operation touches, and which bytes of each.
fn words(operation: &Operation) -> impl Iterator<Item = (u64, u8)> + use<> {
    let start = operation.object;
    let end = start.saturating_add(operation.size.into());
    (start / WORD..end.div_ceil(WORD)).map(move |word| {
        let first = start.saturating_sub(word * WORD).min(WORD);
        let last = (end - word * WORD).min(WORD);
        let mask = (first..last).fold(0, |mask, byte| mask | 1u8 << byte);
        (word, mask)
    })
}
