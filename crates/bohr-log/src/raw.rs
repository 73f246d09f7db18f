//! What a recorded program has left in its file (`bohr_event::recording`), which
//! it may have written over: any words are read or refused.

use crate::ThreadLog;
use bohr_event::ThreadPath;
use bohr_event::recording::{
    CHUNK_HEAD, CHUNK_MAGIC, ChunkWord, HEADER_MAGIC, HeaderWord, NOBODY, Stream,
};
use std::collections::BTreeMap;

/// What a program has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Its threads, in the order in which they began.
    pub threads: Vec<ThreadLog>,
    /// The first fatal signal, if it noticed one.
    pub fatal: Option<Fatal>,
}

/// A fatal signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// Its number.
    pub signal: i32,
    /// The thread that got it, if that is one of the program's.
    pub thread: Option<ThreadPath>,
    /// Where the thread was.
    pub code: u64,
    /// What it accessed.
    pub address: u64,
}

/// Why what a program left cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RawError {
    /// Nothing was written: the recorder was not loaded.
    #[error("the program has written nothing: the recorder was not loaded into it")]
    Nothing,
    /// Another program's words.
    #[error("the program has written over its own log")]
    Overwritten,
    /// There was no room on the disk.
    #[error("there was no room for the log")]
    Full,
    /// A thread came to be in a way that the recorder does not see.
    #[error(
        "a thread was created otherwise than by pthread_create, so it cannot be told which one it is"
    )]
    Stranger,
}

/// One thread as its pieces tell of it.
#[derive(Default)]
struct Found {
    parent: u64,
    child: u64,
    /// By stream and number; the last one is where the thread was still writing.
    pieces: BTreeMap<(u64, u64), Vec<u64>>,
}

impl Found {
    /// The words of a stream; `None` if a piece is missing.
    fn stream(&self, stream: Stream) -> Option<Vec<u64>> {
        let stream = stream as u64;
        let pieces = self.pieces.range((stream, 0)..(stream + 1, 0));
        let mut words = Vec::new();
        for (expected, ((_, number), piece)) in (0..).zip(pieces) {
            if *number != expected {
                return None;
            }
            words.extend(piece);
        }
        Some(words)
    }
}

/// The words of a header.
#[derive(Clone, Copy, Debug)]
pub struct Header<'w>(&'w [u64]);

