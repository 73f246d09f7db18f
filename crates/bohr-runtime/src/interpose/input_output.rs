//! Reading and writing where it can wait: pipes, sockets, event counters,
//! terminals. The engine waits until the kernel says that the call will not.

use super::{caller, cancel, interpose};
use crate::{
    control,
    descriptors::{self, Kind},
    dispatch,
    engine::{ENGINE, Woken, operation},
    real::real,
    system,
    thread::Wait,
};
use bohr_event::EventKind;
use core::ffi::c_void;

/// Which way the data goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// Announces a transfer and waits until it can be made. Standard output and
/// standard error never wait: whoever reads them is outside.
fn announce(descriptor: i32, way: Way, waits: bool, place: u64) {
    let Kind::Stream(name) = descriptors::kind(descriptor) else {
        return;
    };
    if way == Way::Out && (1..=2).contains(&descriptor) {
        return;
    }
    let (kind, events) = match way {
        Way::In => (EventKind::Receive, libc::POLLIN),
        Way::Out => (EventKind::Send, libc::POLLOUT),
    };
    let wait = if waits && !descriptors::is_nonblocking(descriptor) {
        Wait::Descriptor(descriptor, events)
    } else {
        Wait::Nothing
    };
    let transfer = operation(kind, name, place);
    if ENGINE.announce_cancellable(transfer, wait, u64::MAX) == Woken::Cancelled {
        cancel::act();
    }
}

/// Waits until something can be read from the descriptor.
pub fn await_input(descriptor: i32, place: u64) {
    announce(descriptor, Way::In, true, place);
}

/// A blocking write to a pipe of more than it can hold now: piece by piece.
fn write_in_pieces(descriptor: i32, buffer: *const c_void, length: usize, place: u64) -> isize {
    let mut written = 0;
    while written < length {
        announce(descriptor, Way::Out, true, place);
        let piece = libc::iovec {
            iov_base: buffer.wrapping_byte_add(written).cast_mut(),
            iov_len: length - written,
        };
        const NO_WAIT: usize = 8; // RWF_NOWAIT
        let piece = &raw const piece as usize;
        let arguments = [
            descriptor as usize,
            piece,
            1,
            usize::MAX,
            usize::MAX,
            NO_WAIT,
        ];
        // SAFETY: the program's buffer.
        match unsafe { system::try_call(libc::SYS_pwritev2, arguments) } {
            Ok(count) => written += count,
            Err(libc::EAGAIN) => {}
            Err(error) if written == 0 => return fail(error),
            Err(_) => break,
        }
    }
    written as isize
}

fn fail(error: i32) -> isize {
    // SAFETY: `errno` is always there.
    unsafe { *libc::__errno_location() = error };
    if error == libc::EPIPE {
        // SAFETY: as the kernel would have done.
        unsafe { libc::raise(libc::SIGPIPE) };
    }
    -1
}

fn waits(flags: i32) -> bool {
    flags & libc::MSG_DONTWAIT == 0
}

fn is_large_pipe_write(descriptor: i32, length: usize) -> bool {
    length > libc::PIPE_BUF
        && !(1..=2).contains(&descriptor)
        && matches!(descriptors::kind(descriptor), Kind::Stream(_))
        && !descriptors::is_nonblocking(descriptor)
}

