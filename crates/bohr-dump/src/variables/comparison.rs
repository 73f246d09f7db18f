//! Two states of one program, compared by reference paths: the value that a path
//! leads to in one with the value that the same path leads to in the other. Where
//! things lie differs from process to process, so pointers are followed, and only
//! whether they point at all is compared, and how far into an array.
//!
//! The paths begin at global variables and at the variables of the frames that the
//! two have in common. (Weeratunge et al., "Analyzing multicore dumps to facilitate
//! concurrency bug reproduction", ASPLOS 2010, section 4. Deviation: an object that
//! was compared with the same other object is not compared again under another path.)

use super::{
    Call, Information, Value, distances,
    globals::Global,
    scopes::Held,
    types::{Member, Shape, TypeId},
    values::{Reader, Unknown},
};
use crate::{Frame, Memory};
use serde::Serialize;
use std::collections::{HashMap, HashSet, VecDeque};

/// Pointers that are followed one after the other.
const DEEPEST: usize = 64;
/// Elements of an array that are compared.
const MOST_ELEMENTS: u64 = 4096;
/// Values that are compared in all.
const MOST_VALUES: u64 = 5_000_000;
/// Types of the C library whose content is its own.
const SYNCHRONISATION: [&str; 9] = [
    // C++ calls them so.
    "__native_type",
    "__gthread_mutex_t",
    "__gthread_cond_t",
    "pthread_mutex_t",
    "pthread_cond_t",
    "pthread_rwlock_t",
    "pthread_barrier_t",
    "pthread_spinlock_t",
    "sem_t",
];
/// Bytes of a text.
const LONGEST_TEXT: usize = 4096;

/// One of the two.
#[derive(Clone, Copy)]
pub struct Side<'v, 'd> {
    /// The debug information of the program, as it was loaded there.
    pub information: &'v Information<'d>,
    /// Its memory.
    pub memory: &'v Memory<'d>,
    /// The stack of the thread that matters.
    pub frames: &'v [Frame],
    /// Whether an address lies in memory that was given back, as far as that is known.
    pub is_freed: &'v dyn Fn(u64) -> bool,
}

/// A value that is not the same.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// How it is reached, as in `table[3]->next->key`.
    pub path: String,
    /// What it is on the one side.
    pub left: Value,
    /// And on the other.
    pub right: Value,
    /// Where it lies on the other side, and its bytes there; `None` in registers.
    #[serde(skip)]
    pub place: Option<(u64, u64)>,
    /// Whether others can reach it: it is global, or something points to it.
    pub shared: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// Values that were compared.
    pub values: u64,
    /// Those of them that others can reach.
    pub shared: u64,
    /// Those that differ, in the order of their paths' roots.
    pub differences: Vec<Difference>,
    /// Whether there was more to compare than was.
    pub cut_short: bool,
}

impl Comparison {
    /// Compares two states of the same sources, locks and the like left out. Types are those of the left side;
    /// variables are found on the right side by their names.
    #[must_use]
    pub fn of<'v, 'd>(left: Side<'v, 'd>, right: Side<'v, 'd>) -> Comparison {
        let mut comparer = Comparer {
            left,
            right,
            seen: HashSet::new(),
            waiting: VecDeque::new(),
            result: Comparison::default(),
        };
        let others = Globals::of(right.information);
        for global in left.information.globals() {
            let Some(other) = others.like(&global, left.information) else {
                continue;
            };
            let address =
                |address: u64, side: Side<'_, '_>| address.wrapping_add(side.information.bias);
            comparer.waiting.push_back(Pair {
                kind: global.kind,
                addresses: [address(global.address, left), address(other, right)],
                path: global.name,
                depth: 0,
            });
        }
        comparer.compare_frames();
        while let Some(pair) = comparer.waiting.pop_front() {
            comparer.compare_pair(&pair);
        }
        comparer.result
    }
}

/// The global variables of one side, by name.
struct Globals {
    by_name: HashMap<String, Vec<(u64, String)>>,
}

impl Globals {
    fn of(information: &Information<'_>) -> Globals {
        let mut by_name: HashMap<String, Vec<(u64, String)>> = HashMap::new();
        for global in information.globals() {
            let kind = information.resolve(global.kind).map(|kind| kind.name);
            let entry = (global.address, kind.unwrap_or_default());
            by_name.entry(global.name).or_default().push(entry);
        }
        Globals { by_name }
    }

