//! The connection to the explorer.

use crate::system;
use alloc::vec::Vec;
use bohr_event::abi;
use bohr_event::control::{Reply, Request, frame, frame_length, message};

/// A connected socket, at a descriptor that programs do not expect.
#[derive(Clone, Copy)]
pub struct Channel(i32);

/// Descriptors of the runtime's own begin here.
pub const LOWEST_DESCRIPTOR: usize = abi::LOWEST_DESCRIPTOR as usize;

impl Channel {
    /// Connects to the explorer that listens under this abstract name.
    pub fn connect(name: &[u8]) -> Result<Channel, i32> {
        let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as usize;
        // SAFETY: makes a socket.
        let socket = unsafe {
            system::try_call(libc::SYS_socket, [libc::AF_UNIX as usize, kind, 0, 0, 0, 0])
        }?;
        let mut address = Vec::from((libc::AF_UNIX as u16).to_ne_bytes());
        address.push(0);
        address.extend_from_slice(name);
        let arguments = [socket, address.as_ptr() as usize, address.len(), 0, 0, 0];
        // SAFETY: reads the address.
        unsafe { system::try_call(libc::SYS_connect, arguments) }?;
        move_up(socket as i32).map(Channel)
    }

    /// The connection that the program had before it began again.
    pub fn adopt(descriptor: i32) -> Result<Channel, i32> {
        let channel = Channel(descriptor);
        channel.outlive(false).map(|()| channel)
    }

    /// Its descriptor.
    pub fn descriptor(self) -> i32 {
        self.0
    }

    /// Whether it stays when the process becomes another program.
    pub fn outlive(self, stays: bool) -> Result<(), i32> {
        let flag = if stays { 0 } else { libc::FD_CLOEXEC } as usize;
        let arguments = [self.0 as usize, libc::F_SETFD as usize, flag, 0, 0, 0];
        // SAFETY: changes a flag of a descriptor of ours.
        unsafe { system::try_call(libc::SYS_fcntl, arguments) }.map(|_| ())
    }

    /// Sends a message; an explorer that is gone ends the template.
    pub fn send(self, reply: &Reply) {
        if system::write_all(self.0, &frame(reply)).is_err() {
            system::exit(0);
        }
    }

    /// The next request; an explorer that is gone ends the template.
    pub fn receive(self) -> Request {
        let mut header = [0; 4];
        let body = match system::read_all(self.0, &mut header) {
            Ok(true) => frame_length(header)
                .ok()
                .and_then(|length| self.body(length)),
            _ => None,
        };
        match body.and_then(|body| message(&body).ok()) {
            Some(request) => request,
            None => system::exit(0),
        }
    }

    fn body(self, length: usize) -> Option<Vec<u8>> {
        let mut body = alloc::vec![0; length];
        matches!(system::read_all(self.0, &mut body), Ok(true)).then_some(body)
    }

    /// In a run: the conversation is the template's.
    pub fn close(self) {
        system::close(self.0);
    }
}

/// Moves a descriptor out of the way of the program.
pub fn move_up(descriptor: i32) -> Result<i32, i32> {
    let command = libc::F_DUPFD_CLOEXEC as usize;
    let arguments = [descriptor as usize, command, LOWEST_DESCRIPTOR, 0, 0, 0];
    // SAFETY: duplicates a descriptor of ours.
    let moved = unsafe { system::try_call(libc::SYS_fcntl, arguments) };
    match moved {
        Ok(moved) => {
            system::close(descriptor);
            Ok(moved as i32)
        }
        // A low limit on descriptors: leave it where it is.
        Err(libc::EINVAL) => Ok(descriptor),
        Err(error) => Err(error),
    }
}
