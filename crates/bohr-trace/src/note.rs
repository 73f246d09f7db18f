//! What belongs to a run but is no event: who a thread is, and how a question
//! was answered.

use crate::bytes::{take, take_varint, write_varint};
use alloc::vec::Vec;
use bohr_event::{ChoiceKind, ThreadIndex, ThreadPath};

/// Something said between two events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// From here on this index stands for the thread with this path.
    Thread {
        /// The index.
        index: ThreadIndex,
        /// The path.
        path: ThreadPath,
    },
    /// A question was answered in another than the ordinary way.
    Choice {
        /// Who asked.
        thread: ThreadIndex,
        /// Which of its questions.
        number: u32,
        /// What was asked.
        kind: ChoiceKind,
        /// The answer.
        picked: u32,
    },
}

const TAG_THREAD: u8 = 0;
const TAG_CHOICE: u8 = 1;

/// Longest varint of 32 bits.
const LONGEST: usize = 5;

/// An upper bound for the bytes of a thread note, distance included.
pub(crate) fn thread_note_room(steps: &[u32]) -> usize {
    1 + LONGEST * (3 + steps.len())
}

/// The bytes of a choice note at most, distance included.
pub(crate) const CHOICE_NOTE_ROOM: usize = 2 + 4 * LONGEST;

/// Writes a thread note without allocating. The steps are those of the path.
pub(crate) fn write_thread(
    bytes: &mut [u8],
    distance: u64,
    index: ThreadIndex,
    steps: &[u32],
) -> usize {
    let mut at = write_varint(bytes, distance);
    bytes[at] = TAG_THREAD;
    at += 1;
    at += write_varint(&mut bytes[at..], u64::from(index.0));
    at += write_varint(&mut bytes[at..], steps.len() as u64);
    for &step in steps {
        at += write_varint(&mut bytes[at..], u64::from(step));
    }
    at
}

/// Writes a choice note without allocating.
pub(crate) fn write_choice(
    bytes: &mut [u8],
    distance: u64,
    thread: ThreadIndex,
    number: u32,
    kind: ChoiceKind,
    picked: u32,
) -> usize {
    let mut at = write_varint(bytes, distance);
    bytes[at] = TAG_CHOICE;
    at += 1;
    at += write_varint(&mut bytes[at..], u64::from(thread.0));
    at += write_varint(&mut bytes[at..], u64::from(number));
    bytes[at] = kind as u8;
    at += 1;
    at + write_varint(&mut bytes[at..], u64::from(picked))
}

/// Takes one note and its distance from the front; `None` if there is none.
pub(crate) fn take_note(bytes: &mut &[u8]) -> Option<(u64, Note)> {
    let distance = take_varint(bytes)?;
    let [tag] = take(bytes)?;
    let thread = ThreadIndex(take_number(bytes)?);
    let note = match tag {
        TAG_THREAD => Note::Thread {
            index: thread,
            path: take_path(bytes)?,
        },
        TAG_CHOICE => Note::Choice {
            thread,
            number: take_number(bytes)?,
            kind: {
                let [kind] = take(bytes)?;
                ChoiceKind::from_number(kind)?
            },
            picked: take_number(bytes)?,
        },
        _ => return None,
    };
    Some((distance, note))
}

fn take_number(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(take_varint(bytes)?).ok()
}

fn take_path(bytes: &mut &[u8]) -> Option<ThreadPath> {
    let depth = take_varint(bytes)?;
    // Each step takes a byte at least, so a depth beyond the bytes is noise.
    let steps: Vec<u32> = (0..depth)
        .take(bytes.len() + 1)
        .map(|_| take_number(bytes).filter(|&step| step > 0))
        .collect::<Option<_>>()?;
    ThreadPath::from_steps(steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn notes_round_trip(distance in 0u64..1 << 16, index: u32, steps in prop::collection::vec(1u32.., 0..5), number: u32, picked: u32) {
            let mut bytes = [0; 64];
            let index = ThreadIndex(index);
            let length = write_thread(&mut bytes, distance, index, &steps);
            prop_assert!(length <= thread_note_room(&steps));
            let path = steps.iter().fold(ThreadPath::MAIN, |path, &step| path.child(step));
            let mut rest = &bytes[..length];
            prop_assert_eq!(take_note(&mut rest), Some((distance, Note::Thread { index, path })));
            prop_assert!(rest.is_empty());

            let kind = ChoiceKind::TimeOut;
            let length = write_choice(&mut bytes, distance, index, number, kind, picked);
            prop_assert!(length <= CHOICE_NOTE_ROOM);
            prop_assert_eq!(take_note(&mut &bytes[..length]), Some((distance, Note::Choice { thread: index, number, kind, picked })));
        }

        #[test]
        fn any_bytes_are_a_note_or_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut rest = &bytes[..];
            while take_note(&mut rest).is_some() {}
        }
    }
}
