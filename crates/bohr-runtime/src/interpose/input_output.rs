//! Reading and writing where it can wait: pipes, sockets, event counters,
//! terminals. The engine waits until the kernel says that the call will not.

use super::{
    caller, cancel, interpose,
    outside::{accept as given_connection, read_pieces, tell_address},
    pieces::{self, Means},
    random,
};
use crate::{
    control,
    descriptors::{self, Kind},
    dispatch,
    engine::{ENGINE, Woken, operation},
    output, outside,
    real::real,
    signals::{self, signal_file},
    thread::{Interruptible, Wait},
    timers,
};
use bohr_event::EventKind;
use core::ffi::c_void;

/// Which way the data goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    In,
    Out,
}

/// Announces a transfer and waits until it can be made. Standard output and
/// standard error never wait: whoever reads them is outside. Says whether the
/// transfer is to be made; a signal's handler may have ended the call.
pub(super) fn announce(descriptor: i32, way: Way, waits: bool, place: u64) -> bool {
    let Kind::Stream(name) = descriptors::kind(descriptor) else {
        return true;
    };
    if way == Way::Out && (1..=2).contains(&descriptor) {
        return true;
    }
    let (kind, events) = match way {
        Way::In => (EventKind::Receive, libc::POLLIN),
        Way::Out => (EventKind::Send, libc::POLLOUT),
    };
    let (wait, by) = if waits && !descriptors::is_nonblocking(descriptor) {
        let wait = Wait::Descriptor(descriptor, events);
        (wait, Interruptible::Unrestarted)
    } else {
        (Wait::Nothing, Interruptible::Never)
    };
    let transfer = operation(kind, name, place);
    match ENGINE.announce_interruptible(transfer, wait, u64::MAX, by) {
        Woken::Cancelled => cancel::act(),
        Woken::Interrupted => false,
        Woken::Ready | Woken::Expired => true,
    }
}

/// Waits until something can be read from the descriptor; false if the handler
/// of a signal has ended the wait.
pub fn await_input(descriptor: i32, place: u64) -> bool {
    announce(descriptor, Way::In, true, place)
}

/// The same for writing.
pub fn await_room(descriptor: i32, place: u64) -> bool {
    announce(descriptor, Way::Out, true, place)
}

/// Makes the transfer once it can be made.
fn transfer<R: From<i8>>(
    descriptor: i32,
    way: Way,
    waits: bool,
    place: u64,
    make: impl FnOnce() -> R,
) -> R {
    if control::is_on() && !announce(descriptor, way, waits, place) {
        fail(libc::EINTR);
        return R::from(-1);
    }
    let result = dispatch::in_passing(make);
    handle_broken_pipe(place);
    result
}

/// The kernel signals a write that nobody can read, and the handler runs before the
/// call returns, not where the thread next waits for its turn.
pub(super) fn handle_broken_pipe(place: u64) {
    let thread = ENGINE.current();
    if control::is_on() && signals::pending(thread) & signals::bit(libc::SIGPIPE) != 0 {
        // SAFETY: `errno` is always there.
        let error = unsafe { *libc::__errno_location() };
        signals::deliver(thread, place);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = error };
    }
}

pub fn fail(error: i32) -> isize {
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    -1
}

fn waits(flags: i32) -> bool {
    flags & libc::MSG_DONTWAIT == 0
}

/// Makes a transfer that may wait in the middle piece by piece; `None` for others.
///
/// # Safety
/// The message must be one that `sendmsg` or `recvmsg` would take.
unsafe fn in_pieces(
    descriptor: i32,
    message: &mut libc::msghdr,
    means: Means,
    place: u64,
) -> Option<isize> {
    // SAFETY: as promised.
    let length = unsafe { pieces::length(message.msg_iov, message.msg_iovlen) };
    let apart = control::is_on() && pieces::may_wait_inside(descriptor, means, length);
    // SAFETY: as promised.
    apart.then(|| unsafe { pieces::transfer(descriptor, message, means, place) })
}

