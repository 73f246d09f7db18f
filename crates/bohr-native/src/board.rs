//! The board: orders from bohr, counters for it.

use crate::futex::now;
use crate::heap::Heap;
use crate::permits::Lines;
use crate::point::{Point, is_alone};
use crate::roll::Roll;
use bohr_event::abi::SiteInfo;
use bohr_event::breakpoint::{
    BOARD_BEGIN, BOARD_COUNTERS, BOARD_LENGTH, BOARD_MAGIC, BOARD_ORDERS, BOARD_PASSES,
    BOARD_VARIABLE, COUNTER_WORDS, Counter, MOST_BREAKPOINTS, MOST_SIDES, Orders, PASS_BYTES,
    SIDE_VISITS,
};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::os::fd::AsRawFd;

/// What a site is to a breakpoint.
#[derive(Clone, Copy)]
struct Role {
    site: u32,
    point: usize,
    side: usize,
    /// Whether the side's statement ends here; it begins here if not.
    ends: bool,
    /// The roll by which the side tells threads apart.
    roll: Option<usize>,
}

/// See the module. Made before the program's first instruction, and never freed.
pub struct Board {
    pub program: [u8; 32],
    points: Vec<Point>,
    /// Who is who of threads that run the same code, for breakpoints that ask.
    rolls: Vec<Roll>,
    /// By site.
    roles: Vec<Role>,
    /// Sites that free memory, ascending; none if no breakpoint asks about memory.
    frees: Vec<u32>,
    heap: Heap,
    /// By site, as far as any has a part in this: the passes of the one side that it is
    /// about.
    passes: Vec<Option<&'static Lines>>,
    /// Kinds and sizes of the program's sites.
    sites: AtomicPtr<SiteInfo>,
}

static BOARD: AtomicPtr<Board> = AtomicPtr::new(core::ptr::null_mut());

/// The counters of one breakpoint, in memory that bohr sees.
#[derive(Clone, Copy)]
pub struct Counters {
    words: &'static [AtomicU64; COUNTER_WORDS],
    begin: u64,
}