    /// Where the variable is that another side's is. Of several with its name and
    /// type, the one at its address: both sides are of one build then, or nobody
    /// knows which is which.
    fn like(&self, global: &Global, information: &Information<'_>) -> Option<u64> {
        let kind = information.resolve(global.kind).map(|kind| kind.name);
        let kind = kind.unwrap_or_default();
        let alike = self.by_name.get(&global.name)?.iter();
        let alike: Vec<u64> = alike
            .filter(|(_, other)| *other == kind)
            .map(|&(address, _)| address)
            .collect();
        match alike[..] {
            [only] => Some(only),
            _ => alike.into_iter().find(|&address| address == global.address),
        }
    }
}

struct Comparer<'v, 'd> {
    left: Side<'v, 'd>,
    right: Side<'v, 'd>,
    /// Pairs of objects that have been compared, with their types.
    seen: HashSet<(TypeId, [u64; 2])>,
    /// What is to be compared: the shortest paths first.
    waiting: VecDeque<Pair>,
    result: Comparison,
}

/// Two objects that the same path leads to.
struct Pair {
    kind: TypeId,
    addresses: [u64; 2],
    path: String,
    /// Pointers on the path.
    depth: usize,
}

/// Two objects of one kind.
#[derive(Clone, Copy)]
struct Content<'b> {
    bytes: [&'b [u8]; 2],
    /// Where they lie, unless in registers.
    addresses: Option<[u64; 2]>,
}

impl<'b> Content<'b> {
    /// What lies `start` bytes further on.
    fn part(self, start: usize) -> Content<'b> {
        Content {
            bytes: self
                .bytes
                .map(|bytes| bytes.get(start..).unwrap_or_default()),
            addresses: self
                .addresses
                .map(|addresses| addresses.map(|address| address.wrapping_add(start as u64))),
        }
    }
}

impl<'v, 'd> Comparer<'v, 'd> {
    /// The frames that both have, from the outermost on.
    fn compare_frames(&mut self) {
        let (left, right) = (self.left, self.right);
        let outermost = left.frames.len().min(right.frames.len());
        for height in 1..=outermost {
            let own = &left.frames[left.frames.len() - height..];
            let others = &right.frames[right.frames.len() - height..];
            let calls = |side: &Side<'_, '_>, frames: &[Frame]| {
                let calls = frames.first().map(|frame| side.information.calls(frame));
                calls.unwrap_or_default()
            };
            let (own_calls, other_calls) = (calls(&left, own), calls(&right, others));
            if function(&own_calls, 0) != function(&other_calls, 0) {
                // From here on they have called others.
                return;
            }
            let others = right.information.held(others, right.memory);
            for held in left.information.held(own, left.memory) {
                // Functions inlined into one have variables of one name, `this` above all.
                let own_function = function(&own_calls, held.inlined);
                let own_kind = left.information.spelled(held.kind);
                let same = |other: &&Held| {
                    other.name == held.name
                        && function(&other_calls, other.inlined) == own_function
                        && right.information.spelled(other.kind) == own_kind
                };
                let other = others.iter().find(same).map(|other| &other.bytes);
                if let (Ok(one), Some(Ok(other))) = (&held.bytes, other) {
                    let path = format!("{}::{}", own_function.unwrap_or("?"), held.name);
                    let content = Content {
                        bytes: [one, other],
                        addresses: None,
                    };
                    self.compare(held.kind, content, &path, 0);
                }
            }
        }
    }

    fn compare_pair(&mut self, pair: &Pair) {
        let kind = self.left.information.resolve(pair.kind);
        let size = kind.and_then(|kind| usize::try_from(kind.size).ok());
        let sides = [self.left.memory, self.right.memory];
        let read = |side: usize| sides[side].read(pair.addresses[side], size?);
        if let (Some(one), Some(other)) = (read(0), read(1)) {
            let content = Content {
                bytes: [&one, &other],
                addresses: Some(pair.addresses),
            };
            self.compare(pair.kind, content, &pair.path, pair.depth);
        }
    }

