//! What functions outside the program do: one table for every analysis that
//! has to look over the program's edge (sharing, blocking, races, slices,
//! symbolic execution).
//!
//! The table is `table.txt`, with its notation at the top. Where it is silent
//! about a function, the function's own attributes may speak (an intrinsic that
//! touches no memory says so); where those are silent too, everything has to be
//! expected.

mod parse;

use bitflags::bitflags;
use bohr_event::EventKind;
use std::collections::HashMap;
use std::sync::LazyLock;

bitflags! {
    /// What a function does with one argument.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Use: u16 {
        /// Reads what it points to.
        const READS = 1;
        /// Writes what it points to.
        const WRITES = 1 << 1;
        /// Keeps the pointer: library, kernel or another thread may use it later.
        const KEEPS = 1 << 2;
        /// Frees what it points to.
        const FREES = 1 << 3;
        /// Is the object that the event is about.
        const OBJECT = 1 << 4;
        /// Is a routine, called before the function returns.
        const CALLS = 1 << 5;
        /// Is a routine, called later, on some thread.
        const CALLS_LATER = 1 << 6;
        /// Is a routine that a new thread runs.
        const STARTS = 1 << 7;
        /// Is what such a routine gets as its argument.
        const PASSES = 1 << 8;
        /// Pointers that others know are written where it points to.
        const GETS_SHARED = 1 << 9;
    }
}

bitflags! {
    /// What is known of a function as a whole.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct Facts: u16 {
        /// Its result depends on its arguments and what they point to; no effect.
        const PURE = 1;
        /// It does not return.
        const NO_RETURN = 1 << 1;
        /// It may wait for others.
        const BLOCKS = 1 << 2;
        /// It touches the world outside.
        const OUTSIDE = 1 << 3;
        /// It may throw.
        const UNWINDS = 1 << 4;
        /// It may call any function of the program whose address is known.
        const CALLS_BACK = 1 << 5;
        /// It may set `errno`.
        const SETS_ERRNO = 1 << 6;
        /// Its routine gets nothing but what the function was given.
        const CALLS_WITH_GIVEN = 1 << 7;
        /// Its routine runs when the program ends, in the thread that ends it.
        const CALLS_AT_EXIT = 1 << 8;
        /// Its routine runs when the calling thread ends.
        const CALLS_AT_THREAD_EXIT = 1 << 9;
        /// It brings in code that no analysis has seen.
        const LOADS_CODE = 1 << 10;
        /// A member of a class that owns a buffer: pointers into arguments and
        /// fresh memory get into the first argument and the result.
        const MEMBER = 1 << 11;
    }
}

/// What a function returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A plain value, or nothing.
    Value,
    /// Fresh memory that nobody else knows.
    Fresh,
    /// An argument, or a pointer into what it points to.
    Argument(ArgumentIndex),
    /// The library's memory of this thread.
    ThreadMemory,
    /// The library's memory that all threads share.
    SharedMemory,
    /// A pointer that nothing is known about.
    Anything,
}

/// The position of an argument in a call, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArgumentIndex(pub u8);

/// What a pointer argument points to, or the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointed {
    /// What an argument points to.
    Argument(ArgumentIndex),
    /// What the result points to.
    Result,
}

/// A function outside the program.
///
/// ```
/// use bohr_program::external::{self, Use};
///
/// let create = external::find("pthread_create").unwrap();
/// let (routine, data) = create.thread().unwrap();
/// assert_eq!((routine.0, data.0), (2, 3));
/// assert!(create.argument(data).contains(Use::KEEPS));
/// assert!(external::find("llvm.memcpy.p0.p0.i64").is_some());
/// assert!(external::find("my_own_function").is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    arguments: Vec<Use>,
    /// All arguments after those.
    rest: Use,
    /// What it returns.
    pub result: Outcome,
    /// What is known of it as a whole.
    pub facts: Facts,
    /// Pointers in the first get into the second.
    pub copies: Vec<(Pointed, Pointed)>,
    /// The first itself, or a pointer into what it points to, is written where
    /// the second points to.
    pub puts: Vec<(ArgumentIndex, ArgumentIndex)>,
    /// Where it writes a pointer to fresh memory.
    pub fresh_at: Option<ArgumentIndex>,
    /// What it touches in any case.
    pub touched: Touched,
    /// The synchronisation event that a call is.
    pub event: Option<EventKind>,
}

/// The memory that a function touches in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// At least the first byte of what these arguments point to is read or
    /// written, as their use says; two at most.
    pub arguments: Vec<ArgumentIndex>,
    /// Nothing is touched if this one is 0.
    pub unless_zero: Option<ArgumentIndex>,
}