/// The same with one buffer.
///
/// # Safety
/// The buffer must have so many bytes.
pub unsafe fn buffer_in_pieces(
    descriptor: i32,
    (buffer, length): (*const c_void, usize),
    means: Means,
    place: u64,
) -> Option<isize> {
    let mut piece = libc::iovec {
        iov_base: core::ptr::null_mut(),
        iov_len: 0,
    };
    let mut message = pieces::message(buffer.cast_mut(), length, &mut piece);
    // SAFETY: a message with the buffer and nothing else.
    unsafe { in_pieces(descriptor, &mut message, means, place) }
}

/// The same with pieces.
///
/// # Safety
/// There must be so many pieces.
pub unsafe fn vector_in_pieces(
    descriptor: i32,
    (vector, count): (*const libc::iovec, usize),
    means: Means,
    place: u64,
) -> Option<isize> {
    let mut none = libc::iovec {
        iov_base: core::ptr::null_mut(),
        iov_len: 0,
    };
    let mut message = pieces::message(core::ptr::null_mut(), 0, &mut none);
    message.msg_iov = vector.cast_mut();
    message.msg_iovlen = count;
    // SAFETY: a message with the pieces and nothing else.
    unsafe { in_pieces(descriptor, &mut message, means, place) }
}

interpose! {
    fn read(descriptor: i32, buffer: *mut c_void, length: usize) -> isize {
        // SAFETY: the program's buffer.
        if let Some(given) = unsafe { outside::read_into(descriptor, buffer, length) } {
            return given;
        }
        if control::is_on() && descriptors::kind(descriptor) == Kind::Chance {
            // SAFETY: the program wants the bytes there.
            unsafe { random::fill(buffer, length) };
            return length as isize;
        }
        let read = real!(fn read(i32, *mut c_void, usize) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { read(descriptor, buffer, length) };
        transfer(descriptor, Way::In, true, caller(), make)
    }

    fn write(descriptor: i32, buffer: *const c_void, length: usize) -> isize {
        let place = caller();
        if outside::goes_nowhere(descriptor) {
            return length as isize;
        }
        // SAFETY: the program's buffer.
        let whole = unsafe { buffer_in_pieces(descriptor, (buffer, length), Means::Write, place) };
        if let Some(answer) = whole {
            return answer;
        }
        let legible = output::legible(descriptor, buffer as usize, length);
        if legible == 0 && length > 0 {
            return fail(libc::EFAULT);
        }
        let write = real!(fn write(i32, *const c_void, usize) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { write(descriptor, buffer, legible) };
        let written = transfer(descriptor, Way::Out, true, place, make);
        output::note_written(descriptor, usize::try_from(written).unwrap_or(0));
        written
    }

    fn readv(descriptor: i32, pieces: *const libc::iovec, count: i32) -> isize {
        // SAFETY: the program's pieces.
        if let Some(given) = unsafe { read_pieces(descriptor, pieces, count) } {
            return given;
        }
        let read = real!(fn readv(i32, *const libc::iovec, i32) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { read(descriptor, pieces, count) };
        transfer(descriptor, Way::In, true, caller(), make)
    }

    fn writev(descriptor: i32, pieces: *const libc::iovec, count: i32) -> isize {
        let place = caller();
        let vector = (pieces, usize::try_from(count).unwrap_or(0));
        if outside::goes_nowhere(descriptor) {
            // SAFETY: the program's pieces.
            return unsafe { pieces::length(vector.0, vector.1) } as isize;
        }
        // SAFETY: the program's pieces.
        let whole = unsafe { vector_in_pieces(descriptor, vector, Means::Write, place) };
        if let Some(answer) = whole {
            return answer;
        }
        let write = real!(fn writev(i32, *const libc::iovec, i32) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { write(descriptor, pieces, count) };
        let written = transfer(descriptor, Way::Out, true, place, make);
        output::note_written(descriptor, usize::try_from(written).unwrap_or(0));
        written
    }

    fn recv(descriptor: i32, buffer: *mut c_void, length: usize, flags: i32) -> isize {
        // SAFETY: the program's buffer.
        if let Some(given) = unsafe { outside::read_into(descriptor, buffer, length) } {
            return given;
        }
        let (place, means) = (caller(), Means::Receive(flags));
        // SAFETY: the program's buffer.
        let whole = unsafe { buffer_in_pieces(descriptor, (buffer, length), means, place) };
        if let Some(answer) = whole {
            return answer;
        }
        let receive = real!(fn recv(i32, *mut c_void, usize, i32) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { receive(descriptor, buffer, length, flags) };
        transfer(descriptor, Way::In, waits(flags), place, make)
    }

    fn recvfrom(
        descriptor: i32,
        buffer: *mut c_void,
        length: usize,
        flags: i32,
        address: *mut c_void,
        address_length: *mut u32,
    ) -> isize {
        let piece = libc::iovec {
            iov_base: buffer,
            iov_len: length,
        };
        // SAFETY: the program's buffer, and room for an address or nothing.
        if let Some((returned, answer, read)) = unsafe { outside::read(descriptor, &[piece]) } {
            // SAFETY: as above.
            unsafe { tell_address(address, address_length, &answer.bytes[read..]) };
            return returned;
        }
        let place = caller();
        if address.is_null() {
            let means = Means::Receive(flags);
            // SAFETY: the program's buffer.
            let whole = unsafe { buffer_in_pieces(descriptor, (buffer, length), means, place) };
            if let Some(answer) = whole {
                return answer;
            }
        }
        let receive = real!(fn recvfrom(i32, *mut c_void, usize, i32, *mut c_void, *mut u32) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { receive(descriptor, buffer, length, flags, address, address_length) };
        transfer(descriptor, Way::In, waits(flags), place, make)
    }

    fn recvmsg(descriptor: i32, message: *mut libc::msghdr, flags: i32) -> isize {
        // SAFETY: the program's message, of which nothing is told but the bytes.
        unsafe {
            let message = &mut *message;
            let count = i32::try_from(message.msg_iovlen).unwrap_or(0);
            if let Some(given) = read_pieces(descriptor, message.msg_iov, count) {
                message.msg_namelen = 0;
                message.msg_controllen = 0;
                message.msg_flags = 0;
                return given;
            }
        }
        let (place, means) = (caller(), Means::Receive(flags));
        // SAFETY: the program's message.
        let whole = unsafe { in_pieces(descriptor, &mut *message, means, place) };
        if let Some(answer) = whole {
            return answer;
        }
        let receive = real!(fn recvmsg(i32, *mut libc::msghdr, i32) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { receive(descriptor, message, flags) };
        transfer(descriptor, Way::In, waits(flags), place, make)
    }

    fn send(descriptor: i32, buffer: *const c_void, length: usize, flags: i32) -> isize {
        let (place, means) = (caller(), Means::Send(flags));
        if outside::goes_nowhere(descriptor) {
            return length as isize;
        }
        // SAFETY: the program's buffer.
        let whole = unsafe { buffer_in_pieces(descriptor, (buffer, length), means, place) };
        if let Some(answer) = whole {
            return answer;
        }
        let send = real!(fn send(i32, *const c_void, usize, i32) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { send(descriptor, buffer, length, flags) };
        transfer(descriptor, Way::Out, waits(flags), place, make)
    }

    fn sendto(
        descriptor: i32,
        buffer: *const c_void,
        length: usize,
        flags: i32,
        address: *const c_void,
        address_length: u32,
    ) -> isize {
        let place = caller();
        if outside::goes_nowhere(descriptor) {
            return length as isize;
        }
        let mut piece = libc::iovec {
            iov_base: core::ptr::null_mut(),
            iov_len: 0,
        };
        let mut message = pieces::message(buffer.cast_mut(), length, &mut piece);
        message.msg_name = address.cast_mut();
        message.msg_namelen = address_length;
        // SAFETY: what the program passed, as a message.
        let whole = unsafe { in_pieces(descriptor, &mut message, Means::Send(flags), place) };
        if let Some(answer) = whole {
            return answer;
        }
        let send = real!(fn sendto(i32, *const c_void, usize, i32, *const c_void, u32) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { send(descriptor, buffer, length, flags, address, address_length) };
        transfer(descriptor, Way::Out, waits(flags), place, make)
    }

    fn sendmsg(descriptor: i32, message: *const libc::msghdr, flags: i32) -> isize {
        let (place, means) = (caller(), Means::Send(flags));
        if outside::goes_nowhere(descriptor) {
            // SAFETY: the program's pieces.
            return unsafe { pieces::length((*message).msg_iov, (*message).msg_iovlen) } as isize;
        }
        // SAFETY: the program's message, of which the copy has all the pieces.
        let whole = unsafe { in_pieces(descriptor, &mut { *message }, means, place) };
        if let Some(answer) = whole {
            return answer;
        }
        let send = real!(fn sendmsg(i32, *const libc::msghdr, i32) -> isize);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { send(descriptor, message, flags) };
        transfer(descriptor, Way::Out, waits(flags), place, make)
    }

    fn accept(descriptor: i32, address: *mut c_void, length: *mut u32) -> i32 {
        // SAFETY: room for an address, or nothing.
        if let Some(given) = unsafe { given_connection(descriptor, address, length) } {
            return given;
        }
        let accept = real!(fn accept(i32, *mut c_void, *mut u32) -> i32);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { accept(descriptor, address, length) };
        accepted(transfer(descriptor, Way::In, true, caller(), make))
    }

    fn accept4(descriptor: i32, address: *mut c_void, length: *mut u32, flags: i32) -> i32 {
        // SAFETY: room for an address, or nothing.
        if let Some(given) = unsafe { given_connection(descriptor, address, length) } {
            return given;
        }
        let accept = real!(fn accept4(i32, *mut c_void, *mut u32, i32) -> i32);
        // SAFETY: passes on what the program passed.
        let make = || unsafe { accept(descriptor, address, length, flags) };
        accepted(transfer(descriptor, Way::In, true, caller(), make))
    }

    fn pipe(ends: *mut i32) -> i32 {
        let make = real!(fn pipe(*mut i32) -> i32);
        // SAFETY: passes on what the program passed, and reads the two ends.
        unsafe {
            let result = make(ends);
            made(result, ends);
            result
        }
    }

    fn pipe2(ends: *mut i32, flags: i32) -> i32 {
        let make = real!(fn pipe2(*mut i32, i32) -> i32);
        // SAFETY: passes on what the program passed, and reads the two ends.
        unsafe {
            let result = make(ends, flags);
            made(result, ends);
            result
        }
    }

    fn socketpair(domain: i32, kind: i32, protocol: i32, ends: *mut i32) -> i32 {
        let make = real!(fn socketpair(i32, i32, i32, *mut i32) -> i32);
        // SAFETY: passes on what the program passed, and reads the two ends.
        unsafe {
            let result = make(domain, kind, protocol, ends);
            made(result, ends);
            result
        }
    }

    fn eventfd(value: u32, flags: i32) -> i32 {
        let make = real!(fn eventfd(u32, i32) -> i32);
        // SAFETY: passes on what the program passed.
        let descriptor = unsafe { make(value, flags) };
        if control::is_on() {
            descriptors::set_internal(descriptor, true);
        }
        descriptor
    }

    fn close(descriptor: i32) -> i32 {
        descriptors::forget(descriptor);
        if control::is_on() {
            signal_file::forget(descriptor);
            if let Some(timer) = timers::of_descriptor(descriptor) {
                timers::delete(timer);
            }
        }
        let close = real!(fn close(i32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { close(descriptor) })
    }

    fn dup2(old: i32, new: i32) -> i32 {
        descriptors::copy(old, new);
        let copy = real!(fn dup2(i32, i32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { copy(old, new) })
    }
}

/// Both ends belong to the program.
unsafe fn made(result: i32, ends: *const i32) {
    let count = if result == 0 { 2 } else { 0 };
    for end in 0..count {
        // SAFETY: the call has written two descriptors.
        let end = unsafe { *ends.add(end) };
        outside::is_own(end);
        if control::is_on() {
            descriptors::set_internal(end, true);
        }
    }
}

/// A connection that was really made while others are given is the program's with
/// itself.
fn accepted(descriptor: i32) -> i32 {
    if outside::is_given() {
        outside::is_own(descriptor);
    }
    descriptor
}