impl<'w> Header<'w> {
    /// The header in these words.
    ///
    /// # Errors
    /// If they are none, or the recorder has written nothing.
    pub fn new(words: &'w [u64]) -> Result<Header<'w>, RawError> {
        let header = Header(words);
        if words.len() < HeaderWord::Bundle as usize + 4
            || header.word(HeaderWord::Magic) != HEADER_MAGIC
        {
            return Err(RawError::Overwritten);
        }
        match header.word(HeaderWord::Threads) {
            0 => Err(RawError::Nothing),
            _ => Ok(header),
        }
    }

    fn word(self, word: HeaderWord) -> u64 {
        self.0[word as usize]
    }

    /// How many pieces are in use, this one included.
    #[must_use]
    pub fn pieces(self) -> u64 {
        self.word(HeaderWord::Chunks)
    }
}

/// The threads of a recording, from its header and its other pieces.
///
/// # Errors
/// If what was written makes no sense.
pub fn read(
    header: Header<'_>,
    pieces: impl IntoIterator<Item = Vec<u64>>,
) -> Result<Raw, RawError> {
    if header.word(HeaderWord::Full) != 0 {
        return Err(RawError::Full);
    }
    let mut found: BTreeMap<u64, Found> = BTreeMap::new();
    for piece in pieces {
        let word = |word: ChunkWord| piece.get(word as usize).copied();
        let Some((CHUNK_MAGIC, thread)) = word(ChunkWord::Magic).zip(word(ChunkWord::Thread))
        else {
            // Taken by a thread that was ended before it could put its name there.
            continue;
        };
        let thread = found.entry(thread).or_default();
        thread.parent = word(ChunkWord::Parent).unwrap_or(NOBODY);
        thread.child = word(ChunkWord::Child).unwrap_or(0);
        let words = piece.iter().skip(CHUNK_HEAD).copied();
        let words: Vec<u64> = words.take_while(|word| *word != 0).collect();
        let sequence = word(ChunkWord::Sequence).unwrap_or(0);
        let stream = word(ChunkWord::Stream).unwrap_or(0);
        // A thread that was ended while it put a piece by left it twice.
        let known = thread.pieces.entry((stream, sequence)).or_default();
        if words.len() > known.len() {
            *known = words;
        }
    }
    let mut paths: BTreeMap<u64, ThreadPath> = BTreeMap::new();
    let mut threads = Vec::new();
    for (index, thread) in found {
        let path = name(&paths, index, &thread)?;
        paths.insert(index, path.clone());
        let stream = |stream| thread.stream(stream).ok_or(RawError::Overwritten);
        threads.push(ThreadLog {
            thread: path,
            path: stream(Stream::Path)?,
            order: stream(Stream::Order)?,
            inputs: stream(Stream::Inputs)?,
        });
    }
    let fatal = fatal(header, &paths);
    Ok(Raw { threads, fatal })
}

fn name(
    paths: &BTreeMap<u64, ThreadPath>,
    index: u64,
    thread: &Found,
) -> Result<ThreadPath, RawError> {
    if thread.parent == NOBODY {
        return match index {
            0 => Ok(ThreadPath::MAIN),
            _ => Err(RawError::Stranger),
        };
    }
    let child = u32::try_from(thread.child).ok().filter(|child| *child > 0);
    let parent = paths.get(&thread.parent);
    parent
        .zip(child)
        .map(|(parent, child)| parent.child(child))
        .ok_or(RawError::Overwritten)
}

fn fatal(header: Header<'_>, paths: &BTreeMap<u64, ThreadPath>) -> Option<Fatal> {
    let signal = i32::try_from(header.word(HeaderWord::Signal)).ok()?;
    (signal != 0).then(|| Fatal {
        signal,
        thread: paths.get(&header.word(HeaderWord::Thread)).cloned(),
        code: header.word(HeaderWord::Counter),
        address: header.word(HeaderWord::Address),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(threads: u64) -> Vec<u64> {
        let mut words = vec![0; 16];
        words[HeaderWord::Magic as usize] = HEADER_MAGIC;
        words[HeaderWord::Threads as usize] = threads;
        words
    }

    fn piece(thread: u64, sequence: u64, parent: u64, child: u64, words: &[u64]) -> Vec<u64> {
        let mut head = vec![CHUNK_MAGIC, thread, sequence, parent, child];
        head.resize(CHUNK_HEAD, 0);
        [&head, words, &[0, 9]].concat()
    }

    fn in_order(mut piece: Vec<u64>) -> Vec<u64> {
        piece[ChunkWord::Stream as usize] = Stream::Order as u64;
        piece
    }

    #[test]
    fn pieces_are_put_together_by_thread() {
        let words = header(3);
        let raw = read(
            Header::new(&words).unwrap(),
            [
                piece(0, 0, NOBODY, 0, &[1, 2]),
                piece(2, 1, 0, 1, &[7]),
                piece(1, 0, 0, 2, &[3]),
                vec![0; 40],
                in_order(piece(1, 0, 0, 2, &[8])),
                piece(2, 0, 0, 1, &[5, 6]),
            ],
        );
        let threads = raw.unwrap().threads;
        let told: Vec<_> = threads
            .iter()
            .map(|log| (log.thread.to_string(), &log.path[..], &log.order[..]))
            .collect();
        let expected: [(String, &[u64], &[u64]); 3] = [
            ("0".into(), &[1, 2], &[]),
            ("0:2".into(), &[3], &[8]),
            ("0:1".into(), &[5, 6, 7], &[]),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_missing_is_told() {
        assert_eq!(Header::new(&header(0)).unwrap_err(), RawError::Nothing);
        assert_eq!(Header::new(&[]).unwrap_err(), RawError::Overwritten);
        let words = header(2);
        let header = Header::new(&words).unwrap();
        let stranger = [piece(0, 0, NOBODY, 0, &[1]), piece(1, 0, NOBODY, 0, &[1])];
        assert_eq!(read(header, stranger), Err(RawError::Stranger));
        let gap = [piece(0, 0, NOBODY, 0, &[1]), piece(0, 2, NOBODY, 0, &[1])];
        assert_eq!(read(header, gap), Err(RawError::Overwritten));
    }

    proptest! {
        #[test]
        fn any_words_are_read_or_refused(
            head: Vec<u64>,
            pieces in prop::collection::vec(prop::collection::vec(0u64..9, 0..12), 0..5),
            magic: bool,
        ) {
            let mut words = if magic { header(2) } else { head };
            words.truncate(20);
            let pieces = pieces.into_iter().map(|mut piece| {
                if let Some(first) = piece.first_mut() {
                    *first = CHUNK_MAGIC;
                }
                piece
            });
            let _ = Header::new(&words).and_then(|header| read(header, pieces));
        }
    }
}
