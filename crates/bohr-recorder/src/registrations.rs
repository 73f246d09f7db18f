//! Which word the program has put beside which descriptor of an `epoll`, so that an
//! event, which has the word alone, leads to its descriptor.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Room for so many; of those beyond, events are told without a descriptor.
const MOST: usize = 1 << 16;

/// So many places are looked at for one.
const NEAR: usize = 64;

/// A descriptor in an `epoll`.
struct Registration {
    /// Both numbers; 0 if the place is free. It stays the same, since the same numbers
    /// come again.
    key: AtomicU64,
    word: AtomicU64,
    /// Which one it was of all, so that of those with one word the last one counts: a
    /// descriptor that was closed has left its word to the next one, maybe.
    turn: AtomicU64,
}

static ALL: [Registration; MOST] = [const {
    Registration {
        key: AtomicU64::new(0),
        word: AtomicU64::new(0),
        turn: AtomicU64::new(0),
    }
}; MOST];
static TURNS: AtomicU64 = AtomicU64::new(0);
/// Descriptors are below.
static END: AtomicUsize = AtomicUsize::new(0);

fn key(epoll: i32, descriptor: u32) -> u64 {
    1 << 63 | u64::from(epoll.cast_unsigned()) << 32 | u64::from(descriptor)
}

fn near(key: u64) -> impl Iterator<Item = &'static Registration> {
    let start = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize;
    (start..start + NEAR).map(|at| &ALL[at % MOST])
}

fn find(key: u64) -> Option<&'static Registration> {
    let mut places = near(key).take_while(|place| place.key.load(Ordering::Acquire) != 0);
    places.find(|place| place.key.load(Ordering::Relaxed) == key)
}

/// A place for it, which nobody else takes.
fn take(key: u64) -> Option<&'static Registration> {
    near(key).find(|place| {
        let taken = place
            .key
            .compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
        taken.is_ok() || taken == Err(key)
    })
}

/// The program has put a word beside a descriptor.
pub fn note(epoll: i32, descriptor: i32, word: u64) {
    let key = key(epoll, descriptor.cast_unsigned());
    if let Some(place) = find(key).or_else(|| take(key)) {
        place.word.store(word, Ordering::Relaxed);
        place
            .turn
            .store(TURNS.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Release);
        END.fetch_max(descriptor.max(0) as usize + 1, Ordering::Release);
    }
}

/// The descriptor that the word stands beside.
pub fn descriptor(epoll: i32, word: u64) -> Option<u32> {
    // Many programs put the descriptor itself there.
    let own = word as u32;
    let turn = |descriptor: u32| {
        let place = find(key(epoll, descriptor))?;
        let turn = place.turn.load(Ordering::Acquire);
        (turn != 0 && place.word.load(Ordering::Relaxed) == word).then_some(turn)
    };
    if turn(own).is_some() {
        return Some(own);
    }
    let all = 0..END.load(Ordering::Acquire) as u32;
    all.filter(|descriptor| turn(*descriptor).is_some())
        .max_by_key(|descriptor| turn(*descriptor))
}
