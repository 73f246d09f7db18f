//! Breakpoints as the program meets them: sites where threads are held up until
//! partners come, and what has to hold. Names are resolved; `bohr-trigger` makes
//! these from what people write.
//!
//! Two parts of bohr carry them out: the strategy that postpones threads under
//! control, and the library that holds up real threads. That one reads a
//! *board*, a file that it shares with bohr:
//!
//! ```text
//!     offset  size  what
//!          0     8  BOARD_MAGIC
//!          8     8  length of the orders
//!         16     8  nanoseconds of the monotonic clock when the program began
//!         24     8  where the passes begin: one side after the other, sixteen lines
//!                   of 64 bytes each
//!         64 128·n  counters of the n-th breakpoint, sixteen words each
//!       4096     …  Orders, in postcard
//! ```
//!
//! A line of passes is for threads that share few others: its first word says how many
//! more visits may pass without being looked at, the second how many were given to it.
//! What was given and is not there any more has passed. Counters and passes are there after
//! a crash, too.

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Names the board's file to the library.
pub const BOARD_VARIABLE: &str = "BOHR_BREAK_BOARD";

/// First word of a board; its last byte is the version.
pub const BOARD_MAGIC: u64 = u64::from_le_bytes(*b"bohrbrd4");

/// Where the length of the orders stands.
pub const BOARD_LENGTH: usize = 8;

/// Where the time of the program's begin stands.
pub const BOARD_BEGIN: usize = 16;

/// Where the place of the passes stands.
pub const BOARD_PASSES: usize = 24;

/// Lines of passes per side.
pub const PASS_LINES: usize = 16;

/// Words of a line.
pub const PASS_WORDS: usize = 8;

/// Bytes of passes per side.
pub const PASS_BYTES: usize = PASS_LINES * PASS_WORDS * 8;

/// Visits that have passed by what a line says.
#[must_use]
pub fn passed(line: &[u64]) -> u64 {
    let (permits, given) = (line[0] as i64, line[1]);
    given.saturating_sub(permits.max(0) as u64)
}

/// Where the counters begin.
pub const BOARD_COUNTERS: usize = 64;

/// Words of counters per breakpoint.
pub const COUNTER_WORDS: usize = 16;

/// Where among them the visits of each side stand.
pub const SIDE_VISITS: usize = 8;

/// Where the orders begin.
pub const BOARD_ORDERS: usize = 4096;

/// As many counters as there is room for before the orders.
pub const MOST_BREAKPOINTS: usize = 16;

const _: () = assert!(BOARD_COUNTERS + MOST_BREAKPOINTS * COUNTER_WORDS * 8 <= BOARD_ORDERS);

/// More threads cannot meet at once.
pub const MOST_SIDES: usize = 8;

const _: () = assert!(SIDE_VISITS + MOST_SIDES <= COUNTER_WORDS);

/// As many threads that run the same code are told apart.
pub const MOST_ALIKE: u32 = 16;

/// Positions of the counters of a breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Threads that came by one of its places.
    Visits = 0,
    /// Threads that were held up.
    Postponed = 1,
    /// Meetings.
    Hits = 2,
    /// Threads that were let go without one.
    TimedOut = 3,
    /// Nanoseconds from the program's begin to the first meeting.
    FirstHit = 4,
    /// Threads whose memory was freed while they were held up for it.
    Freed = 5,
    /// The site that freed it last, plus one.
    FreedAt = 6,
    /// The side of the thread in question.
    FreedSide = 7,
}

/// All that the library is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// Hash of the bundle whose sites are meant.
    pub program: [u8; 32],
    /// At most [`MOST_BREAKPOINTS`].
    pub breakpoints: Vec<Breakpoint>,
    /// Sites that hand memory back to the C library's heap; for breakpoints that ask
    /// for the same object.
    pub frees: Vec<u32>,
}

/// Threads that are to meet, one per side, and go on in the order of the sides.
/// One thread at a time waits at a side; others pass.
/// `S` names sites: by their numbers in the program, or in a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakpoint<S = u32> {
    /// At least two, at most [`MOST_SIDES`].
    pub sides: Vec<Side<S>>,
    /// Whether all have to be about to touch the same memory. What a call is
    /// about and cannot be told counts as the same.
    pub same_object: bool,
    /// Meetings after which it sleeps.
    pub at_most: Option<u64>,
    /// How long a thread is held up, in nanoseconds.
    pub pause: u64,
    /// How long a side that does not say where its statement ends is given for
    /// it, in nanoseconds.
    pub settle: u64,
}

/// Where one of the threads has to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side<S = u32> {
    /// Before any of these sites.
    pub sites: Vec<S>,
    /// Its statement is over when it comes by one of these; empty if nobody said.
    pub until: Vec<S>,
    /// Visits that pass, whoever makes them.
    pub ignore_first: u64,
    /// The only visit of each thread that counts, from 1.
    pub nth: Option<u64>,
    /// Addresses of locks that it has to hold.
    pub holding: Vec<u64>,
    /// Code that it has to be called from: ranges of addresses, each to be found
    /// on its stack.
    pub within: Vec<Vec<(u64, u64)>>,
    /// What has to be true of variables.
    pub when: Vec<Comparison>,
    /// Which of several threads that run the same code it has to be.
    pub rank: Option<Rank>,
}

