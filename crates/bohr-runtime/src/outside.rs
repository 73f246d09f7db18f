//! What the system told the threads of a recorded run about the world outside, told
//! again: what they read there, and that what they opened is there. The log suffices:
//! files may be gone, and nobody need be at the other end of a pipe or a connection.
//! In the place of those, descriptors stand that lead nowhere.

use crate::{
    descriptors::{self, Check, set_stand_in, status},
    given,
    interpose::{self, polling},
    system,
};
use bohr_event::EventKind;
use bohr_event::inputs::{Answer, Opened, Question};
use bohr_event::outside::{OwnListeners, OwnStreams, is_file, is_pipe};
use core::slice;

static OWN: OwnStreams = OwnStreams::new();
/// Where the program waits for connections.
pub static LISTENERS: OwnListeners = OwnListeners::new();

/// What a descriptor leads to is the program's. Asked for only where something is
/// given, and before that is known.
pub fn is_own(descriptor: i32) {
    if (given::is_any() || !crate::control::is_on())
        && let Some(status) = status(descriptor)
    {
        OWN.add(status.st_ino);
    }
}

/// Whether what is read there comes from outside.
pub fn leads_outside(descriptor: i32) -> bool {
    let status = status(descriptor);
    status.is_none_or(|status| OWN.are_outside(status.st_mode, status.st_ino))
}

/// Whether a call may be answered here.
#[inline]
pub fn is_given() -> bool {
    given::is_any() && crate::control::is_on()
}

/// What a call returns, and its error.
pub fn returned(result: i64) -> isize {
    match result {
        0.. => result as isize,
        error => interpose::input_output::fail(-error as i32),
    }
}

/// Reads into pieces what was read in the recorded run; `None` where nothing was, or
/// it came from the program itself. Behind what was read lies the sender's address.
///
/// # Safety
/// The pieces must be the program's.
pub unsafe fn read(descriptor: i32, pieces: &[libc::iovec]) -> Option<(isize, Answer, usize)> {
    if !is_given() || !leads_outside(descriptor) {
        return None;
    }
    // It takes the call's place.
    interpose::caller();
    let room: usize = pieces.iter().map(|piece| piece.iov_len).sum();
    let read = |answer: &Answer| room.min(answer.result.max(0) as usize);
    let Some(answer) = given::answer(Question::Read, |answer| answer.bytes.len() >= read(answer))
    else {
        return leads_nowhere(descriptor).then(|| wait_for_ever(descriptor));
    };
    let length = read(&answer);
    let mut rest = &answer.bytes[..length];
    for piece in pieces {
        let (now, later) = rest.split_at(rest.len().min(piece.iov_len));
        if !now.is_empty() {
            // SAFETY: the caller's promise.
            unsafe { slice::from_raw_parts_mut(piece.iov_base.cast(), now.len()) }
                .copy_from_slice(now);
        }
        rest = later;
    }
    Some((returned(answer.result), answer, length))
}

/// The same with one buffer, and nobody asks for the sender.
///
/// # Safety
/// The buffer must be the program's.
pub unsafe fn read_into(
    descriptor: i32,
    buffer: *mut libc::c_void,
    length: usize,
) -> Option<isize> {
    let piece = libc::iovec {
        iov_base: buffer,
        iov_len: length,
    };
    // SAFETY: the caller's promise.
    unsafe { read(descriptor, &[piece]) }.map(|(returned, ..)| returned)
}

/// A stand-in for a pipe or a connection.
pub fn leads_nowhere(descriptor: i32) -> bool {
    descriptors::is_stand_in(descriptor)
        && status(descriptor).is_some_and(|status| !is_file(status.st_mode))
}

/// Whether what is written there is lost: nobody is at the other end.
#[inline]
pub fn goes_nowhere(descriptor: i32) -> bool {
    is_given() && leads_nowhere(descriptor)
}

/// Whoever read there was still waiting, as far as is known.
fn wait_for_ever(descriptor: i32) -> (isize, Answer, usize) {
    let error = match descriptors::is_nonblocking(descriptor) {
        true => libc::EAGAIN,
        false => {
            let receive = crate::engine::operation(EventKind::Receive, 0, 0);
            polling::wait_until(&Check::of_program(&|| false), receive, u64::MAX);
            libc::EINTR
        }
    };
    let answer = Answer {
        question: Question::Read,
        result: -i64::from(error),
        bytes: alloc::vec::Vec::new(),
    };
    (returned(answer.result), answer, 0)
}

