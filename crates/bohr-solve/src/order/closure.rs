//! What comes before what, of nodes in chains, closed under "and what that comes before":
//! the answer to every question about two nodes is looked up, not searched for.
//!
//! Of two chains it takes only the pairs that say most: if one node comes before another,
//! so do all before the first, before all behind the second. These pairs, the *jumps*,
//! grow in both positions, so they are few and found from either side. A jump tells what
//! it was put together from, and so why it is there. (Incremental transitive closure over
//! a chain decomposition, as in Jagadish, "A Compression Technique to Materialize
//! Transitive Closure", TODS 1990; here it also goes back.)

use std::collections::BTreeMap;

/// A node, by its chain and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) chain: u32,
    pub(crate) position: u32,
}

impl Place {
    pub(crate) fn new(chain: usize, position: usize) -> Place {
        Place {
            chain: chain as u32,
            position: position as u32,
        }
    }

    /// Another position of the same chain.
    pub(crate) fn at(self, position: u32) -> Place {
        Place { position, ..self }
    }
}

/// The number of an edge, in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EdgeNumber(pub(crate) u32);

/// The number of a jump, in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct JumpNumber(u32);

/// What leads from one place to another: an edge, or a jump that was there before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    Edge(EdgeNumber),
    Jump(JumpNumber),
}

/// What a jump was put together from: one jump after another, with a link between.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) first: Option<JumpNumber>,
    pub(crate) link: Option<Link>,
    pub(crate) then: Option<JumpNumber>,
}

/// A jump that has just come to be, and whom it concerns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fresh {
    pub(crate) from: Place,
    pub(crate) to: Place,
    /// The first position whose way to `to` is new, as are those up to `from`.
    pub(crate) since: u32,
    /// The first position behind `to` for which the way from `from` is not.
    pub(crate) until: u32,
}

/// The jumps between two chains; positions grow together.
#[derive(Clone, Debug, Default)]
struct Front {
    by_source: BTreeMap<u32, (u32, JumpNumber)>,
    by_target: BTreeMap<u32, (u32, JumpNumber)>,
}

impl Front {
    fn put(&mut self, source: u32, target: u32, jump: JumpNumber) {
        self.by_source.insert(source, (target, jump));
        self.by_target.insert(target, (source, jump));
    }

    fn remove(&mut self, source: u32, target: u32) {
        self.by_source.remove(&source);
        self.by_target.remove(&target);
    }
}

/// What to undo.
#[derive(Clone, Copy, Debug)]
enum Change {
    Put(Place, Place),
    Removed(Place, Place, JumpNumber),
}

/// All jumps that hold at the moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Closure {
    /// By the chain that is left, then by the one that is reached.
    fronts: Vec<Vec<Front>>,
    jumps: Vec<Parts>,
    changes: Vec<Change>,
}

/// A moment to go back to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    jumps: usize,
    changes: usize,
}

impl Closure {
    pub(crate) fn of(chains: usize) -> Closure {
        Closure {
            fronts: vec![vec![Front::default(); chains]; chains],
            ..Closure::default()
        }
    }

    pub(crate) fn chains(&self) -> u32 {
        self.fronts.len() as u32
    }

    fn front(&self, from: u32, to: u32) -> &Front {
        &self.fronts[from as usize][to as usize]
    }

    fn front_mut(&mut self, from: Place, to: Place) -> &mut Front {
        &mut self.fronts[from.chain as usize][to.chain as usize]
    }

    /// The last node of another chain that comes before a node.
    pub(crate) fn latest(&self, chain: u32, before: Place) -> Option<(Place, JumpNumber)> {
        let reached = &self.front(chain, before.chain).by_target;
        let (_, (position, jump)) = reached.range(..=before.position).next_back()?;
        let position = *position;
        Some((Place { chain, position }, *jump))
    }

    /// The first node of another chain that comes behind a node.
    pub(crate) fn earliest(&self, behind: Place, chain: u32) -> Option<(Place, JumpNumber)> {
        let left = &self.front(behind.chain, chain).by_source;
        let (_, (position, jump)) = left.range(behind.position..).next()?;
        let position = *position;
        Some((Place { chain, position }, *jump))
    }

    /// One node comes before another of another chain; what is new about that.
    pub(crate) fn insert(
        &mut self,
        from: Place,
        to: Place,
        parts: Parts,
    ) -> Option<(Fresh, JumpNumber)> {
        let known = self.latest(from.chain, to);
        if known.is_some_and(|(source, _)| source.position >= from.position) {
            return None;
        }
        let front = self.front(from.chain, to.chain);
        let behind = front.by_target.range(to.position..);
        let said: Vec<(u32, u32, JumpNumber)> = behind
            .map(|(target, (source, jump))| (*source, *target, *jump))
            .take_while(|(source, ..)| *source <= from.position)
            .collect();
        let jump = JumpNumber(self.jumps.len() as u32);
        self.jumps.push(parts);
        for (source, target, jump) in said {
            self.front_mut(from, to).remove(source, target);
            let change = Change::Removed(from.at(source), to.at(target), jump);
            self.changes.push(change);
        }
        let front = self.front_mut(from, to);
        front.put(from.position, to.position, jump);
        let since = front.by_source.range(..from.position).next_back();
        let until = front.by_target.range(to.position + 1..).next();
        let fresh = Fresh {
            from,
            to,
            since: since.map_or(0, |(source, _)| source + 1),
            until: until.map_or(u32::MAX, |(target, _)| *target),
        };
        self.changes.push(Change::Put(from, to));
        Some((fresh, jump))
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            jumps: self.jumps.len(),
            changes: self.changes.len(),
        }
    }

    pub(crate) fn go_back(&mut self, mark: Mark) {
        for change in self.changes.split_off(mark.changes).into_iter().rev() {
            match change {
                Change::Put(from, to) => {
                    self.front_mut(from, to).remove(from.position, to.position);
                }
                Change::Removed(from, to, jump) => {
                    self.front_mut(from, to)
                        .put(from.position, to.position, jump);
                }
            }
        }
        self.jumps.truncate(mark.jumps);
    }

    /// The edges that a jump goes along, one after the other.
    pub(crate) fn edges(&self, jump: JumpNumber) -> Vec<EdgeNumber> {
        let mut edges = Vec::new();
        let mut open = vec![Link::Jump(jump)];
        while let Some(link) = open.pop() {
            match link {
                Link::Edge(edge) => edges.push(edge),
                Link::Jump(jump) => {
                    let parts = self.jumps[jump.0 as usize];
                    open.extend(parts.then.map(Link::Jump));
                    open.extend(parts.link);
                    open.extend(parts.first.map(Link::Jump));
                }
            }
        }
        edges
    }
}
