//! Which descriptors lead out of the program. Whoever records what comes from there
//! and whoever gives it to a controlled run have to agree, so both ask here.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The kind of what a descriptor leads to, within its mode.
const KIND: u32 = 0o170_000;
const PIPE: u32 = 0o010_000;
const SOCKET: u32 = 0o140_000;
/// What has no place in any file system: counters of events, timers, signals.
const NAMELESS: u32 = 0;

/// So many are told from others; of more, the oldest are taken to lead outside.
const MOST: usize = 256;

/// Pipes and pairs of sockets that the program has made: what is read there, one of
/// its threads has written.
#[derive(Debug)]
pub struct OwnStreams {
    /// Numbers of inodes, of which pipes and sockets share a sequence; 0 if free.
    nodes: [AtomicU64; MOST],
    made: AtomicUsize,
}

impl OwnStreams {
    /// None so far.
    #[must_use]
    pub const fn new() -> OwnStreams {
        OwnStreams {
            nodes: [const { AtomicU64::new(0) }; MOST],
            made: AtomicUsize::new(0),
        }
    }

    /// The program has made one.
    pub fn add(&self, node: u64) {
        let at = self.made.fetch_add(1, Ordering::Relaxed) % MOST;
        self.nodes[at].store(node, Ordering::Relaxed);
    }

    /// Whether what is read from a descriptor comes from outside, by the mode and the
    /// number of the inode that it leads to.
    pub fn are_outside(&self, mode: u32, node: u64) -> bool {
        match mode & KIND {
            NAMELESS => false,
            PIPE | SOCKET => {
                let used = self.made.load(Ordering::Relaxed).min(MOST);
                let mut known = self.nodes[..used].iter();
                known.all(|known| known.load(Ordering::Relaxed) != node)
            }
            _ => true,
        }
    }
}

impl Default for OwnStreams {
    fn default() -> OwnStreams {
        OwnStreams::new()
    }
}

/// Where the program itself waits for connections, so that those that it makes to
/// itself are its own.
#[derive(Debug)]
pub struct OwnListeners {
    /// [`place_of`] each; 0 if free.
    places: [AtomicU64; MOST_LISTENERS],
    /// Which of them it has connected to: one bit each.
    visited: AtomicU64,
}

const MOST_LISTENERS: usize = 64;

impl OwnListeners {
    /// None so far.
    #[must_use]
    pub const fn new() -> OwnListeners {
        OwnListeners {
            places: [const { AtomicU64::new(0) }; MOST_LISTENERS],
            visited: AtomicU64::new(0),
        }
    }

    fn find(&self, place: u64) -> Option<usize> {
        let mut places = self.places.iter();
        places.position(|known| known.load(Ordering::Relaxed) == place)
    }

    /// The program waits at an address.
    pub fn listens(&self, address: &[u8]) {
        let place = place_of(address).filter(|place| self.find(*place).is_none());
        if let Some((place, free)) = place.zip(self.find(0)) {
            self.places[free].store(place, Ordering::Relaxed);
        }
    }

    /// The program is about to connect to an address; whether to itself.
    pub fn connects(&self, address: &[u8]) -> bool {
        let at = place_of(address).filter(|_| is_here(address));
        let at = at.and_then(|place| self.find(place));
        if let Some(at) = at {
            self.visited.fetch_or(1 << at, Ordering::Relaxed);
        }
        at.is_some()
    }

    /// Whether it has connected to itself at an address at which it waits.
    pub fn visits(&self, address: &[u8]) -> bool {
        let at = place_of(address).and_then(|place| self.find(place));
        at.is_some_and(|at| self.visited.load(Ordering::Relaxed) >> at & 1 == 1)
    }
}

impl Default for OwnListeners {
    fn default() -> OwnListeners {
        OwnListeners::new()
    }
}

const UNIX: u8 = 1;
const INTERNET: u8 = 2;
const INTERNET_6: u8 = 10;

/// What tells one place of an address from another: the number of a port, or a path.
fn place_of(address: &[u8]) -> Option<u64> {
    match address {
        [INTERNET | INTERNET_6, 0, high, low, ..] => {
            Some(1 << 16 | u64::from(*high) << 8 | u64::from(*low))
        }
        [UNIX, 0, path @ ..] => {
            let all = path.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            });
            Some(all | 1 << 63)
        }
        _ => None,
    }
}

/// Whether an address is one of this machine's for itself.
fn is_here(address: &[u8]) -> bool {
    match address {
        [INTERNET, _, _, _, first, rest @ ..] => {
            *first == 127 || *first == 0 && rest.iter().take(3).all(|part| *part == 0)
        }
        [INTERNET_6, _, _, _, _, _, _, _, rest @ ..] => {
            let zeroes = rest.iter().take_while(|part| **part == 0).count();
            rest.get(15) == Some(&1) && zeroes == 15
                || zeroes == 10 && rest.get(10..13) == Some(&[0xff, 0xff, 127])
        }
        [UNIX, ..] => true,
        _ => false,
    }
}

/// Whether a descriptor of this mode leads to bytes that can be read again at any
/// place: a file.
#[must_use]
pub fn is_file(mode: u32) -> bool {
    mode & KIND == 0o100_000
}

/// Whether one of this mode leads to a pipe.
#[must_use]
pub fn is_pipe(mode: u32) -> bool {
    mode & KIND == PIPE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_has_made_is_its_own_until_too_much_is() {
        let own = OwnStreams::new();
        assert!(own.are_outside(PIPE | 0o600, 5));
        own.add(5);
        assert!(!own.are_outside(PIPE | 0o600, 5));
        assert!(!own.are_outside(SOCKET | 0o777, 5));
        // A file may have any number.
        assert!(own.are_outside(0o100_644, 5));
        assert!(!own.are_outside(0o600, 7));
        (100..100 + MOST as u64 - 1).for_each(|node| own.add(node));
        assert!(!own.are_outside(PIPE, 5));
        own.add(99);
        assert!(own.are_outside(PIPE, 5));
        assert!(!own.are_outside(PIPE, 99));
    }

    #[test]
    fn who_connects_to_itself_is_noticed() {
        let own = OwnListeners::new();
        let port = |family: u8, low: u8, rest: &[u8]| [&[family, 0, 31, low][..], rest].concat();
        own.listens(&port(INTERNET, 7, &[0; 12]));
        own.listens(&[UNIX, 0, b'a']);
        assert!(!own.connects(&port(INTERNET, 8, &[127, 0, 0, 1])));
        // The same port of another machine.
        assert!(!own.connects(&port(INTERNET, 7, &[10, 0, 0, 1])));
        assert!(!own.visits(&port(INTERNET, 7, &[0; 12])));
        assert!(own.connects(&port(INTERNET, 7, &[127, 0, 0, 1])));
        assert!(own.visits(&port(INTERNET, 7, &[0; 12])));
        assert!(!own.connects(&[UNIX, 0, b'b']) && !own.visits(&[UNIX, 0, b'a']));
        assert!(own.connects(&[UNIX, 0, b'a']) && own.visits(&[UNIX, 0, b'a']));
        let mut here = [0; 20];
        here[19] = 1;
        assert!(own.connects(&port(INTERNET_6, 7, &here)));
    }
}
