//! Who can go on, kept up to date: asking each thread of a crowd before every
//! decision would make a decision as dear as the crowd is large.
//!
//! Whether and for what a thread waits changes only while it runs, or when it is
//! created or ends. Threads that wait for the same are asked about once.

use alloc::vec::Vec;
use bohr_event::ThreadIndex;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause<C> {
    /// Nothing: it can go on.
    Nothing,
    /// Something that has come for all who wait for it, or for none.
    Shared(C),
    /// Something of its own.
    Own,
}

/// The threads that have not ended, by what they wait for.
///
/// ```
/// use bohr_event::ThreadIndex;
/// use bohr_schedule::{Cause, Roster};
///
/// let mut roster = Roster::new();
/// roster.note(ThreadIndex(0), Cause::Shared("lock"));
/// roster.note(ThreadIndex(1), Cause::Nothing);
/// let mut enabled = Vec::new();
/// roster.find(&mut enabled, true, |_| false);
/// assert_eq!(enabled, [ThreadIndex(1)]);
/// ```
#[derive(Debug)]
pub struct Roster<C> {
    /// Each with its threads, ascending. Those of nobody are used again.
    groups: Vec<(Cause<C>, Vec<ThreadIndex>)>,
    /// By thread: its group.
    places: Vec<Option<usize>>,
}

impl<C: Copy + Eq> Default for Roster<C> {
    fn default() -> Roster<C> {
        Roster::new()
    }
}

impl<C: Copy + Eq> Roster<C> {
    /// Nobody.
    #[must_use]
    pub const fn new() -> Roster<C> {
        Roster {
            groups: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Enters the thread, or what it waits for now.
    pub fn note(&mut self, thread: ThreadIndex, cause: Cause<C>) {
        let before = self.places.get(thread.position()).copied().flatten();
        if before.is_some_and(|group| self.groups[group].0 == cause) {
            return;
        }
        self.remove(thread);
        let group = self.group(cause);
        if self.places.len() <= thread.position() {
            self.places.resize(thread.position() + 1, None);
        }
        self.places[thread.position()] = Some(group);
        let members = &mut self.groups[group].1;
        let position = members.partition_point(|&other| other < thread);
        members.insert(position, thread);
    }

    /// Where the threads are that wait for this.
    fn group(&mut self, cause: Cause<C>) -> usize {
        let same = self.groups.iter().position(|group| group.0 == cause);
        let unused = || self.groups.iter().position(|group| group.1.is_empty());
        let Some(group) = same.or_else(unused) else {
            self.groups.push((cause, Vec::new()));
            return self.groups.len() - 1;
        };
        self.groups[group].0 = cause;
        group
    }

    /// The thread has ended.
    pub fn remove(&mut self, thread: ThreadIndex) {
        let place = self.places.get_mut(thread.position());
        if let Some(group) = place.and_then(Option::take) {
            let members = &mut self.groups[group].1;
            if let Ok(position) = members.binary_search(&thread) {
                members.remove(position);
            }
        }
    }

    /// Writes down who can go on, ascending. `is_over` is asked about every thread
    /// that waits for something of its own, and one of those that wait for the same;
    /// or about each of them where they are not `alike`.
    pub fn find(
        &self,
        enabled: &mut Vec<ThreadIndex>,
        alike: bool,
        is_over: impl Fn(ThreadIndex) -> bool,
    ) {
        enabled.clear();
        for (cause, members) in &self.groups {
            let Some(&first) = members.first() else {
                continue;
            };
            match cause {
                Cause::Nothing => enabled.extend_from_slice(members),
                Cause::Shared(_) if alike => {
                    if is_over(first) {
                        enabled.extend_from_slice(members);
                    }
                }
                Cause::Shared(_) | Cause::Own => {
                    enabled.extend(members.iter().filter(|&&thread| is_over(thread)));
                }
            }
        }
        if !enabled.is_sorted() {
            // Made for what consists of sorted parts.
            enabled.sort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const THREADS: usize = 12;

    fn cause() -> impl Strategy<Value = Option<Cause<usize>>> {
        prop_oneof![
            Just(None),
            Just(Some(Cause::Nothing)),
            Just(Some(Cause::Own)),
            (0..3usize).prop_map(|object| Some(Cause::Shared(object))),
        ]
    }

    proptest! {
        /// Against asking everybody.
        #[test]
        fn those_who_can_go_on(
            notes in prop::collection::vec((0..THREADS, cause()), 0..80),
            own in prop::array::uniform12(any::<bool>()),
            shared in prop::array::uniform3(any::<bool>()),
            alike in any::<bool>(),
        ) {
            let (mut roster, mut naive) = (Roster::new(), [None; THREADS]);
            for (thread, cause) in notes {
                let index = ThreadIndex(thread as u32);
                match cause {
                    Some(cause) => roster.note(index, cause),
                    None => roster.remove(index),
                }
                naive[thread] = cause;
            }
            let is_over = |thread: ThreadIndex| match naive[thread.position()] {
                None => false,
                Some(Cause::Nothing) => true,
                Some(Cause::Own) => own[thread.position()],
                Some(Cause::Shared(object)) => shared[object] || !alike && own[thread.position()],
            };
            let mut enabled = Vec::new();
            roster.find(&mut enabled, alike, is_over);
            let all = (0..THREADS).map(|thread| ThreadIndex(thread as u32));
            let expected: Vec<_> = all.filter(|&thread| is_over(thread)).collect();
            prop_assert_eq!(enabled, expected);
        }
    }
}