/// Answers a call that opens a file, which `real` does; `None` where nothing is given.
pub fn open(is_there: impl FnOnce(Opened) -> bool, real: impl FnOnce() -> i32) -> Option<i32> {
    let answer = is_given().then(|| given::answer(Question::Open, |_| true))??;
    if answer.result < 0 {
        return Some(returned(answer.result) as i32);
    }
    let (opened, _) = Opened::read(&answer.bytes).unwrap_or_default();
    // A pipe with a name waits for somebody at its other end.
    let found = match is_pipe(opened.mode) || !is_there(opened) {
        true => -1,
        false => real(),
    };
    let found = if found < 0 { stand_in(opened) } else { found };
    Some(renumbered(found, answer.result as i32))
}

/// Gives a descriptor the number that it had in the recorded run, if that is free:
/// threads that open and close may do so in another order now.
pub fn renumbered(descriptor: i32, number: i32) -> i32 {
    // SAFETY: asks only, and closes what nobody has seen yet.
    unsafe {
        let flags = |of: i32| {
            let arguments = [of as usize, libc::F_GETFD as usize, 0, 0, 0, 0];
            system::try_call(libc::SYS_fcntl, arguments).ok()
        };
        let (Some(own), None) = (flags(descriptor), flags(number)) else {
            return descriptor;
        };
        let closes = if own == 0 {
            0
        } else {
            libc::O_CLOEXEC as usize
        };
        let arguments = [descriptor as usize, number as usize, closes, 0, 0, 0];
        if system::try_call(libc::SYS_dup3, arguments).is_err() {
            return descriptor;
        }
        descriptors::copy(descriptor, number);
        system::close(descriptor);
        descriptors::forget(descriptor);
        number
    }
}

/// A descriptor that leads nowhere: to a file of that size, or to a stream that seems
/// to have something to be read.
pub fn stand_in(opened: Opened) -> i32 {
    let descriptor = match is_file(opened.mode) {
        true => file(opened.size),
        false => stream(),
    };
    set_stand_in(descriptor, true);
    descriptor
}

fn file(size: u64) -> i32 {
    let arguments = [c"recorded".as_ptr() as usize, 0, 0, 0, 0, 0];
    // SAFETY: a new file without a place, of which nothing is used but its size.
    unsafe {
        let file = system::call(libc::SYS_memfd_create, arguments) as i32;
        system::call(
            libc::SYS_ftruncate,
            [file as usize, size as usize, 0, 0, 0, 0],
        );
        file
    }
}

/// Above the numbers that programs count on.
const HIGH: usize = 900;

fn stream() -> i32 {
    let mut ends = [-1i32; 2];
    let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as usize;
    let arguments = [
        libc::AF_UNIX as usize,
        kind,
        0,
        ends.as_mut_ptr() as usize,
        0,
        0,
    ];
    // SAFETY: writes the two ends, of which the other stays open.
    unsafe { system::call(libc::SYS_socketpair, arguments) };
    // Whoever asks whether there is something is told yes.
    let _ = system::write_all(ends[1], b"!");
    // The other end stays open, where no recorded descriptor was.
    let arguments = [
        ends[1] as usize,
        libc::F_DUPFD_CLOEXEC as usize,
        HIGH,
        0,
        0,
        0,
    ];
    // SAFETY: another number for what nobody else knows.
    if unsafe { system::try_call(libc::SYS_fcntl, arguments) }.is_ok() {
        system::close(ends[1]);
    }
    ends[0]
}

/// Answers what was told of a file, through `write`, which gets its bytes.
pub fn status_of(length: usize, write: impl FnOnce(&[u8])) -> Option<i32> {
    let fits = |answer: &Answer| answer.result != 0 || answer.bytes.len() == length;
    let answer = is_given().then(|| given::answer(Question::Status, fits))??;
    if answer.result == 0 {
        write(&answer.bytes);
    }
    Some(returned(answer.result) as i32)
}