static TABLE: LazyLock<HashMap<&'static str, External>> =
    LazyLock::new(|| parse::table(include_str!("table.txt")).expect("the table is read by a test"));

/// What is known of a function outside the program, by its linkage name.
#[must_use]
pub fn find(name: &str) -> Option<&'static External> {
    let mut name = plain_name(name);
    loop {
        match TABLE.get(name) {
            Some(external) => return Some(external),
            // The name of an intrinsic ends with the types it is for.
            None if name.starts_with("llvm.") => name = name.rsplit_once('.')?.0,
            None => return by_beginning(name),
        }
    }
}

/// What the lines say whose names end with `*`.
fn by_beginning(name: &str) -> Option<&'static External> {
    static BEGINNINGS: LazyLock<Vec<(&str, &External)>> = LazyLock::new(|| {
        let all = TABLE.iter();
        all.filter_map(|(name, external)| Some((name.strip_suffix('*')?, external)))
            .collect()
    });
    let mut beginnings = BEGINNINGS.iter();
    let found = beginnings.find(|(beginning, _)| name.starts_with(beginning));
    found.map(|(_, external)| *external)
}

/// The name without the mangling of Rust's own runtime symbols, which are items
/// of a crate `__rustc` whose hash changes with the compiler.
#[must_use]
pub fn plain_name(name: &str) -> &str {
    let item = name
        .strip_prefix("_RNvC")
        .and_then(|rest| rest.split_once("7___rustc"));
    item.map_or(name, |(_, rest)| {
        let item = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
        item.strip_prefix('_').unwrap_or(item)
    })
}

/// Every function that the table knows, by name.
pub fn all() -> impl Iterator<Item = (&'static str, &'static External)> {
    TABLE.iter().map(|(name, external)| (*name, external))
}

impl External {
    /// What it does with an argument.
    #[must_use]
    pub fn argument(&self, index: ArgumentIndex) -> Use {
        let known = self.arguments.get(usize::from(index.0));
        known.copied().unwrap_or(self.rest)
    }

    /// Whether it does something of these with any argument.
    #[must_use]
    pub fn uses(&self, any_of: Use) -> bool {
        let used = self.arguments.iter().chain([&self.rest]);
        { used }.any(|used| used.intersects(any_of))
    }

    /// The first argument of this use.
    #[must_use]
    pub fn first(&self, wanted: Use) -> Option<ArgumentIndex> {
        (0..)
            .map(ArgumentIndex)
            .zip(&self.arguments)
            .find(|(_, used)| used.contains(wanted))
            .map(|(index, _)| index)
    }

    /// If it creates a thread: the routine that it runs, and that routine's argument.
    #[must_use]
    pub fn thread(&self) -> Option<(ArgumentIndex, ArgumentIndex)> {
        Some((self.first(Use::STARTS)?, self.first(Use::PASSES)?))
    }

    /// The argument that names the object of its event.
    #[must_use]
    pub fn object(&self) -> Option<ArgumentIndex> {
        self.first(Use::OBJECT)
    }

    /// The argument that names what one of its events is about, if it has such an
    /// event. A wait on a condition has further ones: it gives the lock back, which
    /// comes behind the condition, and takes it again.
    #[must_use]
    pub fn object_of(&self, kind: EventKind) -> Option<ArgumentIndex> {
        use EventKind::{Acquire, Alloc, Arrive, Depart, Free, Release, ReleaseShared, Wait};
        let object = self.object();
        match (self.event?, kind) {
            (Wait, Release | Acquire) => object.map(|condition| ArgumentIndex(condition.0 + 1)),
            (Release, ReleaseShared) | (Arrive, Depart) => object,
            (Alloc | Free, Free) => self.first(Use::FREES),
            (event, _) => object.filter(|_| event == kind),
        }
    }

