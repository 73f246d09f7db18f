//! Files, pipes and sockets as the engine sees them: what may block, what is
//! ready, and which of them only the program itself can make ready.

use crate::{
    carrier::CarrierOnly, engine::ENGINE, given, neighbours, notices, system, thread::Wait,
};
use alloc::{ffi::CString, format, vec::Vec};
use bohr_event::{Stream, control::Notice};
use core::{
    cell::{Cell, RefCell},
    mem::MaybeUninit,
};

/// What is asked again and again while a call waits.
pub struct Check<'a> {
    /// Whether what it waits for has come: any of its descriptors is ready, say.
    pub has_come: &'a dyn Fn() -> bool,
    /// Whether somebody outside could bring that about.
    pub from_outside: &'a dyn Fn() -> bool,
}

impl<'a> Check<'a> {
    /// Waits for what anybody may do. What comes from outside is given, in a run of which
    /// anything is.
    pub fn of_anybody(has_come: &'a dyn Fn() -> bool) -> Check<'a> {
        Check {
            has_come,
            from_outside: &|| !given::is_any(),
        }
    }

    /// Waits for what the program itself does.
    pub fn of_program(has_come: &'a dyn Fn() -> bool) -> Check<'a> {
        Check {
            has_come,
            from_outside: &|| false,
        }
    }
}

/// Descriptors that are kept track of.
const TRACKED: usize = 1 << 16;

/// Devices that give random bytes: major number 1, minor numbers 8 and 9.
const CHANCE: [u64; 2] = [1 << 8 | 8, 1 << 8 | 9];

struct Streams {
    /// One bit per descriptor whose other end the program itself has made.
    internal: [Cell<u64>; TRACKED / 64],
    /// One bit per descriptor that stands for one of a recorded run.
    stand_in: [Cell<u64>; TRACKED / 64],
    /// Device and inode of the pipes and sockets seen, in order: equal in every
    /// run, unlike the numbers themselves.
    seen: RefCell<Vec<(u64, u64)>>,
}

static STREAMS: CarrierOnly<Streams> = CarrierOnly::new(Streams {
    internal: [const { Cell::new(0) }; TRACKED / 64],
    stand_in: [const { Cell::new(0) }; TRACKED / 64],
    seen: RefCell::new(Vec::new()),
});

/// What kind of thing a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reading and writing never wait: files, and what is not open at all.
    File,
    /// A pipe, socket, terminal or the like, with a name for events.
    Stream(usize),
    /// `/dev/random` or `/dev/urandom`.
    Chance,
}

/// Looks at a descriptor.
pub fn kind(descriptor: i32) -> Kind {
    let Some(status) = status(descriptor) else {
        return Kind::File;
    };
    match status.st_mode & libc::S_IFMT {
        libc::S_IFCHR if CHANCE.contains(&status.st_rdev) => Kind::Chance,
        libc::S_IFREG | libc::S_IFDIR | libc::S_IFBLK => Kind::File,
        // Pipes are one object with two ends. Of sockets nobody knows who is at the
        // other end, so they are all one; of others each descriptor is one.
        libc::S_IFIFO => Kind::Stream(name_of_pipe(&status)),
        libc::S_IFSOCK => Kind::Stream(name(u64::MAX, u64::MAX)),
        _ => Kind::Stream(name(u64::MAX, descriptor as u64)),
    }
}

/// The name, for events, of a pipe that has one in the file system.
pub fn name_of_pipe(status: &libc::stat) -> usize {
    name(status.st_dev, status.st_ino)
}

/// What the kernel says about a descriptor; `None` if it is not open.
pub fn status(descriptor: i32) -> Option<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    let address = status.as_mut_ptr() as usize;
    let arguments = [descriptor as usize, address, 0, 0, 0, 0];
    // SAFETY: writes the status, which is valid as zeroes, too.
    unsafe {
        system::try_call(libc::SYS_fstat, arguments).ok()?;
        Some(status.assume_init())
    }
}

/// Whether it was opened for writing.
pub fn is_writable(descriptor: i32) -> bool {
    let arguments = [descriptor as usize, libc::F_GETFL as usize, 0, 0, 0, 0];
    // SAFETY: asks only.
    let flags = unsafe { system::try_call(libc::SYS_fcntl, arguments) };
    flags.is_ok_and(|flags| flags as i32 & libc::O_ACCMODE != libc::O_RDONLY)
}

/// The name of a descriptor that is no stream, for events.
pub fn name_of(descriptor: i32) -> usize {
    status(descriptor).map_or(0, |status| name(status.st_dev, status.st_ino))
}

fn name(device: u64, inode: u64) -> usize {
    let mut seen = STREAMS.seen.borrow_mut();
    let known = seen.iter().position(|&entry| entry == (device, inode));
    let position = known.unwrap_or_else(|| {
        seen.push((device, inode));
        seen.len() - 1
    });
    Stream(position as u32).object() as usize
}

/// Whether calls on it return instead of waiting.
pub fn is_nonblocking(descriptor: i32) -> bool {
    let arguments = [descriptor as usize, libc::F_GETFL as usize, 0, 0, 0, 0];
    // SAFETY: asks only.
    let flags = unsafe { system::try_call(libc::SYS_fcntl, arguments) };
    flags.is_ok_and(|flags| flags & libc::O_NONBLOCK as usize != 0)
}

