//! The writes to a word, chain by chain, and what is left of them to a read.

use super::closure::{JumpNumber, Place};
use super::graph::{Graph, Way};

/// The writes to a word that one chain makes visible, in its order.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) chain: u32,
    pub(super) thread: usize,
    /// Positions, and the writes' numbers.
    pub(super) writes: Vec<(u32, usize)>,
}

impl Row {
    /// The writes at positions of a range.
    pub(super) fn between(&self, from: u32, to: u32) -> &[(u32, usize)] {
        let index = |position| self.writes.partition_point(|write| write.0 < position);
        &self.writes[index(from)..index(to).max(index(from))]
    }

    /// The window that leaves only this write.
    pub(super) fn only(&self, write: usize) -> Window {
        let found = self.writes.iter().find(|one| one.1 == write);
        found.map_or((0, 0), |(position, _)| (*position, position + 1))
    }

    /// The first write from a position on.
    pub(super) fn from(&self, position: u32) -> Option<(u32, usize)> {
        let index = self.writes.partition_point(|write| write.0 < position);
        self.writes.get(index).copied()
    }

    /// The last write up to a position.
    pub(super) fn up_to(&self, position: u32) -> Option<(u32, usize)> {
        let index = self.writes.partition_point(|write| write.0 <= position);
        self.writes[..index].last().copied()
    }
}

/// Which positions of a row are left to a read: from the first on, before the second.
pub(super) type Window = (u32, u32);

/// A write that comes before a read, and the way there; in its own thread there is none.
pub(super) type Known = (Place, Option<Way>);

/// What is left of a row to a read, and why.
pub(super) struct Ends {
    pub(super) low: u32,
    /// The write that comes over those below: where it is, how they lead to it, and how it
    /// leads to the read.
    over: Option<(Place, Option<JumpNumber>, Option<Way>)>,
    pub(super) high: u32,
    /// How the read leads to those above.
    behind: Option<JumpNumber>,
}

impl Ends {
    pub(super) fn of(
        graph: &Graph,
        row: &Row,
        (read, thread): (Place, usize),
        known: &[Option<Known>],
    ) -> Ends {
        let mut ends = Ends {
            low: 0,
            over: None,
            high: u32::MAX,
            behind: None,
        };
        for (place, to_read) in known.iter().flatten() {
            let (until, by) = match place.chain == row.chain {
                true => (place.position, None),
                false => match graph.closure.latest(row.chain, *place) {
                    Some((source, jump)) => (source.position + 1, Some(jump)),
                    None => continue,
                },
            };
            if until > ends.low {
                ends.low = until;
                ends.over = Some((*place, by, *to_read));
            }
        }
        // A thread's own stores may still wait in its buffer.
        if row.thread != thread
            && let Some((target, jump)) = graph.closure.earliest(read, row.chain)
        {
            ends.high = target.position;
            ends.behind = Some(jump);
        }
        ends
    }

    /// Why a write is not left to a read.
    pub(super) fn ways(&self, read: Place, chain: u32, position: u32) -> [Option<Way>; 2] {
        let write = Place { chain, position };
        if let Some((to, by, to_read)) = self.over.filter(|_| position < self.low) {
            let from = write;
            return [Some(Way { from, to, by }), to_read];
        }
        let by = self.behind.filter(|_| position >= self.high);
        let way = by.map(|jump| Way {
            from: read,
            to: write,
            by: Some(jump),
        });
        [way, None]
    }
}

/// The first write of a row that comes behind a write, or of all if there is none.
pub(super) fn next(
    graph: &Graph,
    row: &Row,
    behind: Option<Place>,
) -> Option<(usize, Option<Way>)> {
    let Some(from) = behind else {
        return Some((row.writes.first()?.1, None));
    };
    let (start, by) = match from.chain == row.chain {
        true => (from.position + 1, None),
        false => {
            let (target, jump) = graph.closure.earliest(from, row.chain)?;
            (target.position, Some(jump))
        }
    };
    let (position, write) = row.from(start)?;
    let to = Place {
        chain: row.chain,
        position,
    };
    Some((write, by.map(|_| Way { from, to, by })))
}