interpose! {
    fn read(descriptor: i32, buffer: *mut c_void, length: usize) -> isize {
        if control::is_on() {
            announce(descriptor, Way::In, true, caller());
        }
        let read = real!(fn read(i32, *mut c_void, usize) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { read(descriptor, buffer, length) })
    }

    fn write(descriptor: i32, buffer: *const c_void, length: usize) -> isize {
        let place = caller();
        if control::is_on() {
            if is_large_pipe_write(descriptor, length) {
                return write_in_pieces(descriptor, buffer, length, place);
            }
            announce(descriptor, Way::Out, true, place);
        }
        let write = real!(fn write(i32, *const c_void, usize) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { write(descriptor, buffer, length) })
    }

    fn readv(descriptor: i32, pieces: *const libc::iovec, count: i32) -> isize {
        if control::is_on() {
            announce(descriptor, Way::In, true, caller());
        }
        let read = real!(fn readv(i32, *const libc::iovec, i32) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { read(descriptor, pieces, count) })
    }

    fn writev(descriptor: i32, pieces: *const libc::iovec, count: i32) -> isize {
        if control::is_on() {
            announce(descriptor, Way::Out, true, caller());
        }
        let write = real!(fn writev(i32, *const libc::iovec, i32) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { write(descriptor, pieces, count) })
    }

    fn recv(descriptor: i32, buffer: *mut c_void, length: usize, flags: i32) -> isize {
        if control::is_on() {
            announce(descriptor, Way::In, waits(flags), caller());
        }
        let receive = real!(fn recv(i32, *mut c_void, usize, i32) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { receive(descriptor, buffer, length, flags) })
    }

    fn recvfrom(
        descriptor: i32,
        buffer: *mut c_void,
        length: usize,
        flags: i32,
        address: *mut c_void,
        address_length: *mut u32,
    ) -> isize {
        if control::is_on() {
            announce(descriptor, Way::In, waits(flags), caller());
        }
        let receive = real!(fn recvfrom(i32, *mut c_void, usize, i32, *mut c_void, *mut u32) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { receive(descriptor, buffer, length, flags, address, address_length) })
    }

    fn recvmsg(descriptor: i32, message: *mut c_void, flags: i32) -> isize {
        if control::is_on() {
            announce(descriptor, Way::In, waits(flags), caller());
        }
        let receive = real!(fn recvmsg(i32, *mut c_void, i32) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { receive(descriptor, message, flags) })
    }

    fn send(descriptor: i32, buffer: *const c_void, length: usize, flags: i32) -> isize {
        if control::is_on() {
            announce(descriptor, Way::Out, waits(flags), caller());
        }
        let send = real!(fn send(i32, *const c_void, usize, i32) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { send(descriptor, buffer, length, flags) })
    }

    fn sendto(
        descriptor: i32,
        buffer: *const c_void,
        length: usize,
        flags: i32,
        address: *const c_void,
        address_length: u32,
    ) -> isize {
        if control::is_on() {
            announce(descriptor, Way::Out, waits(flags), caller());
        }
        let send = real!(fn sendto(i32, *const c_void, usize, i32, *const c_void, u32) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { send(descriptor, buffer, length, flags, address, address_length) })
    }

    fn sendmsg(descriptor: i32, message: *const c_void, flags: i32) -> isize {
        if control::is_on() {
            announce(descriptor, Way::Out, waits(flags), caller());
        }
        let send = real!(fn sendmsg(i32, *const c_void, i32) -> isize);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { send(descriptor, message, flags) })
    }

    fn accept(descriptor: i32, address: *mut c_void, length: *mut u32) -> i32 {
        if control::is_on() {
            announce(descriptor, Way::In, true, caller());
        }
        let accept = real!(fn accept(i32, *mut c_void, *mut u32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { accept(descriptor, address, length) })
    }

    fn accept4(descriptor: i32, address: *mut c_void, length: *mut u32, flags: i32) -> i32 {
        if control::is_on() {
            announce(descriptor, Way::In, true, caller());
        }
        let accept = real!(fn accept4(i32, *mut c_void, *mut u32, i32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { accept(descriptor, address, length, flags) })
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
        descriptors::set_internal(descriptor, false);
        let close = real!(fn close(i32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { close(descriptor) })
    }

    fn dup2(old: i32, new: i32) -> i32 {
        descriptors::set_internal(new, descriptors::is_internal(old));
        let copy = real!(fn dup2(i32, i32) -> i32);
        // SAFETY: passes on what the program passed.
        dispatch::directly(|| unsafe { copy(old, new) })
    }
}

/// Both ends belong to the program.
unsafe fn made(result: i32, ends: *const i32) {
    if result == 0 && control::is_on() {
        // SAFETY: the call has written two descriptors.
        unsafe {
            descriptors::set_internal(*ends, true);
            descriptors::set_internal(*ends.add(1), true);
        }
    }
}
