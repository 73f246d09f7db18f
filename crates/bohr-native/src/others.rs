//! Whether any other thread of the process can still come by. One that is held up
//! in vain costs its whole pause; but when everybody else has ended, waits for
//! somebody without a limit, or is held up as well, nobody will come, and there is
//! no use in waiting.
//!
//! The kernel knows: what it tells of each thread is read, twice, without
//! allocating. Whatever cannot be read counts as a thread that can come.

use crate::futex::{now, processor_time, sleep, thread, wait};
use bohr_event::endless_wait;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Threads that are known to be held up; others count as running.
const MOST_HELD: usize = 256;

/// The share of the time that a statement is given for which its thread has to have
/// been on a processor.
const AT_WORK: u64 = 5;

/// How often one looks: at first this often, and less often the longer it takes.
const SOONEST: u64 = 100_000;
const LATEST: u64 = 5_000_000;

/// A thread that is held up, and until when; number 0 is nobody's.
struct Held {
    thread: AtomicU32,
    until: AtomicU64,
}

static HELD: [Held; MOST_HELD] = [const {
    Held {
        thread: AtomicU32::new(0),
        until: AtomicU64::new(0),
    }
}; MOST_HELD];

/// Says of this thread, as long as it lives, that it is held up.
pub struct Announced(Option<&'static Held>, u64);

impl Announced {
    pub fn until(deadline: u64) -> Announced {
        let own = thread();
        let free = HELD.iter().find(|held| {
            let taken = &held.thread;
            let won = taken.compare_exchange(0, own, Ordering::SeqCst, Ordering::SeqCst);
            won.is_ok()
        });
        if let Some(held) = free {
            held.until.store(deadline, Ordering::SeqCst);
        }
        Announced(free, deadline)
    }

    /// Whether nobody else can do anything before somebody who is held up goes on,
    /// and this thread is the one whose time is over first.
    pub fn is_last(&self) -> bool {
        let look = || self.0.and_then(|_| still_life(self.1));
        match (look(), look()) {
            (Some(before), Some(after)) => before == after,
            _ => false,
        }
    }
}

/// A thread is about to be told that it can go on, so it is not held up any more, even if
/// it takes a while until it runs.
pub fn release(thread: u32) {
    if let Some(held) = held(thread) {
        held.until.store(0, Ordering::SeqCst);
    }
}

/// In a child process, to which the other threads did not come along.
pub fn forget_all() {
    for held in &HELD {
        held.until.store(0, Ordering::SeqCst);
        held.thread.store(0, Ordering::SeqCst);
    }
}

fn held(thread: u32) -> Option<&'static Held> {
    let is_it = |held: &&Held| held.thread.load(Ordering::SeqCst) == thread;
    HELD.iter().find(is_it).filter(|_| thread != 0)
}

impl Drop for Announced {
    fn drop(&mut self) {
        if let Some(held) = self.0 {
            held.until.store(0, Ordering::SeqCst);
            held.thread.store(0, Ordering::SeqCst);
        }
    }
}

/// Waits while the word says so, the pause is not over, and anybody is left who could
/// come.
pub fn wait_for_others(word: &AtomicU32, pause: u64, waits: impl Fn(u32) -> bool) {
    // Whoever has been told already does not count as held up, not even for so long.
    if !waits(word.load(Ordering::SeqCst)) {
        return;
    }
    let since = now();
    let deadline = since.saturating_add(pause);
    let announced = Announced::until(deadline);
    loop {
        let slice = next_look(since).min(deadline);
        let came = wait(word, slice, |word| !waits(word));
        if came || now() >= deadline || announced.is_last() {
            return;
        }
    }
}

/// Does nothing for so long, or until nobody else can do anything either; says whether
/// that was why.
pub fn sleep_while_others_can_move(nanoseconds: u64) -> bool {
    let since = now();
    let deadline = since.saturating_add(nanoseconds);
    let announced = Announced::until(deadline);
    loop {
        let slice = next_look(since).min(deadline);
        sleep(slice.saturating_sub(now()));
        if now() >= deadline {
            return false;
        }
        if announced.is_last() {
            return true;
        }
    }
}

/// Gives a thread that went on a moment; on a machine that is busy with something else, as
/// long as it takes until it has been on a processor for a part of that since it had `spent`
/// so much time there, or waits for somebody. Where nobody can do anything before this
/// thread goes on, the moment is over.
pub fn let_run(gone: u32, spent: u64, moment: u64, deadline: u64) {
    if sleep_while_others_can_move(moment) {
        return;
    }
    let has_run = || processor_time(gone).is_none_or(|time| time >= spent + moment / AT_WORK);
    while now() < deadline && !has_run() && !is_in_call(gone) {
        sleep(moment);
    }
}

/// When to look again, having waited since then.
pub fn next_look(since: u64) -> u64 {
    let time = now();
    let slice = (time.saturating_sub(since) / 4).clamp(SOONEST, LATEST);
    time.saturating_add(slice)
}