    fn compare(&mut self, id: TypeId, content: Content<'_>, path: &str, depth: usize) {
        if self.result.values >= MOST_VALUES {
            self.result.cut_short = true;
            return;
        }
        let Some(kind) = self.left.information.resolve(id) else {
            return;
        };
        let bytes = content.bytes;
        match &kind.shape {
            // Owners are numbers of the kernel, and waiters come and go.
            _ if SYNCHRONISATION.contains(&kind.name.as_str()) => {}
            Shape::Structure(members) => {
                let place = content.addresses.map(|addresses| (kind.id, addresses));
                if place.is_none_or(|place| self.seen.insert(place)) {
                    self.compare_members(members, content, path, depth);
                }
            }
            Shape::Variants {
                discriminant,
                cases,
            } => {
                let number = |side: usize| {
                    let member = discriminant.as_ref()?;
                    self.reader(side).number(member, bytes[side])
                };
                let case = number(0);
                if case != number(1) {
                    return self.differ(id, content, path);
                }
                let same = cases.iter().find(|one| one.discriminant == case);
                let other = || cases.iter().find(|one| one.discriminant.is_none());
                if let Some(member) = same.or_else(other).and_then(|case| case.member.as_ref()) {
                    self.compare_members(std::slice::from_ref(member), content, path, depth);
                }
            }
            Shape::Array { element, count } => {
                self.compare_elements(*element, count.unwrap_or(0), content, path, depth);
            }
            Shape::Pointer(target) => self.follow(id, *target, content, path, depth),
            _ => {
                let size = kind.size as usize;
                let (Some(one), Some(other)) = (bytes[0].get(..size), bytes[1].get(..size)) else {
                    return;
                };
                self.count(content);
                if one != other {
                    self.differ(id, content, path);
                }
            }
        }
    }

    fn count(&mut self, content: Content<'_>) {
        self.result.values += 1;
        self.result.shared += u64::from(content.addresses.is_some());
    }

    fn compare_elements(
        &mut self,
        element: TypeId,
        count: u64,
        content: Content<'_>,
        path: &str,
        depth: usize,
    ) {
        let size = self.left.information.resolve(element);
        let size = size.and_then(|kind| usize::try_from(kind.size).ok());
        let Some(size) = size.filter(|&size| size > 0) else {
            return;
        };
        self.result.cut_short |= count > MOST_ELEMENTS;
        let there = content.bytes.map(|bytes| bytes.len() / size);
        let most = count.min(MOST_ELEMENTS) as usize;
        for number in 0..most.min(there[0]).min(there[1]) {
            let path = format!("{path}[{number}]");
            self.compare(element, content.part(number * size), &path, depth);
        }
    }

    fn compare_members(
        &mut self,
        members: &[Member],
        content: Content<'_>,
        path: &str,
        depth: usize,
    ) {
        for member in members {
            let path = format!("{path}.{}", member.name);
            if member.bits.is_some() {
                let number = |side: usize| self.reader(side).number(member, content.bytes[side]);
                let pair = (number(0), number(1));
                self.count(content);
                if let (Some(one), Some(other)) = pair
                    && one != other
                {
                    let place = content.addresses.map(|addresses| (addresses[1], 8));
                    self.note(&path, Value::Unsigned(one), Value::Unsigned(other), place);
                }
                continue;
            }
            let start = usize::try_from(member.start).unwrap_or(usize::MAX);
            self.compare(member.kind, content.part(start), &path, depth);
        }
        self.compare_distances(members, content, path);
    }

    /// Compares how far pointers into one array are apart.
    fn compare_distances(&mut self, members: &[Member], content: Content<'_>, path: &str) {
        for (kind, members) in distances::groups(members) {
            let target = match self.left.information.resolve(kind).map(|kind| kind.shape) {
                Some(Shape::Pointer(target)) => target,
                _ => None,
            };
            let element = target.and_then(|target| self.left.information.resolve(target));
            let both = |member: &&Member| {
                let start = usize::try_from(member.start).ok()?;
                let [one, other] = content.part(start).bytes.map(|bytes| bytes.first_chunk());
                Some([one, other].map(|word| word.copied().map_or(0, u64::from_le_bytes)))
            };
            let pointers: Option<Vec<[u64; 2]>> = members.iter().map(both).collect();
            let (Some(element), Some(pointers)) = (element, pointers) else {
                continue;
            };
            for apart in distances::apart(&pointers, element.size) {
                let [left, right] = apart.elements.map(Value::Unsigned);
                let (pointer, lowest) = (members[apart.pointer], members[apart.lowest]);
                let place = content.addresses;
                let place = place.map(|addresses| (addresses[1].wrapping_add(pointer.start), 8));
                let path = format!("{path}.{} - {}", pointer.name, lowest.name);
                self.note(&path, left, right, place);
            }
        }
    }