    /// Whether it only computes.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        self.facts.contains(Facts::PURE)
    }

    /// Whether it may wait for others.
    #[must_use]
    pub fn blocks(&self) -> bool {
        self.facts.contains(Facts::BLOCKS)
    }

    /// Whether it returns.
    #[must_use]
    pub fn returns(&self) -> bool {
        !self.facts.contains(Facts::NO_RETURN)
    }

    /// Whether it may run code of the program before it returns.
    #[must_use]
    pub fn calls_back(&self) -> bool {
        self.facts.contains(Facts::CALLS_BACK) || self.first(Use::CALLS).is_some()
    }

    /// Whether it obtains heap memory.
    #[must_use]
    pub fn allocates(&self) -> bool {
        self.event == Some(EventKind::Alloc) || self.result == Outcome::Fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        let table = parse::table(include_str!("table.txt")).unwrap();
        assert!(table.len() > 500, "{} functions", table.len());
    }

    #[test]
    fn lines_mean_what_they_say() {
        let realloc = find("realloc").unwrap();
        assert_eq!(realloc.result, Outcome::Fresh);
        assert_eq!(realloc.argument(ArgumentIndex(0)), Use::READS | Use::FREES);
        assert_eq!(
            realloc.copies,
            [(Pointed::Argument(ArgumentIndex(0)), Pointed::Result)]
        );
        let printf = find("printf").unwrap();
        assert_eq!(printf.argument(ArgumentIndex(7)), Use::READS | Use::WRITES);
        let lock = find("pthread_mutex_lock").unwrap();
        assert_eq!(lock.event, Some(EventKind::Acquire));
        assert!(lock.blocks() && lock.returns() && !lock.is_pure());
        assert_eq!(lock.object(), Some(ArgumentIndex(0)));
        let of = |name, kind| find(name).unwrap().object_of(kind).map(|index| index.0);
        assert_eq!(of("pthread_mutex_lock", EventKind::Acquire), Some(0));
        assert_eq!(of("pthread_mutex_lock", EventKind::Wait), None);
        assert_eq!(of("pthread_cond_wait", EventKind::Wait), Some(0));
        assert_eq!(of("pthread_cond_wait", EventKind::Release), Some(1));
        assert_eq!(of("pthread_cond_wait", EventKind::Acquire), Some(1));
        assert_eq!(of("pthread_cond_signal", EventKind::Release), None);
        assert_eq!(
            of("pthread_rwlock_unlock", EventKind::ReleaseShared),
            Some(0)
        );
        assert_eq!(of("realloc", EventKind::Free), Some(0));
        assert_eq!(of("free", EventKind::Free), Some(0));
        assert!(!find("abort").unwrap().returns());
        assert!(find("qsort").unwrap().calls_back());
        assert_eq!(
            find("posix_memalign").unwrap().fresh_at,
            Some(ArgumentIndex(0))
        );
        assert_eq!(
            find("strchr").unwrap().result,
            Outcome::Argument(ArgumentIndex(0))
        );
    }

    #[test]
    fn what_is_touched_is_read_or_written_and_counts_are_numbers() {
        for (name, external) in all() {
            let touched = &external.touched;
            let pointers = touched.arguments.iter().map(|at| external.argument(*at));
            let used = Use::READS | Use::WRITES;
            assert!(touched.arguments.len() <= 2, "{name}");
            assert!(pointers.into_iter().all(|it| it.intersects(used)), "{name}");
            let count = touched.unless_zero.map(|at| external.argument(at));
            assert!(count.is_none_or(|count| count.is_empty()), "{name}");
        }
        let bounded = &find("snprintf").unwrap().touched;
        assert_eq!(bounded.arguments, [ArgumentIndex(0), ArgumentIndex(2)]);
        assert_eq!(bounded.unless_zero, Some(ArgumentIndex(1)));
    }

    #[test]
    fn intrinsics_go_without_their_types() {
        assert!(find("llvm.umul.with.overflow.i64").unwrap().is_pure());
        assert_eq!(
            find("llvm.masked.store.v4i32.p0")
                .unwrap()
                .argument(ArgumentIndex(1)),
            Use::WRITES
        );
        assert_eq!(find("llvm.unheard.of.i32"), None);
    }

    #[test]
    fn members_without_a_line_go_by_the_beginning_of_their_name() {
        let string = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE";
        let member = |name: &str| find(&format!("{string}{name}")).map(|known| known.facts);
        assert_eq!(member("6insertEmPKc"), Some(Facts::MEMBER | Facts::UNWINDS));
        assert_eq!(member("9push_backEc"), Some(Facts::UNWINDS));
        assert_eq!(find("_ZNSt7__cxx1112basic_stringIwE"), None);
    }

    #[test]
    fn rust_mangles_its_allocator() {
        let mangled = "_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc";
        assert_eq!(find(mangled), find("__rust_alloc"));
        assert!(find(mangled).is_some());
    }

    #[test]
    fn what_is_pure_changes_nothing() {
        for (name, external) in all().filter(|(_, external)| external.is_pure()) {
            let harmful = Use::WRITES | Use::KEEPS | Use::FREES | Use::STARTS;
            let harmless =
                (0..8).all(|index| !external.argument(ArgumentIndex(index)).intersects(harmful));
            assert!(
                harmless && external.event.is_none() && external.returns(),
                "{name}"
            );
        }
    }

    #[test]
    fn every_creation_of_a_thread_tells_its_routine() {
        let forks = all().filter(|(_, external)| external.event == Some(EventKind::Fork));
        for (name, external) in forks {
            // libstdc++ starts threads through a virtual function of its state.
            let state = name.starts_with("_ZNSt6thread");
            assert!(
                external.thread().is_some() || state && external.calls_back(),
                "{name}"
            );
        }
    }
}