/// A number for what all other threads do, if none of them can go on by itself;
/// another one if any of them has done anything in between.
fn still_life(deadline: u64) -> Option<u64> {
    let own = thread();
    let mut sum = Sum::new();
    let mut buffer = [0; 2048];
    let tasks = Opened::at(libc::AT_FDCWD, c"/proc/self/task", libc::O_DIRECTORY)?;
    loop {
        let length = tasks.entries(&mut buffer)?;
        if length == 0 {
            return Some(sum.0);
        }
        for name in (Entries {
            bytes: &buffer[..length],
        }) {
            let Some(other) = number(name) else {
                continue;
            };
            if other == own {
                continue;
            }
            match until(other) {
                Some(until) if until < deadline => return None,
                Some(_) => {}
                None => waiting(&tasks, name, &mut sum)?,
            }
            sum.add(name);
        }
    }
}

/// Until when a thread is held up, if it is.
fn until(thread: u32) -> Option<u64> {
    let until = held(thread)?.until.load(Ordering::SeqCst);
    (until > 0).then_some(until)
}

/// Adds what a thread waits for and how often it has run; `None` if it does not
/// wait, or not without a limit.
fn waiting(tasks: &Opened, name: &[u8], sum: &mut Sum) -> Option<()> {
    let mut buffer = [0; 256];
    let call = tasks.read(name, b"/syscall", &mut buffer)?;
    endless_wait(core::str::from_utf8(call).ok()?)?;
    sum.add(call);
    // Not every kernel tells.
    if let Some(runs) = tasks.read(name, b"/schedstat", &mut buffer) {
        sum.add(runs);
    }
    Some(())
}

/// Whether a thread is in the middle of a system call and does not run; also if
/// nobody can tell.
pub fn is_in_call(thread: u32) -> bool {
    let mut digits = [0; 10];
    let name = decimal(thread, &mut digits);
    let tasks = Opened::at(libc::AT_FDCWD, c"/proc/self/task", libc::O_DIRECTORY);
    let mut buffer = [0; 256];
    let call = tasks.as_ref();
    let call = call.and_then(|tasks| tasks.read(name, b"/syscall", &mut buffer));
    call.is_none_or(|call| !call.starts_with(b"running"))
}

/// Whether any other thread of the process runs, or could.
pub fn anybody_runs() -> bool {
    let own = thread();
    let mut buffer = [0; 2048];
    let tasks = Opened::at(libc::AT_FDCWD, c"/proc/self/task", libc::O_DIRECTORY);
    // As many as fit at once are enough to tell.
    let length = tasks.as_ref().and_then(|tasks| tasks.entries(&mut buffer));
    let mut others = Entries {
        bytes: &buffer[..length.unwrap_or(0)],
    };
    others.any(|name| number(name).is_some_and(|other| other != own && !is_in_call(other)))
}

/// A number as folders are called.
fn decimal(number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut rest = number;
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &digits[first..];
        }
    }
}

fn number(name: &[u8]) -> Option<u32> {
    core::str::from_utf8(name).ok()?.parse().ok()
}

/// FNV-1a.
struct Sum(u64);

impl Sum {
    fn new() -> Sum {
        Sum(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// A file or folder that is closed again.
struct Opened(i32);

impl Opened {
    fn at(folder: i32, path: &core::ffi::CStr, flags: i32) -> Option<Opened> {
        let flags = flags | libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: a path that ends with a zero.
        let file = unsafe { libc::syscall(libc::SYS_openat, folder, path.as_ptr(), flags) };
        (file >= 0).then_some(Opened(file as i32))
    }

    /// Entries of the folder, as many as fit; 0 bytes at its end.
    fn entries(&self, buffer: &mut [u8]) -> Option<usize> {
        let (start, length) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the kernel writes at most as many bytes as there are.
        let read = unsafe { libc::syscall(libc::SYS_getdents64, self.0, start, length) };
        usize::try_from(read).ok()
    }

    /// What a small file in a folder of this folder holds.
    fn read<'b>(&self, folder: &[u8], file: &[u8], buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let mut path = [0; 32];
        let end = folder.len() + file.len();
        path.get_mut(..folder.len())?.copy_from_slice(folder);
        path.get_mut(folder.len()..end)?.copy_from_slice(file);
        let path = core::ffi::CStr::from_bytes_until_nul(&path).ok()?;
        let file = Opened::at(self.0, path, 0)?;
        let (start, length) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the kernel writes at most as many bytes as there are.
        let read = unsafe { libc::syscall(libc::SYS_read, file.0, start, length) };
        buffer.get(..usize::try_from(read).ok()?)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: its own file.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// Names of the entries of a folder, as the kernel wrote them: number, offset,
/// length and kind, then the name and a zero.
struct Entries<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for Entries<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        const LENGTH: usize = 16;
        const NAME: usize = 19;
        let length = self.bytes.get(LENGTH..LENGTH + 2)?;
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        let entry = self.bytes.get(..length)?;
        self.bytes = &self.bytes[length..];
        entry.get(NAME..)?.split(|byte| *byte == 0).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_told_to_go_on_is_not_held_up_though_it_does_not_run_yet() {
        let deadline = now() + 60_000_000_000;
        let announced = Announced::until(deadline);
        assert_eq!(until(thread()), Some(deadline));
        release(thread());
        assert_eq!(until(thread()), None);
        drop(announced);
        assert_eq!(until(0), None, "nobody's places are nobody");
    }

    #[test]
    fn a_moment_lasts_while_anybody_runs() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    core::hint::spin_loop();
                }
            });
            let begun = now();
            assert!(!sleep_while_others_can_move(3_000_000));
            assert!(now() - begun >= 3_000_000);
            stop.store(true, Ordering::SeqCst);
        });
    }
}
