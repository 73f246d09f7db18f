//! Transfers that wait in the middle. The kernel takes what there is room for, or
//! gives what there is, and waits for the rest, and with it would everybody who could
//! bring the rest. So they are made piece by piece, none of which waits; the engine
//! does, in between.

use super::input_output::{Way, announce, fail, handle_broken_pipe};
use crate::{
    descriptors::{self, Kind},
    engine::{ENGINE, operation},
    system,
};
use alloc::vec::Vec;
use bohr_event::EventKind;
use core::{ffi::c_void, mem::MaybeUninit};

/// `RWF_NOWAIT`.
const NO_WAIT: usize = 8;

/// By which call the pieces go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// As `writev` does.
    Write,
    /// As `sendmsg` does with these flags.
    Send(i32),
    /// As `recvmsg` does with these flags, until there is no room for more.
    Receive(i32),
}

impl Means {
    fn way(self) -> Way {
        match self {
            Means::Receive(_) => Way::In,
            Means::Write | Means::Send(_) => Way::Out,
        }
    }

    /// One piece, without waiting.
    fn call(self, descriptor: i32, message: &libc::msghdr) -> Result<usize, i32> {
        let (number, flags) = match self {
            Means::Write => {
                let pieces = [message.msg_iov as usize, message.msg_iovlen];
                let [start, count] = pieces;
                let nowhere = usize::MAX;
                let arguments = [descriptor as usize, start, count, nowhere, nowhere, NO_WAIT];
                // SAFETY: the program's buffers.
                return unsafe { system::try_call(libc::SYS_pwritev2, arguments) };
            }
            Means::Send(flags) => (libc::SYS_sendmsg, flags),
            Means::Receive(flags) => (libc::SYS_recvmsg, flags & !libc::MSG_WAITALL),
        };
        let flags = flags | libc::MSG_DONTWAIT;
        let message = core::ptr::from_ref(message) as usize;
        let arguments = [descriptor as usize, message, flags as usize, 0, 0, 0];
        // SAFETY: as above.
        unsafe { system::try_call(number, arguments) }
    }
}

/// Whether a transfer of so many bytes can wait in the middle.
pub fn may_wait_inside(descriptor: i32, means: Means, length: usize) -> bool {
    let possible = match means {
        // Where something can be written, that much can.
        Means::Write => length > libc::PIPE_BUF,
        Means::Send(flags) => flags & libc::MSG_DONTWAIT == 0,
        Means::Receive(flags) => {
            let unusual = libc::MSG_DONTWAIT | libc::MSG_PEEK | libc::MSG_ERRQUEUE;
            flags & libc::MSG_WAITALL != 0 && flags & unusual == 0 && is_stream(descriptor)
        }
    };
    possible
        && !(means.way() == Way::Out && (1..=2).contains(&descriptor))
        && matches!(descriptors::kind(descriptor), Kind::Stream(_))
        && !descriptors::is_nonblocking(descriptor)
}

/// Whether what is sent here has no borders between messages.
fn is_stream(descriptor: i32) -> bool {
    let (mut kind, mut size) = (0i32, size_of::<i32>() as u32);
    let arguments = [
        descriptor as usize,
        libc::SOL_SOCKET as usize,
        libc::SO_TYPE as usize,
        &raw mut kind as usize,
        &raw mut size as usize,
        0,
    ];
    // SAFETY: writes the number and its size.
    let asked = unsafe { system::try_call(libc::SYS_getsockopt, arguments) };
    asked.is_ok() && kind == libc::SOCK_STREAM
}

/// A message of one piece.
pub fn message(buffer: *mut c_void, length: usize, piece: &mut libc::iovec) -> libc::msghdr {
    piece.iov_base = buffer;
    piece.iov_len = length;
    // SAFETY: all zeroes are a message without anything.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = piece;
    message.msg_iovlen = 1;
    message
}

/// How many bytes there is room for.
///
/// # Safety
/// The pieces must be there.
pub unsafe fn length(pieces: *const libc::iovec, count: usize) -> usize {
    // SAFETY: as promised.
    (0..count)
        .map(|at| unsafe { (*pieces.add(at)).iov_len })
        .sum()
}

/// Makes the whole transfer; what the call answers.
///
/// # Safety
/// The message must be one that `sendmsg` or `recvmsg` would take.
pub unsafe fn transfer(
    descriptor: i32,
    message: &mut libc::msghdr,
    means: Means,
    place: u64,
) -> isize {
    // SAFETY: the message has its pieces.
    let given = unsafe { core::slice::from_raw_parts(message.msg_iov, message.msg_iovlen) };
    let mut pieces = given.to_vec();
    let mut done = 0;
    loop {
        if !announce(descriptor, means.way(), true, place) {
            return if done == 0 {
                fail(libc::EINTR)
            } else {
                done as isize
            };
        }
        let (all, count) = (message.msg_iov, message.msg_iovlen);
        message.msg_iov = pieces.as_mut_ptr();
        message.msg_iovlen = pieces.len();
        let answer = means.call(descriptor, message);
        message.msg_iov = all;
        message.msg_iovlen = count;
        match answer {
            Ok(moved) => {
                done += moved;
                let is_end = moved == 0;
                if is_end || pass_over(&mut pieces, moved) {
                    return done as isize;
                }
                if means.way() == Way::Out {
                    // It has gone with the first piece.
                    message.msg_controllen = 0;
                }
            }
            // Ready, but not for this: whoever can change that is to go on.
            Err(libc::EAGAIN) => ENGINE.step(operation(EventKind::Yield, 0, place)),
            Err(error) => {
                handle_broken_pipe(place);
                return if done == 0 {
                    fail(error)
                } else {
                    done as isize
                };
            }
        }
    }
}

/// Takes the first bytes away from the pieces; whether nothing is left.
fn pass_over(pieces: &mut Vec<libc::iovec>, mut bytes: usize) -> bool {
    pieces.retain_mut(|piece| {
        let here = bytes.min(piece.iov_len);
        bytes -= here;
        piece.iov_base = piece.iov_base.wrapping_byte_add(here);
        piece.iov_len -= here;
        piece.iov_len > 0
    });
    pieces.is_empty()
}