/// Which of several threads that come by the same places one is, in the order in which
/// they were created. It is known once all of them have come, so whoever comes early is
/// held up until then, at its first visit of a place that asks. All places that ask about
/// as many threads mean the same ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Rank {
    /// Counted from 1.
    pub number: u32,
    /// How many threads there are; at most [`MOST_ALIKE`].
    pub of: u32,
}

impl Rank {
    /// Whether there can be such a thread.
    #[must_use]
    pub fn is_sound(self) -> bool {
        (1..=self.of).contains(&self.number) && (2..=MOST_ALIKE).contains(&self.of)
    }
}

impl<S> Breakpoint<S> {
    /// The same with other names for its sites.
    #[must_use]
    pub fn with_sites<T>(&self, mut name: impl FnMut(&S) -> T) -> Breakpoint<T> {
        let sides = self.sides.iter().map(|side| Side {
            sites: side.sites.iter().map(&mut name).collect(),
            until: side.until.iter().map(&mut name).collect(),
            ignore_first: side.ignore_first,
            nth: side.nth,
            holding: side.holding.clone(),
            within: side.within.clone(),
            when: side.when.clone(),
            rank: side.rank,
        });
        Breakpoint {
            sides: sides.collect(),
            same_object: self.same_object,
            at_most: self.at_most,
            pause: self.pause,
            settle: self.settle,
        }
    }
}

/// Of a variable of the program with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Where the variable is.
    pub address: u64,
    /// Its size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// How they compare.
    pub relation: Relation,
    /// The number.
    pub value: i64,
}

/// How two numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

impl Relation {
    /// Every relation with its sign; those that begin like another come first.
    pub const SIGNS: [(&'static str, Relation); 6] = [
        ("<=", Relation::AtMost),
        (">=", Relation::AtLeast),
        ("==", Relation::Equal),
        ("!=", Relation::NotEqual),
        ("<", Relation::Less),
        (">", Relation::Greater),
    ];

    /// Whether it holds.
    #[must_use]
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Relation::Less => left < right,
            Relation::AtMost => left <= right,
            Relation::Equal => left == right,
            Relation::NotEqual => left != right,
            Relation::AtLeast => left >= right,
            Relation::Greater => left > right,
        }
    }

    /// As it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        let found = Relation::SIGNS
            .iter()
            .find(|(_, relation)| *relation == self);
        found.map_or("", |(sign, _)| sign)
    }
}

/// What became of a breakpoint in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Threads that came by one of its places.
    pub visits: u64,
    /// Those that came by the place of each side.
    pub side_visits: [u64; MOST_SIDES],
    /// Threads that were held up.
    pub postponed: u64,
    /// Meetings.
    pub hits: u64,
    /// Threads that were let go without one.
    pub timed_out: u64,
    /// Nanoseconds to the first meeting; 0 if there was none.
    pub first_hit: u64,
    /// Threads whose memory was freed while they were held up for it.
    pub freed: u64,
    /// The site that freed it last.
    pub freed_at: Option<u32>,
    /// The side of the thread in question.
    pub freed_side: u64,
}

impl Counts {
    /// With visits of a side that passed without being looked at.
    #[must_use]
    pub fn with_passed(mut self, side: usize, visits: u64) -> Counts {
        self.visits += visits;
        self.side_visits[side] += visits;
        self
    }

    /// Of the words that stand on a board.
    #[must_use]
    pub fn of_words(words: &[u64; COUNTER_WORDS]) -> Counts {
        let word = |counter: Counter| words[counter as usize];
        Counts {
            visits: word(Counter::Visits),
            side_visits: core::array::from_fn(|side| words[SIDE_VISITS + side]),
            postponed: word(Counter::Postponed),
            hits: word(Counter::Hits),
            timed_out: word(Counter::TimedOut),
            first_hit: word(Counter::FirstHit),
            freed: word(Counter::Freed),
            freed_at: word(Counter::FreedAt)
                .checked_sub(1)
                .and_then(|site| u32::try_from(site).ok()),
            freed_side: word(Counter::FreedSide),
        }
    }
}

/// Whether two ranges of memory have a byte in common; address 0 is unknown and
/// the same as any.
#[must_use]
pub fn same_memory(one: (u64, u64), other: (u64, u64)) -> bool {
    let end = |(start, size): (u64, u64)| start.saturating_add(size.max(1));
    let unknown = one.0 == 0 || other.0 == 0;
    unknown || (one.0 < end(other) && other.0 < end(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_the_same_if_a_byte_is() {
        assert!(same_memory((8, 4), (11, 1)));
        assert!(!same_memory((8, 4), (12, 4)));
        assert!(same_memory((8, 0), (8, 0)), "locks have no size");
        assert!(same_memory((0, 0), (12, 4)), "unknown");
    }

    #[test]
    fn what_a_line_was_given_and_has_not_any_more_has_passed() {
        assert_eq!(passed(&[3, 10]), 7);
        assert_eq!(passed(&[-1_i64 as u64, 10]), 10, "somebody finds that out");
        assert_eq!(passed(&[10, 0]), 0, "half given");
        let counts = Counts::default().with_passed(1, 7);
        assert_eq!((counts.visits, counts.side_visits[1]), (7, 7));
    }

    #[test]
    fn signs_name_relations() {
        for (sign, relation) in Relation::SIGNS {
            assert_eq!(relation.sign(), sign);
        }
        assert!(Relation::AtLeast.holds(7200, 7200));
        assert!(!Relation::Greater.holds(7200, 7200));
    }
}
