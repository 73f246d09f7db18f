//! Futexes, and whatever else a program asks of the kernel by `syscall`: the
//! way of Rust's standard library and of most hand-written locks.

use super::{caller, interpose, machine, polling};
use crate::{
    clock::CLOCK,
    control,
    engine::{ENGINE, Woken, operation},
    interpose::{condition, mutex},
    neighbours, outlasting,
    peek::peek,
    system,
    system_calls::{
        self,
        copies::{self, Wanted},
    },
    thread::{Interruptible, Wait},
};
use bohr_event::{EventKind, MemoryOrder, Operation};

/// Matches every waiter.
const ANY: u32 = u32::MAX;

/// Arguments of the system call.
#[derive(Clone, Copy)]
pub struct Futex {
    /// Where to wait.
    pub(super) word: usize,
    /// What to do, with flags.
    pub(super) operation: i32,
    /// The expected value, or how many to wake.
    pub(super) value: u32,
    /// A time-out, or a second number.
    pub(super) fourth: usize,
    /// Where to go on waiting.
    pub(super) second_word: usize,
    /// A set of bits, or a second expected value.
    pub(super) third_value: u32,
    /// Where the call is made.
    pub(super) place: u64,
}

impl Futex {
    /// From the arguments of the system call.
    pub fn new(arguments: [usize; 6], place: u64) -> Futex {
        let [word, operation, value, fourth, second_word, third_value] = arguments;
        Futex {
            word,
            operation: operation as i32,
            value: value as u32,
            fourth,
            second_word,
            third_value: third_value as u32,
            place,
        }
    }

    /// The deadline of a wait.
    pub(super) fn deadline(&self, absolute: bool) -> u64 {
        // SAFETY: null or a time of the program.
        let Some(time) = (unsafe { (self.fourth as *const libc::timespec).as_ref() }) else {
            return u64::MAX;
        };
        let clock = match self.operation & libc::FUTEX_CLOCK_REALTIME {
            0 => libc::CLOCK_MONOTONIC,
            _ => libc::CLOCK_REALTIME,
        };
        if absolute {
            CLOCK.deadline(clock, time)
        } else {
            CLOCK.after(time)
        }
    }

    /// The kernel's answer, as a negative error number where it is one; `None` for
    /// operations that are not known here.
    pub fn call_if_known(self) -> Option<isize> {
        if !self.word.is_multiple_of(size_of::<u32>()) {
            return Some(-(libc::EINVAL as isize));
        }
        Some(match self.operation & libc::FUTEX_CMD_MASK {
            libc::FUTEX_WAIT => self.wait(ANY, self.deadline(false)),
            libc::FUTEX_WAIT_BITSET => self.wait(self.third_value, self.deadline(true)),
            libc::FUTEX_WAKE => self.wake(ANY),
            libc::FUTEX_WAKE_BITSET => self.wake(self.third_value),
            libc::FUTEX_REQUEUE => self.requeue(None),
            libc::FUTEX_CMP_REQUEUE => self.requeue(Some(self.third_value)),
            libc::FUTEX_WAKE_OP => self.wake_operation(),
            _ => return self.with_owner(),
        })
    }

    /// Compares the word; if it is as expected, waits for a wake-up.
    pub(super) fn wait(self, bits: u32, deadline: u64) -> isize {
        if bits == 0 {
            return -(libc::EINVAL as isize);
        }
        ENGINE.step(Operation {
            order: MemoryOrder::SequentiallyConsistent,
            size: 4,
            ..operation(EventKind::Read, self.word, self.place)
        });
        match word_at(self.word) {
            None => return -(libc::EFAULT as isize),
            Some(found) if found != self.value => return -(libc::EAGAIN as isize),
            Some(_) => {}
        }
        ENGINE.current().token.set(u64::from(bits));
        let waiting = operation(EventKind::Wait, self.word, self.place);
        let thread = ENGINE.current();
        thread.interruptible.set(Interruptible::Unrestarted);
        if neighbours::may_share(self.is_shared()) {
            thread.expects.set(Some(self.value));
        }
        let woken = ENGINE.announce(waiting, Wait::Wake(self.word), mutex::expiry(deadline));
        thread.expects.set(None);
        thread.interruptible.set(Interruptible::Never);
        match woken {
            Woken::Interrupted => -(libc::EINTR as isize),
            Woken::Expired => -(libc::ETIMEDOUT as isize),
            Woken::Ready | Woken::Cancelled => 0,
        }
    }

    fn announce_wake(self, word: usize) {
        let kind = match self.value {
            1 => EventKind::Signal,
            _ => EventKind::Broadcast,
        };
        ENGINE.step(operation(kind, word, self.place));
    }

    fn wake(self, bits: u32) -> isize {
        self.announce_wake(self.word);
        self.wake_at(self.word, self.value as usize, bits) as isize
    }

    /// Whether other processes may wait on the word.
    fn is_shared(&self) -> bool {
        self.operation & libc::FUTEX_PRIVATE_FLAG == 0
    }

