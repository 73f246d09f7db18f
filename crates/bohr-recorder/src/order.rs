//! The order log (LEAP): who came by which stripe of memory, in which order, while
//! all threads run in parallel. A thread holds the stripes of an access while it
//! makes it; nobody holds one and waits for another that comes before it.

use crate::thread::{Thread, current, keeping_errno};
use bohr_event::recording::{
    OrderWord, STRIPE_BYTES, STRIPES, SYNCHRONISATION, Stream, WITH_ORDER,
};
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A thread that waits for a stripe looks so often before it offers its processor.
const PATIENCE: u32 = 64;

#[repr(align(64))]
struct Stripe {
    /// Who holds it: a thread's number plus one.
    owner: AtomicU32,
    turns: AtomicU64,
}

static MEMORY: [Stripe; STRIPES as usize + 1] = [const {
    Stripe {
        owner: AtomicU32::new(0),
        turns: AtomicU64::new(0),
    }
}; STRIPES as usize + 1];

static WISHES: AtomicU64 = AtomicU64::new(0);

/// Notes what is asked for.
pub fn wish(wishes: u64) {
    WISHES.store(wishes, Ordering::Relaxed);
}

/// Whether the order of synchronisation is asked for.
pub fn is_wanted() -> bool {
    WISHES.load(Ordering::Relaxed) & WITH_ORDER != 0
}

impl Stripe {
    fn at(number: u64) -> &'static Stripe {
        &MEMORY[number as usize]
    }

    /// Takes it; `false` if the thread has it already, interrupted by the handler of
    /// a signal.
    fn take(&self, thread: Thread) -> bool {
        let own = thread.index() as u32 + 1;
        let mut tries = 0;
        loop {
            let taken =
                self.owner
                    .compare_exchange_weak(0, own, Ordering::Acquire, Ordering::Relaxed);
            match taken {
                Ok(_) => return true,
                Err(owner) if owner == own => return false,
                Err(_) => {}
            }
            tries += 1;
            if tries % PATIENCE == 0 {
                // SAFETY: offers the processor.
                unsafe { libc::sched_yield() };
            }
            spin_loop();
        }
    }

    fn give_back(&self) {
        self.owner.store(0, Ordering::Release);
    }

    fn turn(&self) -> u64 {
        let turn = self.turns.load(Ordering::Relaxed);
        self.turns.store(turn + 1, Ordering::Relaxed);
        turn
    }
}

/// Stripes next to each other, of which the first follows the last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stripes {
    first: u64,
    count: u64,
}

impl Stripes {
    const NONE: Stripes = Stripes { first: 0, count: 0 };

    fn of(address: usize, length: usize) -> Stripes {
        let (address, length) = (address as u64, length as u64);
        if length == 0 {
            return Stripes::NONE;
        }
        let line = address / STRIPE_BYTES;
        let last = address.saturating_add(length - 1) / STRIPE_BYTES;
        Stripes {
            first: line % STRIPES,
            count: (last - line + 1).min(STRIPES),
        }
    }

    fn contains(self, stripe: u64) -> bool {
        (stripe + STRIPES - self.first) % STRIPES < self.count
    }

    /// In one word that is 0 if there are none.
    fn packed(self) -> u64 {
        self.first << 32 | self.count
    }

    fn unpacked(word: u64) -> Stripes {
        Stripes {
            first: word >> 32,
            count: word & u64::from(u32::MAX),
        }
    }
}

/// All stripes of one or two ranges, the lowest first, each once.
fn each(ranges: [Stripes; 2], mut action: impl FnMut(u64)) {
    match ranges {
        [Stripes { first, count: 1 }, Stripes::NONE] => action(first),
        [one, other] => (0..STRIPES)
            .filter(|stripe| one.contains(*stripe) || other.contains(*stripe))
            .for_each(action),
    }
}

/// The words of one step through some stripes that the thread holds.
fn write(thread: Thread, stripes: Stripes) {
    for index in 0..stripes.count {
        let stripe = (stripes.first + index) % STRIPES;
        let word = OrderWord {
            more: index + 1 < stripes.count,
            stripe,
            turn: Stripe::at(stripe).turn(),
        };
        thread.append(Stream::Order, word.word());
    }
}

/// Called before an access, or two of them, of which that to the source comes first.
#[unsafe(no_mangle)]
extern "C" fn __bohr_order_begin(address: usize, length: usize, source: usize) {
    let Some(thread) = current() else {
        return;
    };
    keeping_errno(|| {
        let read = match source {
            0 => Stripes::NONE,
            source => Stripes::of(source, length),
        };
        let ranges = [Stripes::of(address, length), read];
        if thread.held() != [0, 0] {
            // The handler of a signal came in between: what is held stays held.
            return;
        }
        thread.hold(ranges.map(Stripes::packed));
        each(ranges, |stripe| {
            Stripe::at(stripe).take(thread);
        });
        write(thread, ranges[1]);
        write(thread, ranges[0]);
    });
}

/// Called behind an access.
#[unsafe(no_mangle)]
extern "C" fn __bohr_order_end() {
    let Some(thread) = current() else {
        return;
    };
    let ranges = thread.held().map(Stripes::unpacked);
    thread.hold([0, 0]);
    each(ranges, |stripe| Stripe::at(stripe).give_back());
}

/// Something that synchronises, together with its place in the order of all such
/// things. It has none if its result is `None`.
pub fn synchronise<R>(mut action: impl FnMut() -> Option<R>) -> Option<R> {
    let thread = if is_wanted() { current() } else { None };
    let Some(thread) = thread else {
        return action();
    };
    let stripe = Stripe::at(SYNCHRONISATION);
    let taken = stripe.take(thread);
    let result = action();
    if result.is_some() {
        let word = OrderWord {
            more: false,
            stripe: SYNCHRONISATION,
            turn: stripe.turn(),
        };
        keeping_errno(|| thread.append(Stream::Order, word.word()));
    }
    if taken {
        stripe.give_back();
    }
    result
}

/// `main` begins.
pub fn begin_main() {
    if let Some(thread) = current().filter(|_| is_wanted()) {
        keeping_errno(|| thread.append(Stream::Order, OrderWord::MAIN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_touch_the_stripes_of_their_lines_each_once() {
        let touched = |ranges: [Stripes; 2]| {
            let mut stripes = Vec::new();
            each(ranges, |stripe| stripes.push(stripe));
            stripes
        };
        let line = STRIPE_BYTES as usize;
        let of = |address: usize, length: usize| Stripes::of(address, length);
        assert_eq!(touched([of(line * 3 + 8, 8), Stripes::NONE]), [3]);
        assert_eq!(touched([of(line * 4 - 4, 8), Stripes::NONE]), [3, 4]);
        assert_eq!(touched([of(0, 0), Stripes::NONE]), [] as [u64; 0]);
        let last = (STRIPES as usize - 1) * line;
        assert_eq!(touched([of(last, 2 * line), of(last, 1)]), [0, STRIPES - 1]);
        let all = touched([of(5, line * 5000), Stripes::NONE]);
        assert_eq!(all.len() as u64, STRIPES);
    }
}