/// The program has made this one with both its ends, or copied such a one.
pub fn set_internal(descriptor: i32, internal: bool) {
    set(&STREAMS.internal, descriptor, internal);
}

/// Whether nobody outside can make it ready.
pub fn is_internal(descriptor: i32) -> bool {
    is_set(&STREAMS.internal, descriptor)
}

/// Whether somebody outside can make one of these ready. An `epoll` is as ready as what it
/// looks at, which the kernel tells.
pub fn any_from_outside(mut descriptors: impl Iterator<Item = i32>) -> bool {
    !given::is_any() && descriptors.any(|one| !is_internal(one) && !looks_inside(one, NESTED))
}

/// How many `epoll` can look at each other, as in the kernel.
const NESTED: u32 = 5;

/// Whether it is an `epoll` that looks at nothing but what the program itself makes ready.
fn looks_inside(descriptor: i32, depth: u32) -> bool {
    let Ok(path) = CString::new(format!("/proc/self/fdinfo/{descriptor}")) else {
        return false;
    };
    let told = system::file(&path).unwrap_or_default();
    let told = core::str::from_utf8(&told).unwrap_or_default();
    let looked_at = told.lines().filter_map(|line| {
        let number = line.strip_prefix("tfd:")?.split_whitespace().next()?;
        number.parse().ok()
    });
    let mut looked_at = looked_at.peekable();
    looked_at.peek().is_some()
        && looked_at.all(|one| is_internal(one) || depth > 0 && looks_inside(one, depth - 1))
}

/// What is read there was read in a recorded run, and what is written goes nowhere.
pub fn set_stand_in(descriptor: i32, stands: bool) {
    set(&STREAMS.stand_in, descriptor, stands);
}

/// Whether it is such a one.
pub fn is_stand_in(descriptor: i32) -> bool {
    is_set(&STREAMS.stand_in, descriptor)
}

/// Another number for the same thing.
pub fn copy(from: i32, to: i32) {
    set_internal(to, is_internal(from));
    set_stand_in(to, is_stand_in(from));
}

/// Whatever has this number next is something else.
pub fn forget(descriptor: i32) {
    set_internal(descriptor, false);
    set_stand_in(descriptor, false);
}

/// The same for all of these.
pub fn forget_all(numbers: core::ops::RangeInclusive<usize>) {
    let last = (*numbers.end()).min(TRACKED - 1);
    (*numbers.start()..=last).for_each(|number| forget(number as i32));
}

fn set(words: &[Cell<u64>], descriptor: i32, value: bool) {
    if let Some(word) = usize::try_from(descriptor)
        .ok()
        .and_then(|number| words.get(number / 64))
    {
        let bit = 1 << (descriptor % 64);
        let others = word.get() & !bit;
        word.set(if value { others | bit } else { others });
    }
}

fn is_set(words: &[Cell<u64>], descriptor: i32) -> bool {
    usize::try_from(descriptor)
        .ok()
        .and_then(|number| words.get(number / 64))
        .is_some_and(|word| word.get() >> (descriptor % 64) & 1 != 0)
}

/// Whether the descriptor is ready for one of these `poll` events, or broken,
/// which a call on it will tell.
pub fn is_ready(descriptor: i32, events: i16) -> bool {
    let mut entry = libc::pollfd {
        fd: descriptor,
        events,
        revents: 0,
    };
    poll(&mut entry, 0) != 0
}

fn poll(entry: &mut libc::pollfd, milliseconds: i32) -> isize {
    let arguments = [&raw mut *entry as usize, 1, milliseconds as usize, 0, 0, 0];
    // SAFETY: reads and writes the entry.
    unsafe { system::call(libc::SYS_poll, arguments) }
}

/// The check that lies at this address, on the stack of a waiting thread.
fn check_at<'a>(address: usize) -> &'a Check<'a> {
    // SAFETY: the waiting call keeps what is at this address alive as long as its
    // thread's wait names it, and nobody looks at it for longer.
    unsafe { &*(address as *const Check<'_>) }
}

/// Whether what such a check waits for has come.
pub fn check(address: usize) -> bool {
    (check_at(address).has_come)()
}

/// Nobody can go on and no deadline is near: if somebody waits for the outside
/// world, lets a little real time pass. Says whether anybody does.
pub fn wait_for_outside() -> bool {
    let mut outside = false;
    ENGINE.each_live(|thread| {
        outside |= match thread.wait.get() {
            Wait::Descriptor(descriptor, _) => {
                !is_internal(descriptor) || notices::is_noted(Notice::Process)
            }
            Wait::Check(check) => {
                notices::is_noted(Notice::Process) || (check_at(check).from_outside)()
            }
            _ => neighbours::could_end(thread),
        };
    });
    if outside {
        notices::note(Notice::OutsideInput);
        let mut nothing = libc::pollfd {
            fd: -1,
            events: 0,
            revents: 0,
        };
        poll(&mut nothing, 1);
    }
    outside
}