    /// Wakes up to `most` of those who wait on the word: threads of the run first, then
    /// whoever else the kernel knows of.
    fn wake_at(&self, word: usize, most: usize, bits: u32) -> usize {
        let woken = condition::wake_matching(word, most, u64::from(bits));
        if woken >= most || !neighbours::may_share(self.is_shared()) {
            return woken;
        }
        let private = self.operation & libc::FUTEX_PRIVATE_FLAG;
        let wake = (libc::FUTEX_WAKE_BITSET | private) as usize;
        let left = (most - woken).min(i32::MAX as usize);
        // SAFETY: changes nothing but who waits.
        let others =
            unsafe { system::try_call(libc::SYS_futex, [word, wake, left, 0, 0, bits as usize]) };
        woken + others.unwrap_or(0)
    }

    /// Wakes some, and makes others wait on the second word, if the first is as expected
    /// at that very moment.
    fn requeue(self, expected: Option<u32>) -> isize {
        self.announce_wake(self.word);
        if let Some(expected) = expected {
            match word_at(self.word) {
                None => return -(libc::EFAULT as isize),
                Some(found) if found != expected => return -(libc::EAGAIN as isize),
                Some(_) => {}
            }
        }
        let woken = self.wake_at(self.word, self.value as usize, ANY);
        let moved = condition::waiters(self.word).into_iter().take(self.fourth);
        let moved = moved.map(|thread| thread.wait.set(Wait::Wake(self.second_word)));
        (woken + moved.count()) as isize
    }

    /// Changes the second word, wakes waiters of the first, and of the second if
    /// its old value says so.
    fn wake_operation(self) -> isize {
        self.announce_wake(self.word);
        let code = self.third_value;
        let (argument, comparison) = (sign_extended(code >> 12), sign_extended(code));
        let Some(old) = word_at(self.second_word) else {
            return -(libc::EFAULT as isize);
        };
        let old = old as i32;
        let argument = if code >> 31 != 0 {
            1 << (argument & 31)
        } else {
            argument
        };
        let new = match code >> 28 & 7 {
            0 => argument,
            1 => old.wrapping_add(argument),
            2 => old | argument,
            3 => old & !argument,
            4 => old ^ argument,
            _ => return -(libc::ENOSYS as isize),
        };
        // SAFETY: the program wants this word changed.
        unsafe { (self.second_word as *mut i32).write_volatile(new) };
        let woken = self.wake_at(self.word, self.value as usize, ANY);
        let holds = match code >> 24 & 15 {
            0 => old == comparison,
            1 => old != comparison,
            2 => old < comparison,
            3 => old <= comparison,
            4 => old > comparison,
            5 => old >= comparison,
            _ => return -(libc::ENOSYS as isize),
        };
        let more = if holds {
            self.wake_at(self.second_word, self.fourth, ANY)
        } else {
            0
        };
        (woken + more) as isize
    }
}

/// What a futex holds, unless the program has passed an address where nothing is.
fn word_at(address: usize) -> Option<u32> {
    peek(address, 4).map(|found| found as u32)
}

/// The low twelve bits as a signed number.
fn sign_extended(bits: u32) -> i32 {
    (bits << 20) as i32 >> 20
}

fn answered(answer: isize) -> isize {
    if (-4095..0).contains(&answer) {
        // SAFETY: `errno` is always there.
        unsafe { *libc::__errno_location() = -answer as i32 };
        return -1;
    }
    answer
}

interpose! {
    fn syscall(
        number: i64,
        first: usize,
        second: usize,
        third: usize,
        fourth: usize,
        fifth: usize,
        sixth: usize,
    ) -> isize {
        let place = caller();
        let arguments = [first, second, third, fourth, fifth, sixth];
        let answer = match number {
            _ if !control::is_on() => None,
            // The kernel knows nothing of fibers.
            libc::SYS_futex => Some(
                system_calls::answer(number, arguments, place).unwrap_or(-(libc::ENOSYS as isize)),
            ),
            libc::SYS_gettid => Some(machine::thread_number() as isize),
            libc::SYS_getpid => Some(machine::PROCESS as isize),
            libc::SYS_sched_yield => {
                ENGINE.step(operation(EventKind::Yield, 0, place));
                Some(0)
            }
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_vfork | libc::SYS_fork => {
                match copies::wanted(number, arguments) {
                    Wanted::Copy(copy) if copy.stack == 0 => Some(copy.make()),
                    // On another stack there is no frame of this call to return to.
                    _ => None,
                }
            }
            _ => {
                if !system_calls::is_between_threads(number) {
                    ENGINE.note_strange();
                }
                polling::answer(number, arguments, place)
                    .or_else(|| system_calls::answer(number, arguments, place))
            }
        };
        if answer.is_none() && control::is_on() {
            outlasting::note_call(number, arguments);
        }
        // SAFETY: passes on what the program passed.
        answered(answer.unwrap_or_else(|| unsafe { system::call(number, arguments) }))
    }
}
