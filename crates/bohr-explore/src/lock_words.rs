//! Which accesses take and give back locks that are made of atomics: those of Rust's
//! own library, and of parking_lot. The functions that a place was put inline into
//! tell. In code that is not optimised the library's functions call each other, and
//! nothing is told.

use crate::atlas::{Atlas, Spot};
use bohr_event::{MemoryOrder, Operation, PlaceNumber};
use bohr_explain::LockStep;
use bohr_program::Owner;
use std::collections::HashMap;

/// Where the mutexes and reader-writer locks of Rust's own library are.
const LIBRARY: [&str; 2] = [
    "library/std/src/sys/sync/mutex/",
    "library/std/src/sys/sync/rwlock/",
];

/// The files of parking_lot in which its are.
const PACKAGED: [&str; 2] = ["/raw_mutex.rs", "/raw_rwlock.rs"];

/// Where Rust's own library begins and ends threads. Locks that it spins on there order
/// threads by chance.
const BEGINNINGS: &str = "library/std/src/sys/pal/";

/// What the function around an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Takes {
        shared: bool,
        waits: bool,
    },
    /// Also where its stores are relaxed.
    Gives {
        slowly: bool,
    },
    Other,
}

/// What is known of places.
pub struct LockWords {
    known: HashMap<PlaceNumber, Option<Function>>,
    /// Whether the program's own lines are known. Without them only the library's functions
    /// tell of themselves: locks that are taken in one of those and given back by
    /// inlined code would be held for ever.
    is_written: bool,
}

impl LockWords {
    /// Of a program.
    pub fn of(atlas: &Atlas) -> LockWords {
        let files = atlas.models().iter().flat_map(|model| {
            let paths = model.files.values();
            paths.map(|file| model.texts[file.path].as_ref())
        });
        let mut owners = files.map(Owner::of_file);
        LockWords {
            known: HashMap::new(),
            is_written: owners.any(|owner| owner == Owner::Program),
        }
    }

    /// What an access does to a lock.
    pub fn step(&mut self, atlas: &mut Atlas, operation: &Operation) -> Option<LockStep> {
        if !self.is_written || !operation.order.is_atomic() {
            return None;
        }
        let known = self.known.entry(operation.place);
        let function = known.or_insert_with(|| function(&atlas.spots(operation.place)));
        let (acquires, releases) = (acquires(operation.order), releases(operation.order));
        let writes = operation.kind.writes();
        Some(match (*function)? {
            Function::Takes { shared, waits } if writes && acquires => {
                LockStep::Take { shared, waits }
            }
            Function::Gives { slowly } if writes && (releases || slowly) => LockStep::Give,
            _ => LockStep::Inside,
        })
    }
}

fn acquires(order: MemoryOrder) -> bool {
    use MemoryOrder::{Acquire, AcquireRelease, SequentiallyConsistent};
    matches!(order, Acquire | AcquireRelease | SequentiallyConsistent)
}

fn releases(order: MemoryOrder) -> bool {
    use MemoryOrder::{AcquireRelease, Release, SequentiallyConsistent};
    matches!(order, Release | AcquireRelease | SequentiallyConsistent)
}

/// The outermost function of a lock among those around a place, innermost first: what
/// was called to lock, whoever does it in the end.
fn function(spots: &[Spot]) -> Option<Function> {
    let mut lines = spots.iter().filter_map(|spot| spot.line.as_ref());
    if lines.any(|line| line.contains(BEGINNINGS)) {
        return Some(Function::Other);
    }
    let own = spots.iter().filter(|spot| {
        let line = spot.line.as_deref().unwrap_or_default();
        let (file, _) = line.rsplit_once(':').unwrap_or((line, ""));
        let packaged = PACKAGED.iter().any(|end| file.ends_with(end));
        LIBRARY.iter().any(|part| file.contains(part))
            || packaged && Owner::of_file(line) == Owner::Fetched
    });
    let names = own.map(|spot| spot.function.as_deref().unwrap_or_default());
    let mut names = names.map(|name| name.rsplit("::").next().unwrap_or(name));
    let inner = names.next()?;
    let named = names.rfind(|name| !name.starts_with('{'));
    Some(by_name(named.unwrap_or(inner)))
}

fn by_name(name: &str) -> Function {
    let says = |word: &str| name.contains(word);
    if says("unlock") {
        return Function::Gives {
            slowly: says("slow"),
        };
    }
    let shared = says("read") || says("shared");
    match shared || says("lock") || says("write") {
        true if !says("wake") => Function::Takes {
            shared,
            waits: !says("try"),
        },
        _ => Function::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(function: &str, line: &str) -> Spot {
        Spot {
            function: Some(function.to_string()),
            line: Some(line.to_string()),
        }
    }

    #[test]
    fn what_was_called_counts() {
        let atomic = spot(
            "AtomicU32::compare_exchange",
            "library/core/src/sync/atomic.rs:9",
        );
        let by = |inner: &str, file: &str| {
            let own = spot("Owner::update", "src/main.rs:3");
            function(&[atomic.clone(), spot(inner, file), own])
        };
        let mutex = "library/std/src/sys/sync/mutex/futex.rs:7";
        let rwlock = "library/std/src/sys/sync/rwlock/futex.rs:7";
        let takes = |shared, waits| Some(Function::Takes { shared, waits });
        assert_eq!(by("Mutex::lock", mutex), takes(false, true));
        assert_eq!(by("lock_contended", mutex), takes(false, true));
        assert_eq!(by("Mutex::try_lock", mutex), takes(false, false));
        assert_eq!(by("RwLock::read", rwlock), takes(true, true));
        assert_eq!(by("RwLock::try_write", rwlock), takes(false, false));
        let gives = Some(Function::Gives { slowly: false });
        assert_eq!(by("RwLock::read_unlock", rwlock), gives);
        assert_eq!(by("wake_writer_or_readers", rwlock), Some(Function::Other));
        assert_eq!(by("Mutex::lock", "src/mutex/futex.rs:7"), None);
        let package = "/me/.cargo/registry/src/mirror-1f/parking_lot-0.12/src/raw_rwlock.rs:7";
        let inner = spot("RawRwLock::try_lock_shared_fast", package);
        let outer = spot("RawRwLock::lock_shared", package);
        assert_eq!(function(&[inner, outer]), takes(true, true));
    }
}