    /// Compares whether two pointers point, and remembers what they point to.
    fn follow(
        &mut self,
        id: TypeId,
        target: Option<TypeId>,
        content: Content<'_>,
        path: &str,
        depth: usize,
    ) {
        let bytes = content.bytes;
        let address = |side: usize| bytes[side].first_chunk().copied().map(u64::from_le_bytes);
        let (Some(one), Some(other)) = (address(0), address(1)) else {
            return;
        };
        self.count(content);
        let state = |address: u64, memory: &Memory<'_>| match address {
            0 => Points::Nowhere,
            _ if memory.is_known(address) => Points::Somewhere,
            _ => Points::Astray,
        };
        // What still points to memory that was given back says nothing: nobody follows
        // it, and there is no telling what lies there on the other side.
        let is_stale = (self.left.is_freed)(one) || (self.right.is_freed)(other);
        if is_stale && one != 0 && other != 0 {
            return;
        }
        let here = state(one, self.left.memory);
        if here != state(other, self.right.memory) {
            return self.differ(id, content, path);
        }
        let Some(target) = target.filter(|_| here == Points::Somewhere) else {
            return;
        };
        let Some(kind) = self.left.information.resolve(target) else {
            return;
        };
        match kind.shape {
            Shape::Character if kind.size == 1 => {
                if text(self.left.memory, one) != text(self.right.memory, other) {
                    self.differ(id, content, path);
                }
            }
            _ if depth == DEEPEST => self.result.cut_short = true,
            _ => {
                let place = (kind.id, [one, other]);
                // Structures are noted when they are compared.
                let (is_new, path) = match kind.shape {
                    Shape::Structure(_) => (!self.seen.contains(&place), format!("{path}->")),
                    _ => (self.seen.insert(place), format!("*{path}")),
                };
                if is_new {
                    self.waiting.push_back(Pair {
                        // Under its name: locks are told by that.
                        kind: target,
                        addresses: [one, other],
                        path,
                        depth: depth + 1,
                    });
                }
            }
        }
    }

    /// Reads what lies on one side; types are the left side's.
    fn reader(&self, side: usize) -> Reader<'v, 'd> {
        Reader {
            information: self.left.information,
            memory: [self.left, self.right][side].memory,
        }
    }

    fn differ(&mut self, id: TypeId, content: Content<'_>, path: &str) {
        let bytes = content.bytes;
        let value = |side: usize| match bytes[side].is_empty() {
            true => Value::Unknown(Unknown::Memory),
            false => self.reader(side).value(id, bytes[side]),
        };
        let (left, right) = (value(0), value(1));
        let size = self.left.information.resolve(id);
        let size = size.map_or(1, |kind| kind.size);
        let place = content.addresses.map(|addresses| (addresses[1], size));
        self.note(path, left, right, place);
    }

    fn note(&mut self, path: &str, left: Value, right: Value, place: Option<(u64, u64)>) {
        let path = path.replace("->.", "->");
        self.result.differences.push(Difference {
            path,
            left,
            right,
            place,
            shared: place.is_some(),
        });
    }
}

/// The function of a frame, or of those that were inlined into it the one at this depth.
fn function(calls: &[Call], inlined: usize) -> Option<&str> {
    let position = calls.len().checked_sub(1 + inlined)?;
    calls[position].function.as_deref()
}

fn text<'a>(memory: &Memory<'a>, address: u64) -> &'a [u8] {
    let bytes = memory.from(address, LONGEST_TEXT);
    let end = bytes.iter().position(|&byte| byte == 0);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// What a pointer is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Points {
    Nowhere,
    Somewhere,
    Astray,
}
