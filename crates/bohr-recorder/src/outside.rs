//! What the system answers about the world outside: each thread writes down what it
//! was told. Pipes and pairs of sockets that the program has made are not outside:
//! what is read there, one of its threads has written, and will write again.

use crate::inputs::write;
use crate::real::real;
use bohr_event::inputs::{Question, Ready, answer_words, answer_words_of};
use bohr_event::outside::{OwnListeners, OwnStreams};
use bohr_event::recording::Stream;
use core::mem::MaybeUninit;
use core::{ptr, slice};
use libc::{c_int, c_void};

static OWN: OwnStreams = OwnStreams::new();
/// Where the program waits for connections.
pub static LISTENERS: OwnListeners = OwnListeners::new();

/// What a descriptor leads to; `None` if it is not open.
pub fn status(descriptor: c_int) -> Option<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: writes the status, which is valid as zeroes, too.
    unsafe {
        let answer = libc::syscall(libc::SYS_fstat, descriptor, status.as_mut_ptr());
        (answer == 0).then(|| status.assume_init())
    }
}

/// Whether what is read there comes from outside.
pub fn leads_outside(descriptor: c_int) -> bool {
    let status = status(descriptor);
    status.is_none_or(|status| OWN.are_outside(status.st_mode, status.st_ino))
}

/// What a call returned, or the negative number of its error.
pub fn result(returned: isize) -> i64 {
    match returned {
        0.. => returned as i64,
        // SAFETY: every thread has its own.
        _ => -i64::from(unsafe { *libc::__errno_location() }),
    }
}

/// The calling thread was told this.
pub fn note(question: Question, result: i64, pieces: &[&[u8]]) {
    write(|thread| {
        answer_words(question, result, pieces, |word| {
            thread.append(Stream::Inputs, word);
        });
    });
}

/// The calling thread was told that these are ready.
pub fn note_ready(result: i64, ready: impl Iterator<Item = Ready> + Clone) {
    write(|thread| {
        let length = ready.clone().count() * Ready::LENGTH;
        let pieces = ready.map(Ready::bytes);
        answer_words_of(Question::Ready, result, length, pieces, |word| {
            thread.append(Stream::Inputs, word);
        });
    });
}

/// Memory that a call has written.
///
/// # Safety
/// So many bytes must be there, unless it is null.
pub unsafe fn bytes<'a>(start: *const c_void, length: usize) -> &'a [u8] {
    match start.is_null() || length == 0 {
        true => &[],
        // SAFETY: the caller's promise.
        false => unsafe { slice::from_raw_parts(start.cast(), length) },
    }
}

/// What a descriptor leads to is the program's.
pub fn is_own(descriptor: c_int) {
    if let Some(status) = status(descriptor) {
        OWN.add(status.st_ino);
    }
}

/// Both ends are the program's.
unsafe fn made(returned: c_int, ends: *const c_int) -> c_int {
    if returned == 0 {
        crate::thread::keeping_errno(|| {
            for end in 0..2 {
                // SAFETY: the call has written two descriptors.
                is_own(unsafe { *ends.add(end) });
            }
        });
    }
    returned
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pipe(ends: *mut c_int) -> c_int {
    let real = real!(fn pipe(*mut c_int) -> c_int);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe { made(real(ends), ends) }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pipe2(ends: *mut c_int, flags: c_int) -> c_int {
    let real = real!(fn pipe2(*mut c_int, c_int) -> c_int);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe { made(real(ends, flags), ends) }
}

/// Shadows the C library's.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn socketpair(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    ends: *mut c_int,
) -> c_int {
    let real = real!(fn socketpair(c_int, c_int, c_int, *mut c_int) -> c_int);
    // SAFETY: passes on what the program passed, and reads what it got.
    unsafe { made(real(domain, kind, protocol, ends), ends) }
}

/// What was written of an address, of which the caller gave the room.
///
/// # Safety
/// Both must be null, or as a call has left them that had `room` bytes to write to.
pub unsafe fn address<'a>(address: *const c_void, length: *const u32, room: u32) -> &'a [u8] {
    if address.is_null() || ptr::eq(length, ptr::null()) {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { bytes(address, room.min(*length) as usize) }
}

/// Room for an address.
///
/// # Safety
/// `length` must be null, or what the program passed.
pub unsafe fn room(length: *const u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { length.as_ref() }.copied().unwrap_or(0)
}