impl Counters {
    pub fn add(&self, counter: Counter) {
        self.words[counter as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn set(&self, counter: Counter, value: u64) {
        self.words[counter as usize].store(value, Ordering::Relaxed);
    }

    pub fn get(&self, counter: Counter) -> u64 {
        self.words[counter as usize].load(Ordering::Relaxed)
    }

    /// A thread came by a side.
    pub fn visit(&self, side: usize) {
        self.words[SIDE_VISITS + side].fetch_add(1, Ordering::Relaxed);
    }

    /// A meeting, now.
    pub fn hit(&self) {
        self.add(Counter::Hits);
        let time = now().saturating_sub(self.begin).max(1);
        let first = &self.words[Counter::FirstHit as usize];
        let _ = first.compare_exchange(0, time, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Board {
    /// The board, if there is one.
    pub fn get() -> Option<&'static Board> {
        // SAFETY: set once, to something that is never freed.
        unsafe { BOARD.load(Ordering::Acquire).as_ref() }
    }

    /// Reads the board that the environment names.
    pub fn open() -> Option<&'static Board> {
        let path = std::env::var_os(BOARD_VARIABLE)?;
        let file = std::fs::OpenOptions::new();
        let file = file.clone().read(true).write(true).open(path).ok()?;
        let length = usize::try_from(file.metadata().ok()?.len()).ok()?;
        if length < BOARD_ORDERS {
            return None;
        }
        // SAFETY: a new mapping of a file that is at least as long.
        let start = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the mapping stays, is as long as that, aligned to pages, and
        // used only through atomics.
        let words = unsafe { core::slice::from_raw_parts(start.cast::<AtomicU64>(), length / 8) };
        let orders = read_orders(words, length)?;
        let lines = lines(&orders, words)?;
        let board = Box::leak(Box::new(Board::new(orders, words, lines)));
        BOARD.store(board, Ordering::Release);
        // SAFETY: a function of this library, which is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        Some(board)
    }

    fn new(orders: Orders, words: &'static [AtomicU64], mut lines: &'static [Lines]) -> Board {
        let begin = now();
        words[BOARD_BEGIN / 8].store(begin, Ordering::Relaxed);
        let mut roles = Vec::new();
        let mut points = Vec::new();
        let mut rolls: Vec<Roll> = Vec::new();
        for (point, breakpoint) in orders.breakpoints.into_iter().enumerate() {
            for (side, place) in breakpoint.sides.iter().enumerate() {
                let roll = place.rank.map(|rank| {
                    let known = rolls.iter().position(|roll| roll.of == rank.of);
                    known.unwrap_or_else(|| {
                        rolls.push(Roll::new(rank.of));
                        rolls.len() - 1
                    })
                });
                let role = |ends| {
                    move |site: &u32| Role {
                        site: *site,
                        point,
                        side,
                        ends,
                        roll,
                    }
                };
                roles.extend(place.until.iter().map(role(true)));
                roles.extend(place.sites.iter().map(role(false)));
            }
            let first = BOARD_COUNTERS / 8 + point * COUNTER_WORDS;
            let words = words[first..].first_chunk().expect("room for all counters");
            let (own, others) = lines.split_at(breakpoint.sides.len());
            lines = others;
            points.push(Point::new(breakpoint, Counters { words, begin }, own));
        }
        // Ends first: a statement may end where the next begins.
        roles.sort_by_key(|role| (role.site, !role.ends, role.point, role.side));
        let mut frees = orders.frees;
        frees.sort_unstable();
        let sites = roles
            .iter()
            .map(|role| role.site)
            .chain(frees.iter().copied());
        let mut passes = vec![None; sites.max().map_or(0, |last| last as usize + 1)];
        for same in roles.chunk_by(|one, other| one.site == other.site) {
            if let [only] = same
                && !only.ends
                && frees.binary_search(&only.site).is_err()
            {
                passes[only.site as usize] = points[only.point].passes(only.side);
            }
        }
        Board {
            passes,
            program: orders.program,
            points,
            rolls,
            roles,
            frees,
            heap: Heap::of_process(),
            sites: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Where kinds and sizes of the program's sites stand.
    pub fn set_sites(&self, sites: *const SiteInfo) {
        self.sites.store(sites.cast_mut(), Ordering::Release);
    }

    /// The passes of sites, as `entry.rs` looks them up.
    pub fn passes(&self) -> *const Option<&'static Lines> {
        self.passes.as_ptr()
    }

    /// Whether a site has any part in this.
    pub fn concerns(&self, site: u32) -> bool {
        let has_role = self.roles.iter().any(|role| role.site == site);
        has_role || self.frees(site)
    }

    fn frees(&self, site: u32) -> bool {
        self.frees.binary_search(&site).is_ok()
    }

    /// A thread is before a site.
    pub fn visit(&self, site: u32, address: u64, size: u64) {
        let from = self.roles.partition_point(|role| role.site < site);
        let count = self.roles[from..].partition_point(|role| role.site == site);
        let roles = &self.roles[from..from + count];
        let ends = roles.partition_point(|role| role.ends);
        for role in &roles[..ends] {
            self.points[role.point].finish(role.side);
        }
        for role in &roles[ends..] {
            if let Some(roll) = role.roll.filter(|_| !is_alone()) {
                let (pause, moment) = self.points[role.point].times();
                self.rolls[roll].call(pause, moment);
            }
        }
        let frees = self.frees(site);
        let size = match size {
            _ if frees => self.heap.size_of_block(address).max(1),
            u64::MAX => self.size(site),
            size => size,
        };
        for same in roles[ends..].chunk_by(|one, other| one.point == other.point) {
            let mut sides = [0; MOST_SIDES];
            for (slot, role) in sides.iter_mut().zip(same) {
                *slot = role.side;
            }
            let sides = &sides[..same.len().min(MOST_SIDES)];
            self.points[same[0].point].reach(sides, (address, size), &self.rolls);
        }
        if frees {
            // Whoever it has met just now is not held up any more.
            let points = self.points.iter();
            points.for_each(|point| point.free(site, (address, size)));
        }
    }

    fn size(&self, site: u32) -> u64 {
        let sites = self.sites.load(Ordering::Acquire);
        if sites.is_null() {
            return 1;
        }
        // SAFETY: the program's own table has an entry for every site that its
        // stubs name.
        match unsafe { *sites.add(site as usize) }.size() {
            SiteInfo::DYNAMIC_SIZE => 1,
            size => u64::from(size),
        }
    }
}

/// In a child process, of which the thread that forked is the only one: who waited in the
/// parent is nobody's partner here. What it counts, it counts for the same bohr.
unsafe extern "C" fn forked() {
    crate::others::forget_all();
    if let Some(board) = Board::get() {
        board.points.iter().for_each(Point::forget_others);
        board.rolls.iter().for_each(Roll::forget_all);
    }
}

/// The passes of all sides.
fn lines(orders: &Orders, words: &'static [AtomicU64]) -> Option<&'static [Lines]> {
    let sides: usize = orders.breakpoints.iter().map(|one| one.sides.len()).sum();
    let from = usize::try_from(words[BOARD_PASSES / 8].load(Ordering::Relaxed)).ok()?;
    let own = words.get(from / 8..from / 8 + sides * PASS_BYTES / 8)?;
    let start = own.as_ptr().cast::<Lines>();
    // SAFETY: so many lines of atomics, which the mapping holds for ever; they are aligned
    // to their own size if the words are.
    start
        .is_aligned()
        .then(|| unsafe { core::slice::from_raw_parts(start, sides) })
}

/// The orders, unless somebody else's file lies there.
fn read_orders(words: &[AtomicU64], length: usize) -> Option<Orders> {
    let word = |offset: usize| words[offset / 8].load(Ordering::Relaxed);
    let wanted = usize::try_from(word(BOARD_LENGTH)).ok()?;
    if word(0) != BOARD_MAGIC || wanted > length - BOARD_ORDERS {
        return None;
    }
    let bytes: Vec<u8> = words[BOARD_ORDERS / 8..]
        .iter()
        .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
        .collect();
    let orders: Orders = postcard::from_bytes(bytes.get(..wanted)?).ok()?;
    let few = orders.breakpoints.len() <= MOST_BREAKPOINTS;
    let fits = |sides: usize| (2..=MOST_SIDES).contains(&sides);
    let sound = orders.breakpoints.iter().all(|one| fits(one.sides.len()));
    (few && sound).then_some(orders)
}
